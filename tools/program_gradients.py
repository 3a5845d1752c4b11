#!/usr/bin/env python3
"""Compares the gradients of exported programs with PyTorch's, by `tilewright run --gradients`.

    tools/program_gradients.py FOLDER [--command PROGRAM] [--options=...] [--case PREFIX ...] [--json FILE]

FOLDER has NAME.pt2 or NAME.onnx, NAME.safetensors with the inputs in.0, ..., and NAME.grad.safetensors, in it or in
folders of it. The last has cotangent.K of the outputs and PyTorch's gradients grad.in.K and grad.param.NAME, also
grad64.in.K where float64 gives another one; of large ones KEY.samples at the flat KEY.positions. Where a program has
several runs, names begin with run0. and so on. The metadata have, as JSON, `error`: the distance of a gradient from the
one in float64 and the norm of that; `zero`: gradients that are 0; `nan` and `refused`: those that are not compared;
`undifferentiated`: those on which no output depends; `sampled`: {KEY: {shape, sum, norm}}.

A gradient agrees if its distance from the one in float64 (PyTorch's own, where that is not stored) is at most the
largest of three bounds: 4 times the distance of PyTorch's; a share of its norm, which is 1e-5 for float32, 2^-7 for
bfloat16, 1e-3 for float16 and 1e-9 for float64; and for programs with parameters, some of whose gradients are 0 but for
roundings, a hundredth of that share of the largest norm among the case's gradients. Elements that are not finite must
be the same. With direction.in.K, second.in.K has the gradients of the sum of all gradients times the directions, which
agree to the same share of the largest norm among the case's gradients, and `second_zero` lists those that are 0.
docs/unsupported_gradients.txt lists the exceptions; a case that is
neither right nor listed fails, and so does one that is listed and right. Needs Python alone.
"""
import argparse
import array
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARE = {"F32": 1e-5, "BF16": 2.0**-7, "F16": 1e-3, "F64": 1e-9}
TIMES_PYTORCHS = 4


class Safetensors:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        self.entries = json.loads(data[8:8 + size])
        self.metadata = self.entries.pop("__metadata__", {})
        self.data = memoryview(data)[8 + size:]
        self.shape = lambda name: self.entries[name]["shape"]
        self.dtype = lambda name: self.entries[name]["dtype"]

    def __contains__(self, name):
        return name in self.entries

    def bytes_of(self, name):
        return self.data[slice(*self.entries[name]["data_offsets"])]

    def values(self, name):
        raw, dtype = self.bytes_of(name), self.dtype(name)
        if dtype == "BF16":
            words = array.array("H", bytes(raw))
            return array.array("f", array.array("I", (w << 16 for w in words)).tobytes())
        if dtype == "F16":
            return [v for v, in struct.iter_unpack("<e", raw)]
        return array.array({"F32": "f", "F64": "d", "I32": "i", "I64": "q"}[dtype], bytes(raw))


def save(path, tensors):
    """`tensors`: {name: (dtype, shape, bytes)}."""
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values if math.isfinite(v)))


def distance(got, wanted):
    """The norm of the difference; None where elements that are not finite differ."""
    squares = []
    for a, b in zip(got, wanted):
        if math.isfinite(b):
            if not math.isfinite(a):
                return None
            squares.append((a - b) ** 2)
        elif not (a == b or (math.isnan(a) and math.isnan(b))):
            return None
    return math.sqrt(math.fsum(squares))


class Case:
    def __init__(self, folder, path):
        self.base = str(path).removesuffix(".grad.safetensors")
        self.name = os.path.relpath(self.base, folder)
        self.gradients = Safetensors(path)
        self.inputs = Safetensors(self.base + ".safetensors")
        about = self.gradients.metadata
        self.about = {key: json.loads(about[key]) for key in about if about[key][:1] in "[{"}
        self.program = next(p for p in (self.base + ".pt2", self.base + ".onnx") if os.path.exists(p))

    def runs(self):
        return sorted({name.split("in.")[0] for name in self.inputs.entries if "out." not in name})

    def second(self):
        """As `wanted`, of the second gradients."""
        names = self.about.get("second_zero", [])
        return {name: name for name in self.gradients.entries if name.startswith("second.")} | {
            f"second.{name}": None for name in names}

    def wanted(self, run):
        """The gradients to compare: {"in.0": key in the file, or None where it is 0}."""
        refused = self.about.get("refused", {})
        wanted = {key.removesuffix(".samples").removeprefix(run + "grad."): key.removesuffix(".samples")
                  for key in self.gradients.entries if key.startswith(run + "grad.") and not key.endswith(".positions")}
        for key in self.about.get("zero", []) + self.about.get("undifferentiated", []):
            if key.startswith(run) and key not in refused and key not in self.about.get("nan", []):
                wanted[key.removeprefix(run)] = None
        return {key: wanted[key] for key in sorted(wanted)
                if not key.startswith("in.") or self.inputs.dtype(run + key) in SHARE}


def reference(case, run, key):
    """(values, positions or None, distance of PyTorch's, norm)."""
    g = case.gradients
    far, size = case.about.get("error", {}).get(key) or (0.0, None)
    if key + ".samples" in g:
        values = g.values(key + ".samples")
        return values, g.values(key + ".positions"), far, size or case.about["sampled"][key]["norm"]
    exact = key.replace("grad.", "grad64.", 1)
    if exact in g:
        values = g.values(exact)
        return values, None, far, norm(values)
    values = g.values(key)
    return values, None, far, size if size is not None else norm(values)


def compare(case, run, results, wanted, least=0.0):
    """The first reason why a gradient is wrong, or None; and the largest distance by its bound. `wanted`: {its name
    among the results: key in the file, or None where it is 0}; `least`: a distance that is always allowed."""
    worst, largest = 0.0, 0.0
    if any(name.startswith(("grad.param.", "second.")) for name in wanted):
        keys = [key for key in [*wanted.values(), *case.wanted(run).values()] if key]
        largest = max((reference(case, run, key)[3] for key in keys), default=0.0)
    for name, stored in wanted.items():
        if name not in results:
            return f"{name} is missing", worst
        got, share = results.values(name), SHARE[results.dtype(name)]
        if stored is None:
            if any(v != 0 for v in got) and not norm(got) <= max(share / 100 * largest, least):
                return f"{name} is not 0: {norm(got):.3g}", worst
            continue
        values, positions, far, size = reference(case, run, stored)
        allowed = max(TIMES_PYTORCHS * far, share * size, share / 100 * largest, least)
        shape = case.about["sampled"][stored]["shape"] if positions else case.gradients.shape(stored)
        if list(results.shape(name)) != list(shape):
            return f"{name} is {results.shape(name)}, PyTorch's {list(shape)}", worst
        if positions:
            if not abs(norm(got) - case.about["sampled"][stored]["norm"]) <= allowed:
                return f"{name} has norm {norm(got):.6g}, PyTorch's {size:.6g}", worst
            got = [got[i] for i in positions]
        off = distance(got, values)
        if off is None:
            return f"{name}: other elements are finite than in PyTorch's", worst
        if off > allowed:
            return f"{name}: distance {off:.3g}, allowed {allowed:.3g} (norm {size:.3g})", worst
        worst = max(worst, off / allowed if allowed else 0.0)
    return None, worst


def run_program(case, run, wanted, arguments, folder, *options):
    """(results, None), or (None, the reason why there are none)."""
    tensors = {}
    for file, kind in ((case.inputs, "in."), (case.gradients, "cotangent."), (case.gradients, "direction.")):
        for name in file.entries:
            if name.startswith(run + kind) and (kind != "direction." or options):
                tensors[name.removeprefix(run)] = (file.dtype(name), file.shape(name), file.bytes_of(name))
    # Outputs to which no gradient flowed in PyTorch have zeros.
    for name in case.inputs.entries:
        key = name.removeprefix(run).replace("out.", "cotangent.")
        if name.startswith(run + "out.") and case.inputs.dtype(name) in SHARE and key not in tensors:
            tensors[key] = (case.inputs.dtype(name), case.inputs.shape(name), bytes(len(case.inputs.bytes_of(name))))
    given, results = os.path.join(folder, "given.safetensors"), os.path.join(folder, "results.safetensors")
    save(given, tensors)
    if os.path.exists(results):
        os.remove(results)
    command = [arguments.command, "run", case.program, "--inputs", given, "--outputs", results,
               "--gradients=" + ",".join(wanted), *options, *arguments.options.split()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return None, f"{run}longer than {arguments.timeout} s"
    if done.returncode < 0:
        return None, f"{run}signal {-done.returncode}: {done.stderr.strip()}"
    if done.returncode != 0:
        return None, f"{run}{done.stderr.strip() or done.returncode}"
    return Safetensors(results), None


def run_case(case, arguments, folder):
    worst = 0.0
    for run in case.runs():
        wanted = case.wanted(run)
        if not wanted:
            continue
        results, reason = run_program(case, run, wanted, arguments, folder)
        if reason:
            return reason, worst
        reason, far = compare(case, run, results, {f"grad.{name}": key for name, key in wanted.items()})
        worst = max(worst, far)
        if reason:
            return run + reason, worst
    return None, worst


def known(kind="case "):
    """{case or folder: reason} of the lines of docs/unsupported_gradients.txt that begin so."""
    lines = (ROOT / "docs/unsupported_gradients.txt").read_text().splitlines()
    return dict(line.split(" ", 2)[1:] for line in lines if line.startswith(kind))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--command", default=str(ROOT / "build/release/tilewright"))
    parser.add_argument("--options", default="", help="more options of `tilewright run`")
    parser.add_argument("--case", action="append", help="only cases whose names begin so")
    parser.add_argument("--json", type=pathlib.Path, help="also write {case: reason or null}")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300)
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.rglob("*.grad.safetensors"))
    cases = [Case(arguments.folder, path) for path in paths]
    if arguments.case:
        cases = [c for c in cases if c.name.startswith(tuple(arguments.case))]
    if not cases:
        sys.exit(f"{arguments.folder} has no NAME.grad.safetensors of these names")

    def one(case):
        with tempfile.TemporaryDirectory() as folder:
            return run_case(case, arguments, folder)

    reasons, excused, farthest = {}, known(), 0.0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, (reason, worst) in zip(cases, pool.map(one, cases)):
            reasons[case.name], farthest = reason, max(farthest, worst)
            if reason:
                print(f"{case.name}: {reason}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(reasons, indent=1))
    excuse = {name: excused.get(name) or excused.get(os.path.dirname(name)) for name in reasons}
    wrong = [name for name, reason in reasons.items() if reason and not excuse[name]]
    outdated = [name for name, reason in reasons.items() if not reason and name in excused]
    agree = sum(reason is None for reason in reasons.values())
    print(f"{agree} of {len(reasons)} agree, the farthest at {farthest:.2g} of its bound")
    differ = [excuse[name] for name, reason in reasons.items() if reason and excuse[name]]
    for reason, count in collections.Counter(differ).most_common():
        print(f"  {count} listed: {reason}")
    for name in outdated:
        print(f"{name} is right, and listed in docs/unsupported_gradients.txt")
    return 1 if wrong or outdated else 0


if __name__ == "__main__":
    sys.exit(main())
