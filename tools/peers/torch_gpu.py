#!/usr/bin/env python3
"""The cases of tools/bench through PyTorch (cuBLAS, FlashAttention, cuDNN, torch.compile) and Triton on one GPU.

    torch_gpu.py SECTION --append FILE [--budget SECONDS] [WORD...]

Appends a line of JSON a case and system, {section, case, system, seconds, rate, unit}, with the names that
`tilewright bench` gives the cases. Times are as there: medians of samples between two events, each a CUDA graph of
calls on several sets of random data, so that neither Python nor the cache is what is timed. `tilewright bench` must
not run meanwhile.
"""
import argparse
import json
import statistics
import time

T0 = time.monotonic()
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_models import LLAMA, Llama, flex_attention_of, linears  # noqa: E402

try:
    import triton
    import triton.language as tl

    @triton.jit
    def tiny_kernel(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
except ImportError:
    triton = None

ARGS = None
DT = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def left():
    return ARGS.budget - (time.monotonic() - T0)


def normal(*shape, dtype="bf16", scale=1.0):
    return torch.randn(*shape, device="cuda", dtype=DT[dtype]) * scale


def write(case, system, **row):
    line = dict(section=ARGS.section, case=case, system=system, **row)
    print(line, flush=True)
    with open(ARGS.append, "a") as f:
        f.write(json.dumps(line) + "\n")


def samples(run, calls, rounds=15, shortest_ms=1.0):
    """Medians of seconds a call; run() is `calls` of them."""
    event = lambda: torch.cuda.Event(enable_timing=True)  # noqa: E731
    for _ in range(2):
        run()
    a, b = event(), event()
    a.record()
    run()
    b.record()
    torch.cuda.synchronize()
    count = int(max(1, min(1000, shortest_ms / max(a.elapsed_time(b), 1e-3))))
    pairs = [(event(), event()) for _ in range(rounds)]
    for a, b in pairs:
        a.record()
        for _ in range(count):
            run()
        b.record()
    torch.cuda.synchronize()
    t = sorted(a.elapsed_time(b) / 1e3 / count / calls for a, b in pairs)
    return dict(seconds=statistics.median(t), least=t[0], p90=t[len(t) * 9 // 10])


def in_graph(function):
    """function() as a replay of a CUDA graph; itself where it cannot be captured."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function()
        return graph.replay
    except Exception as e:
        print("no graph:", str(e)[:120], flush=True)
        torch.cuda.synchronize()
        return function


def case(name, system, make, function, size, flops=0, nbytes=0, need=2):
    """Times function(*make()) over sets that together are several times the L2."""
    if ARGS.words and not any(w in name for w in ARGS.words):
        return
    if left() < need:
        return write(name, system, skipped=True, note="no time was left")
    try:
        sets = [make() for _ in range(int(max(2, min(48, -(-256e6 // max(size, 1))))))]
        torch.compiler.reset()
        t0 = time.monotonic()
        function(*sets[0])
        torch.cuda.synchronize()
        first = time.monotonic() - t0

        def all_sets():
            for s in sets:
                function(*s)
        t = samples(in_graph(all_sets), len(sets))
        rate, unit = (flops / 1e12, "TFLOP/s") if flops else (nbytes / 1e9, "GB/s")
        write(name, system, rate=rate / t["seconds"], unit=unit, first_call_s=first, **t)
    except Exception as e:
        write(name, system, ok=False, note=str(e)[:300])
    torch.cuda.empty_cache()


# ---------------------------------------------------------------- sections


def limits():
    n = 1 << 28  # f32: 1 GiB
    one = lambda: (torch.randn(n, device="cuda"),)  # noqa: E731
    two = lambda: (torch.randn(n, device="cuda"), torch.empty(n, device="cuda"))  # noqa: E731
    case("copy by the driver", "torch", two, lambda a, b: b.copy_(a), 8 * n, nbytes=8 * n)
    case("fill by the driver", "torch", one, lambda a: a.fill_(1), 4 * n, nbytes=4 * n)
    case("scale f32", "torch", two, lambda a, b: torch.mul(a, 1.5, out=b), 8 * n, nbytes=8 * n)
    case("read f32", "torch", one, lambda a: a.view(-1, 1024).sum(1), 4 * n, nbytes=4 * n)
    case("add f32", "torch", two, lambda a, b: a + b, 8 * n, nbytes=12 * n)


def product(name, dtype, m, n, k, few=False):
    bytes_ = (m * k + n * k + m * n) * (4 if dtype == "f32" else 2)
    case(name, "cublas", lambda: (normal(m, k, dtype=dtype), normal(n, k, dtype=dtype, scale=0.02)),
         lambda x, w: F.linear(x, w), bytes_, 0 if few else 2 * m * n * k, bytes_)


def gemm():
    for dtype, m, n, k in (("bf16", 4096, 4096, 4096), ("bf16", 8192, 8192, 8192), ("f16", 4096, 4096, 4096),
                           ("bf16", 2048, 2048, 2048), ("bf16", 1024, 1024, 1024), ("bf16", 8192, 8192, 1024),
                           ("bf16", 6144, 6144, 6144), ("bf16", 3072, 3072, 3072), ("bf16", 512, 4096, 14336),
                           ("bf16", 1000, 1032, 520), ("f32", 4096, 4096, 4096)):
        product("%s %dx%dx%d" % (dtype, m, n, k), dtype, m, n, k)
    n = 4096
    case("bf16 4096x4096x4096, b [k, n]", "cublas", lambda: (normal(n, n), normal(n, n, scale=0.02)),
         lambda a, b: a @ b, 6 * n * n, 2 * n**3)


def gated(name, c, m):
    n, k = c["inner"], c["hidden"]
    bytes_ = 2 * (m * k + 2 * n * k + m * n)
    make = lambda: (normal(m, k), normal(n, k, scale=0.02), normal(n, k, scale=0.02))  # noqa: E731
    function = lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u)  # noqa: E731
    case("%s silu(gate)*up M=%d N=%d K=%d bf16" % (name, m, n, k), "torch.compile", make,
         torch.compile(function, dynamic=False), bytes_, 0 if m <= 16 else 4 * m * n * k, bytes_, need=12)


def prefill():
    for m in (2048, 128):
        for name, c in LLAMA.items():
            for layer, n, k in linears(c)[:-1]:
                product("%s %s M=%d N=%d K=%d bf16" % (name, layer, m, n, k), "bf16", m, n, k)
    for m in (2048, 128):
        for name, c in LLAMA.items():
            gated(name, c, m)


def decode():
    for name, c in LLAMA.items():
        for m in (1, 8):
            for layer, n, k in linears(c):
                product("%s %s M=%d N=%d K=%d bf16" % (name, layer, m, n, k), "bf16", m, n, k, few=True)
        for keys in (1024, 16384):
            kv = (1, c["kv"], keys, c["size"])
            case("%s attention of 1 row, %d keys, %d of %d heads, bf16" % (name, keys, c["kv"], c["heads"]), "sdpa",
                 lambda: (normal(1, c["heads"], 1, c["size"]), normal(*kv), normal(*kv)),
                 lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
                 4 * c["kv"] * keys * c["size"], 0, 4 * c["kv"] * keys * c["size"])
    for name, c in LLAMA.items():
        gated(name, c, 1)


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}

    def one(dtype, batch, heads, kv_heads, length, size, causal):
        groups = "" if kv_heads == heads else " %d of %d heads" % (kv_heads, heads)
        name = "%s d%d %s%s s%d" % (dtype, size, "causal" if causal else "full", groups, length)
        kv = (batch, kv_heads, length, size)
        for system, backend in backends.items():
            def function(q, k, v):
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv_heads != heads)
            case(name, system, lambda: (normal(batch, heads, length, size, dtype=dtype), normal(*kv, dtype=dtype),
                                        normal(*kv, dtype=dtype)), function, 8 * batch * heads * length * size,
                 4 * batch * heads * length * length * size * (0.5 if causal else 1))

    for size in (128, 64):
        for causal in (True, False):
            for length in (8192, 2048, 16384, 512):
                if length >= 2048 or causal:
                    one("bf16", 16384 // length, 2048 // size, 2048 // size, length, size, causal)
    one("bf16", 2, 24, 8, 8192, 128, True)
    one("f16", 2, 16, 16, 8192, 128, True)


def scores():
    for size in (64, 128):
        for name, seen in (("no function", 1), ("alibi", 1), ("alibi causal", 0.5), ("capped", 1),
                           ("window", 1024 / 4096 * (1 - 1024 / 8192))):
            shape, made = (2, 16, 4096, size), []

            def function(*arguments):
                if not made:
                    made.append(flex_attention_of(name, arguments[0]))
                return made[0](*arguments)
            case("bf16 d%d %s s4096" % (size, name), "flex_attention",
                 lambda: (normal(*shape), normal(*shape), normal(*shape), normal(16, dtype="f32", scale=0.1)),
                 function, 8 * 2 * 16 * 4096 * size, 4 * 2 * 16 * size * 4096 * 4096 * seen, need=8)


ROWS = {  # passes over the matrix, function of (x, weight, bias, targets, second)
    "softmax": (2, lambda x, w, b, t, y: torch.softmax(x, -1)),
    "layer_norm": (2, lambda x, w, b, t, y: F.layer_norm(x, (x.shape[-1],), w, b)),
    "rms_norm+residual": (4, lambda x, w, b, t, y: (F.rms_norm(x + y, (x.shape[-1],), w, 1e-5), x + y)),
    "gelu+bias": (2, lambda x, w, b, t, y: F.gelu(x + w, approximate="tanh")),
    "silu*mul": (3, lambda x, w, b, t, y: F.silu(x) * y),
    "cross_entropy": (1, lambda x, w, b, t, y: F.cross_entropy(x, t, reduction="none")),
}


def rows():
    def one(op, dtype, n, columns):
        passes, function = ROWS[op]
        two = op in ("rms_norm+residual", "silu*mul")

        def make():
            x = normal(n, columns, dtype=dtype)
            return (x, normal(columns, dtype=dtype), normal(columns, dtype=dtype),
                    torch.randint(0, columns, (n,), device="cuda"), normal(n, columns, dtype=dtype) if two else x)
        bytes_ = passes * n * columns * (4 if dtype == "f32" else 2)
        case("%s %s %dx%d" % (op, dtype, n, columns), "torch.compile", make, torch.compile(function, dynamic=False),
             bytes_, 0, bytes_, need=6)

    for op in ROWS:
        one(op, "bf16", 16384, 4096)
    for columns in (1024, 8192, 32768, 131072):
        one("softmax", "f32", (1 << 27) // columns, columns)
    for columns in (1024, 8192, 32768):
        for op in ("rms_norm+residual", "layer_norm"):
            one(op, "bf16", (1 << 27) // columns, columns)
    one("cross_entropy", "bf16", 8192, 128256)
    one("softmax", "bf16", 2048, 131072)
    one("layer_norm", "f32", 16384, 4096)


# ---------------------------------------------------------------- launches


def host_seconds(function, chunk=128, rounds=50):
    for _ in range(chunk):
        function()
    torch.cuda.synchronize()
    t = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(chunk):
            function()
        t.append((time.perf_counter() - begin) / chunk)
        torch.cuda.synchronize()
    t.sort()
    return dict(seconds=t[len(t) // 2], least=t[0], p90=t[len(t) * 9 // 10], rate=t[len(t) // 2] * 1e6, unit="us")


def launch():
    x, y = torch.zeros(128, device="cuda"), torch.zeros(128, device="cuda")
    with torch.no_grad():
        write("eager add", "torch eager", **host_seconds(lambda: x + 1.0))
        if triton:
            write("prepared launch", "triton", **host_seconds(lambda: tiny_kernel[(1,)](x, y, 128, BLOCK=128)))
        for mode in ("default", "reduce-overhead"):
            f = torch.compile(lambda a: a + 1.0, dynamic=False, **({} if mode == "default" else {"mode": mode}))
            for _ in range(4):
                f(x)
            write("compiled function, " + mode, "torch.compile", **host_seconds(lambda: f(x)))


def graphs():
    x, y = torch.zeros(128, device="cuda"), torch.zeros(128, device="cuda")
    for n in (1, 10, 100, 300):
        def nodes():
            for _ in range(n):
                torch.add(x, 1.0, out=y)
        replay = in_graph(nodes)
        t = samples(replay, n, shortest_ms=2.0)
        alone = []
        for _ in range(40):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            replay()
            alone.append(time.perf_counter() - begin)
        write("%d tiny kernels" % n, "torch", rate=t["seconds"] * 1e6, unit="us a node",
              host_s=statistics.median(alone), **t)


# ---------------------------------------------------------------- optimiser


def optim():
    gpt2 = [(50257, 768), (1024, 768)]
    for _ in range(12):
        gpt2 += [(768,), (768,), (768, 2304), (2304,), (768, 768), (768,), (768,), (768,), (768, 3072), (3072,),
                 (3072, 768), (768,)]
    gpt2 += [(768,), (768,)]
    for name, shapes in (("AdamW gpt2-124M", gpt2), ("AdamW 10 x 1024x1024", [(1024, 1024)] * 10)):
        for system in ("torch fused", "torch.compile"):
            if left() < (15 if system == "torch.compile" else 2):
                write(name, system, skipped=True, note="no time was left")
                continue
            try:
                ps = [torch.randn(s, device="cuda").requires_grad_() for s in shapes]
                for p in ps:
                    p.grad = torch.randn_like(p)
                how = dict(fused=True) if system == "torch fused" else dict(foreach=True)
                opt = torch.optim.AdamW(ps, lr=1e-3, weight_decay=0.01, capturable=True, **how)
                torch.compiler.reset()
                step = opt.step if system == "torch fused" else torch.compile(lambda: opt.step())
                for _ in range(3):
                    step()
                t = samples(in_graph(step), 1)
                n = sum(p.numel() for p in ps)
                write(name, system, rate=28 * n / 1e9 / t["seconds"], unit="GB/s", **t)
            except Exception as e:
                write(name, system, ok=False, note=str(e)[:300])


# ---------------------------------------------------------------- models


def models():
    for name, key in (("llama3_2_1b", "1B"), ("llama3_2_3b", "3B")):
        c = LLAMA[key]
        if left() < 15:
            write("%s decode, context 1024" % name, "torch.compile", skipped=True, note="no time was left")
            continue
        with torch.device("cuda"):
            model = Llama(c, 2048).eval()
        weights = 2 * sum(p.numel() for p in model.parameters())
        at = torch.full((1,), 1024, device="cuda")
        calls = [("%s decode, context 1024" % name, torch.randint(0, 1000, (1, 1), device="cuda"), at, True)]
        calls += [("%s prompt of %d" % (name, n), torch.randint(0, 1000, (1, n), device="cuda"),
                   torch.arange(n, device="cuda"), False) for n in (128, 2048)]
        for case_name, ids, pos, decoding in calls:
            if ARGS.words and not any(w in case_name for w in ARGS.words):
                continue
            if left() < 12:
                write(case_name, "torch.compile", skipped=True, note="no time was left")
                continue
            try:
                torch.compiler.reset()
                step = torch.compile(model, dynamic=False, fullgraph=True)
                begin = time.monotonic()
                with torch.no_grad():
                    step(ids, pos, decoding)
                    torch.cuda.synchronize()
                    first = time.monotonic() - begin
                    t = samples(in_graph(lambda: step(ids, pos, decoding)), 1, shortest_ms=5.0)
                n = ids.shape[1]
                body = c["layers"] * sum(a * b for _, a, b in linears(c)[:-1])
                flops = 2 * body * n + 2 * c["vocabulary"] * c["hidden"] + 2 * n * n * c["layers"] * c["heads"] * c["size"]
                nbytes = weights + 4 * c["layers"] * c["kv"] * c["size"] * 1024
                rate, unit = (nbytes / 1e9, "GB/s") if decoding else (flops / 1e12, "TFLOP/s")
                write(case_name, "torch.compile", rate=rate / t["seconds"], unit=unit, first_call_s=first,
                      tokens_per_s=n / t["seconds"], **t)
            except Exception as e:
                write(case_name, "torch.compile", ok=False, note=str(e)[:300])
        del model
        torch.cuda.empty_cache()


SECTIONS = dict(limits=limits, gemm=gemm, prefill=prefill, decode=decode, attention=attention, scores=scores, rows=rows,
                launch=launch, graphs=graphs, optim=optim, models=models)


def main():
    global ARGS
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("section", choices=sorted(SECTIONS))
    p.add_argument("words", nargs="*", help="cases in whose names one of these stands")
    p.add_argument("--append", required=True)
    p.add_argument("--budget", type=float, default=60)
    ARGS = p.parse_args()
    torch.manual_seed(0)
    with torch.no_grad():
        if ARGS.section in ("gemm", "rows", "attention", "scores", "decode", "prefill"):
            warm = normal(4096, 4096)
            for _ in range(100):
                warm @ warm
        SECTIONS[ARGS.section]()


if __name__ == "__main__":
    main()
