#!/usr/bin/env python3
"""The table of a run of gpu_check.sh, and its files for docs/results.

    results_table.py DIR                 prints the table: what is wrong first, then case, ours, peer, ratio
    results_table.py DIR --store FOLDER  writes FOLDER/gpu_<section>.json for each section that was measured

`ratio` is the best peer's time over ours: above 1 we are faster. `limit` is our share of the rate measured in the same
run: the fastest copy for what moves memory, the fastest bf16 product of 8192 for what multiplies.
"""
import argparse
import json
import os
import sys

OURS = "tilewright"
ORDER = ["limits", "gemm", "attention", "scores", "rows", "decode", "prefill", "models", "launch", "graphs", "optim", "tune", "profile"]
MOST_LINES = 100
BY_TIME = ("us", "us a node")  # units of which less is better


def read(folder, name):
    rows = []
    try:
        with open(os.path.join(folder, name)) as f:
            for line in f:
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    pass  # the process ended within the line
    except OSError:
        pass
    return rows


def sections_of(rows):
    """{section: {case: {system: row}}}, the last line of a system; a case that began and has no line ended its process."""
    found = {}
    for r in rows:
        systems = found.setdefault(r["section"], {}).setdefault(r["case"], {})
        if r.get("begins"):
            systems.setdefault(r["system"], {"ok": False, "note": "the process ended in this case"})
        else:
            systems[r["system"]] = r
    return found


def limits_of(sections):
    rates = {"GB/s": 0.0, "TFLOP/s": 0.0}
    for case, systems in sections.get("limits", {}).items():
        for r in systems.values():
            if "copy" in case or "scale" in case:
                rates["GB/s"] = max(rates["GB/s"], r.get("rate") or 0)
    for r in sections.get("gemm", {}).get("bf16 8192x8192x8192", {}).values():
        if r.get("ok", True):
            rates["TFLOP/s"] = max(rates["TFLOP/s"], r.get("rate") or 0)
    return rates


def best_peer(systems):
    peers = [(r["seconds"], name) for name, r in systems.items() if name != OURS and r.get("seconds")]
    return min(peers) if peers else (None, None)


def summary(section, case, systems, limits):
    ours = systems.get(OURS, {})
    seconds, peer = best_peer(systems)
    row = {"case": case, "seconds": ours.get("seconds"), "rate": ours.get("rate"), "unit": ours.get("unit"),
           "ok": bool(ours.get("ok")), "note": ours.get("note", ""), "peer": peer, "peer_seconds": seconds,
           "ratio": seconds / ours["seconds"] if seconds and ours.get("seconds") else None,
           "of_limit": ours["rate"] / limits[ours["unit"]]
           if ours.get("rate") and limits.get(ours.get("unit")) and section != "limits" else None,
           "skipped": bool(ours.get("skipped")) or not ours}
    for field in ("of_bare", "by_rule_s", "error", "tokens_per_s", "launches", "host_s", "kernels", "first_call_s"):
        if field in ours:
            row[field] = ours[field]
    return row


def time_text(s):
    return "" if s is None else "%.2f us" % (s * 1e6) if s < 1e-3 else "%.3f ms" % (s * 1e3)


def line(row, again):
    ours = "%s %s" % ("" if row["rate"] is None else "%.4g" % row["rate"], row["unit"] or "")
    if row["unit"] not in BY_TIME and row["seconds"]:
        ours = "%-16s %s" % (ours, time_text(row["seconds"]))
    text = "%-46s %-28s" % (row["case"][:46], ours)
    text += " %-13s %5s" % ((row["peer"] or "-")[:13], "" if row["ratio"] is None else "%.2f" % row["ratio"])
    text += " %5s" % ("" if row["of_limit"] is None else "%.2f" % row["of_limit"])
    if again:
        text += " again %+.0f%%" % (100 * (again / row["seconds"] - 1))
    if "of_bare" in row:
        text += " %.2f of bare" % row["of_bare"]
    if "by_rule_s" in row:
        text += " tuned: %.2fx" % (row["by_rule_s"] / row["seconds"])
    if not row["ok"]:
        text += " WRONG"
    return text.rstrip()


def wrongs(folder, sections):
    for name, rows in (("primitives", sections_of(read(folder, "primitives.jsonl"))), ("", sections)):
        for section, cases in rows.items():
            for case, systems in cases.items():
                r = systems.get(OURS, {"skipped": True})
                if not r.get("ok", True) and not r.get("skipped"):
                    yield "WRONG %s %s: %s: %s" % (name, section, case, r.get("note", "")[:160].replace("\n", " "))


def tests_text(folder):
    by_name = {}
    for r in read(folder, "tests.jsonl"):
        t = by_name.setdefault(r["name"], dict(shards=0, of=r["shards"], passed=0, failed=[], died=[], finished=True))
        t["shards"] += 1
        t["passed"] += r["passed"]
        t["failed"] += r["failed"]
        t["died"] += r["died"]
        t["finished"] = t["finished"] and r["finished"]
    for name, t in by_name.items():
        yield "tests %-14s %d passed, %d failed, %d ended their process%s" % (
            name, t["passed"], len(t["failed"]), len(t["died"]),
            "" if t["finished"] and t["shards"] == t["of"] else " (not all was run)")
        for what in (["died " + d for d in t["died"]] + ["failed " + f for f in t["failed"]])[:8]:
            yield "    " + what


def table(folder):
    rows = read(folder, "results.jsonl")
    sections, again = sections_of(rows), sections_of(read(folder, "again.jsonl"))
    primitives = sections_of(read(folder, "primitives.jsonl"))
    small = [s.get(OURS, {}) for cases in primitives.values() for s in cases.values()]
    yield "primitives: %d of %d right" % (sum(bool(r.get("ok")) for r in small), len(small))
    yield from tests_text(folder)
    yield from wrongs(folder, sections)
    limits = limits_of(sections)
    yield "limits of this run: %.0f GB/s copied, %.0f TFLOP/s bf16" % (limits["GB/s"], limits["TFLOP/s"])
    yield "%-46s %-28s %-13s %5s %5s" % ("case", "ours", "best peer", "ratio", "limit")
    for section in [s for s in ORDER if s in sections]:
        yield "-- " + section
        skipped = 0
        for case, systems in sections[section].items():
            row = summary(section, case, systems, limits)
            if row["skipped"] or row["seconds"] is None:
                skipped += 1
                continue
            yield line(row, again.get(section, {}).get(case, {}).get(OURS, {}).get("seconds"))
            for kernel in row.get("kernels", [])[:6]:
                yield "    %4d x %-44s %9s %4.0f%%" % (kernel["launches"], kernel["kernel"][:44],
                                                     time_text(kernel["seconds"]), 100 * kernel["share"])
        if skipped:
            yield "   (%d cases were not measured)" % skipped
    for case, systems in sections.get("sanitizer", {}).items():
        r = systems.get(OURS, {})
        yield "sanitizer %s: %s %s" % (case, "skipped" if r.get("skipped") else "ok" if r.get("ok") else "WRONG",
                                       r.get("note", "")[:80])


def store(folder, into):
    sections = sections_of(read(folder, "results.jsonl"))
    limits = limits_of(sections)
    with open(os.path.join(folder, "gpu.json")) as f:
        gpu = json.load(f)
    for section, cases in sections.items():
        results = [summary(section, case, systems, limits) for case, systems in cases.items()]
        results = [r for r in results if r["seconds"] is not None]
        if not results:
            continue
        whole = {"bench": section, "device": gpu.get("name", "unknown"), "date": gpu.get("date"),
                 "command": gpu.get("command"), "machine": gpu, "limits": limits, "results": results}
        path = os.path.join(into, "gpu_%s.json" % section)
        with open(path, "w") as f:
            json.dump(whole, f, indent=1)
            f.write("\n")
        print(path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--store", metavar="FOLDER")
    args = p.parse_args()
    if args.store:
        return store(args.folder, args.store)
    lines = list(table(args.folder))
    if len(lines) > MOST_LINES:
        lines = lines[:MOST_LINES - 1] + ["(%d lines more: results.jsonl)" % (len(lines) - MOST_LINES + 1)]
    print("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
