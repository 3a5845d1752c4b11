#!/usr/bin/env python3
"""Runs all cases of all drills, a family after the other, and prints what they took as JSON.

    tests/drills/figures.py [BUILD_FOLDER] > docs/results/drills.json

A test without cases counts as one. Ends with 1 where one failed.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def run(program):
    """The tests of one family, with their cases and seconds."""
    begin = time.monotonic()
    settings = dict(os.environ, TILEWRIGHT_DRILLS="all")
    done = subprocess.run([program], env=settings, capture_output=True, text=True, errors="replace")
    tests, ran, failed = [], None, 0
    for line in done.stdout.splitlines():
        if cases := re.search(r"^ +(\d+) of \d+ cases, (\d+) failed", line):
            ran, failed = int(cases[1]), int(cases[2])
        if end := re.match(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*\((\d+) ms\)$", line):
            failed = max(failed, 1) if end[1] == "FAILED" else failed
            count = 0 if end[1] == "SKIPPED" else 1 if ran is None else ran
            tests.append({"test": end[2], "cases": count, "failed": failed,
                          "seconds": int(end[3]) / 1000})
            ran, failed = None, 0
    return {"family": program.name.removesuffix("_drills"),
            "cases": sum(test["cases"] for test in tests),
            "failed": sum(test["failed"] for test in tests), "status": done.returncode,
            "seconds": round(time.monotonic() - begin, 1), "tests": tests}


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    programs = sorted(p for p in (folder / "tests/drills").glob("*_drills") if p.is_file())
    if not programs:
        sys.exit(f"no drills in {folder}/tests/drills; build them first")
    families = [run(program) for program in programs]
    print(json.dumps({"device": processor(), "threads": os.cpu_count(),
                      "date": datetime.date.today().isoformat(),
                      "command": "tests/drills/figures.py",
                      "cases": sum(f["cases"] for f in families),
                      "failed": sum(f["failed"] for f in families),
                      "seconds": round(sum(f["seconds"] for f in families), 1),
                      "families": families}, indent=1))
    return any(f["status"] != 0 for f in families)


if __name__ == "__main__":
    sys.exit(main())
