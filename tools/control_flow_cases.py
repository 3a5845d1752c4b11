#!/usr/bin/env python3
"""Writes tests/models/control_flow: programs with loops and choices as PyTorch exports them, and
recurrent layers, with what PyTorch makes of them. Needs PyTorch 2.9 or later."""

import json
import pathlib

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/control_flow"


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(16, 4) * 0.3)
        self.u = torch.nn.Parameter(torch.randn(16, 4) * 0.3)
        self.b = torch.nn.Parameter(torch.randn(16) * 0.1)

    def forward(self, x, h, c):
        def step(state, x):
            h, c = state
            i, f, o, n = (x @ self.w.t() + h @ self.u.t() + self.b).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(n)
            h = torch.sigmoid(o) * torch.tanh(c)
            return (h, c), h.clone()

        (h, c), ys = scan(step, (h, c), x, dim=0)
        return ys, h, c


class While(torch.nn.Module):
    def forward(self, x):
        return while_loop(lambda i, x: x.abs().max() > 0.01, lambda i, x: (i + 1, x * 0.5),
                          (torch.zeros((), dtype=torch.int64), x))


class Cond(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.layer(x), lambda x: x * 2 - 1, (x,))


class Map(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x, y, factor):
        return map_rows(lambda row, factor: (self.layer(row[0]) * factor, row[1].sum(-1)), (x, y), factor)


class Rate(torch.nn.Module):
    """A branch that an application chooses once, and a number of elements that it fixes."""

    def forward(self, x, sr, k):
        y = torch.cond(sr * 2 == 32000, lambda x: x * 2 + 1, lambda x: x * 3 - 1, (x,))
        return y[:, :k] * sr.to(torch.float32)


def described(tensor):
    return {"shape": list(tensor.shape), "values": [round(v, 7) for v in tensor.flatten().tolist()]}


def exported(name, model, calls):
    program = torch.export.export(model.eval(), calls[0]).run_decompositions()
    torch.export.save(program, FOLDER / f"{name}.pt2")
    results = []
    for inputs in calls:
        outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        results.append({"inputs": [described(x) for x in inputs],
                        "outputs": [described(x) for x in outputs]})
    return results


def layer(target, module, hx):
    x = torch.randn(20, 2, 3) if not module.batch_first else torch.randn(2, 20, 3)
    outputs, last = module(x, hx if len(hx) > 1 else hx[0])
    last = last if isinstance(last, tuple) else (last,)
    return {"target": target, "input": described(x), "hx": [described(h) for h in hx],
            "params": [described(p) for p in module._flat_weights], "has_biases": module.bias,
            "num_layers": module.num_layers, "bidirectional": module.bidirectional,
            "batch_first": module.batch_first, "outputs": [described(y) for y in (outputs, *last)]}


def main():
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    cases = {
        "scan": exported("scan", Lstm(), [(torch.randn(20, 2, 4), torch.zeros(2, 4), torch.zeros(2, 4))]),
        "while_loop": exported("while_loop", While(), [(torch.randn(5),), (torch.zeros(5),)]),
        "cond": exported("cond", Cond(), [(torch.ones(3, 4),), (-torch.ones(3, 4),)]),
    }
    both = lambda: torch.randn(4, 2, 3)
    cases["layers"] = [
        layer("aten.lstm.input", torch.nn.LSTM(3, 3, 2, bidirectional=True), [both(), both()]),
        layer("aten.lstm.input", torch.nn.LSTM(3, 3, bias=False, batch_first=True),
              [torch.randn(1, 2, 3), torch.randn(1, 2, 3)]),
        layer("aten.gru.input", torch.nn.GRU(3, 3, bidirectional=True), [torch.randn(2, 2, 3)]),
        layer("aten.rnn_tanh.input", torch.nn.RNN(3, 3), [torch.randn(1, 2, 3)]),
        layer("aten.rnn_relu.input", torch.nn.RNN(3, 3, nonlinearity="relu"),
              [torch.randn(1, 2, 3)]),
    ]
    cases["map"] = exported("map", Map(), [(torch.randn(3, 2, 4), torch.randn(3, 5), torch.randn(3))])
    (FOLDER / "cases.json").write_text(json.dumps(cases) + "\n")
    any_size = torch.export.Dim.DYNAMIC
    rate = torch.export.export(Rate(), (torch.ones(2, 5), torch.tensor(16000), 3),
                               dynamic_shapes=({0: any_size}, None, any_size))
    torch.export.save(rate.run_decompositions(), FOLDER / "rate.pt2")


with torch.no_grad():
    main()
