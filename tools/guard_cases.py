#!/usr/bin/env python3
"""Writes tests/models/guards: programs that PyTorch exported for some sizes only, and programs whose sizes
follow from floats, with what PyTorch makes of them inside these sizes and with its refusals outside. Needs
PyTorch 2.9 or later."""

import json
import math
import pathlib

import torch
import torch.nn.functional as F
from torch.export import Dim
from torch.utils import _pytree as pytree

from undecomposed_cases import described, pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/guards"
ANY = Dim.AUTO
D = Dim("d", min=3, max=20)


def module(function):
    class Module(torch.nn.Module):
        pass

    Module.forward = function
    return Module()


def parity(self, x):
    return x * 2 if x.shape[0] % 2 == 0 else x * 3


def larger(self, x):
    return x * 2 if x.shape[0] > x.shape[1] else x * 3


def unequal(self, x, y):
    return x.sum() + y.sum() if x.shape[0] != y.shape[0] else x + y


def halves(self, x):
    return x[: int(x.shape[0] * 0.5)]


def quotients(self, x):
    n, m = x.shape
    if n // 3 > m - 1 and -(-n // 4) < 5 and (n * m) % 4 == 2:
        return x + 1
    return x - 1


def floats(self, x):
    n, m = x.shape
    if n / m < 2.5 and math.floor(n * 0.3) == 2 and math.ceil(m * 0.7) == 3 and round(n * 0.25) == 2:
        return x + 1
    return x - 1


def powers(self, x):
    n, m = x.shape
    if n**2 > m * m * m and max(n, m) < 20 and min(n, 2 * m) > 5 and abs(n - 3 * m) > 0:
        return x + 1
    return x - 1


def roots(self, x):
    n = x.shape[0]
    return x + 1 if torch.sym_sqrt(n) > 2.9 and torch.sym_float(n) ** 0.5 < 4 else x - 1


def nested(self, x, *args, d=None, **more):
    if x.shape[0] % 2 == 0 and args[0].shape[0] > x.shape[0] and d["K.b"][1].shape[0] % 3 != 1:
        return x * 2 + more["z"].sum()
    return x * 3


# The name of the first input, a_0, is that of a parameter as well. PyTorch confuses the two and refuses all calls,
# so that the module's own results count.
def same_names(self, a, a_0):
    return a_0 * 2 if a[0].shape[0] < a_0.shape[0] else a_0 * 3


def integers(self, x, k):
    return x * k if k % 3 == 1 and k > x.shape[0] else x


def added(self, x, y):
    return x.sum() + y.sum()


def doubled(self, x):
    return x * 2


def joined(self, x, y):
    return x[1:] + y


def resized(**options):
    return lambda self, x: F.interpolate(x, **options)


def window(self, x):
    n = x.shape[2]
    size = int(n * 0.75)
    start = (n - size) // 2
    return x[:, :, start : start + size].mean(dim=(2, 3))


def rows(*sizes):
    return torch.randn(*sizes)


def images(*sizes):
    return [(rows(1, 2, *size),) for size in sizes]


# forward(), the sizes that vary, the arguments by which it is exported, and other ones.
PROGRAMS = {
    "parity": (parity, ({0: ANY, 1: ANY},), [(rows(8, 6),), (rows(2, 3),), (rows(3, 7),), (rows(9, 6),)]),
    "larger": (larger, ({0: ANY, 1: ANY},), [(rows(8, 6),), (rows(5, 4),), (rows(4, 12),), (rows(6, 6),)]),
    "unequal": (unequal, ({0: ANY}, {0: ANY}), [(rows(8), rows(6)), (rows(2), rows(3)), (rows(5), rows(5))]),
    "halves": (halves, ({0: ANY, 1: ANY},), [(rows(8, 6),), (rows(9, 2),), (rows(10, 2),), (rows(18, 6),), (rows(7, 3),)]),
    "quotients": (quotients, ({0: ANY, 1: ANY},),
                  [(rows(18, 3),), (rows(18, 5),), (rows(17, 3),), (rows(22, 3),), (rows(9, 3),), (rows(14, 3),)]),
    "floats": (floats, ({0: ANY, 1: ANY},), [(rows(8, 4),), (rows(9, 4),), (rows(7, 4),), (rows(8, 5),), (rows(8, 3),),
                                             (rows(6, 4),), (rows(10, 4),)]),
    "powers": (powers, ({0: ANY, 1: ANY},), [(rows(11, 3),), (rows(19, 7),), (rows(9, 3),), (rows(21, 3),), (rows(8, 4),),
                                             (rows(11, 2),)]),
    "roots": (roots, ({0: ANY},), [(rows(9),), (rows(15),), (rows(8),), (rows(16),)]),
    "integers": (integers, ({0: ANY}, ANY), [(rows(3), 7), (rows(5), 10), (rows(3), 8), (rows(8), 7)]),
    "same_names": (same_names, ([{0: ANY}], {0: ANY}), [([rows(3)], rows(5)), ([rows(2)], rows(7))]),
    # Sizes that are functions of one that is the size of no axis.
    "derived": (added, ({0: D}, {0: 2 * D}), [(rows(8), rows(16)), (rows(20), rows(40)), (rows(8), rows(17)),
                                              (rows(21), rows(42)), (rows(2), rows(4))]),
    "shifted": (added, ({0: D + 1}, {0: 2 * D + 1}), [(rows(9), rows(17)), (rows(4), rows(7)), (rows(9), rows(18)),
                                                      (rows(3), rows(5)), (rows(22), rows(43))]),
    "even": (doubled, ({0: 2 * D},), [(rows(16),), (rows(17),), (rows(6),), (rows(42),), (rows(4),)]),
    "ranges": (joined, ({0: Dim.AUTO(min=4, max=30)}, {0: ANY}),
               [(rows(9), rows(8)), (rows(30), rows(29)), (rows(9), rows(9)), (rows(3), rows(2)), (rows(40), rows(39))]),
    "half": (resized(scale_factor=0.5), ({2: ANY, 3: ANY},), images((6, 8), (7, 11), (4, 5), (3, 8))),
    "half_bilinear": (resized(scale_factor=0.5, mode="bilinear"), ({2: ANY, 3: ANY},), images((6, 8), (7, 11), (2, 9))),
    "half_recomputed": (resized(scale_factor=0.5, mode="bilinear", recompute_scale_factor=True), ({2: ANY, 3: ANY},),
                        images((6, 8), (7, 11))),
    "larger_bilinear": (resized(scale_factor=1.5, mode="bilinear"), ({2: ANY, 3: ANY},), images((6, 4), (7, 5))),
    "third_bicubic": (resized(scale_factor=0.3, mode="bicubic"), ({2: ANY, 3: ANY},), images((10, 12), (17, 8))),
    "window": (window, ({2: ANY},), images((8, 3), (13, 3))),
}
# With nested arguments, which are given by keyword, too.
NESTED = [((rows(4), rows(5)), {"d": {"K.b": [rows(2), rows(5)]}, "z": rows(1)}),
          ((rows(2), rows(6)), {"d": {"K.b": [rows(2), rows(6)]}, "z": rows(1)}),
          ((rows(3), rows(5)), {"d": {"K.b": [rows(2), rows(5)]}, "z": rows(1)}),
          ((rows(4), rows(4)), {"d": {"K.b": [rows(2), rows(5)]}, "z": rows(1)}),
          ((rows(4), rows(5)), {"d": {"K.b": [rows(2), rows(7)]}, "z": rows(1)})]
NESTED_SIZES = {"x": {0: ANY}, "args": ({0: ANY},), "d": {"K.b": [None, {0: ANY}]}, "more": {"z": None}}


def answer(program, args, kwargs):
    try:
        outputs = program(*args, **kwargs)
    except AssertionError as error:
        assert "Guard failed" in str(error), error
        return {"refused": str(error)}
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return {"outputs": [described(x) for x in outputs]}


def write(name, model, sizes, calls, decomposed):
    program = torch.export.export(model, *calls[0], dynamic_shapes=sizes)
    guarded = model if name == "same_names" else program.module()
    if decomposed:
        program = program.run_decompositions()
    torch.export.save(program, FOLDER / f"{name}.pt2")
    pack(FOLDER / f"{name}.pt2")
    return [{"inputs": [described(x) for x in pytree.tree_leaves((args, kwargs))], **answer(guarded, args, kwargs)}
            for args, kwargs in calls]


def main():
    torch.manual_seed(5)
    FOLDER.mkdir(exist_ok=True)
    cases = {}
    with torch.no_grad():
        for name, (forward, sizes, calls) in PROGRAMS.items():
            decomposed = forward.__name__ == "<lambda>"
            cases[name] = write(name, module(forward), sizes, [(args, {}) for args in calls], decomposed)
        cases["nested"] = write("nested", module(nested), NESTED_SIZES, NESTED, False)
    (FOLDER / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
