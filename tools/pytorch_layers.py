"""Cases of pytorch_cases.py that have options of their own: functions that move elements, scan,
search, pool, resample and convolve. A list of functions and one of groups of cases."""
import itertools
import math

import torch
import torch.nn.functional as F


def at_axes(x, axes, indices):
    places = [slice(None)] * (max(axes) + 1)
    for axis, index in zip(axes, indices):
        places[axis] = index
    return tuple(places)


def index_put(x, values, *indices, axes):
    result = x.clone()
    result[at_axes(x, axes, indices)] = values
    return result


def by_rank(name):
    def run(x, *more, rank, **options):
        return getattr(F, f"{name}{rank}d")(x, *more, **options)
    return run


def max_pool(x, rank, **options):
    return getattr(F, f"max_pool{rank}d")(x, return_indices=True, **options)


def adaptive_max_pool(x, rank, output_size):
    return getattr(F, f"adaptive_max_pool{rank}d")(x, output_size, return_indices=True)


FUNCTIONS = {
    "gather": lambda x, index, axis: torch.gather(x, axis, index),
    "take": torch.take,
    "take_along_dim": lambda x, index, axis=None: torch.take_along_dim(x, index, axis),
    "index_select": lambda x, index, axis: torch.index_select(x, axis, index),
    "one_hot": lambda x, classes: F.one_hot(x, classes),
    "index": lambda x, *indices, axes: x[at_axes(x, axes, indices)],
    "index_put": index_put,
    "scatter": lambda x, index, source, axis: torch.scatter(x, axis, index, source),
    "put": lambda x, index, source: x.put(index, source),
    "index_copy": lambda x, index, source, axis: torch.index_copy(x, axis, index, source),
    "index_fill": lambda x, index, value, axis: torch.index_fill(x, axis, index, value),
    "masked_fill": torch.masked_fill,
    "masked_scatter": torch.masked_scatter,
    "flip": lambda x, axes: torch.flip(x, axes),
    "roll": lambda x, shifts, axes: torch.roll(x, shifts, axes),
    "tril": lambda x, diagonal=0: torch.tril(x, diagonal),
    "triu": lambda x, diagonal=0: torch.triu(x, diagonal),
    "diag_embed": lambda x, offset, a, b: torch.diag_embed(x, offset, a, b),
    "diagonal": lambda x, offset, a, b: torch.diagonal(x, offset, a, b),
    "unfold": lambda x, axis, size, step: x.unfold(axis, size, step),
    "cumsum": lambda x, axis, dtype=None: torch.cumsum(x, axis, dtype=dtype),
    "cumprod": lambda x, axis, dtype=None: torch.cumprod(x, axis, dtype=dtype),
    "logcumsumexp": lambda x, axis: torch.logcumsumexp(x, axis),
    "cummax": lambda x, axis: tuple(torch.cummax(x, axis)),
    "cummin": lambda x, axis: tuple(torch.cummin(x, axis)),
    "searchsorted": lambda sequence, values, right=False, out_int32=False: torch.searchsorted(
        sequence, values, right=right, out_int32=out_int32),
    "avg_pool": by_rank("avg_pool"), "max_pool": max_pool, "lp_pool": by_rank("lp_pool"),
    "adaptive_avg_pool": by_rank("adaptive_avg_pool"), "adaptive_max_pool": adaptive_max_pool,
    "interpolate": F.interpolate,
    "grid_sample": lambda x, grid, **options: F.grid_sample(x, grid, **options),
    "affine_grid": lambda theta, size, align_corners: F.affine_grid(
        theta, size, align_corners=align_corners),
    "convolution": by_rank("conv"), "transposed_convolution": by_rank("conv_transpose"),
    "pad": F.pad,
}


class Groups:
    """`add`, `Given`, `given` and `dice` are those of pytorch_cases.py."""

    def __init__(self, add, Given, given, dice):
        self.add, self.Given, self.given, self.dice = add, Given, given, dice

    def index(self, shape, low, high, dtype=torch.int64):
        return self.Given(dtype, shape,
                          [self.dice.randrange(low, high) for _ in range(math.prod(shape))])

    def distinct(self, count, size):
        return self.Given(torch.int64, [count], self.dice.sample(range(size), count))

    def floats(self, shape, dtype=torch.float32, span=100):
        count = math.prod(shape)
        return self.Given(dtype, shape,
                          [self.dice.randrange(-span, span + 1) / 16 for _ in range(count)])

    def gathers(self):
        add, given, index = self.add, self.given, self.index
        for dtype in [torch.float32, torch.int64, torch.bool, torch.bfloat16]:
            add("gather", given(dtype, [3, 4]), index([2, 5], 0, 4), axis=1)
            add("gather", given(dtype, [3, 4]), index([6, 2], 0, 3), axis=-2)
            add("take", given(dtype, [3, 4]), index([2, 2], -12, 12))
            add("index_select", given(dtype, [3, 4, 2]), index([5], 0, 4), axis=1)
            add("index", given(dtype, [3, 4]), index([5], -3, 3), axes=[0])
        x = self.floats([2, 3, 4])
        for shape, axis in [([2, 3, 4], 3), ([2, 3], 0), ([3, 1, 1], 1)]:
            add("gather", x, index(shape, 0, 1), axis=axis)
        add("gather", self.floats([]), index([], 0, 1), axis=0)
        for shape, axis in [([2, 1, 2], 2), ([1, 5, 4], 1), ([4], 2), ([3, 3, 1], 1)]:
            add("take_along_dim", x, index(shape, -2, 2), axis=axis)
        add("take_along_dim", x, index([3, 2], 0, 24))
        add("index_select", self.floats([]), index([1], 0, 1), axis=0)
        for classes in [4, 7, 5, 0]:
            add("one_hot", index([2, 3], 0, 4), classes=classes)
        for axes, shapes in [([1], [[2, 2]]), ([0, 1], [[3], [2, 1]]), ([0, 2], [[2], [1]]),
                             ([1, 2], [[3], [3]]), ([0, 1, 2], [[2], [2], []]), ([0, 2], [[2], [3]])]:
            indices = [index(shape, -2, 2) for shape in shapes]
            add("index", x, *indices, axes=axes)
        for axes, places, values in [([0], [[1]], [3, 4]), ([1], [[2, 0]], [2, 1, 4]),
                                     ([0, 2], [[1, 0], [3, 1]], [2, 3]), ([0, 1], [[0], [1]], [4]),
                                     ([0], [[0]], [3])]:
            indices = [self.Given(torch.int64, [len(p)], p) for p in places]
            add("index_put", x, self.floats(values), *indices, axes=axes)

    def replacements(self):
        add, given, floats = self.add, self.given, self.floats
        one = self.Given(torch.int64, [2, 2], [2, 0, 1, 3])
        for source in [floats([2, 2]), floats([3, 4]), 2, 2.5, floats([1, 2]),
                       floats([2, 2], torch.float64)]:
            add("scatter", floats([3, 4]), one, source, axis=1)
        add("scatter", given(torch.int32, [3, 4]), one, 2.5, axis=-1)
        for x in [floats([3, 4]), given(torch.int64, [12]), floats([3])]:
            add("put", x, self.Given(torch.int64, [2], [-1, 0]), self.Given(
                x.tensor.dtype, [2], [5, 6]))
        add("put", floats([3]), self.Given(torch.int64, [1], [1]), floats([2]))
        for axis, shape in [(0, [2, 4]), (1, [3, 2]), (-1, [3, 2]), (1, [2, 2])]:
            add("index_copy", floats([3, 4]), self.distinct(2, 3), floats(shape), axis=axis)
            add("index_fill", floats([3, 4]), self.distinct(2, 3), -1.5, axis=axis)
        add("index_fill", given(torch.int32, [3]), self.Given(torch.int64, [2], [-1, 0]), 7, axis=0)
        mask = self.Given(torch.bool, [2, 1], [1, 0])
        for x, value in [(floats([2, 3]), 7), (given(torch.int64, [3]), 7),
                         (given(torch.bool, [2, 3]), True), (floats([2, 3]), floats([])),
                         (floats([3, 3]), 1)]:
            add("masked_fill", x, mask, value)
        for x in [floats([2, 3]), floats([2, 2]), floats([3]), floats([2, 1])]:
            add("masked_scatter", x, self.Given(torch.bool, [2, 1], [0, 1]), floats([4]))

    def arrangements(self):
        add, floats = self.add, self.floats
        x = floats([2, 3, 4])
        for axes in [[0], [1, 2], [-1, 0], [], [0, 0], [3]]:
            add("flip", x, axes=axes)
        for shifts, axes in [([1], [0]), ([-5], [2]), ([1, 2], [0, 1]), ([7], [-1]), ([1, 1], [0])]:
            add("roll", x, shifts=shifts, axes=axes)
        for name, k in itertools.product(["tril", "triu"], [-2, 0, 1, 9]):
            add(name, x, diagonal=k)
        for name in ["tril", "triu"]:
            add(name, floats([3]))
        for offset, a, b in [(0, -2, -1), (2, 0, 2), (-1, 1, 0), (0, 1, 1), (0, 3, 4)]:
            add("diag_embed", floats([2, 3]), offset=offset, a=a, b=b)
            add("diagonal", x, offset=offset, a=a, b=b)
        add("diagonal", x, offset=9, a=0, b=1)
        for axis, size, step in [(2, 2, 1), (1, 2, 2), (0, 2, 5), (-1, 0, 1), (2, 5, 1), (2, 1, 0)]:
            add("unfold", x, axis=axis, size=size, step=step)

    def scans(self):
        add, given, floats = self.add, self.given, self.floats
        for name in ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"]:
            for shape, axis in [([3, 5], 1), ([3, 5], 0), ([2, 9, 2], -2), ([], 0), ([0], 0), ([3], 1)]:
                add(name, floats(shape, span=30), tolerance=20, axis=axis)
            for dtype in [torch.int32, torch.uint8, torch.float64]:
                if dtype.is_floating_point or name != "logcumsumexp":
                    add(name, given(dtype, [6]), tolerance=20, axis=0)
        for name in ["cummax", "cummin"]:
            add(name, given(torch.float32, [4, 9], True), axis=1)
            add(name, given(torch.bool, [4, 5]), axis=1)
        add("cumsum", given(torch.bool, [5]), axis=0)
        add("cumsum", given(torch.int8, [5]), axis=0, dtype=torch.float32)
        add("cumprod", given(torch.int8, [5]), axis=0, dtype=torch.int16)
        for right, narrow in itertools.product([False, True], [False, True]):
            rows = sorted(self.dice.randrange(-9, 9) for _ in range(7))
            both = rows + sorted(self.dice.randrange(-9, 9) for _ in range(7))
            values = floats([2, 4], span=150)
            add("searchsorted", self.Given(torch.float32, [2, 7], both), values, right=right,
                out_int32=narrow)
            add("searchsorted", self.Given(torch.float32, [7], rows), values, right=right)
            add("searchsorted", self.Given(torch.int64, [7], rows), self.index([3, 1], -9, 9),
                right=right)
        add("searchsorted", floats([2, 3]), floats([3, 3]))

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
        return [self.gathers, self.replacements, self.arrangements, self.scans, self.pools,
                self.resamplings, self.convolutions]
