"""Whole models in PyTorch, as the adapters of this folder time them. Tensors lie on torch's default device."""
import torch
import torch.nn.functional as F

import torch_training

LLAMA = {"1B": dict(hidden=2048, inner=8192, heads=32, kv=8, size=64, vocabulary=128256, layers=16),
         "3B": dict(hidden=3072, inner=8192, heads=24, kv=8, size=128, vocabulary=128256, layers=28)}


def flex_attention_of(scores, q, window=1024, cap=20.0):
    """flex_attention(q, k, v, slopes) of a case of the section scores, compiled, with its mask of blocks made before."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    mask = {"alibi causal": lambda b, h, i, j: j <= i,
            "window": lambda b, h, i, j: (j <= i) & (i - j < window)}.get(scores)
    blocks = mask and create_block_mask(mask, None, None, q.shape[2], q.shape[2], device=q.device)

    def call(q, k, v, slopes):
        change = {"alibi": lambda s, b, h, i, j: s + slopes[h] * (j - i),
                  "capped": lambda s, b, h, i, j: torch.tanh(s / cap) * cap}.get(scores.split()[0])
        return flex_attention(q, k, v, score_mod=change, block_mask=blocks)
    return torch.compile(call, dynamic=False)


def linears(c):
    q = c["heads"] * c["size"]
    return (("qkv", q + 2 * c["kv"] * c["size"], c["hidden"]), ("o", c["hidden"], q),
            ("gate_up", 2 * c["inner"], c["hidden"]), ("down", c["hidden"], c["inner"]),
            ("lm_head", c["vocabulary"], c["hidden"]))


def rms(x, w):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * w


def rotate(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


class Layer(torch.nn.Module):
    def __init__(self, c, slots):
        super().__init__()
        self.c = c
        weight = lambda n, k: torch.nn.Parameter((torch.randn(n, k) * 0.02).bfloat16(), requires_grad=False)  # noqa: E731
        (_, qkv, k), (_, o, ok), (_, gu, gk), (_, d, dk), _ = linears(c)
        self.wqkv, self.wo, self.w13, self.w2 = weight(qkv, k), weight(o, ok), weight(gu, gk), weight(d, dk)
        self.n1, self.n2 = (torch.ones(c["hidden"], dtype=torch.bfloat16) for _ in range(2))
        for cache in ("kc", "vc"):
            self.register_buffer(cache, torch.zeros(1, c["kv"], slots, c["size"], dtype=torch.bfloat16))

    def forward(self, x, pos, cos, sin, mask):
        t, h, k, d = x.shape[1], self.c["heads"], self.c["kv"], self.c["size"]
        q, kk, v = F.linear(rms(x, self.n1), self.wqkv).split([h * d, k * d, k * d], -1)
        q = rotate(q.view(1, t, h, d).transpose(1, 2), cos, sin)
        kk = rotate(kk.view(1, t, k, d).transpose(1, 2), cos, sin)
        v = v.view(1, t, k, d).transpose(1, 2)
        self.kc[:, :, pos] = kk
        self.vc[:, :, pos] = v
        if mask is None:
            y = F.scaled_dot_product_attention(q, kk, v, is_causal=True, enable_gqa=True)
        else:
            s = torch.bmm(q.reshape(k, h // k, d), self.kc[0].transpose(1, 2)).float() * d**-0.5
            p = torch.softmax(s.masked_fill(~mask, float("-inf")), -1).to(q.dtype)
            y = torch.bmm(p, self.vc[0]).view(1, h, 1, d)
        x = x + F.linear(y.transpose(1, 2).reshape(1, t, h * d), self.wo)
        g, u = F.linear(rms(x, self.n2), self.w13).chunk(2, -1)
        return x + F.linear(F.silu(g) * u, self.w2)


class Llama(torch.nn.Module):
    """Llama after gpt-fast: static cache, fused qkv and gate/up."""

    def __init__(self, c, slots):
        super().__init__()
        self.embedding = torch.nn.Parameter((torch.randn(c["vocabulary"], c["hidden"]) * 0.02).bfloat16(), requires_grad=False)
        self.norm = torch.ones(c["hidden"], dtype=torch.bfloat16)
        self.layers = torch.nn.ModuleList([Layer(c, slots) for _ in range(c["layers"])])
        inverse = 1.0 / 500000.0 ** (torch.arange(0, c["size"], 2).float() / c["size"])
        angle = torch.outer(torch.arange(slots).float(), inverse)
        self.cos, self.sin, self.slots = angle.cos(), angle.sin(), torch.arange(slots)

    def forward(self, ids, pos, decoding):
        x, cos, sin = F.embedding(ids, self.embedding), self.cos[pos], self.sin[pos]
        mask = (self.slots <= pos) if decoding else None
        for layer in self.layers:
            x = layer(x, pos, cos, sin, mask)
        return F.linear(rms(x[:, -1:], self.norm), self.embedding)


class Gpt2Layer(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.c_attn, self.c_proj = torch.nn.Linear(hidden, 3 * hidden), torch.nn.Linear(hidden, hidden)
        self.up, self.down = torch.nn.Linear(hidden, 4 * hidden), torch.nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.c_attn(self.ln_1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt2(torch.nn.Module):
    """Logits of every row, without a cache."""

    def __init__(self, layers, hidden, heads, vocabulary, positions):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(vocabulary, hidden), torch.nn.Embedding(positions, hidden)
        self.layers = torch.nn.ModuleList([Gpt2Layer(hidden, heads) for _ in range(layers)])
        self.ln_f = torch.nn.LayerNorm(hidden)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# ---------------------------------------------------------------- for torch_cpu.py


def both(module, arguments):
    """Eager, and compiled with the weights frozen."""
    def compiled():
        torch._inductor.config.freezing = True
        fast = torch.compile(module, dynamic=False)
        return lambda: fast(*arguments)
    return {"torch": lambda: lambda: module(*arguments), "inductor": compiled}


def in_onnxruntime(module, ids, threads):
    import io

    import onnxruntime
    file = io.BytesIO()
    torch.onnx.export(module, (ids,), file, input_names=["ids"], opset_version=18, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    numbers = {"ids": ids.numpy()}
    return lambda: session.run(None, numbers)


def gpt2(q):
    module = Gpt2(q["layers"], q["hidden"], q["heads"], q["vocabulary"], q["positions"]).eval()
    ids = torch.randint(0, q["vocabulary"], (q["batch"], q["rows"]))
    systems = both(module, (ids,))
    systems["onnxruntime"] = lambda: in_onnxruntime(module, ids, q["threads"])
    return systems


def llama(q):
    c = {k: q[k] for k in ("hidden", "inner", "heads", "kv", "size", "vocabulary", "layers")}
    module = Llama(c, q["slots"]).eval()
    rows, first = q["rows"], q["position"]
    decoding = rows == 1
    ids = torch.randint(0, 1000, (1, rows))
    return both(module, (ids, torch.arange(first, first + rows), decoding))


def adamw(q):
    def fused():
        parameters = [torch.randn(s).requires_grad_() for s in q["shapes"]]
        for p in parameters:
            p.grad = torch.randn_like(p)
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, fused=True).step
    return {"torch": fused}


BUILDERS = {"gpt2": gpt2, "llama": llama, "adamw": adamw, "training": torch_training.training}


def versions():
    try:
        import onnxruntime
        return {"onnxruntime": onnxruntime.__version__}
    except ImportError:
        return {}
