"""Cases of attention of com.microsoft, for onnx_microsoft_cases.py: with one weight, with several heads,
with heads in groups, and rotations of positions."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_microsoft_nodes import MICROSOFT, TYPES, case, f32, floats, integers, random


def attention():
    batch, steps, heads, size = 2, 5, 2, 4
    hidden = heads * size
    x, weight, bias = floats(batch, steps, 6), floats(6, 3 * hidden), floats(3 * hidden)
    past = floats(2, batch, heads, 3, size)
    ends = np.array([5, 3], np.int32)
    raw = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    each = (random.random((batch, steps, steps)) > 0.3).astype(np.int32)
    each[:, :, 0] = 1
    masks = {"none": None, "ends": ends, "starts": np.array([5, 4, 0, 1], np.int32), "raw": raw,
             "each": each}
    for causal in (0, 1):
        for name, mask in masks.items():
            yield case(f"attention_{name}_{causal}", "Attention", [x, weight, bias, mask],
                       num_heads=heads, unidirectional=causal)
        yield case(f"attention_past_{causal}", "Attention", [x, weight, bias, None, past],
                   ["y", "present"], num_heads=heads, unidirectional=causal)
        wide = np.concatenate([np.ones((batch, 3), np.int32), raw], 1)
        yield case(f"attention_past_mask_{causal}", "Attention", [x, weight, bias, wide, past],
                   ["y", "present"], num_heads=heads, unidirectional=causal)
        yield case(f"attention_bias_{causal}", "Attention",
                   [x, weight, bias, raw, None, floats(1, heads, steps, steps)], num_heads=heads,
                   unidirectional=causal, scale=0.3, mask_filter_value=-1e4)
    yield case("attention_sizes", "Attention", [x, floats(6, 2 * hidden + 6), floats(2 * hidden + 6)],
               num_heads=heads, qkv_hidden_sizes=[hidden, hidden, 6])
    for name, dtype in TYPES.items():
        for columns in (1, 3 * hidden):
            yield case(f"qattention_{columns}_{name}", "QAttention",
                       [integers(np.uint8, batch, steps, 6), integers(dtype, 6, 3 * hidden), bias,
                        f32(0.02), f32(np.abs(floats(columns)) * 0.01), raw, np.array(5, np.uint8),
                        integers(dtype, columns)], num_heads=heads, unidirectional=columns > 1)
    yield case("qattention_past", "QAttention",
               [integers(np.uint8, batch, steps, 6), integers(np.int8, 6, 3 * hidden), bias,
                f32(0.02), f32(0.01), None, None, None, past], ["y", "present"], num_heads=heads)
    q, k, v = (floats(batch, n, hidden) for n in (steps, 7, 7))
    yield case("multi_head", "MultiHeadAttention", [q, k, v], num_heads=heads)
    yield case("multi_head_bias", "MultiHeadAttention", [q, k, v, bias], num_heads=heads)
    for causal in (0, 1):
        yield case(f"multi_head_mask_{causal}", "MultiHeadAttention",
                   [q, q + 1, q - 1, None, raw, floats(batch, 1, steps, steps)], num_heads=heads,
                   scale=0.4, unidirectional=causal)
        yield case(f"multi_head_past_{causal}", "MultiHeadAttention",
                   [q, q + 1, q - 1, bias, None, None, past[0], past[1]], ["y", "k", "v"],
                   num_heads=heads, unidirectional=causal)
    yield case("multi_head_crossed", "MultiHeadAttention",
               [q, floats(batch, heads, 7, size), floats(batch, heads, 7, size)], num_heads=heads)
    angles = np.arange(16)[:, None] / 10 ** (np.arange(2) / 2)
    tables = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]
    places = random.integers(0, 16, (batch, steps)).astype(np.int64)
    for interleaved in (0, 1):
        yield case(f"rotary_{interleaved}", "RotaryEmbedding", [q, places] + tables,
                   interleaved=interleaved)
        yield case(f"rotary_offset_{interleaved}", "RotaryEmbedding",
                   [floats(batch, heads, steps, size), np.array([4])] + tables,
                   interleaved=interleaved)
    yield case("rotary_part", "RotaryEmbedding", [floats(batch, steps, 2 * 8), places] + tables,
               num_heads=2, rotary_embedding_dim=4)


def grouped():
    heads, own, size = 4, 2, 16
    angles = np.arange(32)[:, None] / 10 ** (np.arange(size // 2) / 4)
    tables = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]

    def attention(name, batch, steps, former, capacity=None, lengths=None, packed=False, rotary=0,
                  bias=False, **more):
        total = steps + former
        q, k, v = (floats(batch, steps, n * size) for n in (heads, own, own))
        capacity = former if capacity is None else capacity
        past = [floats(batch, own, capacity, size) for _ in range(2)] if capacity else [None, None]
        lengths = [total - 1] * batch if lengths is None else lengths
        inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        inputs += past + [np.array(lengths, np.int32), np.array(total, np.int32)]
        inputs += tables if rotary else [None, None]
        if bias:
            inputs += [None, floats(1, heads, steps, total)]
        return case(f"grouped_{name}", "GroupQueryAttention", inputs, ["y", "k", "v"],
                    constants=(6, 7, 8), num_heads=heads, kv_num_heads=own, do_rotary=rotary, **more)

    yield attention("prompt", 2, 5, 0)
    yield attention("prompt_packed_rotary", 2, 5, 0, packed=True, rotary=1)
    yield attention("step", 1, 1, 6, rotary=1)
    yield attention("step_of_many", 2, 1, 6, rotary=1, lengths=[6, 4])
    yield attention("steps", 1, 3, 6, rotary=1, rotary_interleaved=1)
    yield attention("prompt_in_buffer", 2, 5, 0, capacity=9, rotary=1)
    yield attention("step_in_buffer", 2, 1, 5, capacity=9, rotary=1, lengths=[5, 3], scale=0.3)
    yield attention("window", 2, 7, 0, local_window_size=3)
    yield attention("window_step", 1, 1, 6, local_window_size=3)
    yield attention("softcap", 2, 5, 0, softcap=0.7)
    yield attention("bias", 1, 2, 4, bias=True)


def grouped_by_mask():
    """As builders of generating models write it: lengths come of a mask and its sizes."""
    graph = helper.make_graph(
        [helper.make_node("ReduceSum", ["mask", "one"], ["lengths"], keepdims=1),
         helper.make_node("Sub", ["lengths", "one"], ["last"]),
         helper.make_node("Cast", ["last"], ["seqlens"], to=TensorProto.INT32),
         helper.make_node("Shape", ["mask"], ["sizes"]),
         helper.make_node("Gather", ["sizes", "place"], ["steps"], axis=0),
         helper.make_node("Cast", ["steps"], ["total"], to=TensorProto.INT32),
         helper.make_node("GroupQueryAttention", ["x", "", "", "past_k", "past_v", "seqlens", "total",
                                                  "cos", "sin"], ["y", "k", "v"], domain=MICROSOFT,
                          num_heads=4, kv_num_heads=2, do_rotary=1)],
        "grouped_by_mask",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "steps", 128]),
         helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "total"]),
         helper.make_tensor_value_info("past_k", TensorProto.FLOAT, ["batch", 2, "past", 16]),
         helper.make_tensor_value_info("past_v", TensorProto.FLOAT, ["batch", 2, "past", 16])],
        [onnx.ValueInfoProto(name=each) for each in "ykv"],
        [numpy_helper.from_array(np.array([1]), "one"),
         numpy_helper.from_array(np.array(1), "place"),
         numpy_helper.from_array(floats(32, 8), "cos"),
         numpy_helper.from_array(floats(32, 8), "sin")])
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=10)

    def row(batch, steps, past):
        mask = np.ones((batch, steps + past), np.int64)
        return [floats(batch, steps, 128), mask, floats(batch, 2, past, 16),
                floats(batch, 2, past, 16)]

    yield "grouped_by_mask", model, [row(2, 5, 0), row(1, 1, 5), row(2, 1, 6), row(1, 3, 4)]
