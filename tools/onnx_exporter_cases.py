#!/usr/bin/env python3
"""Writes engines.zip, nodes for which ONNX Runtime and PyTorch agree and ONNX's reference differs, and
exporters.zip, small models with habits of converters, with what ONNX Runtime gives for them.

usage: onnx_exporter_cases.py FOLDER, FOLDER being tests/models/onnx. Needs the packages onnx, onnxruntime
and, for its converter to 16 bits, sympy.
"""
import logging
import sys
import warnings

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnxruntime.transformers.float16 import convert_float_to_float16

from onnx_case_archive import write

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
random = np.random.default_rng(1)
node = helper.make_node


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def whole(*sizes):  # which 16 bits hold, as their sums
    return random.integers(-3, 4, sizes).astype(np.float32)


def places(*sizes, reach):
    return ((random.random(sizes) * 2 - 1) * reach).astype(np.float32)


def value(name, sizes, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, sizes)


def model(nodes, inputs, outputs, tensors=None, opset=17, own=(), inner=()):
    graph = helper.make_graph(
        nodes, "g", inputs, outputs,
        [numpy_helper.from_array(np.asarray(each), name) for name, each in (tensors or {}).items()],
        value_info=list(inner))
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("own", 1)] if own else [])
    return helper.make_model(graph, opset_imports=sets, ir_version=9, functions=list(own))


def grid_samples():
    for opset, mode in ((16, "bicubic"), (20, "cubic")):
        for aligns in (0, 1):
            for reach in (1.3, 6):
                x, grid = floats(1, 2, 6, 7), places(1, 4, 5, 2, reach=reach)
                yield f"grid_sample_{mode}_border_{aligns}_{reach}", model(
                    [node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode="border",
                          align_corners=aligns)],
                    [value("x", x.shape), value("g", grid.shape)], [value("y", [1, 2, 4, 5])],
                    opset=opset), [[x, grid]]


def unpooling():
    for sizes, kernel, strides in (((1, 1, 5, 5), [2, 2], [2, 2]), ((1, 2, 7, 6), [2, 2], [2, 2]),
                                   ((2, 3, 10), [3], [3]), ((1, 2, 5, 6, 7), [2] * 3, [2] * 3),
                                   ((1, 2, 9, 8), [3, 3], [2, 2])):
        window = dict(kernel_shape=kernel, strides=strides)
        yield "max_unpool_" + "x".join(map(str, sizes)), model(
            [node("MaxPool", ["x"], ["p", "i"], **window), node("Shape", ["x"], ["s"]),
             node("MaxUnpool", ["p", "i", "s"], ["y"], **window)],
            [value("x", sizes)], [value("y", sizes)], opset=13), [[floats(*sizes)]]


def regions():
    corners = np.array([[3, 3, 3, 3], [-1, 2, 9, 3], [1, 1, 6.5, 7], [5, 4, 2, 1]], np.float32)
    for scale in (1.0, 0.8, 0.25):
        for mode in ("avg", "max"):
            for coordinates in ("half_pixel", "output_half_pixel"):
                yield f"roi_align_{scale}_{mode}_{coordinates}", model(
                    [node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, sampling_ratio=0,
                          coordinate_transformation_mode=coordinates, output_height=3,
                          output_width=2, spatial_scale=scale)],
                    [value("x", [2, 2, 8, 9])], [value("y", [4, 2, 3, 2])],
                    {"r": corners, "b": np.array([0, 1, 1, 0])}, 16), [[floats(2, 2, 8, 9)]]


def resizes():
    ways = [("align_corners", "linear", {}), ("align_corners", "cubic", {})]
    ways += [(way, "nearest", {"nearest_mode": near})
             for way in ("align_corners", "half_pixel", "pytorch_half_pixel", "asymmetric",
                         "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize")
             for near in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")]
    for way, mode, more in ways:
        for size, scale in ((5, 0.7), (6, 1.7), (4, 2.6), (8, 0.9)):
            if way == "half_pixel_symmetric" and scale == 1.7:
                continue  # one element is a tie that the order of roundings decides
            part = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9], np.float32)
            is_part = way == "tf_crop_and_resize"
            tensors = {"s": np.array([1, 1, scale, scale], np.float32)}
            yield "_".join(["resize", way, mode, *more.values(), str(scale)]), model(
                [node("Resize", ["x", "part" if is_part else "", "s"], ["y"], mode=mode,
                      coordinate_transformation_mode=way, **more)],
                [value("x", [1, 1, size, size + 1])], [value("y", None)],
                tensors | ({"part": part} if is_part else {}), 13), [[floats(1, 1, size, size + 1)]]


def in_16_bits():
    """ONNX Runtime's converter writes this: casts of inputs stand behind the nodes that read them."""
    two = model([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])],
                [value("x", [2, 3])], [value("y", [2, 4])], {"w": floats(3, 4)}, 13)
    yield "order_of_the_float16_converter", convert_float_to_float16(two, keep_io_types=True), [
        [floats(2, 3)]]
    many = model([node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["b"]),
                  node("Add", ["b", "z"], ["y"])],
                 [value("x", [1, 2, 5, 5]), value("z", [1, 3, 5, 5])], [value("y", [1, 3, 5, 5])],
                 {"w": whole(3, 2, 3, 3)}, 13)
    yield "order_of_the_float16_converter_of_two", convert_float_to_float16(
        many, keep_io_types=True), [[whole(1, 2, 5, 5), whole(1, 3, 5, 5)]]


def branches(then_nodes, else_nodes):
    return {f"{name}_branch": helper.make_graph(nodes, name, [], [value(nodes[-1].output[0], None)])
            for name, nodes in (("then", then_nodes), ("else", else_nodes))}


def unordered():
    x, y = [value("x", [3])], [value("y", [3])]
    chain = [node("Neg", ["c"], ["y"]), node("Sin", ["b"], ["c"]), node("Cos", ["a"], ["b"]),
             node("Abs", ["x"], ["a"])]
    yield "order_of_a_chain_reversed", model(chain, x, y), [[floats(3)]]
    choice = node("If", ["f"], ["y"], **branches([node("Add", ["x", "late"], ["p"])],
                                                 [node("Abs", ["x"], ["q"])]))
    yield "order_of_a_value_that_a_branch_reads", model(
        [choice, node("Exp", ["x"], ["late"])], [*x, value("f", [], BOOL)], y), [
            [floats(3), np.array(flag)] for flag in (True, False)]


def referring(each, name, reference, kind):
    attribute = AttributeProto(name=name, ref_attr_name=reference, type=kind)
    each.attribute.append(attribute)
    return each


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), opset=17):
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, sets, list(attributes),
                                [helper.make_attribute(*each) for each in defaults])


def calls():
    x, y = [value("x", [3])], [value("y", [3])]
    own = lambda name, inputs, outputs, **more: node(name, inputs, outputs, domain="own", **more)
    real, integer = AttributeProto.FLOAT, AttributeProto.INTS
    swish = function("Swish", ["a"], ["b"],
                     [node("Sigmoid", ["a"], ["s"]), node("Mul", ["a", "s"], ["b"])])
    leak = function("Leak", ["a"], ["b"], [referring(node("LeakyRelu", ["a"], ["b"]), "alpha",
                                                     "slope", real)], ["slope"])
    outer = function("Outer", ["a", "c"], ["b", "d"], [
        referring(own("Leak", ["a"], ["t"]), "slope", "k", real), node("Add", ["t", "c"], ["b"]),
        node("Neg", ["t"], ["d"])], ["k"])
    default = function("Leak", ["a"], ["b"], [referring(node("LeakyRelu", ["a"], ["b"]), "alpha",
                                                        "slope", real)], defaults=[("slope", 0.7)])
    clip = function("Between", ["a", "low", "high"], ["b"],
                    [node("Clip", ["a", "low", "high"], ["b"])])
    choose = function("Choose", ["a", "f"], ["b"], [
        node("If", ["f"], ["b"], **branches([node("Neg", ["a"], ["p"])],
                                            [node("Abs", ["a"], ["q"])]))])
    shift = function("Shift", ["a"], ["b"], [
        referring(node("Constant", [], ["k"]), "value_float", "k", real),
        node("Add", ["a", "k"], ["b"])], ["k"], opset=13)
    both = function("Both", ["a"], ["c", "b"], [node("Sin", ["a"], ["c"]), node("Neg", ["a"], ["b"])])
    turn = function("Turn", ["a"], ["b"], [referring(node("Transpose", ["a"], ["b"]), "perm", "order",
                                                     integer)], ["order"])
    flag = value("f", [], BOOL)
    one = [[floats(3)]]
    yield "function_called_twice", model([own("Swish", ["x"], ["s"]), own("Swish", ["s"], ["y"])], x,
                                         y, own=[swish]), one
    pair = [value("y", [3]), value("z", [3])]
    for name, more in (("given", {"k": 0.3}), ("left_out", {})):
        yield f"function_of_functions_attribute_{name}", model(
            [own("Outer", ["x", "w"], ["y", "z"], **more)], x, pair, {"w": floats(3)},
            own=[leak, outer]), one
    yield "function_default", model([own("Leak", ["x"], ["y"])], x, y, own=[default]), one
    yield "function_default_replaced", model([own("Leak", ["x"], ["y"], slope=0.2)], x, y,
                                             own=[default]), one
    yield "function_input_left_out", model([own("Between", ["x", "", "w"], ["y"])], x, y,
                                           {"w": np.float32(0.1)}, own=[clip]), one
    yield "function_of_fewer_inputs", model([own("Between", ["x"], ["y"])], x, y, own=[clip]), one
    flags = [[floats(3), np.array(each)] for each in (True, False)]
    yield "function_with_a_branch", model([own("Choose", ["x", "f"], ["y"])], [*x, flag], y,
                                          own=[choose]), flags
    yield "function_in_a_branch", model(
        [node("If", ["f"], ["y"], **branches([own("Swish", ["x"], ["p"])],
                                             [node("Abs", ["x"], ["q"])]))], [*x, flag], y,
        own=[swish]), flags
    yield "function_with_a_constant_of_its_caller", model([own("Shift", ["x"], ["y"], k=2.5)], x, y,
                                                          own=[shift]), one
    yield "function_of_which_one_result_is_used", model([own("Both", ["x"], ["", "y"])], x, y,
                                                        own=[both]), one
    yield "function_with_a_list_of_its_caller", model(
        [own("Turn", ["x"], ["y"], order=[1, 0])], [value("x", [2, 3])], [value("y", [3, 2])],
        own=[turn]), [[floats(2, 3)]]


def names_of_axes():
    for name in ("?", "batch", "unk__1"):
        yield f"axes_{'none' if name == '?' else name}_of_two_inputs", model(
            [node("Add", ["x", "z"], ["y"])], [value("x", [name, 3]), value("z", [name, 3])],
            [value("y", [name, 3])]), [[floats(2, 3), floats(1, 3)]]
    yield "axes_of_one_input", model([node("Exp", ["x"], ["y"])], [value("x", ["?", "?"])],
                                     [value("y", ["?", "?"])]), [[floats(2, 3)], [floats(4, 1)]]


def declarations():
    nodes = [node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])]
    for name, sizes in (("batch", [1, 3]), ("size", [2, 9]), ("rank", [6]), ("scalar", [])):
        yield f"declared_of_another_{name}", model(
            nodes, [value("x", ["n", 3])], [value("y", ["n", 3])], inner=[value("h", sizes)]), [
                [floats(2, 3)]]
    for name, sizes in (("batch", [1, 3]), ("rank", [6])):
        yield f"declared_of_a_result_of_another_{name}", model(
            nodes, [value("x", ["n", 3])], [value("y", sizes)]), [[floats(2, 3)]]


def unsigned():
    for bits, kind in ((32, TensorProto.UINT32), (64, TensorProto.UINT64)):
        dtype = getattr(np, f"uint{bits}")
        x, two = np.array([1, 5, 2**(bits - 1) + 7], dtype), np.array([2, 7, 3], dtype)
        for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max"):
            yield f"unsigned_{bits}_{op.lower()}", model(
                [node(op, ["x", "t"], ["y"])], [value("x", [3], kind)], [value("y", [3], kind)],
                {"t": two}), [[x]]
        for op in ("Less", "Equal"):
            yield f"unsigned_{bits}_{op.lower()}", model(
                [node(op, ["x", "t"], ["y"])], [value("x", [3], kind)], [value("y", [3], BOOL)],
                {"t": two}), [[x]]
        for to in (FLOAT, TensorProto.DOUBLE, INT64):
            yield f"unsigned_{bits}_to_{to}", model(
                [node("Cast", ["x"], ["y"], to=to)], [value("x", [3], kind)], [value("y", [3], to)]), [
                    [x]]


def collected(makers):
    return [each for maker in makers for each in maker()]


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    write(f"{folder}/engines.zip", collected([grid_samples, unpooling, regions, resizes]))
    write(f"{folder}/exporters.zip", collected([in_16_bits, unordered, calls, names_of_axes,
                                                declarations, unsigned]))


if __name__ == "__main__":
    main(*sys.argv[1:])
