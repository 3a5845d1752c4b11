#!/usr/bin/env python3
"""Writes tests/models/undecomposed: programs as torch.export.export gives them, without
run_decompositions(): layers under their names, and writes in place, also through views; with what
PyTorch makes of them. Needs PyTorch 2.8 or later."""

import json
import math
import pathlib
import zipfile

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/undecomposed"


class Vision(nn.Module):
    """Convolutions with norms, activations and sums in place."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depth = nn.Conv2d(8, 8, 3, padding="same", groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.group = nn.GroupNorm(2, 4)
        self.line = nn.Linear(4, 5)
        self.norm.running_mean.normal_(0, 0.3)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = F.relu_(self.norm(self.first(x)))
        z = F.hardswish(self.depth(y), inplace=True)
        z += y
        z = self.group(self.up(F.max_pool2d(z, 2)))
        z = F.dropout(F.silu(z, inplace=True), 0.2, training=False, inplace=True)
        return self.line(F.adaptive_avg_pool2d(z, 1).flatten(1))


class Writes(nn.Module):
    """Writes through views, to tensors that were just made, and to an argument."""

    def forward(self, x, index):
        mask = x.new_zeros((6, 6))
        mask[0:3, 0:4].fill_(1)
        mask[3:].fill_(2)
        mask[:, 5] += 10
        mask.t()[0].mul_(3)
        rows = torch.ones(4, 6)
        rows.index_put_((index,), x[:2] * 2)
        rows.view(2, 12)[1].copy_(torch.arange(12) * 0.5)
        y = x.clone()
        y.masked_fill_(y > 0.5, -1).clamp_(-0.75)
        y.select(0, 1).zero_().sub_(4)
        flags = (x > 0) & (x < 1) | (x == 2)
        flags.__iand__(x < 0.25)
        x.add_(1)
        return mask, rows, y, flags, x * 2


class Aliases(nn.Module):
    """Operations that return a new tensor although they have nothing to do; the result is then
    written to."""

    def forward(self, x):
        y = x * 1.5
        pads = F.pad(y, (0, 0))
        pads.relu_()
        same = F.interpolate(y[None, None], size=y.shape)[0, 0]
        same += 1
        power = y**1
        power.mul_(2)
        turned = torch.rot90(y, 0).clone().add_(3)
        with torch.no_grad():
            shuffled = F.pixel_shuffle(y[None], 1)[0]
        with torch.enable_grad():
            shuffled.sub_(2)
        with torch.autocast("cpu", enabled=False):
            turned = turned @ y.t()
        whole = torch.cond(x.sum() > -1e9, lambda a: a + 1, lambda a: a - 1, (y,))
        whole //= 2
        whole.pow_(torch.full_like(whole, 2))
        return y, pads, same, power, turned, shuffled, whole, None


class Buffers(nn.Module):
    """Masks of attention in a buffer that counts calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x, mask):
        self.calls[1:].add_(1)
        y = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
        return y * self.calls[2], (x > 0).sum(dtype=torch.int32), self.calls.clone()


class Sequences(nn.Module):
    """Recurrent layers with projections, cells, and attention."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 2, proj_size=4, bidirectional=True, batch_first=True)
        self.cell = nn.GRUCell(8, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.bags = nn.EmbeddingBag(5, 8, mode="mean")

    def forward(self, x, ids):
        y, (h, c) = self.lstm(x)
        z = self.layer(y)
        state = self.cell(z[:, 0], self.bags(ids))
        far = F.scaled_dot_product_attention(z, z, z, is_causal=True)
        return y, c, self.decoder(z, far), state


class Shapes(nn.Module):
    """Tensors joined, cut, repeated and padded."""

    def forward(self, x, y):
        a, b = torch.meshgrid(x[:, 0], y[0], indexing="xy")
        p, q, r = torch.tensor_split(x, 3, dim=1)
        left, right = torch.chunk(y, 2, dim=1)
        wide = F.pad(y[None], (1, 2), mode="circular")
        pixels = F.pixel_shuffle(torch.stack([x, y, x, y]).reshape(4, 4, 6), 2)
        patches = F.unfold(pixels[None], 3, padding=1, stride=2)
        return (a - b, torch.hstack([p, r]), q.unflatten(1, (1, -1)), torch.vstack([left, right]),
                wide, patches, F.fold(patches, (8, 12), 3, padding=1, stride=2),
                torch.block_diag(x[:2], y[:1]), x.repeat_interleave(2, dim=0), y.tile(2, 1, 2),
                torch.rot90(x, 1, (0, 1)), x.roll(1, 0).movedim(0, 1), x.diff(n=2, prepend=y))


class Losses(nn.Module):
    def forward(self, x, y, classes):
        p = x.sigmoid()
        return torch.stack([
            F.cross_entropy(x, classes, label_smoothing=0.1), F.nll_loss(x, classes),
            F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y, beta=0.5),
            F.huber_loss(x, y), F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
            F.binary_cross_entropy(p, y.sigmoid()), F.binary_cross_entropy_with_logits(x, p),
            F.multi_margin_loss(x, classes), F.triplet_margin_loss(x, y, x.flip(0)),
            F.cosine_embedding_loss(x, y, torch.ones(4)), F.poisson_nll_loss(x, y),
            F.cosine_similarity(x, y).std(), x.var() + y.norm() + x.quantile(0.3)])


class SeenAnew(nn.Module):
    """Tensors whose shape changes in place, and what is written to them then."""

    def forward(self, x):
        y = x * 2
        y.unsqueeze_(0).squeeze_(0)
        z = y.t_()
        z.transpose_(0, 1).add_(1)
        w = x.clone().swapaxes_(0, 1).unsqueeze_(-1)
        w[0].zero_()
        w.squeeze_()
        return y, w, x.clone().resize_(3, 4), x.clone().resize_as_(x[:2]), y.fill_diagonal_(7)


class Choices(nn.Module):
    """Unique values, modes, medians, interpolation, and ranges."""

    def forward(self, x, ids, parts):
        values, inverse, counts = torch.unique_consecutive(
            ids, return_inverse=True, return_counts=True)
        unique, places = torch.unique(ids, return_inverse=True)
        a, b, c = torch.tensor_split(x, parts, dim=1)
        bent = x.masked_fill(x > 1, float("nan"))
        q = torch.tensor([0.1, 0.75])
        return (values, inverse, counts, unique, places, ids.mode(-1).values, a, b, c,
                x.quantile(q, dim=1), x.quantile(0.4, dim=0, keepdim=True, interpolation="lower"),
                bent.nanquantile(0.5, dim=1), bent.nanquantile(q), bent.quantile(0.3, dim=1),
                torch.combinations(x[0, :4], 3), torch.nonzero_static(ids > 2, size=7),
                *torch.gradient(x, spacing=0.5), *torch.gradient(x, dim=1, edge_order=2),
                torch.pdist(x), torch.linalg.vander(x[:, :2], N=4), torch.angle(x),
                *torch.frexp(x * 100), torch.isreal(ids), torch.ones(7, 3).fill_diagonal_(2, True))


class Windows(nn.Module):
    """Windows of signals, and maxima of windows that are put back or lie at random."""

    def forward(self, x, random):
        y, places = F.max_pool2d(x, 2, return_indices=True)
        z, at = F.fractional_max_pool2d(x, 2, 3, return_indices=True, _random_samples=random)
        return (torch.hann_window(6), torch.hann_window(5, periodic=False),
                torch.hamming_window(6), torch.hamming_window(4, True, 0.6, 0.4),
                torch.blackman_window(6), torch.bartlett_window(5), torch.bartlett_window(1),
                torch.kaiser_window(6), torch.kaiser_window(5, False, 4.0),
                F.max_unpool2d(y, places, 2), z, at, *F.max_pool1d(x[0], 2, return_indices=True),
                torch.linspace(x[0, 0, 0, 0], x[0, 0, 0, 1], 5))


class Special(nn.Module):
    """torch.special, with zeros, poles, infinities and what is far from them."""

    def forward(self, x, p, n):
        s = torch.special
        a = x.abs() + 0.01
        return (torch.lgamma(x), torch.digamma(x), torch.polygamma(1, a), torch.polygamma(3, x),
                torch.mvlgamma(a + 2, 3), s.zeta(a + 1.5, a), s.entr(p), s.xlog1py(x, p),
                s.erfcx(x), s.ndtr(x), s.ndtri(p), s.log_ndtr(x * 3), s.i0e(x), s.i1(x), s.i1e(x),
                s.bessel_j0(x), s.bessel_j1(x), s.bessel_y0(x), s.bessel_y1(a),
                s.spherical_bessel_j0(x), s.modified_bessel_i0(x), s.modified_bessel_i1(x),
                s.modified_bessel_k0(a), s.modified_bessel_k1(a), s.scaled_modified_bessel_k0(a),
                s.scaled_modified_bessel_k1(a), s.airy_ai(x), s.chebyshev_polynomial_t(p, n),
                s.chebyshev_polynomial_u(p, n), s.chebyshev_polynomial_v(p, n),
                s.chebyshev_polynomial_w(p, n), s.shifted_chebyshev_polynomial_t(p, n),
                s.shifted_chebyshev_polynomial_u(p, n), s.shifted_chebyshev_polynomial_v(p, n),
                s.shifted_chebyshev_polynomial_w(p, n), s.hermite_polynomial_h(p, n),
                s.hermite_polynomial_he(p, 3), s.laguerre_polynomial_l(p, n),
                s.legendre_polynomial_p(p, n))


class Numbers(nn.Module):
    """Numbers beside tensors: of a size that may be another one, and always the same."""

    def forward(self, x):
        return x + x.shape[0], x.shape[0] * 2, x.shape[0] / 4, x.shape[1], 0.5, True


class Equations(nn.Module):
    """Systems of linear equations, and what matrices are factored into."""

    def forward(self, a, b):
        la = torch.linalg
        spd = a @ a.mT + torch.eye(4)
        lu, pivots = la.lu_factor(a)
        factors, tau = torch.geqrf(b)
        low = la.cholesky(spd)
        return (la.det(a), *la.slogdet(a), torch.logdet(spd), la.inv(a), la.solve(a, b),
                la.solve(a, b.mT, left=False), la.solve(a, b[..., 0]), lu, pivots, *la.lu(b),
                *torch.lu_unpack(lu, pivots), la.lu_solve(lu, pivots, b),
                la.lu_solve(lu, pivots, b, adjoint=True), low, la.cholesky(spd, upper=True),
                la.solve_triangular(low, b, upper=False),
                la.solve_triangular(low.mT, b.mT, upper=True, left=False),
                torch.cholesky_solve(b, low), torch.cholesky_inverse(low), *la.qr(b),
                *la.qr(b, mode="complete"), factors, tau, la.householder_product(factors, tau),
                la.eigh(spd)[0], la.eigvalsh(spd, UPLO="U"), la.svdvals(b), la.cond(a), la.pinv(b),
                la.pinv(a, hermitian=True),
                la.matrix_rank(b @ b.mT), la.matrix_norm(b, "nuc"), la.matrix_norm(b, -2),
                torch.ormqr(factors, tau, a, transpose=True), la.matrix_power(a, 5),
                la.matrix_power(a, -2), la.matrix_norm(b), la.matrix_norm(b, 1),
                la.matrix_norm(b, -float("inf")))


class Learned(nn.Module):
    """Statistics of instances, which move those that were learned."""

    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)

    def forward(self, x):
        return self.norm(x), self.norm.running_mean.clone(), self.norm.running_var.clone()


class Attention(nn.Module):
    """Attention with the logarithms of its sums."""

    def forward(self, x, y, mask):
        attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return (*attend(x, y, y, is_causal=True), *attend(x, y, y, attn_mask=mask, scale=0.3))


class Mixed(nn.Module):
    """Layers within autocast, and what it leaves as it is."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)

    def forward(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = self.line(x)
            w = F.softmax(z, -1) @ y.t()
            whole = torch.cat([x, z])
            loss = F.mse_loss(z, y.to(torch.bfloat16))
            with torch.autocast("cpu", enabled=False):
                exact = x @ y.t()
            wide = x.double() @ y.double().t()
        return z, w, whole, loss, exact, wide, self.norm(x)


def described(result):
    tensor = torch.tensor(result, dtype=torch.float64) if isinstance(result, float) \
        else torch.as_tensor(result)
    kind = str(tensor.dtype)[6:]
    digits = 17 if tensor.dtype == torch.float64 else 9
    def plain(v):
        if not tensor.is_floating_point():
            return int(v)
        return float(f"{v:.{digits}g}") if math.isfinite(v) else str(v)  # which JSON has no numbers for
    return {"shape": list(tensor.shape), "dtype": kind,
            "values": [plain(v) for v in tensor.flatten().tolist()]}


def pack(path):
    """Entries deflated, which PyTorch stores as they are."""
    with zipfile.ZipFile(path) as stored:
        entries = [(each.filename, stored.read(each)) for each in stored.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries:
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def main():
    torch.manual_seed(3)
    FOLDER.mkdir(exist_ok=True)
    programs = {
        "vision": (Vision(), (torch.randn(2, 3, 8, 8),)),
        "writes": (Writes(), (torch.randn(4, 6), torch.tensor([3, 1]))),
        "sequences": (Sequences(), (torch.randn(2, 5, 6), torch.randint(0, 5, (2, 3)))),
        "aliases": (Aliases(), (torch.randn(4, 6),)),
        "buffers": (Buffers(), (torch.randn(1, 2, 3, 8), torch.tensor(
            [[True, False, False], [False] * 3, [True] * 3]))),
        "shapes": (Shapes(), (torch.randn(4, 6), torch.randn(4, 6))),
        "losses": (Losses(), (torch.randn(4, 6), torch.randn(4, 6), torch.randint(0, 6, (4,)))),
        "seen_anew": (SeenAnew(), (torch.randn(4, 6),)),
        "choices": (Choices(), (torch.randn(4, 6), torch.tensor([[3, 3, 1, 2], [2, 2, 3, 3]]),
                                torch.tensor([2, 3]))),
        "windows": (Windows(), (torch.randn(1, 2, 6, 6), torch.rand(1, 2, 2))),
        "equations": (Equations(), (torch.randn(2, 4, 4), torch.randn(2, 4, 3))),
        "learned": (Learned(), (torch.randn(2, 3, 5),)),
        "mixed": (Mixed(), (torch.randn(4, 6), torch.randn(4, 6))),
        "numbers": (Numbers(), (torch.randn(4, 2),)),
        "special": (Special(), (
            torch.tensor([-40.5, -8.3, -3.7, -2.0, -0.4, 0.0, 0.3, 1.0, 2.0, 2.5, 7.9, 8.1, 30.0]),
            torch.tensor([0.001, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]),
            torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.7, 4.0, 5.0, 6.0, 7.0, 8.0, 3.0, 2.0, 9.0]))),
        "attention": (Attention(), (torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8),
                                    torch.randn(3, 3))),
    }
    cases = {}
    for name, (model, inputs) in programs.items():
        with torch.no_grad():
            sizes = ({0: torch.export.Dim("n")},) if name == "numbers" else None
            model.train(name == "learned")
            program = torch.export.export(
                model, tuple(x.clone() for x in inputs), dynamic_shapes=sizes)
            torch.export.save(program, FOLDER / f"{name}.pt2")  # with buffers as they are now
            pack(FOLDER / f"{name}.pt2")
            # The program writes to its arguments; these are their values before the call.
            given = [described(x) for x in inputs]
            outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        outputs = tuple(x for x in outputs if x is not None)
        cases[name] = {"inputs": given, "after": [described(x) for x in inputs],
                       "outputs": [described(x) for x in outputs]}
    (FOLDER / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
