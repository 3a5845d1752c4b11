#!/usr/bin/env python3
"""Runs the lessons (examples/) that time their kernels, and gives each kernel's speed beside what
the compiler makes of the same function: the median of several runs, random data.

    tools/lesson_speeds.py [--build build/release] [--runs 7] > docs/results/cpu_lessons.json
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    lessons = sorted(path.parent.name for path in pathlib.Path("examples").glob("*/main.cpp")
                     if "speed beside compile()'s: " in path.read_text())
    speeds = {lesson: [] for lesson in lessons}
    for _ in range(arguments.runs):
        for lesson in lessons:
            told = subprocess.run([(arguments.build / "tests" / f"lesson_{lesson}").resolve()],
                                  capture_output=True, text=True, check=True,
                                  cwd=pathlib.Path("examples") / lesson).stderr
            speeds[lesson].append(float(re.search(r"speed beside compile\(\)'s: (\S+)", told)[1]))
    json.dump({"bench": "lessons", "command": " ".join(["tools/lesson_speeds.py", *sys.argv[1:]]),
               "date": datetime.date.today().isoformat(), "device": processor(),
               "results": [{"case": lesson, "ratio": round(statistics.median(all_runs), 3),
                            "least": round(min(all_runs), 3), "greatest": round(max(all_runs), 3)}
                           for lesson, all_runs in speeds.items()]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
