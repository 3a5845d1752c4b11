"""Cases of functions that sort, for pytorch_cases.py."""

import math

import torch

INF, NAN = math.inf, math.nan


def orders(add, Given, given, dice, dtypes):
    def distinct(dtype, shape, order=None):  # the order of equals PyTorch leaves open
        return Given(dtype, shape, dice.sample(range(100), math.prod(shape)), order=order)

    for dtype in dtypes:
        for descending in [False, True]:
            add("sort", given(dtype, [2, 7], True), axis=dice.choice([0, 1, -1]), descending=descending)
        if dtype == torch.bool:  # of which PyTorch does no more
            continue
        x = distinct(dtype, [9])
        add("topk", x, k=2, largest=dice.random() < 0.5)
        add("kthvalue", x, k=2)
        add("median", x, axis=0)
        add("median", x)
    for shape in [[], [0], [1], [2, 0], [0, 2]]:
        for name in ["sort", "msort", "topk", "median"]:
            add(name, given(torch.float32, shape))
        for keep in [False, True]:
            add("kthvalue", given(torch.float32, shape), keep=keep)
            for name in ["median", "nanmedian"]:
                add(name, given(torch.float32, shape), axis=-1, keep=keep)
    for row in [[0, -0.0, 0, -0.0, 1], [NAN, INF, NAN, -INF, 0], [NAN, NAN], [-NAN, 1, NAN, 1]]:
        for descending in [False, True]:
            add("sort", Given(torch.float32, [len(row)], row), descending=descending)
    for row in [[4, NAN, 1, 3], [4, 2, 1, 3], [NAN, 5, INF, -INF, 2], [7, NAN]]:
        for name in ["median", "nanmedian"]:
            for axis in [None, 0]:
                add(name, Given(torch.float32, [len(row)], row), axis=axis)
        for k in range(len(row) + 2):
            add("kthvalue", Given(torch.float32, [len(row)], row), k=k)
            add("topk", Given(torch.float32, [len(row)], row), k=k, largest=k % 2 == 0)
    for axis in [0, 1, 2, -3, 3]:
        x = distinct(torch.float32, [2, 3, 4], order=[2, 0, 1])
        add("sort", x, axis=axis)
        add("topk", x, k=2, axis=axis)
        add("kthvalue", x, k=2, axis=axis, keep=True)
        add("median", x, axis=axis)
    add("msort", Given(torch.int64, [3, 2], [3, 1, 2, 5, 0, 4]))
    add("sort", Given(torch.int64, [4], [2**53 + 1, 2**53, -2**63, 2**63 - 1]))
