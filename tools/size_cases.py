#!/usr/bin/env python3
"""Writes tests/models/sizes: programs of sizes that vary, numbers that follow from them, and integers that
a program is given, with what PyTorch makes of them for several sizes. Needs PyTorch 2.9 or later."""

import json
import pathlib

import torch
from torch.export import Dim

from undecomposed_cases import described, pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/sizes"


class Numbers(torch.nn.Module):
    """All functions of numbers that PyTorch can write."""

    def forward(self, x, k):
        n = x.shape[0]
        quarter = torch.sym_float(n) / 4
        few, many = torch.sym_min(n * 2, 9), torch.sym_max(n, k)
        is_short = torch.sym_not(n > 4)
        return (x.new_ones(many, few) * quarter, torch.arange(few), few, many, quarter, torch.sym_int(quarter),
                torch.sym_int(-torch.sym_float(k) / 2), torch.sym_max(n, 2.5), torch.sym_min(0.5, torch.sym_float(k)),
                n ** 2, 2 ** n, n ** -1, torch.sym_float(k) ** 0.5, torch.sym_sqrt(n), torch.sym_ite(is_short, n, k),
                torch.sym_ite((n > 2) & (k > 3), many, -k), torch.sym_ite((n == k) | (n != 5), few, k - 7),
                n << 2, k >> 1, (-k) // 2, (-k) % 3, n / k, -quarter)


class Choice(torch.nn.Module):
    """By a comparison of a size."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x * 2, lambda x: x - 1, (x,))


class Integers(torch.nn.Module):
    """Integers that are sizes, places and factors, and go into choices of both kinds."""

    def forward(self, x, k, shift):
        y = torch.cond(k > 3, lambda x: x * k, lambda x: x - k, (x,))
        z = torch.cond(x.sum() > 0, lambda x: x + shift, lambda x: x * shift, (x,))
        return y[:k], z, x.repeat(k, 1), torch.full((k,), 2.5) * shift, shift - k, torch.arange(k) + shift


class Rows(torch.nn.Module):
    """An integer that is the size of an axis as well."""

    def forward(self, x, k):
        torch._check(x.shape[0] == k)
        return x + torch.arange(k).unsqueeze(1)


def main():
    torch.manual_seed(5)
    FOLDER.mkdir(exist_ok=True)
    any_size = Dim.DYNAMIC
    rows = lambda n: torch.randn(n, 2)
    programs = {
        "numbers": (Numbers(), ({0: any_size}, any_size), [(rows(5), 7), (rows(3), 3), (rows(2), 12), (rows(9), 2)]),
        "choice": (Choice(), ({0: any_size},), [(rows(5),), (rows(4),), (rows(2),)]),
        "integers": (Integers(), ({0: any_size}, any_size, any_size),
                     [(rows(5).abs(), 4, 3), (-rows(5).abs(), 2, -2), (rows(6), 3, 0), (rows(6), 3, 11)]),
        "rows": (Rows(), ({0: any_size}, any_size), [(rows(5), 5), (rows(3), 3)]),
    }
    cases = {}
    for name, (model, sizes, calls) in programs.items():
        with torch.no_grad():
            program = torch.export.export(model, calls[0], dynamic_shapes=sizes)
            torch.export.save(program, FOLDER / f"{name}.pt2")
            pack(FOLDER / f"{name}.pt2")
            cases[name] = []
            for inputs in calls:
                outputs = program.module()(*inputs)
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                cases[name].append({"inputs": [described(x) for x in inputs], "outputs": [described(x) for x in outputs]})
    (FOLDER / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
