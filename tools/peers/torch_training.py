"""Steps of training in PyTorch, as torch_cpu.py times them beside the section training."""
import torch
import torch.nn.functional as F
from torch import nn


class GptLayer(nn.Module):
    def __init__(self, q):
        super().__init__()
        c, self.heads, bias = q["hidden"], q["heads"], q["bias"]
        self.approximate = "tanh" if q["tanh"] else "none"
        self.ln_1, self.ln_2 = nn.LayerNorm(c, bias=bias), nn.LayerNorm(c, bias=bias)
        self.attn, self.proj = nn.Linear(c, 3 * c, bias=bias), nn.Linear(c, c, bias=bias)
        self.up, self.down = nn.Linear(c, 4 * c, bias=bias), nn.Linear(4 * c, c, bias=bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.attn(self.ln_1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate=self.approximate))


class Gpt(nn.Module):
    def __init__(self, q):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(q["vocabulary"], q["hidden"]), nn.Embedding(q["positions"], q["hidden"])
        with torch.no_grad():
            self.tokens.weight.mul_(0.02)
            self.positions.weight.mul_(0.02)
        self.layers = nn.ModuleList([GptLayer(q) for _ in range(q["layers"])])
        self.final_norm = nn.LayerNorm(q["hidden"], bias=q["bias"])

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.final_norm(x), self.tokens.weight).view(-1, self.tokens.weight.shape[0])


class LowRankUpdate(nn.Module):
    """A frozen linear layer and its update of low rank, as PEFT's LoRA."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.a, self.b = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x)) * 2.0


class Recurrent(nn.Module):
    def __init__(self, q):
        super().__init__()
        self.lstm, self.output = nn.LSTM(q["inputs"], q["hidden"]), nn.Linear(q["hidden"], 10)

    def forward(self, x):
        return self.output(self.lstm(x)[1][0][0])


class BasicBlock(nn.Module):
    def __init__(self, inner, out, stride):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(inner, out, 3, stride, 1, bias=False), nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.down = nn.Identity() if stride == 1 and inner == out else nn.Sequential(
            nn.Conv2d(inner, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.down(x))


def resnet18(width):
    blocks = []
    for stage in range(4):
        out = width << stage
        blocks += [BasicBlock(width if stage == 0 else out // 2, out, 1 if stage == 0 else 2), BasicBlock(out, out, 1)]
    return nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 1000))


def labels(count, classes):
    return torch.arange(count) * 7919 % classes


def network(q):
    """The module, a batch, and the optimizer."""
    kind = q["network"]
    if kind == "gpt":
        module, count = Gpt(q), q["batch"] * q["positions"]
        ids = labels(count, q["vocabulary"])
        if q.get("rank"):
            module.requires_grad_(False)
            for layer in module.layers:
                layer.attn = LowRankUpdate(layer.attn, q["rank"])
        trained = [p for p in module.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
        return module, ids.view(q["batch"], q["positions"]), ids, optimizer
    if kind == "lstm":
        module = Recurrent(q)
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
        return module, torch.randn(q["turns"], q["batch"], q["inputs"]), labels(q["batch"], 10), optimizer
    if kind == "mlp":
        module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        x, y = torch.randn(q["batch"], 64), labels(q["batch"], 10)
    else:
        module = resnet18(q["width"])
        x, y = torch.randn(q["batch"], 3, q["size"], q["size"]), labels(q["batch"], 1000)
    return module, x, y, torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9, fused=True)


def training(q):
    def step_of(compiles):
        torch._inductor.config.freezing = False
        with torch.enable_grad():
            module, x, y, optimizer = network(q)
        module.train()
        loss_of = lambda a, b: F.cross_entropy(module(a), b)  # noqa: E731
        if compiles:
            loss_of = torch.compile(loss_of, dynamic=False)

        @torch.enable_grad()
        def step():
            optimizer.zero_grad(set_to_none=True)
            loss_of(x, y).backward()
            if q.get("clip"):
                torch.nn.utils.clip_grad_norm_(module.parameters(), q["clip"])
            optimizer.step()
        return step
    return {"torch": lambda: step_of(False), "inductor": lambda: step_of(True)}
