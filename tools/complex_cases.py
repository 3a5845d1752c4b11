#!/usr/bin/env python3
"""Writes tests/models/complex: programs with complex numbers and Fourier transforms, each with
run_decompositions() and without, with what PyTorch makes of them. Complex tensors of the caller's
are written as pairs. Needs PyTorch 2.8 or later."""

import json
import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

from undecomposed_cases import described, pack

FOLDER = pathlib.Path(__file__).parent.parent / "tests/models/complex"
pairs = torch.view_as_real


class Arithmetic(nn.Module):
    """Sums, products, quotients and powers, with numbers and real tensors of several kinds."""

    def forward(self, a, b, x):
        y = (a * b + x) / (b - 2j) - 3 * a + torch.add(x, a, alpha=2) * (1 + 2j)
        return (y, 1 / a, a / 3, x / b, x * b.to(torch.complex128), a**2, a**-3, a**0.5, a**1.5, a**b,
                torch.pow(2.0, a), a.prod(1), a.sum(), a.mean(0), a == b, a != a, a.square(),
                torch.lerp(a, b, 0.3), torch.addcmul(a, a, b, value=2))


class Functions(nn.Module):
    """Cases with one operand; magnitudes of numbers whose squares overflow."""

    def forward(self, a):
        return (a.abs(), (a * 1e30).abs(), a.angle(), a.conj().imag, a.sgn(), a.exp(), a.log(),
                a.log2(), a.sqrt(), a.rsqrt(), a.sin(), a.cos(), a.tan(), a.sinh(), a.cosh(),
                a.tanh(), a.sigmoid(), torch.polar(a.real.abs(), a.imag), a.isfinite(),
                torch.linalg.vector_norm(a), a.var(-1), torch.exp(1j * a.real), a.isnan())


class Arranging(nn.Module):
    """Views, joins, choices; and what is written in place."""

    def forward(self, a, x, index):
        y = torch.zeros_like(a)
        y[:, 1:] = a[:, :-1] * 2
        y[0] = 1j
        y *= 1 + 1j
        wide = torch.full((2, 4), 2j, dtype=torch.complex64)
        wide[1] += x[0]
        return (y, wide, torch.cat([a, x], 0), torch.stack([a, a.conj()], -1), a.mT.flip(0),
                a.mH @ a, a[:, index], a.roll(1, 1), torch.where(x > 0, a, x), a.masked_fill(x > 0, 2j),
                F.pad(a, (1, 2), value=3.0), a.view(torch.float32), a.unflatten(1, (2, 2))[..., 1],
                pairs(a.mT), torch.view_as_complex(a.view(torch.float32).unflatten(1, (-1, 2))),
                x.to(torch.complex64), a.cumsum(1), torch.ones_like(a), a.expand(2, 2, 4).tril())


class Products(nn.Module):
    """Cases with matrices, with complex weights of the program's."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3, dtype=torch.complex64)
        self.register_buffer("last", torch.randn(2, dtype=torch.complex64))

    def forward(self, a, b):
        self.last.mul_(0.5).add_(a[0, 0, :2])
        return (self.first(a), a @ b, torch.einsum("bij,bjk,bi->bk", a, b, a[..., 0].conj()),
                torch.addmm(a[0, :, :2], a[0], b[0], beta=2j), torch.vdot(a[0, 0], b[0, :, 0]),
                torch.outer(a[0, 0], b[0, :, 0]), self.last * 1)


class Transforms(nn.Module):
    """In one axis and several, of all norms and sizes that change."""

    def forward(self, x, z):
        fft = torch.fft
        return (fft.fft(x), fft.rfft(x, n=13), fft.irfft(z, n=9), fft.irfft(z), fft.ifft(z, dim=0),
                fft.hfft(z, n=7, norm="forward"), fft.ihfft(x), fft.fft2(x, norm="ortho"),
                fft.rfft2(x, norm="forward"), fft.irfft2(z, s=(4, 7), norm="ortho"), fft.fftn(z),
                fft.ifftn(z, dim=(0,)), fft.rfftn(x, s=(3, 4)), fft.irfftn(z, dim=(1, 0)),
                fft.fftshift(z), fft.ifftshift(x, dim=1), fft.fftfreq(5) + x[0, 0],
                fft.rfftfreq(5, d=0.5), fft.fft(x.double()))


class Frames(nn.Module):
    """Spectra of short frames, and signals of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))

    def forward(self, x):
        z = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        other = torch.stft(x, 20, 7, 16, self.window, center=False, normalized=True,
                           onesided=False, return_complex=True)
        return (z, other.abs(), torch.istft(z * 2, 16, 4, window=self.window),
                torch.istft(z, 16, 4, window=self.window, length=30))


class Rotary(nn.Module):
    """Positions as Llama's own code turns queries by them."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(8.0), 1 / 100 ** (torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[:x.shape[1]].view(1, x.shape[1], 1, -1)
        return pairs(z * turns).flatten(3).type_as(x)


class StateSpace(nn.Module):
    """The kernel of a diagonal state space model, and the convolution with it."""

    def __init__(self):
        super().__init__()
        self.c = nn.Parameter(torch.randn(3, 4, 2))
        self.real = nn.Parameter(torch.rand(3, 4))

    def forward(self, u):
        size = u.shape[-1]
        a = (-torch.exp(self.real) + 1j * math.pi * torch.arange(4)) * 0.1
        c = torch.view_as_complex(self.c) * (torch.exp(a) - 1.0) / a
        powers = torch.exp(a.unsqueeze(-1) * torch.arange(size))
        kernel = 2 * torch.einsum("hn,hnl->hl", c, powers).real
        spectrum = torch.fft.rfft(u, n=2 * size) * torch.fft.rfft(kernel, n=2 * size)
        return torch.fft.irfft(spectrum, n=2 * size)[..., :size]


def seen(tensor):
    tensor = tensor.detach().resolve_conj()
    return described(pairs(tensor) if tensor.is_complex() else tensor)


def main():
    torch.manual_seed(5)
    FOLDER.mkdir(exist_ok=True)

    def numbers(*sizes):
        return torch.randn(*sizes, dtype=torch.complex64)

    batch = ({0: torch.export.Dim("n")},)
    programs = {
        "arithmetic": (Arithmetic, (numbers(2, 4), numbers(2, 4), torch.randn(2, 4)), None),
        "functions": (Functions, (numbers(2, 4),), None),
        "arranging": (Arranging, (numbers(2, 4), torch.randn(2, 4), torch.tensor([3, 0])), None),
        "products": (Products, (numbers(2, 3, 4), numbers(2, 4, 2)), None),
        "transforms": (Transforms, (torch.randn(4, 5), numbers(4, 5)), None),
        "frames": (Frames, (torch.randn(2, 40),), None),
        "rotary": (Rotary, (torch.randn(2, 5, 3, 8),), batch),
        "state_space": (StateSpace, (torch.randn(2, 3, 10),), batch),
    }
    cases = {}
    for name, (kind, inputs, sizes) in programs.items():
        model = kind()
        with torch.no_grad():
            program = torch.export.export(model, inputs, dynamic_shapes=sizes)
            torch.export.save(program, FOLDER / f"{name}.pt2")
            torch.export.save(program.run_decompositions(), FOLDER / f"{name}_decomposed.pt2")
            for path in FOLDER.glob(f"{name}*.pt2"):
                pack(path)
            outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        cases[name] = {"inputs": [seen(x) for x in inputs], "outputs": [seen(x) for x in outputs]}
    (FOLDER / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
