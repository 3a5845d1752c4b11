"""Random arguments for the groups of cases of pytorch_cases.py."""
import math

import torch


class Draws:
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
