#!/usr/bin/env python3
"""Writes tests/models/undecomposed: programs as torch.export.export gives them, without
run_decompositions(): layers under their names, and writes in place, also through views; with what
PyTorch makes of them. Needs PyTorch 2.8 or later."""

import json
import pathlib

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
    """What is written through views, to tensors that were just made, and to an argument."""

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
    """What gives a tensor of its own although it has nothing to do, and then is written to."""

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


def described(tensor):
    kind = str(tensor.dtype)[6:]
    return {"shape": list(tensor.shape), "dtype": kind,
            "values": [round(float(v), 7) for v in tensor.flatten().tolist()]}


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
    }
    cases = {}
    for name, (model, inputs) in programs.items():
        with torch.no_grad():
            program = torch.export.export(model.eval(), tuple(x.clone() for x in inputs))
            torch.export.save(program, FOLDER / f"{name}.pt2")  # with buffers as they are now
            # What it is called with is written to, and stands for what it was before.
            given = [described(x) for x in inputs]
            outputs = model(*inputs)
            outputs = tuple(x for x in outputs if x is not None) if isinstance(outputs, tuple) else outputs
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        cases[name] = {"inputs": given, "after": [described(x) for x in inputs],
                       "outputs": [described(x) for x in outputs]}
    (FOLDER / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
