#!/usr/bin/env python3
"""Times PyTorch on the host (eager: MKL and oneDNN; Inductor) for `tilewright bench ... --peer`.

Answers lines of JSON on its standard input, as tools/bench/peer.h says, until that ends. A system is
one way to compute the cases: "torch" is eager, "inductor" is torch.compile with weights frozen where
the case has constant ones. Data are random; memory is kept by the allocator, in large pages, so that
fresh pages are not what is timed.
"""
import ctypes
import json
import os
import sys
import time

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # large pages, as ours
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # a first call compiles
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no answer
libc = ctypes.CDLL(None)
libc.mallopt(-4, 0)  # M_MMAP_MAX: memory comes from the heap, which keeps it
libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import torch_models  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8, "u8": torch.uint8,
          "i32": torch.int32, "i64": torch.int64}


def int8_linear(x, values, scales):
    return torch.ops.aten._weight_int8pack_mm(x, values, scales.reshape(-1).to(x.dtype))


def widened_linear(x, values, scales):
    """A product as Inductor fuses it: weights become numbers where the product reads them."""
    n, k = values.shape
    groups = scales.shape[1]
    weight = values.to(x.dtype).view(n, groups, k // groups) * scales.to(x.dtype).unsqueeze(-1)
    return F.linear(x, weight.view(n, k))


def pack_int4(values, scales):
    n, k = values.shape[0], values.shape[1] * 2
    numbers = torch.randint(0, 16, (n, k), dtype=torch.int32)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(numbers, 1)
    zeros = torch.zeros_like(scales)
    return packed, torch.stack((scales, zeros), -1).transpose(0, 1).contiguous().bfloat16(), k // scales.shape[1]


def attention(q, k, v, causal=False):
    rows, keys = q.shape[2], k.shape[2]
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal and rows == keys, enable_gqa=q.shape[1] != k.shape[1])


def convolution(x, w, b, stride, padding, groups):
    return (F.conv1d if x.dim() == 3 else F.conv2d)(x, w, b, stride=stride, padding=padding, groups=groups)


def transposed_convolution(x, w, b, stride, padding, groups):
    return F.conv_transpose2d(x, w, b, stride=stride, padding=padding, groups=groups)


def onnx_convolution(op, x, w, b, stride, padding, groups):
    """A session with weights that are constants, as many threads as PyTorch has."""
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper

    node = helper.make_node("Conv" if op == "convolution" else "ConvTranspose", ["x", "w", "b"], ["y"],
                            kernel_shape=list(w.shape[2:]), strides=stride, pads=padding * 2, group=groups)
    graph = helper.make_graph(
        [node], "convolution", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, list(x.shape))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w.numpy(), "w"), numpy_helper.from_array(b.numpy(), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {"x": x.numpy()}
    return lambda: session.run(None, given)


def attention_backward(g, q, k, v, out, sums, causal):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, out, sums + 8.0, 0.0, causal)


def linear_and_cross_entropy(x, w, t):
    with torch.enable_grad():
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        loss = F.cross_entropy(F.linear(x, w), t)
        return loss, *torch.autograd.grad(loss, (x, w))


def convolution_backward(x, w, g, stride, padding, of_filters):
    return torch.ops.aten.convolution_backward(g, x, w, None, stride, padding, [1, 1], False, [0, 0], 1,
                                               [not of_filters, of_filters, False])


def experts(x, logits, gate, up, down, chosen):
    """Rows sorted by expert, as transformers multiplies them where it has grouped_mm."""
    shares, ids = torch.softmax(logits, 1).topk(chosen, 1)
    flat = ids.reshape(-1)
    order = flat.argsort()
    ends = torch.bincount(flat, minlength=gate.shape[0]).cumsum(0).to(torch.int32)
    x_of = x[order // chosen]
    hidden = F.silu(torch._grouped_mm(x_of, gate.transpose(1, 2), ends))
    hidden = hidden * torch._grouped_mm(x_of, up.transpose(1, 2), ends)
    y = torch._grouped_mm(hidden, down.transpose(1, 2), ends)
    each = torch.empty_like(y)
    each[order] = y
    return (each.reshape(x.shape[0], chosen, -1) * shares.unsqueeze(2)).sum(1).to(x.dtype)


# Functions of the arguments in the order in which tools/bench gives them.
OPS = {
    "linear": lambda x, w: F.linear(x, w),
    "linear+bias": lambda x, w, b: F.linear(x, w, b),
    "matmul": lambda a, b: a @ b,
    "experts": experts,
    "gated": lambda x, gate, up: F.silu(F.linear(x, gate)) * F.linear(x, up),
    "attention": attention,
    "attention backward": attention_backward,
    "linear and cross entropy": linear_and_cross_entropy,
    "embedding backward": lambda g, ids, rows: torch.ops.aten.embedding_dense_backward(g, ids, rows, -1, False),
    "convolution backward": convolution_backward,
    "convolution": convolution,
    "transposed convolution": transposed_convolution,
    "softmax": lambda x, w, b, t: torch.softmax(x, -1),
    "layer_norm": lambda x, w, b, t: F.layer_norm(x, (x.shape[-1],), w, b),
    "rms_norm+residual": lambda x, w, b, t, y: (F.rms_norm(x + y, (x.shape[-1],), w, 1e-5), x + y),
    "gelu+bias": lambda x, w, b, t: F.gelu(x + w, approximate="tanh"),
    "silu*mul": lambda x, w, b, t, y: F.silu(x) * y,
    "cross_entropy": lambda x, w, b, t: F.cross_entropy(x, t, reduction="none"),
    "int8 product": lambda a, b: torch._int_mm(a, b.t()),
}


def random(a):
    dtype = DTYPES[a["dtype"]]
    if dtype.is_floating_point:
        return (torch.randn(a["shape"]) * a["deviation"]).to(dtype)
    low = -127 if dtype == torch.int8 else 0
    return torch.randint(low, max(a["below"], 127 if low else 1), a["shape"], dtype=dtype)


class Frozen(torch.nn.Module):
    """A function whose constant arguments are the module's, as weights are."""

    def __init__(self, function, arguments, constant):
        super().__init__()
        self.function, self.constant = function, constant
        for i, tensor in enumerate(arguments):
            if constant[i]:
                self.register_buffer("a%d" % i, tensor)

    def forward(self, *given):
        given = iter(given)
        return self.function(*[getattr(self, "a%d" % i) if c else next(given) for i, c in enumerate(self.constant)])


class Case:
    """The systems of an open case: each a list of calls, one a set of data."""

    def __init__(self, question):
        torch.set_num_threads(question["threads"])
        self.calls, self.first, self.notes, self.at = {}, {}, {}, {}
        op, sets = question["op"], question.get("sets", 1)
        if op in torch_models.BUILDERS:
            for system, make in torch_models.BUILDERS[op](question).items():
                self.add(system, lambda: [make()])
            return
        arguments = [[random(a) for a in question["arguments"]] for _ in range(sets)]
        constant = [bool(a.get("constant")) for a in question["arguments"]]
        options = {k: question[k] for k in ("causal", "stride", "padding", "groups", "rows", "of_filters", "chosen") if k in question}
        if op.startswith("linear int"):
            self.quantised(op, arguments)
            return
        if op == "flex attention":
            def make():
                function = torch_models.flex_attention_of(question["scores"], arguments[0][0])
                return [lambda s=s: function(*s) for s in arguments]
            self.add("inductor", make)
            return
        function = OPS[op]
        self.add("torch", lambda: [lambda s=s: function(*s, **options) for s in arguments])
        self.add("inductor", lambda: self.compiled(lambda *a: function(*a, **options), arguments, constant))
        if op in ("convolution", "transposed convolution"):
            self.add("onnxruntime", lambda: [onnx_convolution(op, *s, **options) for s in arguments])

    def quantised(self, op, arguments):
        if op == "linear int8":
            if arguments[0][2].shape[1] == 1:
                self.add("torch", lambda: [lambda s=s: int8_linear(*s) for s in arguments])
            self.add("inductor", lambda: self.compiled(widened_linear, arguments, [False] * 3))
        else:
            def make():
                packed = [(s[0], *pack_int4(s[1], s[2])) for s in arguments]
                mm = torch.ops.aten._weight_int4pack_mm_for_cpu
                return [lambda s=s: mm(s[0], s[1], s[3], s[2]) for s in packed]
            self.add("torch", make)

    @staticmethod
    def compiled(function, arguments, constant):
        torch._inductor.config.freezing = any(constant) and len(arguments) == 1
        if torch._inductor.config.freezing:
            given = [a for a, c in zip(arguments[0], constant) if not c]
            module = torch.compile(Frozen(function, arguments[0], constant).eval(), dynamic=False)
            return [lambda: module(*given)]
        fast = torch.compile(function, dynamic=False)
        return [lambda s=s: fast(*s) for s in arguments]

    def add(self, system, make):
        try:
            torch.compiler.reset()
            calls = make()
            begin = time.perf_counter()
            calls[0]()
            self.first[system] = time.perf_counter() - begin
            for call in calls[1:]:
                call()
            self.calls[system], self.at[system] = calls, 0
        except Exception as e:
            self.notes[system] = str(e).splitlines()[0][:300] if str(e) else type(e).__name__

    def call(self, system):
        calls = self.calls[system]
        self.at[system] = (self.at[system] + 1) % len(calls)
        calls[self.at[system]]()

    def sample(self, system, at_least):
        """Seconds of a call, over as many as take that long; the first are not counted, unless they are long."""
        begin, seconds = time.perf_counter(), 0
        while seconds < AWAKE_S:
            self.call(system)
            seconds = time.perf_counter() - begin
            if seconds > 100 * at_least:
                return seconds
        begin, count = time.perf_counter(), 0
        while True:
            self.call(system)
            count += 1
            seconds = time.perf_counter() - begin
            if seconds >= at_least:
                return seconds / count


# A second processor that slept is slow for so long.
AWAKE_S = 0.06
# OpenMP's threads spin for this long after their work, at the cost of the system that takes the
# next turn.
OPENMP_SPINS_S = 0.22


def hello():
    versions = {"torch": torch.__version__, "mkl": str(torch.backends.mkl.is_available()),
                "onednn": str(torch.backends.mkldnn.is_available()), **torch_models.versions()}
    return {"versions": versions}


def main():
    case = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "hello":
                answer = hello()
            elif question["do"] == "open":
                case = None
                case = Case(question)
                answer = {"systems": {s: {"first_call_s": t} for s, t in case.first.items()}, "notes": case.notes}
            elif question["do"] == "sample":
                answer = {"seconds": case.sample(question["system"], question.get("at_least_s", 0))}
                time.sleep(OPENMP_SPINS_S)
            else:
                case, answer = None, {}
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, str(e)[:300])}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    with torch.no_grad():
        main()
