#!/usr/bin/env python3
"""Times single operators, each as `tilewright run` runs the program that PyTorch exports, beside
PyTorch at once, in turns: a look at all kinds of them, for what is far slower than it should be.

    tools/peers/operators.py FOLDER [--tilewright PATH] [--operators NAME...] [--rounds 3]
        [--threads 2] > docs/results/cpu_operators.json

FOLDER keeps the programs. Elements are random. Needs torch and safetensors.
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
import torch.nn.functional as F
from exported_models import answers, median_of_calls, processor
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)
X, Y, V = torch.randn(512, 1024), torch.randn(512, 1024), torch.randn(1024)
IDS, TOKENS = torch.randint(0, 1024, (512, 1024)), torch.randint(0, 2000, (4096,))
ROWS, LABELS = torch.randint(0, 512, (512,)), torch.randint(0, 1024, (512,))
TABLE, IMAGE = torch.randn(2000, 512), torch.randn(4, 32, 64, 64)
SEQUENCE, BATCH = torch.randn(8, 128, 256), torch.randn(64, 128, 128)
SQUARE = torch.randn(16, 64, 64)
DEFINITE = SQUARE @ SQUARE.mT + 64 * torch.eye(64)
MATRIX = torch.randn(256, 256)

OPERATORS = {
    # elements and rows by their numbers
    "gather": (lambda a, i: torch.gather(a, 1, i), X, IDS),
    "gather of rows": (lambda a, i: torch.gather(a, 0, i), X, IDS % 512),
    "index_select of columns": (lambda a, i: a.index_select(1, i), X, IDS[0]),
    "embedding": (lambda w, i: F.embedding(i, w), TABLE, TOKENS),
    "embedding_bag": (lambda w, i, o: F.embedding_bag(i, w, o, mode="mean"), TABLE, TOKENS,
                      torch.arange(0, 4096, 16)),
    "embedding_bag of sums": (lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), TABLE, TOKENS,
                              torch.arange(0, 4096, 16)),
    "indices of two axes": (lambda a, i, j: a[i, j], X, IDS[0] % 512, IDS[1]),
    "scatter": (lambda a, i, b: torch.scatter(a, 1, i, b), X, IDS, Y),
    "scatter_add": (lambda a, i, b: torch.scatter_add(a, 1, i, b), X, IDS, Y),
    "scatter_add of rows": (lambda a, i, b: torch.scatter_add(a, 0, i, b), X, IDS % 512, Y),
    "index_add": (lambda a, i, b: a.index_add(0, i, b), X, ROWS, Y),
    "index_put": (lambda a, i, b: a.index_put((i,), b), X, torch.randperm(512), Y),
    "nonzero": (lambda a: torch.nonzero(a > 2).sum(), X),
    "one_hot": (lambda i: F.one_hot(i, 100), TOKENS % 100),
    "bucketize": (lambda a, b: torch.bucketize(a, b), X, torch.sort(V)[0]),
    "searchsorted": (lambda a, b: torch.searchsorted(b, a), X, torch.sort(X, 1)[0]),
    "bincount": (lambda i: torch.bincount(i.flatten(), minlength=1024)[:1024], IDS),
    # where elements lie
    "flip": (lambda a: a.flip(1), X),
    "flip of rows": (lambda a: a.flip(0), X),
    "rot90": (lambda a: torch.rot90(a, 1, (0, 1)), X),
    "roll": (lambda a: a.roll(37, 1), X),
    "transpose": (lambda a: a.t().contiguous(), X),
    "channels last": (lambda a: a.permute(0, 2, 3, 1).contiguous(), IMAGE),
    "cat of rows": (lambda a, b: torch.cat([a, b], 0), X, Y),
    "cat of columns": (lambda a, b: torch.cat([a, b], 1), X, Y),
    "stack": (lambda a, b: torch.stack([a, b], -1), X, Y),
    "repeat": (lambda a: a.repeat(2, 2), X),
    "repeat_interleave": (lambda a: a.repeat_interleave(2, 1), X),
    "tril": (torch.tril, X),
    "pad": (lambda a: F.pad(a, (3, 3, 3, 3)), IMAGE),
    "pad by reflection": (lambda a: F.pad(a, (3, 3, 3, 3), mode="reflect"), IMAGE),
    "pixel_shuffle": (lambda a: F.pixel_shuffle(a, 2), IMAGE),
    "unfold": (lambda a: F.unfold(a, 3, padding=1), IMAGE),
    "fold": (lambda a: F.fold(a, (64, 64), 3, padding=1), torch.randn(4, 288, 4096)),
    # pointwise
    "where": (lambda a, b: torch.where(a > b, a, b * 2), X, Y),
    "masked_fill": (lambda a, b: a.masked_fill(b > 0, -1e9), X, Y),
    "clamp": (lambda a: a.clamp(-1, 1), X),
    "gelu": (F.gelu, X),
    "erf": (torch.erf, X),
    "erfinv": (lambda a: torch.erfinv(a.tanh() * 0.9), X),
    "sin": (torch.sin, X),
    "tan": (torch.tan, X),
    "atan2": (torch.atan2, X, Y),
    "pow": (lambda a, b: torch.pow(a.abs(), b), X, Y),
    "log1p": (lambda a: torch.log1p(a.abs()), X),
    "lgamma": (lambda a: torch.lgamma(a.abs() + 0.1), X),
    "digamma": (lambda a: torch.digamma(a.abs() + 0.1), X),
    "polygamma": (lambda a: torch.polygamma(1, a.abs() + 0.1), X),
    "ndtri": (lambda a: torch.special.ndtri(a), torch.rand(512, 1024)),
    "fmod": (torch.fmod, X, Y),
    "remainder": (torch.remainder, X, Y),
    "floor_divide of integers": (lambda a, b: torch.div(a, b + 1, rounding_mode="floor"), IDS,
                                 IDS.t().contiguous().view(512, 1024)),
    "remainder of integers": (lambda a, b: a % (b + 1), IDS,
                              IDS.t().contiguous().view(512, 1024)),
    "bits": (lambda a, b: (a & b) ^ (a << 2), IDS, IDS + 1),
    "to bf16": (lambda a: a.to(torch.bfloat16), X),
    "exp of f64": (torch.exp, X.double()),
    # reductions and norms
    "softmax": (lambda a: a.softmax(-1), X),
    "softmax along rows": (lambda a: a.softmax(0), X),
    "log_softmax": (lambda a: a.log_softmax(-1), X),
    "logsumexp": (lambda a: a.logsumexp(1), X),
    "layer_norm": (lambda a: F.layer_norm(a, (1024,)), X),
    "group_norm": (lambda a: F.group_norm(a, 8), IMAGE),
    "instance_norm": (F.instance_norm, IMAGE),
    "batch_norm in training": (lambda a: F.batch_norm(a, None, None, training=True), IMAGE),
    "sum": (lambda a: a.sum(1), X),
    "sum of rows": (lambda a: a.sum(0), X),
    "sum of a middle axis": (lambda a: a.sum(1), BATCH),
    "prod": (lambda a: a.prod(1), X),
    "var": (lambda a: a.var(1), X),
    "var of rows": (lambda a: a.var(0), X),
    "norm": (lambda a: a.norm(dim=1), X),
    "argmax": (lambda a: a.argmax(1), X),
    "argmax of rows": (lambda a: a.argmax(0), X),
    "max with places": (lambda a: a.max(1), X),
    "isnan, any": (lambda a: torch.isnan(a).any(), X),
    "cosine_similarity": (F.cosine_similarity, X, Y),
    "cumsum of rows": (lambda a: a.cumsum(0), X),
    "cumprod": (lambda a: a.cumprod(1), X),
    "cummax": (lambda a: a.cummax(1), X),
    "median": (lambda a: a.median(1), X),
    "kthvalue": (lambda a: a.kthvalue(100, 1), X),
    "quantile": (lambda a: a.quantile(0.3, dim=1), X),
    "cross_entropy": (F.cross_entropy, X, LABELS),
    "nll_loss": (F.nll_loss, X, LABELS),
    "nll_loss of images": (F.nll_loss, torch.randn(4, 21, 128, 128),
                           torch.randint(0, 21, (4, 128, 128))),
    # products, windows, networks
    "matmul": (lambda a, b: a @ b.t(), X, Y),
    "matmul of a vector": (torch.matmul, X, V),
    "bmm": (lambda a: a @ a, BATCH),
    "outer": (torch.outer, V, V + 1),
    "cdist": (torch.cdist, X, Y),
    "conv2d 3x3": (lambda a, w: F.conv2d(a, w, padding=1), IMAGE, torch.randn(32, 32, 3, 3)),
    "conv2d 1x1": (F.conv2d, IMAGE, torch.randn(64, 32, 1, 1)),
    "conv2d of each channel": (lambda a, w: F.conv2d(a, w, padding=1, groups=32), IMAGE,
                               torch.randn(32, 1, 3, 3)),
    "conv_transpose2d": (lambda a, w: F.conv_transpose2d(a, w, stride=2), IMAGE,
                         torch.randn(32, 16, 2, 2)),
    "conv1d": (lambda a, w: F.conv1d(a, w, padding=3), SEQUENCE, torch.randn(64, 128, 7)),
    "conv3d": (lambda a, w: F.conv3d(a, w, padding=1), torch.randn(1, 8, 16, 32, 32),
               torch.randn(16, 8, 3, 3, 3)),
    "max_pool2d": (lambda a: F.max_pool2d(a, 3, 2, 1), IMAGE),
    "avg_pool2d": (lambda a: F.avg_pool2d(a, 2), IMAGE),
    "adaptive_avg_pool2d": (lambda a: F.adaptive_avg_pool2d(a, 7), IMAGE),
    "interpolate, nearest": (lambda a: F.interpolate(a, scale_factor=2.0), IMAGE),
    "interpolate, bilinear": (lambda a: F.interpolate(a, scale_factor=2.0, mode="bilinear"),
                              IMAGE),
    "interpolate, bicubic": (lambda a: F.interpolate(a, size=(96, 96), mode="bicubic"), IMAGE),
    "interpolate, bicubic, antialiased": (lambda a: F.interpolate(a, size=(40, 40), mode="bicubic",
                                                                  antialias=True), IMAGE),
    "grid_sample": (lambda a, g: F.grid_sample(a, g, align_corners=False), IMAGE,
                    torch.rand(4, 64, 64, 2) * 2 - 1),
    "attention, causal": (lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True),
                          torch.randn(2, 8, 256, 64)),
    "lstm": (nn.LSTM(256, 128, batch_first=True), SEQUENCE),
    "gru": (nn.GRU(256, 128, batch_first=True), SEQUENCE),
    # matrices, transforms
    "cholesky": (torch.linalg.cholesky, DEFINITE),
    "inv": (torch.linalg.inv, DEFINITE),
    "solve": (torch.linalg.solve, DEFINITE, torch.randn(16, 64, 4)),
    "det": (torch.linalg.det, DEFINITE),
    "qr": (torch.linalg.qr, DEFINITE),
    "eigh": (torch.linalg.eigh, DEFINITE[:4].clone()),
    "svd": (torch.linalg.svd, DEFINITE[:2].clone()),
    "qr of 256 x 256": (torch.linalg.qr, MATRIX),
    "eigh of 256 x 256": (torch.linalg.eigh, MATRIX @ MATRIX.mT),
    "svd of 256 x 256": (torch.linalg.svd, MATRIX),
    "rfft": (lambda a: torch.fft.rfft(a).abs(), X),
    "fft2": (lambda a: torch.fft.fft2(a).abs(), IMAGE),
    "stft": (lambda a: torch.stft(a, 256, window=torch.hann_window(256),
                                  return_complex=True).abs(), torch.randn(4, 16000)),
}


class Operator(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *operands):
        return self.function(*operands)


def measured(arguments, name, function, operands):
    path = arguments.folder / "".join(c if c.isalnum() else "_" for c in name)
    module = Operator(function).eval()
    if not path.with_suffix(".safetensors").exists():
        torch.export.save(torch.export.export(module, operands), f"{path}.pt2")
        save_file({f"in.{i}": x.clone() for i, x in enumerate(operands)}, f"{path}.safetensors")
    command = [arguments.tilewright, "run", f"{path}.pt2", "--inputs", f"{path}.safetensors",
               "--outputs", f"{path}.out", "--json", "--mode", "reduce-overhead", "--threads",
               str(arguments.threads)]
    theirs, ours = [], []
    for _ in range(arguments.rounds):
        theirs.append(median_of_calls(lambda: module(*operands), at_least_s=0.1))
        repeat = max(4, min(1000, int(0.1 / theirs[-1])))
        printed = subprocess.run(command + ["--repeat", str(repeat)], check=True,
                                 capture_output=True, text=True).stdout
        ours.append(json.loads(printed)["median_s"])
    seconds, peer = statistics.median(ours), statistics.median(theirs)
    return {"case": name, "seconds": seconds, "peer": "torch", "ratio": peer / seconds,
            "peers": {"torch": {"seconds": peer}}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--operators", nargs="*", default=list(OPERATORS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results = []
    with torch.no_grad():
        for name in arguments.operators:
            function, *operands = OPERATORS[name]
            results.append(measured(arguments, name, function, tuple(operands)))
            print(results[-1], file=sys.stderr, flush=True)
    ratios = [result["ratio"] for result in results]
    json.dump({"bench": "operators", "command": "tools/peers/operators.py FOLDER"
               f" --rounds {arguments.rounds} --threads {arguments.threads}",
               "date": datetime.date.today().isoformat(), "device": processor(),
               "threads": arguments.threads, "mode": "reduce-overhead", "torch": torch.__version__,
               "geomean_ratio": math.exp(statistics.fmean(map(math.log, ratios))),
               "results": results}, answers, indent=1)
    answers.write("\n")


if __name__ == "__main__":
    main()
