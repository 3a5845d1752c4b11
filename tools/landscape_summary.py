#!/usr/bin/env python3
"""landscape_summary.py FILE...: how near the default comes to the best of all configurations.

Each FILE was made by `tilewright tune --strategy exhaustive --store FILE` in several passes. Prints
the JSON of docs/results/cpu_defaults.json.
"""
import datetime
import json
import math
import statistics
import sys
import urllib.parse


def text(kernel, at):
    return " ".join(f"{knob['name']}={knob['values'][i]}" for knob, i in zip(kernel["knobs"], at))


def summary(kernel):
    measured = [(statistics.median(p["shares"]), p) for p in kernel["points"] if "shares" in p]
    share, best = min(measured, key=lambda pair: pair[0])
    untried = min(kernel["points"], key=lambda p: p["estimate"])
    return {
        "kernel": kernel["kernel"],
        "configurations": len(kernel["points"]),
        "passes_near_best": len(best["shares"]),
        "default": text(kernel, kernel["default"]),
        "best": text(kernel, best["at"]),
        "best_by_default": round(share, 4),
        "best_by_estimated": round(share / statistics.median(untried["shares"]), 4),
    }


def mean(values):
    return round(math.exp(sum(math.log(value) for value in values) / len(values)), 4)


def main(paths):
    if not paths or paths[0].startswith("-"):
        sys.exit(__doc__)
    rows, devices = [], set()
    for path in paths:
        with open(path) as file:
            landscapes = json.load(file)
        fields = dict(field.split("=", 1) for field in landscapes["device"].split())
        devices.add(f"{urllib.parse.unquote(fields['name'])}, {fields['threads']} threads")
        rows += [summary(kernel) for kernel in landscapes["kernels"]]
    json.dump({
        "command": "tools/landscape_summary.py FILE..., each of which is of several passes of "
                   "tilewright tune --strategy exhaustive --store FILE",
        "date": datetime.date.today().isoformat(),
        "device": "; ".join(sorted(devices)),
        "geometric_means": {
            "best_by_default": mean([row["best_by_default"] for row in rows]),
            "best_by_estimated": mean([row["best_by_estimated"] for row in rows]),
        },
        "results": rows,
    }, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
