#!/usr/bin/env python3
"""Writes tests/models/gradients: small programs (.pt2 by torch.export, .onnx) with PyTorch's gradients.

    NAME.pt2 or NAME.onnx       the program
    NAME.safetensors            its inputs in.0, ..., and outputs out.0, ...
    NAME.grad.safetensors       cotangent.K, grad.in.K and grad.param.NAME, as tools/program_gradients.py reads them

Needs PyTorch 2.9 or later, onnx and safetensors.
"""
import json
import pathlib

import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from safetensors.torch import save_file
from undecomposed_cases import pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/gradients"


class Scores(torch.nn.Module):
    """Scores of floating rows and of ids; the class, an integer, is an output without gradients."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 6)
        self.norm = torch.nn.LayerNorm(6)
        self.inner = torch.nn.Linear(6, 8)
        self.out = torch.nn.Linear(8, 3, bias=False)
        self.unused = torch.nn.Parameter(torch.ones(2))
        with torch.no_grad():
            self.norm.weight.copy_(torch.rand(6) + 0.5)

    def forward(self, ids, x):
        scores = self.out(F.gelu(self.inner(self.norm(self.table(ids) + x))))
        return F.log_softmax(scores, -1), scores.argmax(-1)


class Images(torch.nn.Module):
    """A convolution in training: the statistics of the batch are written to buffers."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return F.max_pool2d(torch.relu(self.norm(self.convolution(x))), 2)


class Loss(torch.nn.Module):
    """A loss of one element; the input is scaled in place."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)

    def forward(self, x, y):
        x.mul_(2)
        return F.cross_entropy(torch.tanh(self.layer(x)), y)


class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 6).bfloat16())

    def forward(self, x):
        return torch.softmax(x @ self.weight.t(), -1)


class Perceptron(torch.nn.Module):
    """The meaning of perceptron.onnx, whose parameters have these names."""

    def __init__(self):
        super().__init__()
        for name, shape in (("w1", (5, 8)), ("b1", (8,)), ("scale", (8,)), ("shift", (8,)), ("w2", (8, 3))):
            self.register_parameter(name, torch.nn.Parameter(torch.randn(shape) * 0.5))

    def forward(self, x):
        inner = torch.tanh(x @ self.w1 + self.b1)
        return torch.softmax(F.layer_norm(inner, (8,), self.scale, self.shift) @ self.w2, -1)


def perceptron(model):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["sums"]),
             helper.make_node("Tanh", ["sums"], ["inner"]),
             helper.make_node("LayerNormalization", ["inner", "scale", "shift"], ["normal"], epsilon=1e-5),
             helper.make_node("MatMul", ["normal", "w2"], ["scores"]),
             helper.make_node("Softmax", ["scores"], ["y"], axis=-1)]
    weights = [numpy_helper.from_array(p.detach().numpy(), name) for name, p in model.named_parameters()]
    value = lambda name, sizes: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes)
    graph = helper.make_graph(nodes, "perceptron", [value("x", ["rows", 5])], [value("y", ["rows", 3])], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    onnx.save(made, FOLDER / "perceptron.onnx")


def gradients(model, inputs, cotangents):
    """Outputs, {output: cotangent} and {key: gradient, or None}. Cotangents are drawn where none are given."""
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    outputs = model(*[x.clone() for x in leaves])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wanted = {f"in.{k}": x for k, x in enumerate(leaves) if x.is_floating_point()}
    wanted |= {f"param.{name}": p for name, p in model.named_parameters()}
    live = [k for k, y in enumerate(outputs) if y.requires_grad]
    cotangents = cotangents or {k: torch.randn(outputs[k].shape).to(outputs[k].dtype) for k in live}
    found = torch.autograd.grad([outputs[k] for k in live], list(wanted.values()),
                                [cotangents[k].to(outputs[k].dtype) for k in live], allow_unused=True)
    return outputs, cotangents, dict(zip(wanted, found))


def write(name, model, inputs):
    state = {key: value.clone() for key, value in model.state_dict().items()}
    outputs, cotangents, found = gradients(model, inputs, None)
    if hasattr(model, "norm") and model.norm.training:
        model.load_state_dict(state)  # running statistics before the call
    exact = gradients(model.double(), [x.double() if x.is_floating_point() else x for x in inputs], cotangents)[2]
    tensors = {f"cotangent.{k}": c for k, c in cotangents.items()}
    about = {"undifferentiated": [key for key, g in found.items() if g is None], "error": {}}
    for key, g in found.items():
        if g is None:
            continue
        tensors[f"grad.{key}"] = g.detach().contiguous()
        about["error"][f"grad.{key}"] = [float((g.double() - exact[key]).norm()), float(exact[key].norm())]
        if key.startswith("in."):
            tensors[f"grad64.{key}"] = exact[key].detach().contiguous()
    save_file({f"in.{k}": x for k, x in enumerate(inputs)} |
              {f"out.{k}": y.detach().contiguous() for k, y in enumerate(outputs)}, FOLDER / f"{name}.safetensors")
    save_file(tensors, FOLDER / f"{name}.grad.safetensors", {key: json.dumps(value) for key, value in about.items()})


def exported(name, model, inputs, dynamic_shapes=None, decomposed=True):
    program = torch.export.export(model, tuple(x.clone() for x in inputs), dynamic_shapes=dynamic_shapes)
    torch.export.save(program.run_decompositions() if decomposed else program, FOLDER / f"{name}.pt2")
    pack(FOLDER / f"{name}.pt2")
    write(name, model, inputs)


def main():
    torch.manual_seed(5)
    FOLDER.mkdir(exist_ok=True)
    rows = torch.export.Dim("rows", min=1, max=64)
    exported("scores", Scores(), (torch.randint(0, 7, (3, 4)), torch.randn(3, 4, 6)), ({0: rows}, {0: rows}))
    exported("images", Images(), (torch.randn(2, 2, 6, 6),), decomposed=False)
    exported("loss", Loss(), (torch.randn(6, 5), torch.randint(0, 4, (6,))))
    exported("half", Half(), (torch.randn(5, 6).bfloat16(),))
    model = Perceptron()
    perceptron(model)
    write("perceptron", model, (torch.randn(4, 5),))


if __name__ == "__main__":
    main()
