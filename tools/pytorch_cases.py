#!/usr/bin/env python3
"""Writes what PyTorch makes of small cases: tests/graph/pytorch_cases.json.

usage: pytorch_cases.py [FILE]    (wants torch)

The test PyTorchCases runs each of them here, at once and compiled, and needs no PyTorch. A case is
    {"f": function, "a": [arguments], "o": options, "r": result, "tol": relative tolerance}
with a tensor as {"d": dtype, "s": shape, "v": elements}, elements that are no numbers as text, "x" a
shape that it is expanded to and "p" an order of its axes afterwards. A result "error" says that
PyTorch raises; several results are a list. Documented differences (graph/tensor/tensor.h) have no
case: dividing by elements that are the integer 0, u16, u32 and u64, integers where PyTorch wants
floats, a var_mean of infinities, ranks among bool.
"""
import itertools
import json
import math
import random
import sys

import numpy
import torch

import pytorch_layers
import pytorch_movement
import pytorch_orders

NAMES = {torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16",
         torch.int32: "i32", torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16",
         torch.float32: "f32", torch.float64: "f64"}
ALL = list(NAMES)
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
INF, NAN = math.inf, math.nan
# The relative error of one rounding to the type, after arithmetic that is about as exact as f32.
UNIT = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 2e-6, torch.float64: 1e-12}
dice = random.Random(7)
cases = []


def attention(q, k, v, alignment="top_left", causal=False, scale=None):
    mask = None
    if causal and alignment == "bottom_right":
        rows, keys = q.shape[2], k.shape[2]
        mask, causal = torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows), False
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


def reduction(function):
    def run(x, axes=None, keep=False):
        return function(x, dim=axes if axes else tuple(range(x.dim())), keepdim=keep)
    return run


def product(x, axes=None, keep=False):
    if not axes:
        return torch.prod(x)
    return torch.prod(x, dim=axes[0], keepdim=keep)


def spread(function):
    def run(x, axes=None, keep=False, correction=1):
        return function(x, dim=tuple(axes) if axes else None, correction=correction, keepdim=keep)
    return run


def place(function):
    def run(x, axis=None, keep=False):
        return function(x, dim=axis, keepdim=keep)
    return run


def extrema(x, axis=None, keep=False):
    return torch.aminmax(x, dim=axis, keepdim=keep)


def sort(x, axis=-1, descending=False):
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def middle(function):
    def run(x, axis=None, keep=False):
        return function(x) if axis is None else function(x, dim=axis, keepdim=keep)
    return run


def cut(x, axis=0, start=0, end=0, step=1):
    return x[(slice(None),) * axis + (slice(start, end, step),)]


FUNCTIONS = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod,
    "maximum": torch.maximum, "minimum": torch.minimum, "eq": torch.eq, "ne": torch.ne,
    "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "where": torch.where,
    "neg": torch.neg, "abs": torch.abs, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "square": torch.square, "relu": torch.relu,
    "tanhshrink": torch.nn.functional.tanhshrink,
    "sum": reduction(torch.sum), "mean": reduction(torch.mean), "prod": product,
    "amax": reduction(torch.amax), "amin": reduction(torch.amin),
    "any": reduction(torch.any), "all": reduction(torch.all),
    "var": spread(torch.var), "stddev": spread(torch.std),
    "argmax": place(torch.argmax), "argmin": place(torch.argmin),
    "max": place(torch.max), "min": place(torch.min), "aminmax": extrema,
    "var_mean": spread(torch.var_mean),
    "sort": sort, "msort": torch.msort, "median": middle(torch.median), "nanmedian": middle(torch.nanmedian),
    "topk": lambda x, k=1, axis=-1, largest=True: torch.topk(x, k, axis, largest),
    "kthvalue": lambda x, k=1, axis=-1, keep=False: torch.kthvalue(x, k, axis, keep),
    "softmax": lambda x, axis=0: torch.softmax(x, axis),
    "log_softmax": lambda x, axis=0: torch.log_softmax(x, axis),
    "slice": cut, "matmul": torch.matmul, "attention": attention,
    "full": lambda value, shape=(), dtype=None: torch.full(shape, value, dtype=dtype),
    "arange": lambda start=0, end=0, step=1, dtype=torch.int64: torch.arange(
        start, end, step, dtype=dtype),
    "embedding": lambda ids, table: torch.nn.functional.embedding(ids, table),
    "copy_from": lambda to, source: to.copy_(source),
    "index_copy_": lambda to, index, source, axis=0: to.index_copy_(axis, index, source),
    **pytorch_movement.FUNCTIONS,
    **pytorch_layers.FUNCTIONS,
}


class Given:
    """A tensor as a case says it."""

    def __init__(self, dtype, shape, values, expanded=None, order=None):
        self.tensor = torch.tensor(values, dtype=dtype).reshape(shape)
        self.expanded, self.order = expanded, order

    def made(self):
        tensor = self.tensor.clone()
        if self.expanded:
            tensor = tensor.expand(self.expanded)
        return tensor.permute(self.order) if self.order else tensor

    def written(self):
        said = written(self.tensor)
        if self.expanded:
            said["x"] = self.expanded
        if self.order:
            said["p"] = self.order
        return said


def element(value, dtype):
    if dtype == torch.bool:
        return int(value)
    if not dtype.is_floating_point:
        return value
    if not math.isfinite(value):
        return str(value)
    if dtype == torch.float64:
        return value
    return float(str(numpy.float32(value)))  # the shortest that reads back as it


def written(tensor):
    values = [element(value, tensor.dtype) for value in tensor.reshape(-1).tolist()]
    return {"d": NAMES[tensor.dtype], "s": list(tensor.shape), "v": values}


def argument(a):
    if isinstance(a, Given):
        return a.written()
    return a if math.isfinite(a) else str(a)


def add(function, *arguments, tolerance=None, **options):
    made = [a.made() if isinstance(a, Given) else a for a in arguments]
    try:
        result = FUNCTIONS[function](*made, **options)
        several = isinstance(result, tuple)
        said = [written(each) for each in result] if several else written(result)
        unit = UNIT.get(result[0].dtype if several else result.dtype, 0)
        tolerance = 0 if tolerance is None else tolerance * unit
    except (RuntimeError, IndexError, TypeError, NotImplementedError, ValueError):
        said, tolerance = "error", 0
    case = {"f": function, "a": [argument(a) for a in arguments]}
    if options:
        case["o"] = {k: NAMES.get(v, v) if isinstance(v, torch.dtype) else v
                     for k, v in options.items()}
    case["r"] = said
    if tolerance:
        case["tol"] = float(f"{tolerance:.1e}")
    cases.append(case)


def values(dtype, count, special=True):
    if dtype == torch.bool:
        pool = [True, False]
    elif dtype == torch.uint8:
        pool = [0, 1, 2, 7, 100, 255]
    elif not dtype.is_floating_point:
        pool = [0, 1, -1, 3, -7, 100, -100]
    else:
        pool = [0.0, 1.0, -1.5, 2.5, -7.0, 0.1] + ([INF, -INF, NAN] if special else [])
    return [dice.choice(pool) for _ in range(count)]


def given(dtype, shape, special=False, **layout):
    return Given(dtype, shape, values(dtype, math.prod(shape), special), **layout)


def promotions():
    numbers = [True, 3, 2.5]
    for a, b in itertools.product(ALL, ALL):
        add("add", given(a, [2]), given(b, [2]))
        add("mul", given(a, []), given(b, [2]))
        if ALL.index(a) <= ALL.index(b):
            add("maximum" if a == b else "mul", given(a, []), given(b, []))
    for dtype, number in itertools.product(ALL, numbers):
        add("add", given(dtype, [3]), number)
        add("mul", given(dtype, []), number)
        add("lt", given(dtype, [3]), number)
        add("div", given(dtype, [3]), number)
    for dtype in ALL:
        add("sub", given(dtype, [2]), given(dtype, [2]))
        add("div", given(dtype, [2, 1]), Given(dtype, [3], [1, 2, 3]))


def quotients():
    names = ["div", "div_trunc", "div_floor", "floor_divide", "remainder", "fmod"]
    whole = [(7, 4), (-7, 4), (7, -4), (-7, -4), (0, 3), (8, -4), (1, 100), (-1, 100)]
    parts = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0),
             (5.0, INF), (-5.0, INF), (INF, 2.0), (NAN, 2.0), (2.0, NAN), (1.0, 0.1), (-6.0, 3.0)]
    for name in names:
        for dtype in [torch.bool] + INTEGERS:
            pairs = [(a, b) for a, b in whole if dtype.is_signed or (a >= 0 and b > 0)]
            left, right = zip(*pairs)
            add(name, Given(dtype, [len(pairs)], left), Given(dtype, [len(pairs)], right))
        for dtype in FLOATS:
            left, right = zip(*parts)
            # The rounded quotients of 16 bits are those of the rounded operands.
            add(name, Given(dtype, [len(parts)], left), Given(dtype, [len(parts)], right))
            add(name, Given(dtype, [2], [5.5, -5.5]), 0)
        for number in [3, -3, 2.5, -2.5, 0, 0.0]:
            if not (name == "div" and number == 0):
                add(name, Given(torch.int32, [4], [7, -7, 0, 2]), number)
        add(name, Given(torch.int64, [2], [7, -7]), Given(torch.float32, [2], [2, 2]))
        add(name, Given(torch.int64, [2], [7, -7]), Given(torch.float64, [], 4.0))
        add(name, Given(torch.int64, [2, 1], [7, -7], expanded=[2, 3]), given(torch.uint8, [0, 1, 3]))
        add(name, Given(torch.int8, [3], [7, -7, 5]), Given(torch.uint8, [3], [2, 2, 200]))


def spreads():
    for name, keep in itertools.product(["var", "stddev"], [False, True]):
        for correction in [0, 1, 2, 4, 7]:
            add(name, given(torch.float32, [4, 3]), tolerance=10, axes=[0], keep=keep,
                correction=correction)
        for dtype in FLOATS:
            add(name, given(dtype, [5]), tolerance=10, keep=keep)
        for shape, axes in [([2, 3, 4], [0, 2]), ([2, 3], [-1]), ([1], []), ([], []), ([0], []),
                            ([2, 0], [1]), ([2, 0], [0]), ([2, 2], [0, 0]), ([3], [1])]:
            add(name, given(torch.float32, shape), tolerance=10, axes=axes, keep=keep)
        add(name, Given(torch.float32, [3], [1, INF, 2]), keep=keep)
        add(name, given(torch.int64, [3]), keep=keep)


def reductions():
    shapes = [([5], []), ([2, 3], [0]), ([2, 3], [-1]), ([3, 2, 4], [0, 2]), ([3, 2, 4], []),
              ([], []), ([0], [0]), ([2, 0], [1]), ([2, 0], [0]), ([0, 3], [0]), ([2, 2], [2])]
    for name in ["sum", "prod", "mean", "amax", "amin", "any", "all"]:
        for shape, axes in shapes:
            if name == "prod" and len(axes) > 1:
                axes = axes[:1]
            dtypes = [torch.bool, torch.int32, torch.float32] + [dice.choice(ALL)]
            for dtype in dtypes:
                special = name in ("amax", "amin", "any", "all")
                keep = dice.random() < 0.5 and bool(axes)
                x = given(dtype, shape, special)
                if name == "prod" and not dtype.is_floating_point and dtype != torch.bool:
                    x = Given(dtype, shape, [dice.choice([1, 2, 3]) for _ in range(math.prod(shape))])
                add(name, x, tolerance=10, axes=axes, keep=keep)
        add(name, Given(torch.float32, [4], [1, NAN, INF, -2]))
        add(name, Given(torch.int8, [3], [100, 100, 100]), tolerance=10)
        add(name, Given(torch.float32, [2, 1], [1, 2], expanded=[2, 3], order=[1, 0]), axes=[0])
        add(name, given(torch.float32, []), axes=[0])
    for name in ["argmax", "argmin"]:
        for dtype in ALL:
            add(name, given(dtype, [2, 6], True), axis=dice.choice([0, 1, -1]))
        for shape, axis in [([3, 4], None), ([3, 4], 0), ([], 0), ([], None), ([0], None), ([2, 0], 1),
                            ([2, 0], 0), ([3], 1)]:
            for keep in [False, True]:
                add(name, given(torch.float32, shape), axis=axis, keep=keep)
        add(name, Given(torch.int64, [3], [2**53, 2**53 + 1, 2**53 - 1]))
        add(name, Given(torch.float32, [5], [1, NAN, 3, NAN, -3]))
        add(name, Given(torch.float32, [5], [2, 2, -2, -2, 2]))
        add(name, Given(torch.float32, [3], [-INF, -INF, -INF]))


def normalisers():
    for name in ["softmax", "log_softmax"]:
        for shape, axis in [([4], 0), ([2, 3], 0), ([2, 3], 1), ([0], 0), ([2, 0], 1), ([2, 0], 0),
                            ([], 0), ([], -1), ([2, 3], 2)]:
            add(name, given(torch.float32, shape), tolerance=3, axis=axis)
        for row in [[-INF, 0, 1], [-INF, -INF, -INF], [INF, 1, 2], [NAN, 1, 2], [1e30, -1e30, 0]]:
            add(name, Given(torch.float32, [3], row), tolerance=3)
        for dtype in FLOATS:
            add(name, given(dtype, [2, 5]), tolerance=3, axis=-1)


def slices():
    bounds = [-100, -6, -5, -3, -1, 0, 1, 3, 5, 6, 100]
    for _ in range(40):
        add("slice", Given(torch.int64, [5], [0, 1, 2, 3, 4]), start=dice.choice(bounds),
            end=dice.choice(bounds), step=dice.choice([1, 1, 2, 3]))
    for axis, start, end, step in [(1, 1, 9, 2), (0, -1, 9, 1), (1, 3, 1, 1), (0, 0, 2, 0),
                                   (0, 1, 0, -1)]:
        add("slice", given(torch.float32, [2, 3]), axis=axis, start=start, end=end, step=step)


def numbers():
    odd = 2**53 + 1
    for dtype in ALL:
        for value in [3, 2.7, -1, 300, 70000, 2**31, odd, True, 1e6, NAN, INF, -300]:
            add("full", value, shape=[2], dtype=dtype)
    for start, end, step in [(0, 5, 1), (1, 8, 3), (5, 0, -2), (odd, odd + 3, 1), (0, 3, 0),
                             (2, 2, 1)]:
        add("arange", start=start, end=end, step=step)
    for dtype in [torch.uint8, torch.int32, torch.float16, torch.float32, torch.float64]:
        add("arange", start=0, end=9, step=2, dtype=dtype)
    big = Given(torch.int64, [4], [odd, odd - 1, -odd, 0])
    for name in ["add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge", "maximum"]:
        if name != "maximum":
            add(name, big, odd)
        add(name, big, Given(torch.int64, [], odd))
    for name in ["remainder", "floor_divide", "fmod"]:
        add(name, big, odd - 2)
    for dtype, number in [(torch.int8, 1000), (torch.int8, -129), (torch.uint8, -1),
                          (torch.uint8, 300), (torch.int16, 70000), (torch.int32, 2**32 + 5)]:
        for name in ["add", "mul", "sub", "remainder"]:
            add(name, Given(dtype, [3], [1, 100, 7]), number)


def choices():
    mask = Given(torch.bool, [3], [1, 0, 1])
    for a, b in [(1, 2), (1, 2.5), (True, False), (True, 3), (1.5, 2.5)]:
        add("where", mask, a, b)
    for dtype, number in itertools.product(ALL, [1, 2.5, True, 1000]):
        add("where", mask, given(dtype, [3]), number)
    for dtype in ALL:
        add("where", mask, given(dtype, []), given(torch.float32, [3]))
        add("where", mask, given(dtype, [3]), given(torch.int64, []))
    add("where", Given(torch.bool, [2, 1], [1, 0]), given(torch.int32, [3]), given(torch.int32, []))


def booleans():
    a, b = Given(torch.bool, [4], [1, 1, 0, 0]), Given(torch.bool, [4], [1, 0, 1, 0])
    for name in ["add", "sub", "mul", "div", "maximum", "minimum", "remainder", "fmod",
                 "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "eq", "lt"]:
        add(name, a, b)
    for name in ["neg", "abs", "square", "relu", "floor", "ceil"]:
        add(name, a)
    for name, dtype in itertools.product(["neg", "abs", "square", "relu", "floor", "ceil", "round"],
                                         [torch.int8, torch.int64, torch.float32]):
        add(name, Given(dtype, [4], [3, -2, 0, -5]) if not dtype.is_floating_point
            else Given(dtype, [6], [2.5, -2.5, 0.5, -0.1, INF, NAN]))
    add("round", Given(torch.float64, [3], [1.5, -0.5, 2**53 + 1]))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        add(name, Given(torch.int8, [2], [5, -5]), Given(torch.bool, [2], [1, 0]))
        add(name, Given(torch.int8, [2], [5, -5]), 3)
        add(name, given(torch.float32, [2]), given(torch.float32, [2]))


def comparisons():
    for name in ["eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "logical_and",
                 "logical_or"]:
        for a, b in [(torch.float32, torch.float32), (torch.int8, torch.float16),
                     (torch.bool, torch.int64), (torch.uint8, torch.int8)]:
            add(name, given(a, [8], True), given(b, [8], True))
        add(name, given(torch.float32, [3, 1], True), given(torch.float64, []))


def products():
    for a, b in itertools.product([torch.bool, torch.int32, torch.int64] + FLOATS, repeat=2):
        if a == b == torch.bool:
            continue
        add("matmul", given(a, [2, 3]), given(b, [3, 2]), tolerance=4)
    for left, right in [([3], [3]), ([2, 3], [3]), ([3], [3, 2]), ([2, 2, 3], [3]), ([3], [2, 3, 2]),
                        ([2, 1, 2, 3], [3, 3, 2]), ([2, 3], [2, 3, 1]), ([3], [2]), ([], [3]),
                        ([2, 0], [0, 2])]:
        add("matmul", given(torch.float32, left), given(torch.float32, right), tolerance=4)


def attentions():
    for heads, groups, rows, keys in [(2, 2, 3, 3), (2, 1, 2, 5), (4, 2, 5, 2), (1, 1, 1, 4),
                                      (2, 1, 3, 0), (2, 1, 1, 1)]:
        q = given(torch.float32, [1, heads, rows, 4])
        k, v = given(torch.float32, [1, groups, keys, 4]), given(torch.float32, [1, groups, keys, 4])
        add("attention", q, k, v, tolerance=10)
        for alignment in ["top_left", "bottom_right"]:
            add("attention", q, k, v, tolerance=10, causal=True, alignment=alignment)
        add("attention", q, k, v, tolerance=10, causal=True, scale=0.25)


def writes():
    table = given(torch.float32, [4, 2])
    for ids in [[0, 3, 3], [4], [-1], []]:
        add("embedding", Given(torch.int64, [len(ids)], ids), table)
    for shape, expanded in [([2, 1], [2, 3]), ([2, 1], [2, 1]), ([1], [3]), ([2, 3], None), ([], [2])]:
        target = given(torch.float32, shape, expanded=expanded)
        add("copy_from", target, given(torch.float32, list(target.made().shape)))
        if target.made().dim() == 2:
            source = given(torch.float32, [1, target.made().shape[1]])
            for row in [1, 2, -1]:
                add("index_copy_", target, Given(torch.int64, [1], [row]), source)


def pairs():
    for name in ["max", "min", "aminmax"]:
        for dtype in ALL:
            add(name, given(dtype, [3, 5], True), axis=dice.choice([0, 1, -1]))
        for shape, axis in [([3, 4], 0), ([2, 3, 4], 1), ([3, 1], 1), ([], 0), ([], -1), ([0], 0),
                            ([2, 0], 1), ([2, 0], 0), ([3], 1)]:
            for keep in [False, True]:
                add(name, given(torch.float32, shape), axis=axis, keep=keep)
        for row in [[1, NAN, 3, NAN, -3], [2, 2, -2, -2, 2], [-INF, -INF, -INF], [INF, 1, INF]]:
            add(name, Given(torch.float32, [len(row)], row), axis=0)
        add(name, Given(torch.int64, [3], [2**53, 2**53 + 1, 2**53 - 1]), axis=0)
        add(name, Given(torch.bool, [4], [0, 1, 0, 1]), axis=0)
        add(name, Given(torch.float32, [2, 3], [1, 5, 3, 4, 5, 6], order=[1, 0]), axis=1)
    for shape in [[3, 4], [], [0], [5]]:
        for keep in [False, True]:
            add("aminmax", given(torch.float32, shape, True), keep=keep)
    for keep in [False, True]:
        for correction in [0, 1, 4, 7]:
            add("var_mean", given(torch.float32, [4, 3]), tolerance=10, axes=[0], keep=keep,
                correction=correction)
        for dtype in FLOATS:
            add("var_mean", given(dtype, [5]), tolerance=10, keep=keep)
        for shape, axes in [([2, 3, 4], [0, 2]), ([2, 3], [-1]), ([1], []), ([], []), ([2, 0], [1]),
                            ([2, 2], [0, 0]), ([3], [1])]:
            add("var_mean", given(torch.float32, shape), tolerance=10, axes=axes, keep=keep)
        add("var_mean", given(torch.int64, [3]), keep=keep)


def activations():
    for dtype in FLOATS:
        add("tanhshrink", Given(dtype, [8], [0, 1, -1, 2.5, -7, 40, INF, -INF]), tolerance=4)
        add("tanhshrink", given(dtype, [], True), tolerance=4)
    add("tanhshrink", Given(torch.float32, [3], [NAN, 3, -3]), tolerance=4)
    add("tanhshrink", Given(torch.float32, [2, 3], [1, 2, 3, 4, 5, 6], order=[1, 0]), tolerance=4)
    add("tanhshrink", given(torch.float32, [2, 0]))


def main():
    for group in [promotions, quotients, spreads, reductions, normalisers, slices, numbers, choices,
                  booleans, comparisons, products, attentions, writes, pairs, activations,
                  *pytorch_movement.Movement(add, Given, given, dice).all(),
                  *pytorch_layers.Layers(add, Given, given, dice).all(),
                  lambda: pytorch_orders.orders(add, Given, given, dice, ALL)]:
        group()
    path = sys.argv[1] if len(sys.argv) > 1 else "tests/graph/pytorch_cases.json"
    with open(path, "w") as out:
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        out.write(f'{{"torch":"{torch.__version__.split("+")[0]}","cases":[\n{lines}\n]}}\n')
    print(f"{len(cases)} cases, {sum(c['r'] == 'error' for c in cases)} of them errors")


if __name__ == "__main__":
    main()
