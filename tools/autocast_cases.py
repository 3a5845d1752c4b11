"""Records what torch.autocast and torch.amp.GradScaler do, for tests of mixed precision.

    python tools/autocast_cases.py > tests/graph/precision/autocast_cases.def
    python tools/autocast_cases.py --training    # the numbers of autocast_test.cpp
    python tools/autocast_cases.py --scaling     # the numbers of loss_scale_test.cpp
"""

import sys

import torch
import torch.nn.functional as F

HEADER = """\
// Which dtype comes out of functions of PyTorch 2.15 within torch.autocast("cpu", bfloat16), for
// floating operands of f32, of bf16, and for a first one of bf16 among others of f32; none: an
// error.
// Written by tools/autocast_cases.py.
//
// TILEWRIGHT_AUTOCAST_CASE(name, of_f32, of_bf16, of_both)
"""

F32, BF16 = torch.float32, torch.bfloat16
torch.manual_seed(0)


def t(*shape):
    return torch.rand(*shape) * 0.5 + 0.25


def square():
    return torch.eye(3) + 0.1 * t(3, 3)


classes = torch.tensor([0, 2, 1, 3])
ids = torch.tensor([1, 0, 2])
once = (False, 1, 0.0, False, False, False)  # one layer without biases, forwards
signs = torch.tensor([1.0, -1.0, 1.0, -1.0])

# name: (function of the floating operands, operands)
cases = {
    "matmul": (torch.matmul, t(3, 4), t(4, 5)),
    "mm": (torch.mm, t(3, 4), t(4, 5)),
    "bmm": (torch.bmm, t(2, 3, 4), t(2, 4, 5)),
    "mv": (torch.mv, t(3, 4), t(4)),
    "dot": (torch.dot, t(4), t(4)),
    "vdot": (torch.vdot, t(4), t(4)),
    "inner": (torch.inner, t(3, 4), t(5, 4)),
    "outer": (torch.outer, t(3), t(4)),
    "addmm": (torch.addmm, t(3, 5), t(3, 4), t(4, 5)),
    "addmv": (torch.addmv, t(3), t(3, 4), t(4)),
    "addbmm": (torch.addbmm, t(3, 5), t(2, 3, 4), t(2, 4, 5)),
    "baddbmm": (torch.baddbmm, t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)),
    "addr": (torch.addr, t(3, 4), t(3), t(4)),
    "linear": (F.linear, t(3, 4), t(5, 4), t(5)),
    "bilinear": (F.bilinear, t(3, 4), t(3, 5), t(2, 4, 5)),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), t(3, 4), t(4, 5)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), t(3, 4), t(4, 5)),
    "linalg_multi_dot": (lambda a, b, c: torch.linalg.multi_dot([a, b, c]), t(3, 4), t(4, 5), t(5, 2)),
    "linalg_vecdot": (torch.linalg.vecdot, t(3, 4), t(3, 4)),
    "conv1d": (F.conv1d, t(2, 3, 8), t(4, 3, 3), t(4)),
    "conv2d": (F.conv2d, t(2, 3, 8, 8), t(4, 3, 3, 3), t(4)),
    "conv3d": (F.conv3d, t(1, 2, 4, 4, 4), t(3, 2, 2, 2, 2), t(3)),
    "conv_transpose1d": (F.conv_transpose1d, t(2, 3, 8), t(3, 4, 3), t(4)),
    "conv_transpose2d": (F.conv_transpose2d, t(2, 3, 5, 5), t(3, 4, 3, 3), t(4)),
    "conv_transpose3d": (F.conv_transpose3d, t(1, 2, 3, 3, 3), t(2, 3, 2, 2, 2), t(3)),
    "scaled_dot_product_attention": (F.scaled_dot_product_attention, t(1, 2, 4, 8), t(1, 2, 4, 8), t(1, 2, 4, 8)),
    "prelu": (F.prelu, t(3, 4), t(1)),
    "relu": (F.relu, t(3, 4)),
    "gelu": (F.gelu, t(3, 4)),
    "silu": (F.silu, t(3, 4)),
    "softplus": (F.softplus, t(3, 4)),
    "exp": (torch.exp, t(3, 4)),
    "log": (torch.log, t(3, 4)),
    "tanh": (torch.tanh, t(3, 4)),
    "sigmoid": (torch.sigmoid, t(3, 4)),
    "rsqrt": (torch.rsqrt, t(3, 4)),
    "pow": (lambda a: torch.pow(a, 3), t(3, 4)),
    "erfinv": (torch.erfinv, t(3, 4)),
    "add": (torch.add, t(3, 4), t(3, 4)),
    "mul": (torch.mul, t(3, 4), t(3, 4)),
    "div": (torch.div, t(3, 4), t(3, 4)),
    "atan2": (torch.atan2, t(3, 4), t(3, 4)),
    "addcmul": (torch.addcmul, t(3, 4), t(3, 4), t(3, 4)),
    "where": (lambda a, b: torch.where(a > 0.5, a, b), t(3, 4), t(3, 4)),
    "cat": (lambda a, b: torch.cat([a, b]), t(3, 4), t(3, 4)),
    "stack": (lambda a, b: torch.stack([a, b]), t(3, 4), t(3, 4)),
    "index_copy": (lambda a, b: torch.index_copy(a, 0, ids, b), t(3, 4), t(3, 4)),
    "scatter_add": (lambda a, b: torch.scatter_add(a, 0, ids.reshape(3, 1).expand(3, 4), b), t(3, 4), t(3, 4)),
    "softmax": (lambda a: F.softmax(a, -1), t(3, 4)),
    "log_softmax": (lambda a: F.log_softmax(a, -1), t(3, 4)),
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (4,), w, b), t(3, 4), t(4), t(4)),
    "group_norm": (lambda a, w, b: F.group_norm(a, 2, w, b), t(3, 4, 5), t(4), t(4)),
    "batch_norm": (lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b), t(3, 4, 5), t(4), t(4), t(4), t(4)),
    "sum": (lambda a: torch.sum(a, -1), t(3, 4)),
    "mean": (lambda a: torch.mean(a, -1), t(3, 4)),
    "prod": (lambda a: torch.prod(a, -1), t(3, 4)),
    "cumsum": (lambda a: torch.cumsum(a, -1), t(3, 4)),
    "cumprod": (lambda a: torch.cumprod(a, -1), t(3, 4)),
    "logsumexp": (lambda a: torch.logsumexp(a, -1), t(3, 4)),
    "trace": (torch.trace, t(3, 3)),
    "linalg_vector_norm": (torch.linalg.vector_norm, t(3, 4)),
    "dist": (torch.dist, t(3, 4), t(3, 4)),
    "cdist": (torch.cdist, t(3, 4), t(5, 4)),
    "cosine_similarity": (F.cosine_similarity, t(3, 4), t(3, 4)),
    "quantile": (lambda a: torch.quantile(a, 0.5), t(3, 4)),
    "mse_loss": (F.mse_loss, t(3, 4), t(3, 4)),
    "l1_loss": (F.l1_loss, t(3, 4), t(3, 4)),
    "smooth_l1_loss": (F.smooth_l1_loss, t(3, 4), t(3, 4)),
    "huber_loss": (F.huber_loss, t(3, 4), t(3, 4)),
    "kl_div": (lambda a, b: F.kl_div(a, b, reduction="sum"), t(3, 4), t(3, 4)),
    "poisson_nll_loss": (F.poisson_nll_loss, t(3, 4), t(3, 4)),
    "binary_cross_entropy": (F.binary_cross_entropy, t(3, 4), t(3, 4)),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, t(3, 4), t(3, 4)),
    "cross_entropy": (lambda a: F.cross_entropy(a, classes), t(4, 5)),
    "nll_loss": (lambda a: F.nll_loss(a, classes), t(4, 5)),
    "soft_margin_loss": (lambda a: F.soft_margin_loss(a, signs), t(4)),
    "hinge_embedding_loss": (lambda a: F.hinge_embedding_loss(a, signs), t(4)),
    "multi_margin_loss": (lambda a: F.multi_margin_loss(a, classes), t(4, 5)),
    "margin_ranking_loss": (lambda a, b: F.margin_ranking_loss(a, b, signs), t(4), t(4)),
    "triplet_margin_loss": (F.triplet_margin_loss, t(3, 4), t(3, 4), t(3, 4)),
    "cosine_embedding_loss": (lambda a, b: F.cosine_embedding_loss(a, b, signs), t(4, 3), t(4, 3)),
    "max_pool2d": (lambda a: F.max_pool2d(a, 2), t(1, 2, 4, 4)),
    "avg_pool2d": (lambda a: F.avg_pool2d(a, 2), t(1, 2, 4, 4)),
    "max_pool3d": (lambda a: F.max_pool3d(a, 2), t(1, 2, 4, 4, 4)),
    "avg_pool3d": (lambda a: F.avg_pool3d(a, 2), t(1, 2, 4, 4, 4)),
    "adaptive_avg_pool3d": (lambda a: F.adaptive_avg_pool3d(a, 2), t(1, 2, 4, 4, 4)),
    "interpolate": (lambda a: F.interpolate(a, scale_factor=2.0, mode="bilinear"), t(1, 2, 4, 4)),
    "grid_sample": (lambda a, b: F.grid_sample(a, b, align_corners=False), t(1, 2, 4, 4), t(1, 3, 3, 2)),
    "reflection_pad2d": (lambda a: F.pad(a, (1, 1, 1, 1), mode="reflect"), t(1, 2, 4, 4)),
    "replication_pad2d": (lambda a: F.pad(a, (1, 1, 1, 1), mode="replicate"), t(1, 2, 4, 4)),
    "constant_pad": (lambda a: F.pad(a, (1, 1)), t(3, 4)),
    "embedding": (lambda a: F.embedding(ids, a), t(3, 4)),
    "linalg_cholesky": (torch.linalg.cholesky, square() @ square().T),
    "linalg_inv": (torch.linalg.inv, square()),
    "linalg_solve": (torch.linalg.solve, square(), t(3, 2)),
    "linalg_qr": (lambda a: torch.linalg.qr(a)[0], t(3, 3)),
    "matrix_power": (lambda a: torch.linalg.matrix_power(a, 3), t(3, 3)),
    "cov": (torch.cov, t(3, 4)),
    "lstm_cell": (lambda x, h, c, w, u: torch.lstm_cell(x, (h, c), w, u)[0],
                  t(3, 4), t(3, 2), t(3, 2), t(8, 4), t(8, 2)),
    "gru_cell": (lambda x, h, w, u: torch.gru_cell(x, h, w, u), t(3, 4), t(3, 2), t(6, 4), t(6, 2)),
    "lstm": (lambda x, h, c, w, u: torch.lstm(x, (h, c), (w, u), *once)[0],
             t(3, 1, 4), t(1, 1, 2), t(1, 1, 2), t(8, 4), t(8, 2)),
    "gru": (lambda x, h, w, u: torch.gru(x, h, (w, u), *once)[0],
            t(3, 1, 4), t(1, 1, 2), t(6, 4), t(6, 2)),
}

names = {F32: "f32", BF16: "bf16", torch.float64: "f64"}


def outcome(function, operands):
    try:
        with torch.autocast("cpu", dtype=BF16):
            return names[function(*operands).dtype]
    except RuntimeError:
        return "none"


def print_dtypes():
    print(HEADER)
    for name, (function, *operands) in cases.items():
        few = [x.to(BF16) for x in operands]
        mixed = [few[0], *operands[1:]]
        dtypes = ", ".join(outcome(function, each) for each in (operands, few, mixed))
        print(f"TILEWRIGHT_AUTOCAST_CASE({name}, {dtypes})")


def multiples(shape, k):
    """Of 1/64, in [-1/2, 1/2)."""
    count = torch.Size(shape).numel()
    return (((torch.arange(count) * 37 + k * 11) % 64) / 64 - 0.5).reshape(shape)


def print_training():
    """Loss, norms of the gradients and their fourth elements of a network, in f32, bf16 and f16."""
    parameters = [multiples(s, k).requires_grad_() for k, s in enumerate([(16, 8), (16,), (4, 16), (4,)])]
    w1, b1, w2, b2 = parameters
    x, y = multiples((12, 8), 7), torch.arange(12) % 4
    for dtype in (None, BF16, torch.float16):
        with torch.autocast("cpu", dtype=dtype or BF16, enabled=dtype is not None):
            loss = F.cross_entropy(F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2), y)
        gradients = torch.autograd.grad(loss, parameters)
        print(dtype, f"{loss.item():.9f}", [f"{g.norm().item():.9f}" for g in gradients],
              [f"{g.flatten()[3].item():.9f}" for g in gradients])


def print_scaling():
    """Scale, growth tracker, parameter and loss of steps of which three have infinite gradients."""
    w = torch.nn.Parameter(torch.tensor([1.0, -0.5, 0.25]))
    optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    x = torch.tensor([[0.5, 1.0, -1.0], [1.0, 0.25, 0.5]])
    for step in range(14):
        optimizer.zero_grad()
        loss = ((x @ w - 1.0) ** 2).mean()
        scaler.scale(loss).backward()
        if step in (2, 7, 8):
            w.grad[1] = float("nan" if step == 8 else "inf")
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_([w], 0.5)
        scaler.step(optimizer)
        scaler.update()
        numbers = (scaler.get_scale(), scaler._get_growth_tracker(), *w.tolist(), loss.item())
        print(*(f"{number:.9g}" for number in numbers))


if "--training" in sys.argv:
    print_training()
elif "--scaling" in sys.argv:
    print_scaling()
else:
    print_dtypes()
