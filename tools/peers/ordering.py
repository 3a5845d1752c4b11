#!/usr/bin/env python3
"""Times sorts, largest elements, running sums and histograms, each as `tilewright run` runs the
program that PyTorch exports, beside PyTorch at once and the standard library of C++
(std_ordering.cpp, which this compiles), in turns.

    tools/peers/ordering.py FOLDER [--tilewright PATH] [--operations NAME...] [--rounds 5]
        [--threads 2] > docs/results/cpu_ordering.json

FOLDER keeps the programs. Elements are random. Needs torch, safetensors and a C++ compiler.
"""
import argparse
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys

import torch
from exported_models import answers, median_of_calls, processor
from safetensors.torch import load_file, save_file
from torch import nn

SHAPES = [(1_000_000,), (1, 65536), (64, 1024), (1024, 64), (4096, 1000), (128, 32000),
          (8, 128256), (16, 16, 512), (100_000, 8), (1, 1000)]


class Operation(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        if self.name == "sort":
            return torch.sort(x, dim=-1, stable=True)
        if self.name == "topk":
            return torch.topk(x, 8)
        if self.name == "cumsum":
            return torch.cumsum(x, -1)
        return torch.histc(x, 256, -4, 4)


class Ours:
    def __init__(self, arguments, path):
        self.path = path
        self.command = [arguments.tilewright, "run", f"{path}.pt2", "--inputs",
                        f"{path}.safetensors", "--outputs", f"{path}.out", "--json", "--mode",
                        "reduce-overhead", "--threads", str(arguments.threads)]

    def run(self, repeat):
        printed = subprocess.run(self.command + ["--repeat", str(repeat)], check=True,
                                 capture_output=True, text=True).stdout
        return json.loads(printed)["median_s"]

    def check(self, name):
        wanted, got = load_file(f"{self.path}.safetensors"), load_file(f"{self.path}.out")
        for output in (key for key in wanted if key.startswith("out.")):
            a, b = wanted[output].double(), got[output].double()
            near = a.abs().max() * 1e-5 if name == "cumsum" else 0
            assert ((a - b).abs() <= near).all(), f"{self.path}: {output} differs"


def measured(arguments, std, name, shape):
    path = arguments.folder / f"{name}_{'x'.join(map(str, shape))}"
    module = Operation(name)
    if not path.with_suffix(".safetensors").exists():
        x = torch.randn(shape)
        torch.export.save(torch.export.export(module, (x,)), f"{path}.pt2")
        results = module(x)
        results = [results] if torch.is_tensor(results) else results
        save_file({"in.0": x, **{f"out.{i}": y.contiguous() for i, y in enumerate(results)}},
                  f"{path}.safetensors")
    x, ours = load_file(f"{path}.safetensors")["in.0"], Ours(arguments, path)
    times = {"torch": [], "std": [], "tilewright": []}
    for _ in range(arguments.rounds):
        times["torch"].append(median_of_calls(lambda: module(x), at_least_s=0.1))
        std.stdin.write(f"{name} {x.numel() // x.shape[-1]} {x.shape[-1]} {arguments.threads} 0.1\n")
        std.stdin.flush()
        times["std"].append(float(std.stdout.readline()))
        times["tilewright"].append(ours.run(max(4, min(2000, int(0.1 / times["torch"][-1])))))
    ours.check(name)
    middle = {who: statistics.median(all_times) for who, all_times in times.items()}
    best = min(["torch", "std"], key=middle.get)
    return {"case": name, "shape": shape, "seconds": middle["tilewright"], "peer": best,
            "ratio": middle[best] / middle["tilewright"],
            "peers": {peer: {"seconds": middle[peer]} for peer in ("torch", "std")}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--operations", nargs="*", default=["cumsum", "sort", "topk", "histogram"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    source, program = pathlib.Path(__file__).with_name("std_ordering.cpp"), arguments.folder / "std"
    subprocess.run(["c++", "-std=c++20", "-O3", "-march=native", source, "-o", program],
                   check=True)
    std = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    results = []
    for name in arguments.operations:
        for shape in SHAPES:
            results.append(measured(arguments, std, name, shape))
            print(results[-1], file=sys.stderr, flush=True)
    std.stdin.close()

    def mean(cases):
        return math.exp(statistics.fmean(math.log(case["ratio"]) for case in cases))

    json.dump({"bench": "ordering", "command": f"tools/peers/ordering.py FOLDER --rounds {arguments.rounds}",
               "date": datetime.date.today().isoformat(), "device": processor(),
               "threads": arguments.threads, "mode": "reduce-overhead", "torch": torch.__version__,
               "geomean_ratio": mean(results),
               "geomeans": {name: mean([case for case in results if case["case"] == name])
                            for name in arguments.operations},
               "results": results}, answers, indent=1)
    answers.write("\n")


if __name__ == "__main__":
    main()
