#!/usr/bin/env python3
"""Writes tests/models/operators: programs of a few operators each, with run_decompositions() and
without, with what PyTorch makes of them. Complex tensors of the caller's are written as pairs.

usage: operator_cases.py [NAME...]    (these programs alone; wants PyTorch 2.8 or later)"""

import json
import pathlib
import sys

import torch
from torch import nn

from complex_cases import seen
from undecomposed_cases import pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/operators"


class Given(nn.Module):
    """What is written to tensors that are given: whole ones, views, some of another dtype, an
    argument, several at once, and one that has no elements yet."""

    def forward(self, x, y):
        first = torch.empty_like(x)
        torch.div(x, y, out=first)
        torch.add(first, y, alpha=2, out=first)
        whole = torch.zeros(4, 4)
        torch.mul(x, y, out=whole[1:3])
        torch.exp(x, out=whole[0:2])
        values, places = torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.max(x, dim=1, out=(values, places))
        wide = torch.empty(2, 4, dtype=torch.float64)
        torch.div(x, y, rounding_mode="floor", out=wide)
        torch.sum(x, 1, out=wide[:, 0])
        none = torch.empty(0)
        torch.pow(x, 2, out=none)
        product = torch.empty(2, 2)
        torch.mm(x, y.T, out=product)
        flags = torch.empty(2, 4, dtype=torch.bool)
        torch.gt(x, 0.5, out=flags)
        both = torch.empty(4, 4)
        torch.cat([x, y], out=both)
        torch.clamp(x, 0, 1, out=y)
        return first, whole, values, places, wide, none, product, flags, both


class Bits(nn.Module):
    """Elements seen as other types of the same, of a smaller and of a greater size."""

    def forward(self, x, wide, whole, bytes):
        half = x.to(torch.bfloat16)
        return (x.view(torch.int32), x.view(torch.int64), x.view(torch.int16), x.view(torch.uint8),
                wide.view(torch.int64), wide.view(torch.int32), wide.view(torch.int8),
                half.view(torch.int16), half.view(torch.int32), whole.view(torch.float32),
                (whole.view(torch.float32) * 2).view(torch.int32),
                bytes.view(torch.float8_e4m3fn).to(torch.float32), bytes.view(torch.int32),
                bytes.view(torch.float16).view(torch.int16), (bytes & 1).view(torch.bool),
                x.view(torch.complex64) * 2, x.view(torch.complex64).view(torch.int64),
                wide[0, 0].view(torch.int64))


def main():
    FOLDER.mkdir(exist_ok=True)
    known = FOLDER / "cases.json"
    cases = json.loads(known.read_text()) if known.exists() else {}
    torch.manual_seed(7)

    programs = {
        "given": (Given, (torch.randn(2, 4), torch.rand(2, 4) + 0.5)),
        # Numbers of few bits, which are written without loss.
        "bits": (Bits, (torch.randint(-99, 99, (3, 8)) / 8, torch.randint(-99, 99, (2, 2)).double() / 8,
                        torch.randint(-2**31, 2**31 - 1, (2, 4), dtype=torch.int32),
                        torch.randint(0, 256, (2, 8), dtype=torch.int32).to(torch.uint8))),
    }
    for name, (kind, inputs) in programs.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        model = kind()
        with torch.no_grad():
            program = torch.export.export(model, tuple(x.clone() for x in inputs))
            torch.export.save(program, FOLDER / f"{name}.pt2")
            torch.export.save(program.run_decompositions(), FOLDER / f"{name}_decomposed.pt2")
            for path in FOLDER.glob(f"{name}*.pt2"):
                pack(path)
            given = [seen(x) for x in inputs]
            outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        cases[name] = {"inputs": given, "after": [seen(x) for x in inputs],
                       "outputs": [seen(x) for x in outputs]}
    known.write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
