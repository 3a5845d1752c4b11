#!/usr/bin/env python3
"""Measures the first call of exported models in a new process: with nothing kept, with an empty cache
folder, and with the object code that an earlier process kept there.

    tools/warm_starts.py [--tilewright PATH] [--corpus FOLDER] [--rounds 5] > docs/results/cpu_warm.json

FOLDER has programs of PyTorch with their inputs (NAME.pt2, NAME.safetensors), by default the corpus
that the build has unpacked. One thread; the rounds of a model take turns; medians."""
import argparse
import datetime
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def first_call(tool, model, cache):
    """Seconds of the first call by the clock, and of the processor for the whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([tool, "run", model, "--inputs", model.with_suffix(".safetensors"), "--threads", "1", "--json"],
                         capture_output=True, text=True, env=dict(os.environ, TILEWRIGHT_CACHE_DIR=str(cache)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"{model}: {run.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(run.stdout)["first_s"], used


def measure(tool, model, rounds):
    found = {"off": [], "cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for way in found:
                found[way].append(first_call(tool, model, "off" if way == "off" else cache))
    row = {"case": model.stem}
    for way, calls in found.items():
        row[f"first_{way}_s"] = statistics.median(call for call, _ in calls)
        row[f"processor_{way}_s"] = statistics.median(used for _, used in calls)
    return row


def processor():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else "unknown"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilewright", default=ROOT / "build/release/tilewright")
    options.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build/release/data/corpus/models")
    options.add_argument("--rounds", type=int, default=5)
    a = options.parse_args()
    models = sorted(model for model in a.corpus.glob("*.pt2") if model.with_suffix(".safetensors").exists())
    if not models:
        sys.exit(f"no programs with inputs in {a.corpus}")
    rows = [measure(a.tilewright, model, a.rounds) for model in models]
    gain = math.exp(statistics.mean(math.log(row["processor_off_s"] / row["processor_warm_s"]) for row in rows))
    json.dump({"bench": "warm starts", "command": "tools/warm_starts.py", "date": datetime.date.today().isoformat(),
               "device": processor(), "threads": 1, "rounds": a.rounds, "processor_geomean": gain, "results": rows},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
