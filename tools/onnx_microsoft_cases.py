#!/usr/bin/env python3
"""Writes microsoft.zip, small ONNX models of operators of ONNX Runtime's own domain, com.microsoft,
with what it gives for them, without optimisation.

usage: onnx_microsoft_cases.py FOLDER, FOLDER being tests/models/onnx. Needs what onnx_runtime_cases.py
needs. Each entry is a case as the folder's README.md says: the model, its inputs, its outputs.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_runtime_cases import write

random = np.random.default_rng(0)
MICROSOFT = "com.microsoft"


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def halves(*sizes):
    return floats(*sizes).astype(np.float16)


def f32(value):
    return np.array(value, np.float32)


def integers(dtype, *sizes):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, sizes).astype(dtype)


def node_model(op, inputs, outputs, constants, domain, attributes):
    """A model of one node: inputs by place, None where one is left out; those of the places in
    `constants` are initializers. An output is a name, or "" where it is left out."""
    names = ["" if each is None else f"x{i}" for i, each in enumerate(inputs)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    given = [i for i, each in enumerate(inputs) if each is not None]
    graph = helper.make_graph(
        [node], op,
        [helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(inputs[i].dtype),
                                       inputs[i].shape) for i in given if i not in constants],
        [onnx.ValueInfoProto(name=each) for each in outputs if each],
        [numpy_helper.from_array(inputs[i], names[i]) for i in given if i in constants])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def case(name, op, inputs, outputs=("y",), constants=(), domain=MICROSOFT, **attributes):
    model = node_model(op, inputs, list(outputs), set(constants), domain, attributes)
    return name, model, [[each for i, each in enumerate(inputs)
                          if each is not None and i not in constants]]


TYPES = {"u8": np.uint8, "i8": np.int8}


def quantised():
    for name, dtype in TYPES.items():
        info = np.iinfo(dtype)
        middle = (info.min + info.max + 1) // 2

        def zero(value=0):
            return np.array(middle + value, dtype)

        def quantity(*sizes, scale=0.05, off=3):
            return [integers(dtype, *sizes), f32(scale), zero(off)]

        a, b, to = quantity(3, 5, 7), quantity(5, 7, scale=0.031, off=-20), [f32(0.09), zero(9)]
        yield case(f"qlinear_add_{name}", "QLinearAdd", a + b + to)
        yield case(f"qlinear_add_one_{name}", "QLinearAdd",
                   a + quantity(1, scale=0.5) + to)
        yield case(f"qlinear_mul_{name}", "QLinearMul", a + b + to)
        yield case(f"qlinear_sigmoid_{name}", "QLinearSigmoid",
                   a + [f32(1 / 256), np.array(info.min, dtype)])
        yield case(f"qlinear_sigmoid_no_zero_{name}", "QLinearSigmoid",
                   [a[0], a[1], None, f32(1 / 100), None])
        yield case(f"qlinear_leaky_relu_{name}", "QLinearLeakyRelu", a + to, alpha=0.2)
        for opset in (11, 17):
            for axis in (1, -1):
                yield case(f"qlinear_softmax_{opset}_{axis}_{name}", "QLinearSoftmax",
                           a + [f32(1 / 256.5), np.array(info.min, dtype)], opset=opset, axis=axis)
        c = quantity(3, 2, 7, scale=0.11, off=-1)
        yield case(f"qlinear_concat_{name}", "QLinearConcat", to + a + c, axis=1)
        yield case(f"qlinear_where_{name}", "QLinearWhere",
                   [random.random((3, 5, 1)) > 0.5] + a + b + to)
        image = quantity(2, 3, 9, 8)
        for last in (0, 1):
            yield case(f"qlinear_average_pool_{last}_{name}", "QLinearAveragePool", image + to,
                       kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], channels_last=last)
            yield case(f"qlinear_global_average_pool_{last}_{name}", "QLinearGlobalAveragePool",
                       image + to, channels_last=last)
        yield case(f"qlinear_average_pool_padding_{name}", "QLinearAveragePool", image + to,
                   kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
        rows = quantity(4, 6)
        for columns in (1, 5):
            scale = np.abs(floats(columns)) * 0.01 + 0.01
            zeros = random.integers(-3, 4, columns).astype(dtype) + middle
            weight = [integers(dtype, 6, 5), scale, zeros.astype(dtype)]
            turned = [np.ascontiguousarray(weight[0].T)] + weight[1:]
            added = random.integers(-3000, 3000, 5).astype(np.int32)
            result = [f32(0.4), zero(7)]
            yield case(f"qgemm_{columns}_{name}", "QGemm", rows + turned + [added] + result,
                       transB=1, alpha=1.0)
            yield case(f"qgemm_float_{columns}_{name}", "QGemm", rows + weight + [None, None, None],
                       alpha=0.5)
            yield case(f"mat_mul_integer_to_float_{columns}_{name}", "MatMulIntegerToFloat",
                       [rows[0], weight[0], rows[1], weight[1], rows[2], weight[2], floats(5)])
            yield case(f"dynamic_quantize_mat_mul_{columns}_{name}", "DynamicQuantizeMatMul",
                       [floats(2, 3, 6), weight[0], weight[1], weight[2], floats(5)])
        yield case(f"quantize_linear_{name}", "QuantizeLinear",
                   [floats(3, 4), f32(0.02), zero(5)])
        yield case(f"dequantize_linear_{name}", "DequantizeLinear",
                   [integers(dtype, 3, 4), np.abs(floats(4)), integers(dtype, 4)], axis=1)
        for directions in (1, 2):
            sizes = {"W": (directions, 3, 20), "R": (directions, 5, 20)}
            scales = [f32([0.01] * directions), np.full(directions, middle + 2, dtype)]
            yield case(
                f"dynamic_quantize_lstm_{directions}_{name}", "DynamicQuantizeLSTM",
                [floats(4, 1, 3), integers(dtype, *sizes["W"]), integers(dtype, *sizes["R"]),
                 floats(directions, 40), None, floats(directions, 1, 5), floats(directions, 1, 5),
                 None] + scales + scales, ["y", "h", "c"], (1, 2, 8, 9, 10, 11), hidden_size=5,
                direction="bidirectional" if directions == 2 else "forward")
    for dtype in (np.uint16, np.int16):
        yield case(f"quantize_linear_{np.dtype(dtype).name}", "QuantizeLinear",
                   [floats(3, 4), f32(0.0002), np.array(500, dtype)])


def packed():
    for bits in (2, 4, 8):
        for k, block in ((64, 32), (40, 16)):
            blocks = -(-k // block)
            weight = [integers(np.uint8, 6, blocks, block * bits // 8),
                      np.abs(floats(6 * blocks)) * 0.1]
            zeros = {"none": None, "packed": integers(np.uint8, 6 * (-(-blocks * bits // 8))),
                     "floats": f32(np.abs(floats(6 * blocks)) * 4)}
            for kind, zero in zeros.items():
                if kind == "floats" and bits != 4:
                    continue
                yield case(f"mat_mul_n_bits_{bits}_{k}_{kind}", "MatMulNBits",
                           [floats(2, 3, k)] + weight + [zero], constants=(1, 2, 3), K=k, N=6,
                           bits=bits, block_size=block)
    yield case("mat_mul_n_bits_bias", "MatMulNBits",
               [floats(3, 32), integers(np.uint8, 6, 1, 16), np.abs(floats(6)), None, None,
                floats(6)], constants=(1, 2), K=32, N=6, bits=4, block_size=32)


    for bits in (2, 4, 8):
        each = 8 // bits
        for zeros in (0, 1):
            zero = integers(np.uint8, 5, -(-3 // each)) if zeros else None
            yield case(f"gather_block_quantized_{bits}_{zeros}", "GatherBlockQuantized",
                       [integers(np.uint8, 5, 40 // each), np.array([[1, 4, 0], [2, 2, 3]]),
                        floats(5, 3), zero], constants=(0, 2, 3), bits=bits, block_size=16)


def fused():
    x, last = floats(2, 3, 8), floats(8)
    yield case("gelu", "Gelu", [x])
    yield case("bias_gelu", "BiasGelu", [x, last])
    yield case("fast_gelu", "FastGelu", [x])
    yield case("fast_gelu_bias", "FastGelu", [x, last])
    yield case("quick_gelu", "QuickGelu", [x])
    yield case("quick_gelu_alpha", "QuickGelu", [x], alpha=1.0)
    a, b = floats(2, 3, 4, 5), floats(2, 3, 5, 6)
    yield case("fused_mat_mul", "FusedMatMul", [a, b], alpha=0.5)
    yield case("transpose_mat_mul", "TransposeMatMul", [a.transpose(0, 1, 3, 2).copy(), b],
               transA=1)
    yield case("fused_mat_mul_turned", "FusedMatMul",
               [a.transpose(0, 1, 3, 2).copy(), b.transpose(0, 1, 3, 2).copy()], transA=1, transB=1)
    for turns in (0, 1):
        c = floats(4, 2, 3, 5) if not turns else floats(5, 2, 3, 4)
        yield case(f"fused_mat_mul_batch_{turns}", "FusedMatMul", [c, b], transBatchA=1,
                   transA=turns)
    for name, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.1}), ("Sigmoid", {}),
                       ("Tanh", {}),
                       ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})):
        yield case(f"fused_gemm_{name.lower()}", "FusedGemm", [floats(3, 4), floats(5, 4), floats(5)],
                   activation=name, transB=1, alpha=0.5, beta=2.0, **more)
        parameters = {"activation_params": list(more.values())} if more else {}
        yield case(f"fused_conv_{name.lower()}", "FusedConv",
                   [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)], activation=name,
                   pads=[1, 0, 1, 0], **parameters)
    yield case("fused_conv_clip", "FusedConv", [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)],
               activation="Clip", activation_params=[-1.0, 1.5])
    yield case("fused_conv_sum", "FusedConv", [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3),
                                               floats(1, 3, 3, 3)], activation="Relu")
    skips = {"same": floats(2, 3, 8), "batch": floats(1, 3, 8), "bare": floats(3, 8)}
    for name, skip in skips.items():
        yield case(f"skip_layer_norm_{name}", "SkipLayerNormalization",
                   [x, skip, last, floats(8), floats(8)], ["y", "", "", "sum"], epsilon=1e-5)
        yield case(f"skip_simple_norm_{name}", "SkipSimplifiedLayerNormalization",
                   [x, skip, last, floats(8)], ["y", "", "", "sum"], epsilon=1e-5)
    yield case("skip_layer_norm_bare_of_all", "SkipLayerNormalization", [x, skips["same"], last])
    yield case("simple_norm", "SimplifiedLayerNormalization", [x, last], domain="", epsilon=1e-6)
    yield case("simple_norm_two_axes", "SimplifiedLayerNormalization", [x, floats(3, 8)],
               ["y", "rstd"], domain="", axis=1)
    words = random.integers(0, 11, (2, 3)).astype(np.int32)
    tables = [floats(11, 8), floats(5, 8), floats(2, 8), last, floats(8)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    yield case("embed_layer_norm", "EmbedLayerNormalization",
               [words, (words % 2).astype(np.int32)] + tables + [mask], ["y", "mask", "sum"],
               epsilon=1e-5)
    yield case("embed_layer_norm_places", "EmbedLayerNormalization",
               [words, None, tables[0], tables[1], None, last, tables[4], None,
                np.array([[3, 1, 2]], np.int32)], ["y", "mask"])
    for name, dtype in TYPES.items():
        quantities = [integers(dtype, *each.shape) for each in tables]
        scales, zeros = [f32(0.02)] * 5, [np.array(7, dtype)] * 5
        yield case(f"qembed_layer_norm_{name}", "QEmbedLayerNormalization",
                   [words, (words % 2).astype(np.int32)] + quantities + [mask] + scales + zeros,
                   ["y", "mask"], range(2, 7))
    image = integers(np.uint8, 2, 7, 6, 4)
    yield case("nhwc_max_pool", "NhwcMaxPool", [image], kernel_shape=[3, 2], strides=[2, 1],
               pads=[1, 0, 1, 1])
    yield case("qlinear_conv_channels_last", "QLinearConv",
               [image, f32(0.02), np.array(120, np.uint8), integers(np.int8, 6, 2, 3, 3),
                np.abs(floats(6)) * 0.01 + 0.001, np.zeros(6, np.int8), f32(0.5),
                np.array(100, np.uint8), random.integers(-900, 900, 6).astype(np.int32)],
               constants=(3,), group=2, pads=[1, 1, 0, 0], channels_last=1)
    yield case("expand_dims", "ExpandDims", [x, np.array(-2, np.int32)], constants=(1,))
    yield case("inverse", "Inverse", [floats(2, 4, 4)])
    yield case("trilu", "Trilu", [floats(2, 3, 4), np.array(1)], constants=(1,), upper=0)
    pads = np.array([0, -1, 2, 1, 2, 0])
    yield case("pad", "Pad", [floats(2, 3, 4), pads], constants=(1,))
    yield case("pad_reflected", "Pad", [floats(2, 3, 4), np.abs(pads) % 2], constants=(1,),
               mode="reflect")
    yield case("range", "Range", [np.array(2), np.array(7)], constants=(0, 1))
    yield case("range_steps", "Range", [np.array(9), np.array(1), np.array(-3)],
               constants=(0, 1, 2))
    yield case("unique", "Unique", [np.array([3, 1, 3, 2, 1], np.float32)], ["y", "i", "n"], (0,))
    yield case("grid_sample", "GridSample", [floats(1, 2, 4, 5), floats(1, 3, 3, 2)])


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


def main(folder):
    families = [quantised(), packed(), fused(), attention(), grouped(),
                grouped_by_mask()]
    write(f"{folder}/microsoft.zip", [each for family in families for each in family],
          optimises=False)


main(*sys.argv[1:])
