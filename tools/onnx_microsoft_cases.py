#!/usr/bin/env python3
"""Writes microsoft.zip, small ONNX models of operators of ONNX Runtime's own domain, com.microsoft,
with what it gives for them, without optimisation.

usage: onnx_microsoft_cases.py FOLDER, FOLDER being tests/models/onnx. Needs what onnx_runtime_cases.py
needs. Each entry is a case as the folder's README.md says: the model, its inputs, its outputs.
"""
import sys

import numpy as np

from onnx_case_archive import write
from onnx_microsoft_attention import attention, grouped, grouped_by_mask
from onnx_microsoft_nodes import TYPES, case, f32, floats, integers, random
from onnx_microsoft_quantised import packed, quantised, recurrent_by_channel


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


def main(folder):
    families = [quantised(), packed(), fused(), attention(), grouped(),
                grouped_by_mask(), recurrent_by_channel()]
    write(f"{folder}/microsoft.zip", [each for family in families for each in family],
          optimises=False)


main(*sys.argv[1:])
