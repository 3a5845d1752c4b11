#!/usr/bin/env python3
"""Writes encoders.zip: support vector machines, forests of several comparisons, transforms of scores and
encoders of the domain ai.onnx.ml, with what ONNX Runtime gives for them.

usage: onnx_learner_cases.py FOLDER, FOLDER being tests/models/onnx. Needs the packages onnx and onnxruntime.
"""
import logging
import sys
import warnings

import numpy as np
from onnx import TensorProto, helper

from onnx_case_archive import write
from onnx_learner_models import LEARNED

random = np.random.default_rng(2)
FLOAT, INT64, DOUBLE = TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE
KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(np.float64): DOUBLE}


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def numbers(count):
    return [float(each) for each in floats(count)]


def learned(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), domain=LEARNED, **attributes)


def forests():
    """Two levels, whose branches compare in different ways, as LightGBM's with categories do."""
    for first, second, third in (("LEQ", "EQ", "LEQ"), ("LEQ", "LT", "GTE"), ("GT", "NEQ", "EQ")):
        nodes = dict(nodes_treeids=[0] * 7, nodes_nodeids=list(range(7)),
                     nodes_featureids=[0, 1, 1, 0, 0, 0, 0], nodes_values=[0.5, 3, 2, 0, 0, 0, 0],
                     nodes_modes=[f"BRANCH_{each}" for each in (first, second, third)] + ["LEAF"] * 4,
                     nodes_truenodeids=[1, 3, 5, 0, 0, 0, 0], nodes_falsenodeids=[2, 4, 6, 0, 0, 0, 0])
        leaves = [3, 4, 5, 6]
        name = f"{first}_{second}_{third}".lower()
        yield f"forest_of_{name}", [learned(
            "TreeEnsembleRegressor", target_treeids=[0] * 4, target_nodeids=leaves,
            target_ids=[0] * 4, target_weights=[1.0, 2.0, 3.0, 4.0], n_targets=1, **nodes)], ["y"]
        yield f"classes_of_{name}", [learned(
            "TreeEnsembleClassifier", outputs=("label", "y"), class_treeids=[0] * 4,
            class_nodeids=leaves, class_ids=[0, 1, 2, 1], class_weights=[1.0, 2.0, 3.0, 4.0],
            classlabels_int64s=[4, 7, 9], post_transform="SOFTMAX", **nodes)], ["label", "y"]


def transforms():
    for post in ("SOFTMAX_ZERO", "PROBIT"):
        yield f"forest_{post.lower()}", [learned(
            "TreeEnsembleClassifier", outputs=("label", "y"), nodes_treeids=[0] * 3,
            nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3, nodes_values=[0.5, 0.0, 0.0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
            nodes_falsenodeids=[2, 0, 0], class_treeids=[0] * 5, class_nodeids=[1, 1, 1, 2, 2],
            class_ids=[0, 1, 2, 1, 2], class_weights=[0.2, 0.9, 0.4, 0.6, 0.3],
            classlabels_int64s=[4, 7, 9], post_transform=post)], ["label", "y"]
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        yield f"linear_of_one_score_{post.lower()}", [learned(
            "LinearClassifier", outputs=("label", "y"), classlabels_ints=[3, 5],
            coefficients=[0.4, -0.2], intercepts=[0.3], post_transform=post)], ["label", "y"]


def machines():
    kernels = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 0.1, 3.0], "RBF": [0.5, 0.0, 3.0],
               "SIGMOID": [0.5, 0.1, 3.0]}
    for kernel, params in kernels.items():
        kind = dict(kernel_type=kernel, kernel_params=params)
        yield f"regression_{kernel.lower()}", [learned(
            "SVMRegressor", coefficients=numbers(4), support_vectors=numbers(8), n_supports=4,
            rho=[0.1], **kind)], ["y"]
        for classes, per_class in ((2, [2, 3]), (3, [2, 1, 2]), (4, [1, 2, 1, 1])):
            pairs = classes * (classes - 1) // 2
            for probable in (False, True):
                more = dict(prob_a=[-abs(each) for each in numbers(pairs)],
                            prob_b=numbers(pairs)) if probable else {}
                yield "_".join(["classes", str(classes), kernel.lower(),
                                *(["probable"] if probable else [])]), [learned(
                    "SVMClassifier", outputs=("label", "y"), classlabels_ints=[3, 5, 9, 4][:classes],
                    coefficients=numbers(5 * (classes - 1)), support_vectors=numbers(10),
                    vectors_per_class=per_class, rho=numbers(pairs), **kind, **more)], ["label", "y"]
    linear = dict(kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])
    yield "regression_without_vectors", [learned("SVMRegressor", coefficients=[0.5, -0.3], rho=[0.1],
                                                 n_supports=0, **linear)], ["y"]
    yield "regression_of_one_class", [learned("SVMRegressor", coefficients=[0.5, -0.3], rho=[-0.1],
                                              n_supports=0, one_class=1, **linear)], ["y"]
    yield "classes_without_vectors", [learned("SVMClassifier", outputs=("label", "y"),
                                              classlabels_ints=[3, 5, 9], coefficients=numbers(6),
                                              rho=[0.1], **linear)], ["label", "y"]
    for post in ("LOGISTIC", "SOFTMAX"):
        yield f"classes_of_two_{post.lower()}", [learned(
            "SVMClassifier", outputs=("label", "y"), classlabels_ints=[3, 5],
            coefficients=numbers(5), support_vectors=numbers(10), vectors_per_class=[2, 3],
            rho=[0.2], post_transform=post, kernel_type="RBF",
            kernel_params=[0.5, 0.0, 3.0])], ["label", "y"]


def encoders():
    """Each with its samples."""
    holed = floats(5, 3)
    holed[::2, 1] = np.nan
    whole = np.array([[0, 2, 3], [4, 0, -1]])
    yield "imputer_of_nan", [learned("Imputer", imputed_value_floats=[1.0, 2.0, 3.0],
                                     replaced_value_float=float("nan"))], ["y"], holed
    yield "imputer_of_one", [learned("Imputer", imputed_value_floats=[9.0],
                                     replaced_value_float=float("nan"))], ["y"], holed
    yield "imputer_of_integers", [learned("Imputer", imputed_value_int64s=[7, 8, 9],
                                          replaced_value_int64=0)], ["y"], whole
    hot = learned("OneHotEncoder", cats_int64s=[0, 2, 3], zeros=1)
    yield "one_hot_integers", [hot], ["y"], whole
    yield "one_hot_floats", [hot], ["y"], whole.astype(np.float32)
    yield "one_hot_list", [hot], ["y"], whole[0]
    yield "labels_to_floats", [learned("LabelEncoder", keys_int64s=[0, 2, 4],
                                       values_floats=[0.5, 1.5, 2.5], default_float=-3.0)], ["y"], whole
    yield "labels_to_integers", [learned("LabelEncoder", keys_int64s=[0, 2, 4],
                                         values_int64s=[10, 12, 14])], ["y"], whole
    yield "labels_of_floats", [learned("LabelEncoder", keys_floats=[0.0, 2.0, 1.5],
                                       values_int64s=[10, 12, 14], default_int64=5)], ["y"], np.array(
                                           [[0, 2, 3], [1.5, 1, 2]], np.float32)
    yield "zip_map", [learned("ZipMap", classlabels_int64s=[3, 5, 9])], ["y"], np.abs(floats(4, 3))
    yield "normalizer_of_integers", [learned("Normalizer", norm="L2")], ["y"], whole
    yield "scaler_of_integers", [learned("Scaler", offset=[0.5], scale=[2.0])], ["y"], whole
    yield "binarizer", [learned("Binarizer", threshold=0.25)], ["y"], floats(4, 3)


def model(nodes, outputs, inputs):
    graph = helper.make_graph(
        nodes, "learner",
        [helper.make_tensor_value_info(name, KINDS[each.dtype], [None] * each.ndim)
         for name, each in inputs.items()],
        [helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_map_type_proto(
            INT64, helper.make_tensor_type_proto(FLOAT, []))))
         if nodes[-1].op_type == "ZipMap" else
         helper.make_tensor_value_info(name, INT64 if name == "label" else kind_of(nodes[-1], inputs),
                                       None) for name in outputs])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(LEARNED, 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def kind_of(node, inputs):
    names = {each.name for each in node.attribute}
    if names & {"values_int64s", "imputed_value_int64s"}:
        return INT64
    return FLOAT


def all_cases():
    x = np.array([[0.4, 3], [0.4, 2], [0.6, 3], [0.7, 2], [-2, 0.3], [0.9, -1.5]], np.float32)
    for maker in (forests, transforms, machines):
        for name, nodes, outputs in maker():
            yield name, nodes, outputs, {"x": x}
    for name, nodes, outputs, samples in encoders():
        yield name, nodes, outputs, {"x": samples}
    yield "features_side_by_side", [learned("FeatureVectorizer", inputs=("x", "z"),
                                            inputdimensions=[3, 2])], ["y"], {
        "x": np.array([[0, 2, 3], [4, 0, -1]]), "z": np.array([[1, 2], [3, 4]])}


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    write(f"{folder}/encoders.zip", [(name, model(nodes, outputs, inputs), [list(inputs.values())])
                                     for name, nodes, outputs, inputs in all_cases()])


if __name__ == "__main__":
    main(*sys.argv[1:])
