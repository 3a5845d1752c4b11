#!/usr/bin/env python3
"""Writes tests/models/operators: programs of a few operators each, with run_decompositions() and
without, with what PyTorch makes of them. Complex tensors of the caller's are written as pairs.

usage: operator_cases.py [NAME...]    (these programs alone; wants PyTorch 2.8 or later)"""

import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

from complex_cases import seen
from undecomposed_cases import pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/operators"


class Given(nn.Module):
    """Writes to given tensors: whole ones, views, some of another dtype, an argument, several at
    once, and one that has no elements yet."""

    def forward(self, x, y):
        first = torch.empty_like(x)
        torch.div(x, y, out=first)
        torch.add(first, y, alpha=2, out=first)
        whole = torch.zeros(4, 4)
        torch.mul(x, y, out=whole[1:3])
        torch.exp(x, out=whole[0:2])
        values, places = torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.max(x, dim=1, out=(values, places))
        wide = torch.empty(2, 4, dtype=torch.float64)
        torch.div(x, y, rounding_mode="floor", out=wide)
        torch.sum(x, 1, out=wide[:, 0])
        none = torch.empty(0)
        torch.pow(x, 2, out=none)
        product = torch.empty(2, 2)
        torch.mm(x, y.T, out=product)
        flags = torch.empty(2, 4, dtype=torch.bool)
        torch.gt(x, 0.5, out=flags)
        both = torch.empty(4, 4)
        torch.cat([x, y], out=both)
        torch.clamp(x, 0, 1, out=y)
        return first, whole, values, places, wide, none, product, flags, both


class Bits(nn.Module):
    """Elements seen as other types of the same, of a smaller and of a greater size."""

    def forward(self, x, wide, whole, bytes):
        half = x.to(torch.bfloat16)
        return (x.view(torch.int32), x.view(torch.int64), x.view(torch.int16), x.view(torch.uint8),
                wide.view(torch.int64), wide.view(torch.int32), wide.view(torch.int8),
                half.view(torch.int16), half.view(torch.int32), whole.view(torch.float32),
                (whole.view(torch.float32) * 2).view(torch.int32),
                bytes.view(torch.float8_e4m3fn).to(torch.float32), bytes.view(torch.int32),
                bytes.view(torch.float16).view(torch.int16), (bytes & 1).view(torch.bool),
                x.view(torch.complex64) * 2, x.view(torch.complex64).view(torch.int64),
                wide[0, 0].view(torch.int64))


class Equations(nn.Module):
    """Systems of complex equations, and products of several matrices and vectors."""

    def forward(self, a, b, x):
        square, linalg = a @ b, torch.linalg
        return (linalg.inv(square), linalg.solve(square, a), linalg.solve(square, a[..., 0]),
                linalg.solve(square, b, left=False), linalg.solve(square, x.to(a.dtype)), linalg.solve_ex(square, a)[0],
                linalg.multi_dot([a[0], b[0], a[1]]), linalg.cross(a, b.mT), torch.cross(a, a.conj(), dim=1),
                torch.addr(square[0], a[0, :, 0], b[0, 0], beta=2j, alpha=3),
                torch.addbmm(square[0], a, b, beta=0.5))


class Convolutions(nn.Module):
    """Convolutions of complex inputs and weights, with and without a bias."""

    def __init__(self):
        super().__init__()
        self.line = nn.Conv1d(2, 4, 3, stride=2, padding=1, groups=2, dtype=torch.complex64)
        self.plane = nn.Conv2d(3, 4, 3, padding="same", bias=False, dtype=torch.complex64)
        self.up = nn.ConvTranspose1d(4, 2, 3, stride=2, output_padding=1, dtype=torch.complex64)

    def forward(self, a, b):
        y = self.line(a)
        return y, self.plane(b), self.up(y), torch.conv1d(a, self.line.weight.conj(), groups=2)


class Histograms(nn.Module):
    """Between edges that are given, and of several axes."""

    def forward(self, x, weight, edges):
        flat, points = x.flatten(), x.view(-1, 2)
        several = torch.histogramdd(points[:13], [3, 2])
        some = torch.histogramdd(points, [2, 4], range=[-1.0, 1.0, 0.0, 2.0], weight=weight, density=True)
        given = torch.histogramdd(points, [edges, edges * 2], weight=weight)
        counts, _ = torch.histogram(flat, edges)
        dense, _ = torch.histogram(flat, edges, weight=flat.abs(), density=True)
        alike = torch.histogramdd(points[:13], 3)
        return (several[0], *several[1], some[0], *some[1], given[0], *given[1], counts, dense, alike[0])


class Gamma(nn.Module):
    """The incomplete gamma functions, of numbers and of all pairs of special values."""

    def forward(self, a, x, s):
        lower, upper = torch.special.gammainc, torch.special.gammaincc
        return (lower(a, x), upper(a, x), lower(a.float(), x.float()), upper(s[:, None], s),
                lower(s[:, None], s), torch.igamma(a[:2].float(), torch.tensor(2.0)))


class Factors(nn.Module):
    """Decompositions of symmetric and other matrices."""

    def forward(self, a, s, few, none):
        ldl = [torch.linalg.ldl_factor_ex(x) for x in (s, few, none, s[:, :1, :1])]
        right = torch.cat([a[:, :4], torch.ones(2, 4, 1)], -1)
        return (*ldl[0], *ldl[1], *ldl[2], *ldl[3], torch.linalg.ldl_solve(*ldl[0][:2], right),
                torch.linalg.ldl_solve(*ldl[1][:2], torch.ones(9, 1).double()), *torch.linalg.ldl_factor(s),
                *torch.linalg.polar(a), *torch.linalg.polar(s.double()), torch.linalg.matrix_sqrth(s),
                torch.linalg.matrix_sqrth(s @ s.mT))


ELEMENTARY = ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "sin", "cos",
              "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid")


class Elementary(nn.Module):
    """Functions of one complex number, in both widths."""

    def forward(self, z):
        narrow = z.to(torch.complex64)
        return tuple(getattr(torch, name)(x) for name in ELEMENTARY for x in (z, narrow))


def elementary_case():
    """Each pair of parts out of special values, and numbers of several sizes that complex64 has.
    Expected values come from complex128 for numbers, and from complex64 otherwise, where PyTorch
    has the signs of zeros that C has. For log1p of an infinity beside NaN the expected value is C's
    log."""
    parts = (0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan)
    special = torch.tensor([complex(a, b) for a in parts for b in parts], dtype=torch.complex128)
    numbers = torch.cat([torch.randn(4, dtype=torch.complex64) * size
                         for size in (1e-9, 1e-4, 0.1, 1, 3, 20)]).to(torch.complex128)
    references = {}
    for name in ELEMENTARY:
        f = getattr(torch, name)
        of_special = f(special.to(torch.complex64)).to(torch.complex128)
        if name == "log1p":
            mixed = special.isinf() & special.isnan()
            of_special = torch.where(mixed, torch.log(special), of_special)
        references[name] = seen(torch.cat([of_special, f(numbers)]))
    z = torch.cat([special, numbers])
    return z, {"inputs": [seen(z)], "special": len(special), "references": references}


class Spectra(nn.Module):
    """Real spectra of several axes, and back."""

    def forward(self, x, z):
        fft = torch.fft
        return (fft.hfft2(z), fft.hfft2(z, s=(3, 7), norm="ortho"), fft.hfftn(z), fft.hfftn(x),
                fft.hfftn(z, s=(4, 6), dim=(1, 0), norm="forward"), fft.ihfft2(x),
                fft.ihfft2(x, s=(3, 8), norm="forward"), fft.ihfftn(x), fft.ihfftn(x, dim=(1,)),
                fft.ihfftn(x, s=(5,), dim=(0,), norm="ortho"), fft.hfftn(z, dim=(0,)))


class Matrices(nn.Module):
    """Decompositions of complex matrices: the factors if they are unique, and products of the
    factors if they are not."""

    def forward(self, a, tall, b):
        la = torch.linalg
        definite, hermitian, wide = a @ a.mH + torch.eye(3), a + a.mH, tall.mH.contiguous()
        lu, pivots = la.lu_factor(a)
        low, high = la.cholesky(definite), la.cholesky(definite, upper=True)
        factors, tau = torch.geqrf(tall)
        values, vectors = la.eigh(hermitian)
        left, singular, right = la.svd(tall, full_matrices=False)
        whole, _, other = la.svd(wide)
        return (la.det(a), *la.slogdet(a), torch.logdet(definite), lu, pivots, *la.lu(tall), *la.lu(wide),
                la.lu_solve(lu, pivots, b), la.lu_solve(lu, pivots, b, adjoint=True),
                la.lu_solve(lu, pivots, b.mT.contiguous(), left=False), low, high,
                la.cholesky_ex(definite)[1], torch.cholesky_solve(b, low), torch.cholesky_inverse(high, upper=True),
                la.solve_triangular(a, b, upper=True), la.solve_triangular(a, b.mT.contiguous(), upper=False, left=False),
                *la.qr(tall), la.qr(tall, mode="complete")[1], *la.qr(wide), factors, tau,
                la.householder_product(factors, tau), torch.ormqr(factors, tau, tall, transpose=True),
                torch.ormqr(factors, tau, wide, left=False), values, vectors * values.unsqueeze(-2) @ vectors.mH,
                la.eigvalsh(hermitian, UPLO="U"), singular, left * singular.unsqueeze(-2) @ right,
                whole @ whole.mH, other @ other.mH, la.svdvals(wide), la.pinv(tall), la.pinv(hermitian, hermitian=True),
                la.matrix_rank(tall), la.matrix_exp(a), la.matrix_power(a, 3), la.matrix_power(a, -1),
                la.tensorinv(a.reshape(2, 3, 3)[0], ind=1), la.tensorsolve(a[0].reshape(3, 3), b[0, :, 0]),
                la.vander(b[0, :, 0]), la.vander(b[:, :, 0], N=2), la.matrix_sqrth(definite), *la.polar(tall),
                torch.triangular_solve(b, a, transpose=True)[0])


class Norms(nn.Module):
    """Norms and conditions of real and of complex matrices."""

    def forward(self, x, z):
        la, orders = torch.linalg, (1, -1, 2, -2, math.inf, -math.inf, "nuc", "fro")
        return (*(la.matrix_norm(y, order) for y in (x, z) for order in orders),
                *(la.norm(y, order, dim=(0, 2)) for y in (x, z) for order in orders),
                *(la.cond(y[..., :3, :3], order) for y in (x, z) for order in orders),
                la.norm(x[0], 2), la.norm(z[0], 1), la.norm(z[0]), la.cond(z), la.cond(torch.ones(2, 2), 1))


class Eigenvalues(nn.Module):
    """Matrices that are not symmetric: sums of powers, which have no order, and products of the
    eigenvectors."""

    def forward(self, x, z, turn):
        results = []
        for y in (x, z, turn):
            values, vectors = torch.linalg.eig(y)
            alone = torch.linalg.eigvals(y)
            results += [values.sum(-1), (values ** 2).sum(-1), (alone ** 3).sum(-1), alone.abs().sum(-1),
                        vectors * values.unsqueeze(-2) @ torch.linalg.inv(vectors),
                        torch.linalg.vector_norm(vectors, dim=-2)]
        return tuple(results)


class Complex(nn.Module):
    """Truths, closeness, spread, products along an axis, and what arranges elements."""

    def forward(self, a, b, x):
        some = torch.where(x > 0, a, 0)
        return (some.any(1), some.all(), torch.count_nonzero(some, 1), some.logical_and(b),
                some.logical_xor(x), torch.isclose(a, a + 1e-7), torch.isclose(a, b, rtol=2.0),
                torch.isreal(some), a.cumprod(1), torch.cumprod(a, 0), a.std(), a.std(1, correction=0),
                *torch.var_mean(a, 0), *torch.std_mean(a), torch.exp2(a), torch.sinc(a), torch.sinc(some),
                torch.nn.functional.silu(a), torch.nan_to_num(a / some, nan=3.0, posinf=4.0),
                torch.diagflat(a[0]), torch.cartesian_prod(a[0], b[1]), torch.combinations(a[0]),
                torch.trapezoid(a, dx=0.5), torch.gradient(a, dim=1)[0],
                torch.pixel_shuffle(a.view(1, 4, 1, 2), 2), a.clone().put_(torch.tensor([1, 3]), b[0, :2]))


class Bytes(torch.nn.Module):
    """Images of bytes at other sizes: few channels and more, which PyTorch has code of their own for."""

    def forward(self, x, y):
        sizes = lambda image: [F.interpolate(image, size=size, mode=mode, antialias=wide, align_corners=corners)
                               for size in ((3, 5), (17, 9), (9, 20), (1, 2)) for mode in ("bilinear", "bicubic")
                               for wide in (True, False) for corners in (False, True)]
        by_factor = [F.interpolate(image, scale_factor=factor, mode=mode, antialias=True)
                     for image in (x, y) for factor in (0.4, 1.08) for mode in ("bilinear", "bicubic")]
        return (*sizes(x), *sizes(y), *by_factor)


class Gradients(torch.nn.Module):
    """Operators of derivatives, but for windows; each with what it may leave out."""

    def forward(self, g, x, labels, weight, ids, stats):
        a = torch.ops.aten
        y, rows = x.sigmoid(), x.reshape(2, 3, 4)
        values = [a.threshold_backward(g, x, 0.0), a.threshold_backward(g, x, 0.5), a.sigmoid_backward(g, y),
                  a.tanh_backward(g, y), a.gelu_backward(g, x), a.gelu_backward(g, x, approximate="tanh"),
                  a.silu_backward(g, x), a.hardtanh_backward(g, x, -0.5, 1.0),
                  a.leaky_relu_backward(g, x, 0.1, False), a.hardsigmoid_backward(g, x * 3),
                  a.hardswish_backward(g, x * 3), a.elu_backward(g, 1.5, 1.2, 0.7, False, x),
                  a.elu_backward(g, 1.5, 1.2, 0.7, True, x), a.softplus_backward(g, x, 1.5, 1.0),
                  a._softmax_backward_data(g, x.softmax(1), 1, torch.float32),
                  a._softmax_backward_data(g, x.softmax(0), 0, torch.float32),
                  a._log_softmax_backward_data(g, x.log_softmax(1), -1, torch.float32),
                  a._log_softmax_backward_data(g[0, 0], x[0, 0].log_softmax(0), 0, torch.float32),
                  a.native_dropout_backward(g, x > 0, 1.25),
                  a.gelu_backward(g.bfloat16(), x.bfloat16()).float()]
        mean, rstd = stats[:2], stats[2:]
        by = g.reshape(2, 3, 4)
        for last, w, mask in (([4], weight[:4], [True, True, True]), ([4], None, [True, False, False]),
                              ([4], weight[:4], [False, True, True]), ([3, 4], None, [True, False, False])):
            size = 12 // math.prod(last) * 2
            m, s = (stats.repeat(3)[:size].reshape(rows.shape[:3 - len(last)] + (1,) * len(last)) for stats in (mean, rstd))
            bias = None if w is None else torch.zeros_like(w)
            result = a.native_layer_norm_backward(by, rows, last, m, s, w, bias, mask)
            values += [each for each, wanted in zip(result, mask) if wanted]
        for groups, w, mask in ((1, weight[:3], [True, True, True]), (3, None, [True, False, False]),
                                (3, weight[:3], [False, False, True])):
            m, s = (stats.repeat(3)[:2 * groups].reshape(2, groups) for stats in (mean, rstd))
            result = a.native_group_norm_backward(by, rows, m, s, w, 2, 3, 4, groups, mask)
            values += [each for each, wanted in zip(result, mask) if wanted]
        m, s = stats[:3], stats[1:]
        for trains, w, mask in ((True, weight[:3], [True, True, True]), (False, weight[:3], [True, True, True]),
                                (True, None, [True, False, False])):
            result = a.native_batch_norm_backward(by, rows, w, m, s, m, s, trains, 1e-5, mask)
            values += [each for each, wanted in zip(result, mask) if wanted]
        scores, whole = x.log_softmax(1), torch.tensor(1.5)
        for reduction in (0, 1, 2):
            change = g[:, 0] if reduction == 0 else g[0, 0]
            for w, ignored in ((None, -100), (weight, 2), (weight, -100)):
                loss, total = a.nll_loss_forward(scores, labels, w, reduction, ignored)
                values += [loss, total, a.nll_loss_backward(change, scores, labels, w, reduction, ignored, total)]
            values.append(a.mse_loss_backward(g if reduction == 0 else g[0, 0], x, y, reduction))
            other = torch.stack([y, x + 0.01, x - 4]).sum(0)
            values += [a.smooth_l1_loss_backward(g if reduction == 0 else g[0, 0], x, other, reduction, 0.7),
                       a.huber_loss_backward(g if reduction == 0 else g[0, 0], x, other, reduction, 1.5),
                       a.binary_cross_entropy_backward(g if reduction == 0 else g[0, 0], y, (x > 0).float(),
                                                       weight if reduction == 1 else None, reduction)]
        values.append(a.nll_loss_backward(g[0, 0], scores[0], labels[0], None, 1, -100, whole))
        image, places = x.reshape(2, 3, 2, 2), labels.repeat(2).reshape(2, 2, 2) % 3
        loss, total = a.nll_loss2d_forward(image, places, weight[:3], 1, 1)
        values += [loss, total, a.nll_loss2d_backward(g[0, 0], image, places, weight[:3], 1, 1, total)]
        values += [a.log_sigmoid_backward(g, x, a.log_sigmoid_forward(x)[1]), *a._prelu_kernel_backward(g, x, weight)]
        query, key = g.reshape(1, 2, 3, 4), torch.cat([x, y]).reshape(1, 2, 6, 4)
        far = -torch.arange(18.0).reshape(3, 6) / 9
        for causal, scale, mask in ((False, None, None), (True, 0.7, None), (False, 0.3, far)):
            scores = query @ key.mT * (scale or 0.5) + (0 if mask is None else mask)
            if causal:
                scores = scores.masked_fill(torch.arange(3)[:, None] < torch.arange(6), -math.inf)
            out, sums = scores.softmax(-1) @ key.flip(2), scores.logsumexp(-1)
            values += a._scaled_dot_product_flash_attention_for_cpu_backward(
                query.cos(), query, key, key.flip(2), out, sums, 0.0, causal, attn_mask=mask, scale=scale)
        lines = g.reshape(4, 6)
        for padding, scale in ((-1, False), (2, False), (2, True), (-1, True)):
            values.append(a.embedding_dense_backward(lines.reshape(2, 2, 6), ids, 5, padding, scale))
        values += [a.slice_backward(lines, [4, 9], 1, 1, 7, 1), a.slice_backward(lines, [8, 6], 0, 1, 9999, 2),
                   a.slice_backward(lines, [4, 8], -1, -6, 9999, 1), a.select_backward(lines, [4, 3, 6], 1, -1),
                   a.select_backward(lines, [2, 4, 6], 0, 1)]
        return tuple(values)


class WindowGradients(torch.nn.Module):
    """Derivatives of convolutions of one to three axes, of both kinds, and of pools."""

    def forward(self, line, image, volume):
        a, values = torch.ops.aten, []

        def convolved(x, weight, stride, padding, dilation, transposed, extra, groups, mask=(True, True, True)):
            y = a.convolution(x, weight, None, stride, padding, dilation, transposed, extra, groups)
            g = torch.cos(torch.arange(y.numel()) * 0.7).reshape(y.shape)
            sizes = [y.shape[1]] if mask[2] else None
            result = a.convolution_backward(g, x, weight, sizes, stride, padding, dilation, transposed, extra, groups, mask)
            values.extend(each for each, wanted in zip(result, mask) if wanted)

        def by(*sizes):
            return torch.sin(torch.arange(math.prod(sizes)) * 1.3).reshape(sizes)
        convolved(line, by(6, 4, 3), [1], [1], [1], False, [0], 1)
        convolved(line, by(6, 2, 3), [2], [0], [2], False, [0], 2, (True, True, False))
        convolved(image, by(6, 4, 3, 2), [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
        convolved(image, by(4, 1, 3, 3), [2, 2], [1, 1], [1, 1], False, [0, 0], 4, (False, True, True))
        convolved(image, by(6, 4, 1, 1), [3, 2], [0, 0], [1, 1], False, [0, 0], 1, (True, False, False))
        convolved(volume, by(3, 2, 2, 3, 2), [1, 2, 1], [1, 1, 0], [1, 1, 2], False, [0, 0, 0], 1)
        convolved(line, by(4, 3, 3), [2], [1], [1], True, [1], 1)
        convolved(image, by(4, 3, 3, 2), [2, 3], [1, 0], [2, 1], True, [1, 2], 2)
        convolved(image, by(4, 3, 2, 2), [1, 1], [0, 0], [3, 1], True, [2, 0], 1, (True, True, False))
        convolved(volume, by(2, 3, 2, 2, 2), [2, 1, 2], [0, 0, 1], [1, 1, 1], True, [0, 0, 1], 1)
        for kernel, stride, padding, up, padded, divisor in (
                ([2, 2], [2, 2], [0, 0], False, True, None), ([3, 2], [2, 1], [1, 1], True, True, None),
                ([3, 2], [2, 3], [1, 0], True, False, None), ([2, 3], [], [1, 1], False, True, 5),
                ([3, 3], [3, 2], [0, 1], True, True, None)):
            y = a.avg_pool2d(image, kernel, stride, padding, up, padded, divisor)
            g = torch.cos(torch.arange(y.numel()) * 0.7).reshape(y.shape)
            values.append(a.avg_pool2d_backward(g, image, kernel, stride, padding, up, padded, divisor))
            values.append(a.avg_pool2d_backward(g[0], image[0], kernel, stride, padding, up, padded, divisor))
        for size in ((2, 2), (3, 5), (4, 3), (7, 6)):
            g = torch.cos(torch.arange(8 * size[0] * size[1]) * 0.7).reshape(2, 4, *size)
            values += [a._adaptive_avg_pool2d_backward(g, image), a._adaptive_avg_pool2d_backward(g[1], image[1])]
        y, places = a.max_pool2d_with_indices(image, [3, 2], [2, 1], [1, 1], [1, 2], True)
        values.append(a.max_pool2d_with_indices_backward(y, image, [3, 2], [2, 1], [1, 1], [1, 2], True, places))
        return tuple(values)


def main():
    FOLDER.mkdir(exist_ok=True)
    known = FOLDER / "cases.json"
    cases = json.loads(known.read_text()) if known.exists() else {}
    torch.manual_seed(7)

    z, elementary = elementary_case()
    a = torch.exp(torch.rand(40, dtype=torch.float64) * 14 - 4)
    x = a * torch.exp(torch.randn(40, dtype=torch.float64) * torch.tensor([0.02, 0.2, 0.5, 1.5]).repeat(10))
    special = torch.tensor([0.0, 1.0, -1.0, 0.5, 100.0, math.inf, -math.inf, math.nan], dtype=torch.float64)
    symmetric = torch.randn(2, 4, 4)
    few = torch.randn(9, 9, dtype=torch.float64) * (1 - torch.eye(9) * 0.99)  # which makes blocks
    singular = torch.tensor([[0.0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]])
    programs = {
        "elementary": (Elementary, (z,)),
        "gamma": (Gamma, (a, x, special)),
        "factors": (Factors, (torch.randn(2, 5, 3), symmetric + symmetric.mT,
                              few + few.mT, singular)),
        "equations": (Equations, (torch.randn(2, 3, 3, dtype=torch.complex64),
                                  torch.randn(2, 3, 3, dtype=torch.complex64), torch.randn(2, 3, 3))),
        "convolutions": (Convolutions, (torch.randn(2, 2, 7, dtype=torch.complex64),
                                        torch.randn(1, 3, 4, 5, dtype=torch.complex64))),
        "histograms": (Histograms, (torch.cat([torch.randn(13, 2), torch.tensor([[0.25, math.nan], [2, 2]])]),
                                    torch.rand(15), torch.tensor([-1.0, 0.0, 0.25, 2.0]))),
        "spectra": (Spectra, (torch.randn(4, 5), torch.randn(4, 5, dtype=torch.complex64))),
        "complex": (Complex, (torch.randn(2, 4, dtype=torch.complex64),
                              torch.randn(2, 4, dtype=torch.complex64), torch.randn(2, 4))),
        "given": (Given, (torch.randn(2, 4), torch.rand(2, 4) + 0.5)),
        # Numbers of few bits, which are written without loss.
        "bits": (Bits, (torch.randint(-99, 99, (3, 8)) / 8, torch.randint(-99, 99, (2, 2)).double() / 8,
                        torch.randint(-2**31, 2**31 - 1, (2, 4), dtype=torch.int32),
                        torch.randint(0, 256, (2, 8), dtype=torch.int32).to(torch.uint8))),
        "matrices": (Matrices, (torch.randn(2, 3, 3, dtype=torch.complex128),
                                torch.randn(2, 5, 3, dtype=torch.complex128),
                                torch.randn(2, 3, 2, dtype=torch.complex128))),
        "norms": (Norms, (torch.randn(2, 4, 3), torch.randn(2, 4, 3, dtype=torch.complex64))),
        "bytes": (Bytes, (torch.randint(0, 256, (1, 3, 9, 7), dtype=torch.uint8),
                          torch.randint(0, 2, (1, 5, 9, 7), dtype=torch.uint8) * 255)),
        "gradients": (Gradients, (torch.randn(4, 6), torch.randn(4, 6), torch.tensor([3, 2, 0, 2]),
                                  torch.rand(6) + 0.5, torch.tensor([[2, 0], [4, 2]]), torch.rand(4) + 0.5)),
        "window_gradients": (WindowGradients, (torch.randn(2, 4, 7), torch.randn(2, 4, 6, 5),
                                               torch.randn(1, 2, 3, 4, 3))),
        "eigenvalues": (Eigenvalues, (torch.randn(2, 5, 5), torch.randn(2, 4, 4, dtype=torch.complex128),
                                      torch.tensor([[0.0, -1], [1, 0]]))),
    }
    for name, (kind, inputs) in programs.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        model = kind()
        with torch.no_grad():
            program = torch.export.export(model, tuple(x.clone() for x in inputs))
            torch.export.save(program, FOLDER / f"{name}.pt2")
            if name != "bytes":  # for which PyTorch's own decompositions compute something else
                torch.export.save(program.run_decompositions(), FOLDER / f"{name}_decomposed.pt2")
            for path in FOLDER.glob(f"{name}*.pt2"):
                pack(path)
            given = [seen(x) for x in inputs]
            outputs = model(*inputs)
        if name == "elementary":
            cases[name] = elementary
            continue
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        cases[name] = {"inputs": given, "after": [seen(x) for x in inputs],
                       "outputs": [seen(x) for x in outputs]}
    known.write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
