"""Cases of pytorch_cases.py that have options of their own: functions that move elements, scan and
search. A list of functions and one of groups of cases."""
import itertools

import torch
import torch.nn.functional as F

from pytorch_draws import Draws


def at_axes(x, axes, indices):
    places = [slice(None)] * (max(axes) + 1)
    for axis, index in zip(axes, indices):
        places[axis] = index
    return tuple(places)


def index_put(x, values, *indices, axes):
    result = x.clone()
    result[at_axes(x, axes, indices)] = values
    return result


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
}


class Movement(Draws):
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

    def all(self):
        return [self.gathers, self.replacements, self.arrangements, self.scans]
