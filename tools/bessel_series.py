#!/usr/bin/env python3
"""Writes graph/functions/pointwise/bessel_series.h: Chebyshev series of the parts that functions of
Bessel and Airy are made of there. Needs mpmath."""

import pathlib

import mpmath as mp

FILE = pathlib.Path(__file__).parent.parent / "graph/functions/pointwise/bessel_series.h"
LEAST = mp.mpf(10) ** -17  # what is left out, of the greatest coefficient


def series(f, points=64):
    """Coefficients for f of y from -1 to 1; f is not asked for the ends."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / points for k in range(points)]
    values = [f(mp.cos(a)) for a in angles]
    terms = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) / points
             for j in range(points)]
    terms[0] /= 2
    while abs(terms[-1]) < LEAST * max(abs(t) for t in terms):
        terms.pop()
    return terms


def wave(order):
    """P and Q: J = sqrt(2 / (pi x)) (P cos(u) - Q sin(u)), Y with sin and cos, of a phase u."""
    def part(which, y):
        x = mp.sqrt(128 / (y + 1))
        u = x - (2 * order + 1) * mp.pi / 4
        j, k = mp.besselj(order, x), mp.bessely(order, x)
        size = mp.sqrt(mp.pi * x / 2)
        return size * (j * mp.cos(u) + k * mp.sin(u)) if which == 0 else \
            size * (k * mp.cos(u) - j * mp.sin(u)) * x / 8
    return lambda y: part(0, y), lambda y: part(1, y)


def airy_wave():
    """P and Q: Ai(-z) = (sin(u) P - cos(u) Q / v) / (sqrt(pi) z^(1/4)), u = v + pi / 4."""
    def part(which, y):
        v = FAR / mp.sqrt((y + 1) / 2)
        z = (v * 3 / 2) ** (mp.mpf(2) / 3)
        u, size = v + mp.pi / 4, mp.sqrt(mp.pi) * z ** (mp.mpf(1) / 4)
        a, b = mp.airyai(-z) * size, mp.airybi(-z) * size
        return a * mp.sin(u) + b * mp.cos(u) if which == 0 else \
            (b * mp.sin(u) - a * mp.cos(u)) * v
    return lambda y: part(0, y), lambda y: part(1, y)


mp.mp.dps = 40
FAR = mp.mpf(2) / 3 * mp.mpf(8) ** mp.mpf(1.5)   # of v where x is -8
NEAR = mp.mpf(2) / 3 * mp.mpf(2) ** mp.mpf(1.5)  # of v where x is 2


def of_square(f):
    """The function of y = x^2 / 32 - 1, for x up to 8."""
    return lambda y: f(mp.sqrt(32 * (y + 1)))


TABLES = {
    "j0_small": of_square(lambda x: mp.besselj(0, x)),
    "j1_small": of_square(lambda x: mp.besselj(1, x) / x),
    "y0_small": of_square(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)),
    "y1_small": of_square(lambda x: (mp.bessely(1, x) - 2 / mp.pi * (
        mp.log(x) * mp.besselj(1, x) - 1 / x)) / x),
    "p0_large": wave(0)[0], "q0_large": wave(0)[1], "p1_large": wave(1)[0], "q1_large": wave(1)[1],
    # exp(-x) I1(x) / x of y = x / 4 - 1; exp(-x) sqrt(x) I1(x) of y = 16 / x - 1.
    "i1_small": lambda y: mp.exp(-4 * (y + 1)) * mp.besseli(1, 4 * (y + 1)) / (4 * (y + 1)),
    "i1_large": lambda y: (lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(1, x))(16 / (y + 1)),
    # Functions of y = x^2 / 2 - 1, for x up to 2.
    "k0_small": lambda y: (lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x))(
        mp.sqrt(2 * (y + 1))),
    "k1_small": lambda y: (lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)))(
        mp.sqrt(2 * (y + 1))),
    # exp(x) sqrt(x) K(x) of y = 4 / x - 1.
    "k0_large": lambda y: (lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(0, x))(4 / (y + 1)),
    "k1_large": lambda y: (lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(1, x))(4 / (y + 1)),
    # Ai(x) of y = (x + 3) / 5; exp(v) x^(1/4) Ai(x) of y = 2 NEAR / v - 1, v = 2/3 x^(3/2).
    "airy_middle": lambda y: mp.airyai(5 * y - 3),
    "airy_large": lambda y: (lambda v: mp.exp(v) * (v * 3 / 2) ** (mp.mpf(1) / 6) * mp.airyai(
        (v * 3 / 2) ** (mp.mpf(2) / 3)))(2 * NEAR / (y + 1)),
    "airy_p": airy_wave()[0], "airy_q": airy_wave()[1],
}

HEAD = '''\
// Chebyshev series, in y from -1 to 1, of the parts that bessel.cpp makes functions of Bessel and
// Airy from. Written by tools/bessel_series.py, which says what each is of; not to be edited.
#pragma once

namespace tilewright::bessel_series {

'''


def main():
    text = HEAD
    for name, f in TABLES.items():
        terms = [mp.nstr(t, 18, min_fixed=1, max_fixed=0) for t in series(f)]
        lines = ["    " + ", ".join(terms[i:i + 3]) for i in range(0, len(terms), 3)]
        text += f"inline constexpr double {name}[] = {{\n" + ",\n".join(lines) + "};\n"
    FILE.write_text(text + "\n}  // namespace tilewright::bessel_series\n")


if __name__ == "__main__":
    main()
