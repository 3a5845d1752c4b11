#!/usr/bin/env python3
"""Derivatives by PyTorch 2.15 for tests/graph/derivatives/special_points_test.cpp.

    tools/special_points.py FILE > NEW

FILE is special_points.json: it says which expressions are computed at which tensors, and this
program computes the rest, in f64. `points` have the value and the gradients of the sum of its
elements, null where PyTorch has none; `seconds` the gradients of the sum of those; `scalars` the
value and three derivatives at each of some numbers; `directions` the value and its derivative in a
direction. `ours` of a point is kept: where and why the library differs. NaN and infinities are
strings.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

NAMES = {**{name: getattr(torch, name) for name in dir(torch)}, "F": F, "torch": torch}


def evaluate(expression, **operands):
    return eval(expression, {**NAMES, "inf": math.inf, **operands})  # noqa: S307


def tensor(elements, shape=()):
    return torch.tensor([float(x) for x in elements], dtype=torch.float64).reshape(shape)


def numbers(x):
    if x is None:
        return None
    return [y if math.isfinite(y) else str(y) for y in x.detach().flatten().tolist()]


def point(one):
    inputs = [tensor(x, s).requires_grad_() for x, s in zip(one["inputs"], one["shapes"])]
    output = evaluate(one["expression"], **dict(zip("abc", inputs)))
    gradients = torch.autograd.grad(output.sum(), inputs, allow_unused=True)
    return {**one, "output": numbers(output), "gradients": [numbers(g) for g in gradients]}


def second(one):
    inputs = [tensor(x, s).requires_grad_() for x, s in zip(one["inputs"], one["shapes"])]
    output = evaluate(one["expression"], **dict(zip("abc", inputs)))
    zeros = {"allow_unused": True, "materialize_grads": True}
    first = torch.autograd.grad(output.sum(), inputs, create_graph=True, **zeros)
    total = sum(each.sum() for each in first)
    return {**one, "gradients": [numbers(g) for g in torch.autograd.grad(total, inputs, **zeros)]}


def scalar(one):
    rows = []
    for at in one["points"]:
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        row = [evaluate(one["expression"], x=x)]
        for _ in range(3):
            last = row[-1]
            row.append(torch.autograd.grad(last.sum(), x, create_graph=True)[0]
                       if last.requires_grad else torch.zeros_like(x))
        rows.append([number for value in row for number in numbers(value)])
    return {**one, "derivatives": rows}


def direction(one):
    inputs, tangents = ([tensor(x, s) for x, s in zip(one[key], one["shapes"])]
                        for key in ("inputs", "tangents"))
    output, tangent = torch.func.jvp(
        lambda *x: evaluate(one["expression"], **dict(zip("abc", x))), tuple(inputs),
        tuple(tangents))
    return {**one, "output": numbers(output), "output_tangent": numbers(tangent)}


def main():
    torch.set_num_threads(1)
    with open(sys.argv[1]) as file:
        given = json.load(file)
    parts = []
    kinds = {"points": point, "seconds": second, "scalars": scalar, "directions": direction}
    for name, compute in kinds.items():
        rows = [json.dumps(compute(one), separators=(",", ":")) for one in given[name]]
        parts.append('"%s":[\n%s\n]' % (name, ",\n".join(rows)))
    print("{\n" + ",\n".join(parts) + "\n}")


if __name__ == "__main__":
    main()
