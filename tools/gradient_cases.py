#!/usr/bin/env python3
"""Gradients by PyTorch for tests/graph/derivatives/gradient_cases_test.cpp, as JSON on stdout.

    tools/gradient_cases.py > tests/graph/derivatives/gradient_cases.json
    tools/gradient_cases.py --training

Each case is a function of tensors of f64 whose elements follow from their places, so that only
gradients are stored: `g` of the sum of the result's elements times those of a cotangent, and `h` of
the sum of these gradients times further cotangents, where PyTorch has second derivatives. The test
has the same functions under the same names.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F


def elements(shape, seed, low, high, step=0.0):
    count = math.prod(shape)
    values = [low + (high - low) * ((i * 37 + seed * 11 + 5) % 41) / 40 for i in range(count)]
    if step:
        values = [math.floor(v / step + 0.5) * step for v in values]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def index(values, shape=None):
    t = torch.tensor(values)
    return t.reshape(shape) if shape else t


CASES = {}


def case(name, inputs, function):
    CASES[name] = (inputs, function)


def whole(shape, low=-1.5, high=1.5, step=0.0):
    return (tuple(shape), low, high, step)


def positive(*shape):
    return whole(shape, 0.2, 2.0)


def any_sign(*shape):
    return whole(shape)


def steps(*shape):
    return whole(shape, -1.5, 1.5, 0.5)


for unary in ["neg", "abs", "exp", "exp2", "sin", "cos", "tanh", "erf", "sigmoid", "expm1", "square",
              "reciprocal", "floor", "sinh", "atan", "asinh"]:
    case(unary, [any_sign(3, 5)], getattr(torch, unary))
for unary in ["log", "log2", "log10", "sqrt", "rsqrt", "log1p", "lgamma", "digamma"]:
    case(unary, [positive(3, 5)], getattr(torch, unary))
case("acos", [whole((3, 5), -0.9, 0.9)], torch.acos)
case("tan", [whole((3, 5), -0.9, 0.9)], torch.tan)
case("relu_at_ties", [steps(4, 5)], F.relu)
case("silu", [any_sign(3, 5)], F.silu)
case("gelu", [any_sign(3, 5)], F.gelu)
case("gelu_tanh", [any_sign(3, 5)], lambda x: F.gelu(x, approximate="tanh"))
case("softplus", [any_sign(3, 5)], lambda x: F.softplus(x, 2.0, 1.4))
case("tanhshrink", [any_sign(3, 5)], F.tanhshrink)
case("elu", [any_sign(3, 5)], F.elu)
case("leaky_relu", [any_sign(3, 5)], lambda x: F.leaky_relu(x, 0.1))
case("hardswish", [any_sign(3, 5)], F.hardswish)
case("clamp", [any_sign(3, 5)], lambda x: x.clamp(-0.7, 0.6))
case("add", [any_sign(3, 1), any_sign(4)], lambda a, b: a + b)
case("sub", [any_sign(3, 1), any_sign(1, 4)], lambda a, b: a - b)
case("mul", [any_sign(2, 3, 1), any_sign(3, 4)], lambda a, b: a * b)
case("div", [any_sign(3, 1), positive(4)], lambda a, b: a / b)
case("fmod", [any_sign(3, 4), whole((3, 4), 0.4, 0.9)], torch.fmod)
case("remainder", [any_sign(3, 4), whole((3, 4), 0.4, 0.9)], torch.remainder)
case("maximum_at_ties", [steps(4, 5), whole((4, 5), -1.5, 1.5, 1.0)], torch.maximum)
case("minimum_at_ties", [steps(4, 5), whole((4, 5), -1.5, 1.5, 1.0)], torch.minimum)
case("pow_number", [positive(3, 4)], lambda x: x.pow(2.5))
case("pow_square", [any_sign(3, 4)], lambda x: x.pow(2))
case("pow_cube", [any_sign(3, 4)], lambda x: x.pow(3))
case("pow_tensor", [positive(3, 4), any_sign(3, 4)], torch.pow)
case("atan2", [any_sign(3, 4), positive(3, 4)], torch.atan2)
case("hypot", [any_sign(3, 4), positive(3, 4)], torch.hypot)
case("logaddexp", [any_sign(3, 4), any_sign(4)], torch.logaddexp)
case("lerp", [any_sign(3, 4), any_sign(3, 4), positive(4)], torch.lerp)
case("where", [any_sign(3, 4), any_sign(4)], lambda a, b: torch.where(a > 0.2, a * b, b))

case("reshape", [any_sign(3, 4)], lambda x: x.reshape(2, 6) * 2)
case("permute", [any_sign(2, 3, 4)], lambda x: x.permute(2, 0, 1).sin())
case("expand", [any_sign(3, 1)], lambda x: x.expand(2, 3, 4).sin())
case("slice", [any_sign(5, 7)], lambda x: x[1:4, 1:7:2].sin())
case("flip", [any_sign(3, 4)], lambda x: x.flip(1).sin())
case("cat", [any_sign(2, 3), any_sign(2, 4)], lambda a, b: torch.cat([a, b, a.sin()], 1))
case("pad", [any_sign(2, 3)], lambda x: F.pad(x, (1, 2, 0, 1)).sin())
case("roll", [any_sign(3, 4)], lambda x: x.roll(1, 1).sin())
case("tril", [any_sign(4, 4)], lambda x: x.tril().sin())
case("diagonal", [any_sign(4, 4)], lambda x: x.diagonal().sin())
case("unfold", [any_sign(2, 7)], lambda x: x.unfold(1, 3, 2).sin())

case("sum", [any_sign(3, 4)], lambda x: x.sum(1).sin())
case("mean", [any_sign(3, 4)], lambda x: x.mean(0, keepdim=True).sin())
case("prod", [any_sign(3, 4)], lambda x: x.prod(1))
case("prod_with_zeros", [steps(4, 3)], lambda x: x.prod(1))
case("amax_at_ties", [steps(4, 5)], lambda x: x.amax(1))
case("amin_at_ties", [steps(4, 5)], lambda x: x.amin(0))
case("max_along", [any_sign(4, 5)], lambda x: x.max(1).values)
case("min_along", [any_sign(4, 5)], lambda x: x.min(0).values)
case("aminmax", [any_sign(4, 5)], lambda x: torch.aminmax(x, dim=1).max - torch.aminmax(x, dim=1).min)
case("var", [any_sign(3, 5)], lambda x: x.var(1))
case("stddev", [any_sign(3, 5)], lambda x: x.std(1, correction=0))
case("var_mean", [any_sign(3, 5)], lambda x: torch.var_mean(x, 0)[0] * torch.var_mean(x, 0)[1])
case("logsumexp", [any_sign(3, 5)], lambda x: x.logsumexp(1))
case("norm", [any_sign(3, 5)], lambda x: x.norm(dim=1))
case("softmax", [any_sign(3, 5)], lambda x: x.softmax(1))
case("log_softmax", [any_sign(3, 5)], lambda x: x.log_softmax(0))
case("layer_norm", [any_sign(3, 5), any_sign(5), any_sign(5)],
     lambda x, w, b: F.layer_norm(x, (5,), w, b))
case("rms_norm", [any_sign(3, 5), any_sign(5)], lambda x, w: F.rms_norm(x, (5,), w, 1e-5))
case("matmul", [any_sign(2, 3, 4), any_sign(4, 2)], torch.matmul)
case("linear", [any_sign(2, 3, 4), any_sign(5, 4), any_sign(5)], F.linear)
case("einsum", [any_sign(2, 3, 4), any_sign(2, 4, 3)], lambda a, b: torch.einsum("bij,bji->ij", a, b))
case("cumsum", [any_sign(3, 5)], lambda x: x.cumsum(1).sin())
case("cumprod", [positive(3, 5)], lambda x: x.cumprod(0))
case("cumprod_with_zeros", [steps(3, 6)], lambda x: x.cumprod(1))
case("cummax", [any_sign(3, 6)], lambda x: x.cummax(1).values)
case("logcumsumexp", [any_sign(3, 6)], lambda x: x.logcumsumexp(1))

case("embedding", [any_sign(5, 3)], lambda t: F.embedding(index([1, 3, 1, 0]), t).sin())
case("index_select", [any_sign(3, 5)], lambda x: x.index_select(1, index([4, 0, 4])).sin())
case("gather", [any_sign(3, 5)],
     lambda x: x.gather(1, index([0, 4, 2, 2, 1, 3], (3, 2))).sin())
case("index_copy", [any_sign(4, 3), any_sign(2, 3)],
     lambda x, s: x.index_copy(0, index([3, 1]), s).sin())
case("index_add", [any_sign(4, 3), any_sign(3, 3)],
     lambda x, s: x.index_add(0, index([3, 1, 3]), s).sin())
SCATTERED = [0, 1, 2, 2, 1, 0]
case("scatter_add", [any_sign(3, 3), any_sign(2, 3)],
     lambda x, s: x.scatter_add(0, index(SCATTERED, (2, 3)), s).sin())
case("scatter_prod", [any_sign(3, 3), steps(2, 3)],
     lambda x, s: x.scatter_reduce(0, index(SCATTERED, (2, 3)), s, "prod"))
case("scatter_amax", [steps(3, 3), steps(2, 3)],
     lambda x, s: x.scatter_reduce(0, index(SCATTERED, (2, 3)), s, "amax"))
case("sort", [any_sign(3, 5)], lambda x: x.sort(1).values)
case("topk", [any_sign(3, 5)], lambda x: x.topk(2, 1).values)

QKV = [any_sign(1, 2, 3, 4), any_sign(1, 2, 3, 4), any_sign(1, 2, 3, 4)]
case("attention", QKV, F.scaled_dot_product_attention)
case("attention_causal", QKV, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
case("attention_grouped", [any_sign(1, 4, 3, 4), any_sign(1, 2, 3, 4), any_sign(1, 2, 3, 4)],
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
case("attention_biased", QKV + [any_sign(1, 2, 3, 3)],
     lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m))

case("conv1d", [any_sign(2, 4, 9), any_sign(6, 2, 3), any_sign(6)],
     lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, groups=2))
case("conv2d", [any_sign(1, 2, 6, 5), any_sign(3, 2, 3, 2), any_sign(3)],
     lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2)))
case("conv2d_by_channel", [any_sign(1, 3, 5, 5), any_sign(3, 1, 3, 3)],
     lambda x, w: F.conv2d(x, w, None, padding=1, groups=3))
case("conv2d_same", [any_sign(1, 2, 5, 5), any_sign(2, 2, 2, 2)],
     lambda x, w: F.conv2d(x, w, None, padding="same"))
case("conv3d", [any_sign(1, 2, 4, 3, 4), any_sign(2, 2, 2, 2, 2)],
     lambda x, w: F.conv3d(x, w, None, stride=(1, 1, 2)))
case("conv_transpose2d", [any_sign(1, 3, 4, 3), any_sign(3, 2, 3, 2), any_sign(2)],
     lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1))
case("max_pool2d", [any_sign(1, 2, 6, 6)], lambda x: F.max_pool2d(x, 3, 2, 1))
case("max_pool1d", [any_sign(2, 3, 7)], lambda x: F.max_pool1d(x, 2))
case("avg_pool2d", [any_sign(1, 2, 6, 6)], lambda x: F.avg_pool2d(x, 3, 2, 1))
case("adaptive_avg_pool2d", [any_sign(1, 2, 5, 7)], lambda x: F.adaptive_avg_pool2d(x, (2, 3)))
case("batch_norm", [any_sign(3, 2, 4), any_sign(2), any_sign(2)],
     lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
case("group_norm", [any_sign(2, 4, 3), any_sign(4), any_sign(4)],
     lambda x, w, b: F.group_norm(x, 2, w, b))
case("instance_norm", [any_sign(2, 3, 4)], lambda x: F.instance_norm(x))
case("interpolate", [any_sign(1, 2, 3, 4)],
     lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", align_corners=False))

TARGETS = [1, 0, 3, 1]
case("cross_entropy", [any_sign(4, 5)], lambda x: F.cross_entropy(x, index(TARGETS)))
case("cross_entropy_smooth", [any_sign(4, 5)],
     lambda x: F.cross_entropy(x, index(TARGETS), label_smoothing=0.1, ignore_index=0))
case("cross_entropy_weighted", [any_sign(4, 5), positive(5)],
     lambda x, w: F.cross_entropy(x, index(TARGETS), w.detach(), reduction="sum") + 0 * w.sum())
case("nll_loss", [any_sign(4, 5)], lambda x: F.nll_loss(x.log_softmax(1), index(TARGETS)))
case("mse_loss", [any_sign(4, 5), any_sign(4, 5)], F.mse_loss)
case("l1_loss", [any_sign(4, 5), any_sign(4, 5)], F.l1_loss)
case("smooth_l1_loss", [any_sign(4, 5), positive(4, 5)], F.smooth_l1_loss)
case("huber_loss", [any_sign(4, 5), positive(4, 5)], F.huber_loss)
case("bce", [whole((4, 5), 0.1, 0.9), whole((4, 5), 0.1, 0.8)], F.binary_cross_entropy)
case("bce_with_logits", [any_sign(4, 5), whole((4, 5), 0.1, 0.8)],
     F.binary_cross_entropy_with_logits)
case("kl_div", [any_sign(4, 5), positive(4, 5)],
     lambda x, t: F.kl_div(x.log_softmax(1), t, reduction="batchmean"))


def near_identity(x):
    return x * 0.2 + torch.eye(x.shape[-1], dtype=x.dtype)


def definite(x):
    return x @ x.transpose(-2, -1) + torch.eye(x.shape[-1], dtype=x.dtype)


case("inverse", [any_sign(2, 3, 3)], lambda x: torch.linalg.inv(near_identity(x)))
case("solve", [any_sign(2, 3, 3), any_sign(2, 3, 2)],
     lambda a, b: torch.linalg.solve(near_identity(a), b))
case("solve_vector", [any_sign(3, 3), any_sign(3)],
     lambda a, b: torch.linalg.solve(near_identity(a), b))
case("solve_triangular", [any_sign(3, 3), any_sign(3, 2)],
     lambda a, b: torch.linalg.solve_triangular(near_identity(a), b, upper=False))
case("determinant", [any_sign(2, 3, 3)], lambda x: torch.linalg.det(near_identity(x)))
case("log_determinant", [any_sign(3, 3)],
     lambda x: torch.linalg.slogdet(near_identity(x)).logabsdet)
case("cholesky", [any_sign(3, 3)], lambda x: torch.linalg.cholesky(definite(x)))
case("eigvalsh", [any_sign(3, 3)], lambda x: torch.linalg.eigvalsh(definite(x)))
case("eigh", [any_sign(3, 3)], lambda x: torch.linalg.eigh(definite(x)).eigenvectors ** 2)


def in_one(*parts):
    """The squares of matrices, which do not depend on the signs of vectors, in one row."""
    return torch.cat([part.square().reshape(-1) for part in parts])


def independent(x):
    """Singular values that differ."""
    places = torch.arange(1, x.shape[1] + 1.0, dtype=x.dtype)
    return x * 0.2 + torch.eye(*x.shape, dtype=x.dtype) * places


for name, shape in (("tall", (4, 3)), ("wide", (3, 4))):
    case(f"svd_{name}", [any_sign(*shape)],
         lambda x: in_one(*torch.linalg.svd(independent(x), full_matrices=False)))
    case(f"qr_{name}", [any_sign(*shape)], lambda x: in_one(*torch.linalg.qr(independent(x))))
case("svdvals", [any_sign(3, 4)], lambda x: torch.linalg.svdvals(independent(x)))


def mlp(x, w1, b1, w2, b2):
    return F.cross_entropy(F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2), index(TARGETS))


def cnn(x, w1, b1, scale, shift, w2, w3):
    y = F.max_pool2d(F.relu(F.conv2d(x, w1, b1, padding=1)), 2)
    y = F.batch_norm(F.conv2d(y, w2, padding=1), None, None, scale, shift, training=True)
    return F.cross_entropy(F.linear(F.silu(y).flatten(1), w3), index([1, 2]))


def transformer_block(x, qkv, out, scale, shift, up, down):
    batch, rows, width = x.shape
    y = F.layer_norm(x, (width,), scale, shift)
    q, k, v = (t.reshape(batch, rows, 2, width // 2).transpose(1, 2)
               for t in F.linear(y, qkv).split(width, 2))
    scores = q @ k.transpose(2, 3) / math.sqrt(width // 2)
    seen = torch.ones(rows, rows, dtype=torch.bool).tril()
    mixed = scores.masked_fill(~seen, -math.inf).softmax(3) @ v
    x = x + F.linear(mixed.transpose(1, 2).reshape(batch, rows, width), out)
    return x + F.linear(F.gelu(F.linear(x, up)), down)


case("mlp", [any_sign(4, 6), any_sign(5, 6), any_sign(5), any_sign(4, 5), any_sign(4)], mlp)
case("cnn", [any_sign(2, 1, 6, 6), any_sign(3, 1, 3, 3), any_sign(3), any_sign(2), any_sign(2),
             any_sign(2, 3, 3, 3), any_sign(3, 18)], cnn)
case("transformer_block", [any_sign(1, 5, 8), any_sign(24, 8), any_sign(8, 8), any_sign(8),
                           any_sign(8), any_sign(16, 8), any_sign(8, 16)], transformer_block)


def summed(values, seed):
    total = 0
    for k, value in enumerate(values):
        total = total + (value * elements(value.shape, seed + k, -1, 1)).sum()
    return total


def gradients(inputs, function):
    x = [elements(s, k, low, high, step).requires_grad_() for k, (s, low, high, step) in
         enumerate(inputs)]
    first = torch.autograd.grad(summed([function(*x)], 100), x, create_graph=True,
                                allow_unused=True)
    first = [torch.zeros_like(a) if g is None else g for a, g in zip(x, first)]
    second = None
    try:
        total = summed(first, 200)
        if total.requires_grad:
            second = torch.autograd.grad(total, x, allow_unused=True)
            second = [torch.zeros_like(a) if g is None else g for a, g in zip(x, second)]
    except RuntimeError:
        second = None
    return first, second


def numbers(tensors):
    whole = [t.detach() + torch.zeros(t.shape, dtype=t.dtype) for t in tensors]  # in memory
    return [[float(f"{v:.12g}") for v in t.reshape(-1).tolist()] for t in whole]


def losses_of_training(make_optimizer):
    """The loss before the first and after the last of 200 steps of an MLP on whole batches."""
    shapes = [(8, 3), (8,), (1, 8), (1,)]
    parameters = [elements(s, k, -0.5, 0.5).requires_grad_() for k, s in enumerate(shapes)]
    x = elements((32, 3), 50, -1, 1)
    y = (x[:, :1] * x[:, 1:2]).sin() + x[:, 2:]

    def loss():
        w1, b1, w2, b2 = parameters
        return F.mse_loss(F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2), y)

    optimizer = make_optimizer(parameters)
    losses = [loss().item()]
    for _ in range(200):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return losses + [loss().item()]


def main():
    torch.set_num_threads(1)
    if "--training" in sys.argv:  # the numbers in tests/graph/derivatives/training_test.cpp
        print("sgd", losses_of_training(lambda p: torch.optim.SGD(p, lr=0.1)))
        print("adam", losses_of_training(lambda p: torch.optim.Adam(p, lr=0.01)))
        return
    lines = []
    for name, (inputs, function) in CASES.items():
        first, second = gradients(inputs, function)
        entry = {"g": numbers(first)}
        if second is not None:
            entry["h"] = numbers(second)
        lines.append(f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}")
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
