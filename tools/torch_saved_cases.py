#!/usr/bin/env python3
"""Writes tests/models/torch_saved: programs in the archives that PyTorch 2.6 and 2.7 write, with
what PyTorch makes of them. To be run with each of these versions; adds to what is there."""

import json
import pathlib

import torch
from torch import nn

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/torch_saved"


class Layers(nn.Module):
    """Parameters of which two are one, buffers that are written to, kept or not, and constants."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 2, dtype=torch.bfloat16)
        self.tied = self.first.weight
        self.register_buffer("calls", torch.zeros(3))
        self.register_buffer("ends", torch.tensor([1.5, -2.0]), persistent=False)
        self.counts = torch.tensor([1, 2], dtype=torch.int32)

    def forward(self, x, scale: float = 0.5):
        self.calls.add_(1)
        y = torch.relu(self.first(x) + self.calls) @ self.tied.t()
        z = self.second(y.to(torch.bfloat16)).float() * self.ends + self.counts
        return y, z * scale, torch.tensor([3.0, 4.0]) - z


class Storages(nn.Module):
    """Tensors of many element types, and several in one storage, in parts and turned."""

    def __init__(self):
        super().__init__()
        grid = torch.arange(24.0).reshape(4, 6)
        for name, tensor in {
            "grid": grid, "turned": grid.t(), "column": grid[:, 2], "block": grid[1:3, ::2],
            "wide": torch.tensor(2.5).expand(3), "none": torch.zeros(0, 3),
            "flags": torch.tensor([True, False, True]),
            "i8": torch.tensor([-3, 5], dtype=torch.int8),
            "i16": torch.tensor([-300, 5], dtype=torch.int16), "i64": torch.tensor([-(2**40), 7]),
            "u8": torch.tensor([200, 5], dtype=torch.uint8), "f16": torch.tensor([0.5]).half(),
            "f64": torch.tensor([1 / 3], dtype=torch.float64),
            "u16": torch.tensor([60000, 5], dtype=torch.uint16)}.items():
            self.register_buffer(name, tensor)

    def forward(self, x):
        numbers = (self.flags.sum() + self.i8.sum() + self.i16.sum() + self.i64.sum()
                   + self.u8.sum() + self.u16.to(torch.int32).sum())
        halves = self.f16.float() + self.f64.float()
        return (self.turned @ x, self.column * x[:, 0], self.block - self.grid[0, 0] + self.wide,
                torch.cat([self.none, x[:, :3]]), numbers, halves)


def described(tensor):
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype)[6:],
            "values": [float(v) for v in tensor.flatten().tolist()]}


def main():
    torch.manual_seed(4)
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / "cases.json"
    cases = json.loads(file.read_text()) if file.exists() else {}
    version = "_".join(torch.__version__.split(".")[:2])
    x = torch.randn(4, 3)
    rows = torch.export.Dim("rows", min=2, max=100)
    programs = (("layers", Layers(), ({0: rows},)), ("storages", Storages(), None))
    for name, model, dynamic in programs:
        if name == "storages" and version != "2_6":
            continue  # which are saved as in 2.6
        program = torch.export.export(model.eval(), (x,), dynamic_shapes=dynamic)
        if name == "layers" and version == "2_7":
            program = program.run_decompositions()
        torch.export.save(program, FOLDER / f"{name}_{version}.pt2")
        with torch.no_grad():
            cases[f"{name}_{version}"] = {"inputs": [described(x)],
                                          "outputs": [described(y) for y in model(x)]}
    file.write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
