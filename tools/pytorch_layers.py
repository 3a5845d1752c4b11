"""Cases of pytorch_cases.py that have options of their own: functions that pool, resample and convolve.
A list of functions and one of groups of cases."""
import itertools
import math

import torch
import torch.nn.functional as F

from pytorch_draws import Draws


def by_rank(name):
    def run(x, *more, rank, **options):
        return getattr(F, f"{name}{rank}d")(x, *more, **options)
    return run


def max_pool(x, rank, **options):
    return getattr(F, f"max_pool{rank}d")(x, return_indices=True, **options)


def adaptive_max_pool(x, rank, output_size):
    return getattr(F, f"adaptive_max_pool{rank}d")(x, output_size, return_indices=True)


FUNCTIONS = {
    "avg_pool": by_rank("avg_pool"), "max_pool": max_pool, "lp_pool": by_rank("lp_pool"),
    "adaptive_avg_pool": by_rank("adaptive_avg_pool"), "adaptive_max_pool": adaptive_max_pool,
    "interpolate": F.interpolate,
    "grid_sample": lambda x, grid, **options: F.grid_sample(x, grid, **options),
    "affine_grid": lambda theta, size, align_corners: F.affine_grid(
        theta, size, align_corners=align_corners),
    "convolution": by_rank("conv"), "transposed_convolution": by_rank("conv_transpose"),
    "pad": F.pad,
}


class Layers(Draws):
    def pools(self):
        add, floats = self.add, self.floats
        shapes = {1: [2, 3, 9], 2: [2, 7, 8], 3: [1, 2, 5, 4, 6]}
        for rank, shape in shapes.items():
            for options in [dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1),
                            dict(kernel_size=3, stride=2, padding=1, ceil_mode=True),
                            dict(kernel_size=[2] * rank, stride=[1] * rank)]:
                add("max_pool", floats(shape, span=20), rank=rank, **options)
                for more in [{}, dict(count_include_pad=False)]:
                    add("avg_pool", floats(shape), tolerance=4, rank=rank, **options, **more)
            add("max_pool", floats(shape), rank=rank, kernel_size=2, dilation=2)
            add("max_pool", floats(shape), rank=rank, kernel_size=2, padding=2)
            for parts in [[1] * rank, [2] * rank, [3] * rank, list(range(2, 2 + rank))]:
                add("adaptive_avg_pool", floats(shape), tolerance=4, rank=rank, output_size=parts)
                add("adaptive_max_pool", floats(shape, span=20), rank=rank, output_size=parts)
            if rank > 1:
                add("avg_pool", floats(shape), tolerance=4, rank=rank, kernel_size=2,
                    divisor_override=3)
            for order in [1.0, 2.0]:
                x = self.Given(torch.float32, shape, [self.dice.randrange(1, 40) / 8
                                                      for _ in range(math.prod(shape))])
                add("lp_pool", x, tolerance=10, rank=rank, norm_type=order, kernel_size=2)
                add("lp_pool", x, tolerance=10, rank=rank, norm_type=order, kernel_size=3, stride=1,
                    ceil_mode=True)
        add("max_pool", floats([2, 8, 9]), rank=2, kernel_size=[9, 9], padding=4, stride=1)
        add("avg_pool", floats([2, 8, 9]), tolerance=4, rank=2, kernel_size=[9, 9], padding=4)
        add("max_pool", self.given(torch.float32, [1, 2, 4, 9], True), rank=2, kernel_size=3)
        for dtype in [torch.float16, torch.bfloat16]:
            add("avg_pool", floats([1, 4, 4], dtype), tolerance=2, rank=2, kernel_size=2)

    def resamplings(self):
        add, floats = self.add, self.floats
        shapes = {1: [1, 2, 5], 2: [2, 1, 4, 5], 3: [1, 1, 3, 2, 4]}
        modes = [("nearest", [1, 2, 3]), ("nearest-exact", [1, 2, 3]), ("area", [1, 2, 3]),
                 ("linear", [1]), ("bilinear", [2]), ("bicubic", [2]), ("trilinear", [3])]
        for mode, ranks in modes:
            weighs = "linear" in mode or mode == "bicubic"
            for rank in ranks:
                for size in [[2] * rank, [7] * rank, [1] * rank, list(range(4, 4 + rank))]:
                    for align in [False, True] if weighs else [None]:
                        more = {} if align is None else dict(align_corners=align)
                        add("interpolate", floats(shapes[rank]), tolerance=20, size=size, mode=mode,
                            **more)
                for factor in [[2.0] * rank, [1.7] * rank, [0.6] * rank]:
                    for recompute in [False, True]:
                        add("interpolate", floats(shapes[rank]), tolerance=20, scale_factor=factor,
                            mode=mode, recompute_scale_factor=recompute)
        for mode, size in itertools.product(["bilinear", "bicubic"], [[3, 4], [2, 11], [9, 9]]):
            for align in [False, True]:
                add("interpolate", floats([1, 2, 7, 9]), tolerance=20, size=size, mode=mode,
                    antialias=True, align_corners=align)
        add("interpolate", floats([1, 2, 7, 9]), tolerance=20, scale_factor=[0.4, 0.7],
            mode="bilinear", antialias=True)
        for dtype in [torch.float64, torch.bfloat16]:
            add("interpolate", floats([1, 2, 3, 3], dtype), tolerance=4, size=[5, 7], mode="bilinear")
        add("interpolate", self.given(torch.uint8, [1, 1, 3]), size=[8], mode="nearest")
        for wrong in [dict(size=[2, 2], mode="linear"), dict(size=[2], mode="linear"), dict(),
                      dict(size=[0, 2]), dict(size=[2, 2, 2])]:
            add("interpolate", floats([1, 1, 3, 3]), **wrong)
        for mode, padding, align in itertools.product(
                ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [False, True]):
            add("grid_sample", floats([2, 2, 3, 4]), floats([2, 2, 3, 2], span=40), tolerance=40,
                mode=mode, padding_mode=padding, align_corners=align)
            add("grid_sample", floats([1, 2, 3, 2, 4]), floats([1, 2, 2, 1, 3], span=40),
                tolerance=40, mode=mode, padding_mode=padding, align_corners=align)
        add("grid_sample", floats([2, 2, 3, 4]), floats([1, 2, 3, 2]), mode="nearest")
        for size, align in itertools.product([[2, 1, 3, 4], [2, 3, 1, 2], [2, 3, 4]], [False, True]):
            add("affine_grid", floats([2, 2, 3]), tolerance=10, size=size, align_corners=align)
        add("affine_grid", floats([1, 3, 4]), tolerance=10, size=[1, 1, 2, 3, 2], align_corners=True)

    def convolutions(self):
        add, floats = self.add, self.floats
        for rank in [1, 2, 3]:
            x, bias = floats([1, 4] + [6 - rank] * rank), floats([6])
            for options in [{}, dict(stride=2, padding=1), dict(dilation=2), dict(groups=2)]:
                groups = options.get("groups", 1)
                weight = floats([6, 4 // groups] + [2] * rank)
                add("convolution", x, weight, bias, tolerance=10, rank=rank, **options)
                turned = floats([4, 6 // groups] + [2] * rank)
                if "stride" in options:
                    options = dict(options, output_padding=1)
                add("transposed_convolution", x, turned, bias, tolerance=10, rank=rank, **options)
            add("convolution", x, floats([6, 3] + [2] * rank), bias, rank=rank)
        add("convolution", floats([4, 6, 5]), floats([2, 4, 3, 3]), floats([2]), tolerance=10, rank=2,
            padding=[1, 0])
        x = floats([1, 2, 4, 5])
        for mode in ["constant", "reflect", "replicate", "circular"]:
            for pad in [[1, 2], [2, 1, 1, 3], [0, 3, 2, 0], [9, 0, 0, 0]]:
                if len(pad) == 4 or mode == "constant":
                    add("pad", x, pad=pad, mode=mode)
        add("pad", x, pad=[-1, 1, 0, -2], mode="constant", value=2.5)
        add("pad", x, pad=[1, 1, 1], mode="constant")

    def all(self):
        return [self.pools, self.resamplings, self.convolutions]
