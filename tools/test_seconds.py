#!/usr/bin/env python3
"""Prints the seconds that each group of tests took, as a table: usage: test_seconds.py BUILD [TESTS.XML]

A group is a test program on a device, or a script. BUILD is a build folder, TESTS.XML what `ctest --output-junit`
wrote there (BUILD/tests.xml). Seconds are those of all entries added up: where several run at once, the clock shows
less.
"""
import collections
import json
import os
import subprocess
import sys
import xml.etree.ElementTree


def group_of(test):
    """The program that an entry of ctest runs, with its device or processor."""
    command = test.get("command", ["?"])
    name = next((os.path.basename(word) for word in command if word.endswith(("_tests", "_drills", ".sh", ".py"))),
                os.path.basename(command[0]))
    for entry in test.get("properties", []):
        if entry["name"] == "ENVIRONMENT":
            for setting in entry["value"]:
                variable, _, value = setting.partition("=")
                if variable in ("TILEWRIGHT_DEVICE", "TILEWRIGHT_CPU"):
                    name += f" on {value}"
    return name


def main():
    build = sys.argv[1]
    results = sys.argv[2] if len(sys.argv) > 2 else os.path.join(build, "tests.xml")
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    groups = {test["name"]: group_of(test) for test in json.loads(shown.stdout)["tests"]}
    seconds, entries = collections.Counter(), collections.Counter()
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        group = groups.get(case.get("name"), "?")
        seconds[group] += float(case.get("time"))
        entries[group] += 1
    print(f"{'seconds':>8} {'entries':>8}  group")
    for group, total in seconds.most_common():
        print(f"{total:8.0f} {entries[group]:8}  {group}")
    print(f"{sum(seconds.values()):8.0f} {sum(entries.values()):8}  all")


if __name__ == "__main__":
    main()
