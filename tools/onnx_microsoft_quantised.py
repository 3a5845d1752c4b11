"""Cases of com.microsoft that compute with integers, for onnx_microsoft_cases.py: quantised operators,
and products and lookups of weights of few bits."""
import numpy as np

from onnx_microsoft_nodes import TYPES, case, f32, floats, integers, random


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


def recurrent_by_channel():
    """A scale for each gate of each unit. ONNX Runtime takes zero points that are all equal, and 0
    for signed weights."""
    for name, dtype in TYPES.items():
        for directions in (1, 2):
            for zero in (128, 130) if dtype is np.uint8 else (0,):
                weights = [integers(dtype, directions, 3, 20), integers(dtype, directions, 5, 20)]
                steps = []
                for _ in weights:
                    steps += [np.abs(floats(directions, 20)) * 0.01 + f32(0.002),
                              np.full((directions, 20), zero, dtype)]
                yield case(
                    f"dynamic_quantize_lstm_channels_{directions}_{name}_{zero}",
                    "DynamicQuantizeLSTM",
                    [floats(4, 1, 3)] + weights +
                    [floats(directions, 40), None, floats(directions, 1, 5),
                     floats(directions, 1, 5), None] + steps, ["y", "h", "c"],
                    (1, 2, 8, 9, 10, 11), hidden_size=5,
                    direction="bidirectional" if directions == 2 else "forward")


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
