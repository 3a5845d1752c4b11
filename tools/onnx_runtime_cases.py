#!/usr/bin/env python3
"""Writes control.zip, small ONNX models of branches, loops and sequences, and learners.zip, models of
the domain ai.onnx.ml, with what ONNX Runtime gives for them.

usage: onnx_runtime_cases.py FOLDER, FOLDER being tests/models/onnx. Needs the packages onnx,
onnxruntime, torch and onnxscript. Each entry is a case as the folder's README.md says: the model, its
inputs, its outputs.
"""
import io
import logging
import sys
import warnings

import numpy as np
import onnx
import torch
from onnx import parser

from onnx_branch_graphs import branches
from onnx_case_archive import write
from onnx_learner_models import learners
from onnx_loop_graphs import loops

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
random = np.random.default_rng(0)


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


class Cells(torch.nn.Module):
    """A recurrent layer as a loop of the script over its steps."""

    def __init__(self):
        super().__init__()
        self.gates, self.fresh = torch.nn.Linear(7, 8), torch.nn.Linear(7, 4)

    def cell(self, x, h):
        update, reset = torch.sigmoid(self.gates(torch.cat((x, h), 1))).chunk(2, 1)
        return (1 - update) * torch.tanh(self.fresh(torch.cat((x, reset * h), 1))) + update * h

    def forward(self, x, h):
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
        return h


class ListedCells(Cells):
    """Keeps what each step gives in a list, and stacks it."""

    def forward(self, x, h):
        outputs = []
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
            outputs.append(h)
        return torch.stack(outputs)


class Until(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 100.0):
            if bool(x[0] > 1.0):
                x = x * 2
            else:
                x = x + 1
        return x


class Chosen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.second(x).relu(),
                          (x,))


def exported(module, arguments, dynamo, dynamic=None):
    buffer = io.BytesIO()
    settings = {"dynamo": False, "dynamic_axes": dynamic,
                "input_names": [f"x{i}" for i in range(len(arguments))]}
    if dynamo:
        settings = {"dynamo": True, "verbose": False}
    torch.onnx.export(module.eval(), arguments, buffer, opset_version=17 if not dynamo else 18,
                      **settings)
    return onnx.load_model_from_string(buffer.getvalue())


def exports():
    torch.manual_seed(0)
    x, h = torch.randn(5, 2, 3), torch.randn(2, 4)
    steps = {"x0": {0: "steps"}}
    many = torch.randn(40, 2, 3)
    cells = torch.jit.script(Cells())
    yield "exported_loop_of_cells", exported(cells, (x, h), False, steps), [(x, h), (many, h)]
    listed = torch.jit.script(ListedCells())
    yield "exported_list_of_cells", exported(listed, (x, h), False, steps), [(x, h), (many, h)]
    until = torch.jit.script(Until())
    small = torch.tensor([0.5, 0.25])
    yield "exported_while", exported(until, (small,), False), [(small,), (small + 200,)]
    chosen = Chosen()
    one = torch.randn(2, 3)
    yield "exported_cond", exported(chosen, (one,), True), [(one.abs(),), (-one.abs(),)]


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    written = {**loops(floats), **branches(floats)}
    texts = [(name, text.replace("graph (", f"{name} (", 1).strip(), rows)
             for name, (text, rows) in written.items()]
    models = [(name, parser.parse_model(HEAD + text), rows) for name, text, rows in texts]
    models += [(name, model, [[np.asarray(each) for each in row] for row in rows])
               for name, model, rows in exports()]
    write(f"{folder}/control.zip", models)
    samples = floats(30, 4)
    missing = samples.copy()
    missing[::3, 1] = np.nan
    write(f"{folder}/learners.zip", [
        (name, model, [[missing if name.startswith("forest") else samples]])
        for name, model in learners(random)])


if __name__ == "__main__":
    main(*sys.argv[1:])
