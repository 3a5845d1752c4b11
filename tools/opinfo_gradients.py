#!/usr/bin/env python3
"""Compares gradients of PyTorch's own samples of its operators (OpInfo) with PyTorch's, in float64.

    tools/opinfo_gradients.py FOLDER [--samples N] [--name PREFIX ...] [--jobs N] [--json FILE] [--again FILE]

Draws what FOLDER lacks by tools/opinfo_samples.py, and runs and compares every program that it has as
tools/program_gradients.py does. First and second gradients of a sample are cases of their own, NAME/NUMBER and
NAME/NUMBER.second. Cases are counted by kind:

    agree
    not run          the program has an operator, or arguments of one, that the importer refuses
    without rule     the program runs, and some operation has no derivative
    crash            the process ended by a signal, or by an error that the library calls its own
    too long         of more than --timeout seconds
    differs          a gradient is another one than PyTorch's: a fault, unless docs/unsupported_gradients.txt has it

A case that does not agree must be listed in docs/unsupported_gradients.txt, by its name, that of its operator, or
OPERATOR.second. Fails for others, where less than 99 % of all cases agree, and for operators without a case that are
not listed as `uncompared NAME reason`. --json writes names, counts and the reason of each case; --again compares only
the cases that did not agree in such a file, and keeps the others. --draw-only and --compare-only do one of both parts,
of which only the first needs PyTorch.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys
import tempfile

import opinfo_samples
import program_gradients


# The share of the norm of the cotangents, or of the directions, below which gradients may be nothing but roundings.
LEAST = 1e-11


def compared(case, arguments):
    """{name: reason or None} of the first and of the second gradients of a sample."""
    first, second = case.wanted(""), case.second()
    firsts = {f"grad.{name}": key for name, key in first.items()}

    def compare(results, wanted, given):
        least = LEAST * max((program_gradients.norm(case.gradients.values(key))
                             for key in case.gradients.entries if key.startswith(given)), default=0.0)
        return program_gradients.compare(case, "", results, wanted, least)[0]

    with tempfile.TemporaryDirectory() as folder:
        if second:
            results, reason = program_gradients.run_program(case, "", first, arguments, folder, "--second")
            if not reason:
                return {case.name: compare(results, firsts, "cotangent."),
                        case.name + ".second": compare(results, second, "direction.")}
            second = {case.name + ".second": reason}
        results, reason = program_gradients.run_program(case, "", first, arguments, folder)
    if not reason:
        reason = compare(results, firsts, "cotangent.")
    return {case.name: reason, **second}


def kind_of(reason):
    if reason is None:
        return "agree"
    if "longer than" in reason:
        return "too long"
    if reason.startswith("signal ") or "internal error" in reason:
        return "crash"
    if "[derivative]" in reason:
        return "without rule"
    if reason.startswith(("grad.", "second.")):
        return "differs"
    return "not run"


def excuse_of(case, excused):
    operator = case.split("/")[0]
    names = [case, operator] + [operator + ".second"] * case.endswith(".second")
    return next((excused[name] for name in names if name in excused), None)


def compare_all(folder, names, arguments):
    """{case: reason or None} of all programs of these operators."""
    paths = [path for name in names for path in sorted((folder / name).glob("*.grad.safetensors"))]
    cases = [program_gradients.Case(folder, path) for path in paths]
    reasons = {}
    if arguments.again:
        known = {case.name for case in cases}
        reasons = {case: reason for case, reason in json.loads(arguments.again.read_text())["reasons"].items()
                   if case.removesuffix(".second") in known}
        agreed = {case for case, reason in reasons.items() if not reason}
        cases = [case for case in cases
                 if case.name not in agreed or case.second() and case.name + ".second" not in agreed]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for found in pool.map(lambda case: compared(case, arguments), cases):
            reasons |= found
            for name, reason in found.items():
                if reason:
                    print(f"{name}: {kind_of(reason)}: {reason[:300]}", flush=True)
    return reasons


def summary_of(folder, names, reasons):
    """The object that --json writes."""
    operators, missing = {}, collections.Counter()
    for name in names:
        drawn = opinfo_samples.Record(folder / name).reasons
        own = {case: reason for case, reason in reasons.items() if case.split("/")[0] == name}
        kinds = collections.Counter(kind_of(reason) for reason in own.values())
        operators[name] = {"cases": len(own)} | dict(kinds)
        undrawn = [reason for reason in drawn.values() if reason]
        missing.update(reason.split(":")[0] for reason in undrawn)
        if not own:
            operators[name]["without"] = undrawn[0] if undrawn else "PyTorch has no sample"
    kinds = {order: collections.Counter(kind_of(reason) for case, reason in reasons.items()
                                        if case.endswith(".second") == (order == "second"))
             for order in ("first", "second")}
    return {"operators": operators, "kinds": kinds, "samples without a program": missing, "reasons": reasons}


def report(summary):
    """Prints the counts. True if each case is right or listed, each operator has one, and 99 % are right."""
    excused, uncompared = program_gradients.known(), program_gradients.known("uncompared ")
    reasons, operators = summary["reasons"], summary["operators"]
    without = {name: about["without"] for name, about in operators.items() if "without" in about}
    right = sum(about["cases"] == about.get("agree", 0) > 0 for about in operators.values())
    print(f"{len(operators)} operators, {len(operators) - len(without)} with cases, {right} agree in all of them")
    for kinds in [*summary["kinds"].items(), ("no program", summary["samples without a program"])]:
        print(f"  {kinds[0]}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds[1].items())))
    listed = collections.defaultdict(list)
    for case, reason in reasons.items():
        if reason:
            listed[excuse_of(case, excused) or "not listed: " + reason[:200]].append(case)
    for name, reason in without.items():
        listed[uncompared.get(name) or "not listed, has no case: " + reason[:200]].append(name)
    for excuse, cases in sorted(listed.items()):
        print(f"  {len(cases)}, as {cases[0]}: {excuse}")
    agree = sum(not reason for reason in reasons.values())
    print(f"{agree} of {len(reasons)} cases agree, {100 * agree / max(1, len(reasons)):.2f} %")
    return agree >= 0.99 * len(reasons) and not any(excuse.startswith("not listed") for excuse in listed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=opinfo_samples.MOST_SAMPLES, help="of an operator at most")
    parser.add_argument("--name", action="append", help="only operators whose names begin so")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2))
    parser.add_argument("--draw-only", action="store_true")
    parser.add_argument("--compare-only", action="store_true")
    parser.add_argument("--command", default=str(program_gradients.ROOT / "build/release/tilewright"))
    parser.add_argument("--options", default="", help="more options of `tilewright run`")
    parser.add_argument("--timeout", type=float, default=60, help="seconds of a case")
    parser.add_argument("--json", type=pathlib.Path, help="write names, counts and reasons")
    parser.add_argument("--again", type=pathlib.Path, help="an earlier file of --json")
    arguments = parser.parse_args()
    if arguments.compare_only:
        names = sorted(path.parent.name for path in arguments.folder.glob("*/drawn.json"))
        names = [name for name in names if not arguments.name or name.startswith(tuple(arguments.name))]
    else:
        names = opinfo_samples.draw_all(arguments.folder, arguments.name, arguments.samples, arguments.jobs)
    if arguments.draw_only:
        return 0
    summary = summary_of(arguments.folder, names, compare_all(arguments.folder, names, arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(summary, indent=1))
    return 0 if report(summary) else 1


if __name__ == "__main__":
    sys.exit(main())
