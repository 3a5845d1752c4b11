#!/usr/bin/env python3
"""Compares models in published forms with what their writers expect, and prints a table.

    tools/published_models.py FOLDER [--tests build/release/tests/models_tests]

FOLDER holds published/NAME/ with expected.json, as tests/data/README.md describes them. A row for each folder: how many
elements of decoded weights differ from those of the format's own reader, the largest distance of a logit after a
prompt, whether ids of prompts and greedy ids are the same, and the verdict of the test.
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", help="holds published/")
parser.add_argument("--tests", default=os.path.join(HERE, "..", "build", "release", "tests", "models_tests"))
arguments = parser.parse_args()

root = os.path.join(arguments.folder, "published")
names = sorted(n for n in os.listdir(root) if os.path.isfile(os.path.join(root, n, "expected.json")))
if not names:
    sys.exit(f"{root} has no folder with expected.json")
environment = dict(os.environ, TILEWRIGHT_TEST_MODELS=os.path.abspath(arguments.folder))
run = subprocess.run([arguments.tests, "--gtest_filter=*Published*"], env=environment, text=True,
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

figures, verdicts, reasons = {}, {}, {}
of_test = {re.sub(r"[^A-Za-z0-9]", "_", name): name for name in names}
current = None
for line in run.stdout.splitlines():
    if found := re.match(r"published: (\S+): (.+): (\S+)$", line):
        figures.setdefault(found[1], {})[found[2]] = found[3]
    elif found := re.match(r"\[ RUN      \] \S+/(\w+)$", line):
        current = of_test.get(found[1].split("__")[0])
    elif found := re.match(r"\[ +(OK|FAILED|SKIPPED) +\] \S+/(\w+)[ ,]", line):
        name = of_test.get(found[2].split("__")[0])
        if name:
            verdicts.setdefault(name, set()).add(found[1])
    elif current and current not in reasons and ("[" in line and "]" in line and not line.startswith("[")):
        reasons[current] = line.strip()

columns = ["weights that differ", "distance of logits"]
print(f"{'folder':36} {columns[0]:>20} {columns[1]:>20}  verdict")
passed = 0
for name in names:
    seen = verdicts.get(name, set())
    verdict = "not read" if not seen else "passed" if seen == {"OK"} else "failed"
    passed += verdict == "passed"
    row = figures.get(name, {})
    reason = "" if verdict == "passed" else "  " + reasons.get(name, "")[:120]
    print(f"{name:36} {row.get(columns[0], '-'):>20} {row.get(columns[1], '-'):>20}  {verdict}{reason}")
print(f"{passed} of {len(names)} passed")
