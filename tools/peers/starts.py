#!/usr/bin/env python3
"""Measures how long trained ONNX models take from their file to their first result in a new process:
as a package, with the code that an earlier process kept, with an empty cache folder; and ONNX
Runtime with the model as it is and with the file of its optimised model.

    tools/peers/starts.py FOLDER [--tilewright PATH] [--models NAME...] [--rounds 5] [--threads 1]
        > docs/results/cpu_starts.json

FOLDER is that of real_models.py. Each figure is the time in which the file is opened, read, made
ready and called once, without the start of the process and the imports of Python; and the time of a
processor that the whole process took beyond one that does nothing but start. Ways of a model take
turns; medians. Needs numpy, onnxruntime, safetensors.
"""
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

import onnxruntime
from safetensors.numpy import save_file

import real_models

OURS = ("package", "warm", "cold")
PEER = r"""
import sys, time, numpy, onnxruntime
from safetensors.numpy import load_file
file, inputs, threads, optimised = sys.argv[1], load_file(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 4
if optimised == "1":
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
if file:
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs)
    print(time.perf_counter() - begin)
else:
    print(0)
"""


def processor_seconds(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip()[-400:])
    return run.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(arguments, model, scratch, constants, cache):
    command = [arguments.tilewright, "run", str(model), "--inputs", str(scratch / "in.safetensors"),
               "--threads", str(arguments.threads), "--json"]
    if model.suffix == ".onnx":
        for name, value in constants.items():
            command += ["--constant", f"{name}={value}"]
    out, used = processor_seconds(command, dict(os.environ, TILEWRIGHT_CACHE_DIR=str(cache)))
    record = json.loads(out)
    return record["load_s"] + record["first_s"], used


def theirs(arguments, file, scratch, is_optimised):
    command = [sys.executable, "-c", PEER, str(file), str(scratch / "feeds.safetensors"),
               str(arguments.threads), "1" if is_optimised else "0"]
    out, used = processor_seconds(command, os.environ)
    _, idle = processor_seconds(command[:3] + [""] + command[4:], os.environ)
    return float(out), max(0.0, used - idle)


def write_optimised(file, to):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(to)
    onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def measured(arguments, name, scratch):
    path, make, constants, _ = real_models.CASES[name]
    file, inputs = arguments.folder / path, make()
    taken = {one.name for one in onnxruntime.InferenceSession(str(file)).get_inputs()}
    save_file(inputs, scratch / "in.safetensors")
    save_file({key: value for key, value in (inputs | constants).items() if key in taken},
              scratch / "feeds.safetensors")
    package, optimised = scratch / "model.twp", scratch / "optimised.onnx"
    command = [arguments.tilewright, "package", str(file), "-o", str(package), "--inputs",
               str(scratch / "in.safetensors")]
    for key, value in constants.items():
        command += ["--constant", f"{key}={value}"]
    made = subprocess.run(command, capture_output=True, text=True)
    write_optimised(file, optimised)
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as empty:
        ways = {"cold": lambda: ours(arguments, file, scratch, constants, "off"),
                "warm": lambda: ours(arguments, file, scratch, constants, cache),
                "onnxruntime": lambda: theirs(arguments, file, scratch, False),
                "onnxruntime_optimised": lambda: theirs(arguments, optimised, scratch, True)}
        if made.returncode == 0:
            ways["package"] = lambda: ours(arguments, package, scratch, constants, empty)
        ways["warm"]()
        found = {way: [call()] for way, call in ways.items()}
        for _ in range(arguments.rounds - 1):
            for way, call in ways.items():
                found[way].append(call())
    row = {"case": name, "bytes": file.stat().st_size}
    for way, calls in found.items():
        row[f"{way}_s"] = statistics.median(call for call, _ in calls)
        row[f"{way}_processor_s"] = statistics.median(used for _, used in calls)
    if made.returncode == 0:
        row["package_bytes"] = package.stat().st_size
    else:
        row["no_package"] = made.stderr.strip()
    return row


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--models", nargs="*", help="parts of the names of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rows = []
    for name in real_models.CASES:
        if arguments.models and not any(part in name for part in arguments.models):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            rows.append(measured(arguments, name, pathlib.Path(scratch)))
        each = rows[-1]
        best = min(each["onnxruntime_s"], each["onnxruntime_optimised_s"])
        shown = [f"{way} {each[f'{way}_s'] * 1e3:.1f} ({best / each[f'{way}_s']:.2f})" for way in OURS
                 if f"{way}_s" in each]
        print(f"{name:34} onnxruntime {each['onnxruntime_s'] * 1e3:.1f}, "
              f"{each['onnxruntime_optimised_s'] * 1e3:.1f} ms, {', '.join(shown)} "
              f"{each.get('no_package', '')}", file=sys.stderr, flush=True)
    words = ["FOLDER" if word == str(arguments.folder) else word for word in sys.argv[1:]]
    best = {row["case"]: min(row["onnxruntime_s"], row["onnxruntime_optimised_s"]) for row in rows}
    json.dump({"bench": "starts", "command": " ".join(["tools/peers/starts.py", *words]),
               "date": datetime.date.today().isoformat(), "device": real_models.processor(),
               "threads": arguments.threads, "onnxruntime": onnxruntime.__version__,
               "geomean_ratio": {way: geomean([best[row["case"]] / row[f"{way}_s"] for row in rows
                                               if f"{way}_s" in row]) for way in OURS},
               "results": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
