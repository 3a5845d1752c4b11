#!/usr/bin/env python3
"""Prints what failed in each failed entry, so that it ends a long log: usage: failures.py TESTS.XML

`ctest --output-junit` wrote TESTS.XML. For an entry that runs many tests the failures and the names of the
failed tests are printed, for another one its last lines. Ends with 1 if any entry failed.
"""
import sys
import xml.etree.ElementTree

MOST_LINES = 60  # of one entry


def failures_in(output):
    """The lines from each failure to the name of its test, or the last ones where there is none."""
    chosen, is_failure = [], False
    for line in output.splitlines():
        is_failure = is_failure or ": Failure" in line or line.startswith("unknown file")
        is_name = line.startswith("[  FAILED  ]")
        if is_failure or is_name:
            chosen.append(line[:400])
        is_failure = is_failure and not is_name
    return chosen[:MOST_LINES] or output.splitlines()[-20:]


def main():
    is_failed = False
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        if case.get("status") != "fail":
            continue
        is_failed = True
        print(f"\n== failed: {case.get('name')}")
        print("\n".join(failures_in(case.findtext("system-out") or "")))
    sys.exit(is_failed)


if __name__ == "__main__":
    main()
