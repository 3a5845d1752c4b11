"""Models of one node of ONNX Runtime's own domain, com.microsoft, and random inputs for them."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(0)
MICROSOFT = "com.microsoft"


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


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
