"""Random models of the domain ai.onnx.ml: forests, linear models and scalers of samples of four
features, for onnx_runtime_cases.py."""
import numpy as np
from onnx import TensorProto, helper

LEARNED = "ai.onnx.ml"


def learner(nodes, outputs):
    """A model of nodes of ai.onnx.ml, of samples x [n, 4]."""
    kinds = {"label": TensorProto.INT64}
    graph = helper.make_graph(
        nodes, "learner", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None)
         for name in outputs])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(LEARNED, 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def forest(random, trees, depth, columns, mode, positive):
    """Attributes of a random forest, and those of its leaves' weights: places, columns, weights."""
    nodes = {name: [] for name in ("treeids nodeids featureids values modes truenodeids falsenodeids "
                                   "missing_value_tracks_true").split()}
    leaves = []

    def grow(tree, level):
        at = nodes["treeids"].count(tree)
        is_leaf = level == depth or (level > 1 and random.random() < 0.3)
        row = [tree, at, int(random.integers(4)), float(random.standard_normal() * 0.5),
               "LEAF" if is_leaf else mode, 0, 0, int(random.integers(2))]
        for name, value in zip(nodes, row):
            nodes[name].append(value)
        place = len(nodes["treeids"]) - 1
        if is_leaf:
            nodes["missing_value_tracks_true"][place] = 0
            for column in columns:
                weight = random.random() / trees if positive else random.standard_normal()
                leaves.append((tree, at, column, float(np.float32(weight))))
            return at
        nodes["truenodeids"][place] = grow(tree, level + 1)
        nodes["falsenodeids"][place] = grow(tree, level + 1)
        return at

    for tree in range(trees):
        grow(tree, 0)
    return {f"nodes_{name}": values for name, values in nodes.items()}, list(zip(*leaves))


def classes(random, columns, labels, positive=True, mode="BRANCH_LEQ", **more):
    attributes, (trees, nodes, ids, weights) = forest(random, 5, 4, columns, mode, positive)
    return learner([helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=LEARNED,
        class_treeids=trees, class_nodeids=nodes, class_ids=ids, class_weights=weights,
        classlabels_int64s=labels, **attributes, **more)], ["label", "scores"])


def regression(random, columns, mode="BRANCH_LEQ", **more):
    attributes, (trees, nodes, ids, weights) = forest(random, 5, 4, columns, mode, False)
    return learner([helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=LEARNED, target_treeids=trees,
        target_nodeids=nodes, target_ids=ids, target_weights=weights, n_targets=len(columns),
        **attributes, **more)], ["y"])


def learned(operator, outputs=("y",), **attributes):
    node = helper.make_node(operator, ["x"], list(outputs), domain=LEARNED, **attributes)
    return learner([node], outputs)


def numbers(random, count):
    return [float(each) for each in random.standard_normal(count).astype(np.float32)]


def learners(random):
    both = ("label", "scores")
    yield "forest_of_classes", classes(random, [0, 1, 2], [4, 7, 9])
    yield "forest_of_classes_softmax", classes(random, [0, 1, 2], [4, 7, 9], post_transform="SOFTMAX")
    for one in (0, 1):
        yield f"forest_of_one_share_{one}", classes(random, [one], [3, 5])
        yield f"forest_of_one_score_{one}", classes(random, [one], [3, 5], positive=False)
    yield "forest_of_one_logistic", classes(random, [0], [3, 5], False, post_transform="LOGISTIC",
                                            base_values=[0.25])
    yield "forest_regression", regression(random, [0])
    yield "forest_regression_of_many", regression(random, [0, 1, 2], base_values=[0.5, 0.25, -1.0])
    for name in ("AVERAGE", "MIN", "MAX"):
        yield f"forest_{name.lower()}", regression(random, [0, 1], aggregate_function=name)
    for mode in ("LT", "GTE", "GT", "EQ", "NEQ"):
        yield f"forest_branch_{mode.lower()}", regression(random, [0], f"BRANCH_{mode}")
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        yield f"linear_classes_{post.lower()}", learned(
            "LinearClassifier", both, coefficients=numbers(random, 12), intercepts=numbers(random, 3),
            classlabels_ints=[2, 5, 8], post_transform=post)
    yield "linear_regression", learned("LinearRegressor", coefficients=numbers(random, 8), targets=2,
                                       intercepts=numbers(random, 2))
    yield "scaler", learned("Scaler", offset=numbers(random, 4), scale=numbers(random, 4))
    yield "scaler_of_one", learned("Scaler", offset=[0.5], scale=[2.0])
    for norm in ("MAX", "L1", "L2"):
        yield f"normalizer_{norm.lower()}", learned("Normalizer", norm=norm)
