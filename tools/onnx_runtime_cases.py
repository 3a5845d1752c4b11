#!/usr/bin/env python3
"""Writes control.zip, small ONNX models of branches, loops and sequences, and learners.zip, models of
the domain ai.onnx.ml, with what ONNX Runtime gives for them.

usage: onnx_runtime_cases.py FOLDER, FOLDER being tests/models/onnx. Needs the packages onnx,
onnxruntime and torch. Each entry is a case as the folder's README.md says: the model, its inputs, its
outputs. One file and a long one, since most of it is the text of the models.
"""
import io
import logging
import os
import sys
import warnings
import zipfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper, parser

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
random = np.random.default_rng(0)


def floats(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def whole(value):
    return np.array(value, dtype=np.int64)


def flag(value):
    return np.array(value, dtype=bool)


# Name: the graph, and the inputs of each of its cases.
WRITTEN = {
    "loop_of_few_turns": ("""
graph (float[3] x) => (float[3] y) {
  n = Constant<value_int: int = 5>()
  t = Constant<value: tensor = bool {1}>()
  y = Loop (n, t, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] r) {
    d = Identity(c)
    f = Cast<to: int = 1>(i)
    a = Mul(s, f)
    r = Add(a, x)
  }>
}""", [[floats(3)]]),
    "loop_of_many_turns": ("""
graph (float[2,3] x, float[3,3] w) => (float[2,3] y, float[50,2,3] all) {
  n = Constant<value_int: int = 50>()
  t = Constant<value: tensor = bool {1}>()
  y, all = Loop (n, t, x) <body = b (int64 i, bool c, float[2,3] s)
      => (bool d, float[2,3] r, float[2,3] e) {
    d = Identity(c)
    m = MatMul(s, w)
    r = Tanh(m)
    e = Sub(r, s)
  }>
}""", [[floats(2, 3), floats(3, 3)]]),
    "loop_without_a_condition": ("""
graph (float[4] x) => (float[4] y) {
  n = Constant<value_int: int = 33>()
  y = Loop (n, , x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] r) {
    d = Constant<value: tensor = bool {1}>()
    r = Cos(s)
  }>
}""", [[floats(4)]]),
    "loop_of_a_count_that_goes_in": ("""
graph (int64 n, float[3] x) => (float[3] y) {
  t = Constant<value: tensor = bool {1}>()
  y = Loop (n, t, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] r) {
    d = Identity(c)
    a = Sin(s)
    r = Add(a, x)
  }>
}""", [[whole(3), floats(3)], [whole(40), floats(3)], [whole(0), floats(3)]]),
    "loop_of_a_count_and_a_condition_that_go_in": ("""
graph (int64 n, bool t, float[3] x) => (float[3] y) {
  y = Loop (n, t, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] r) {
    d = Identity(c)
    r = Sin(s)
  }>
}""", [[whole(3), flag(True), floats(3)], [whole(3), flag(False), floats(3)]]),
    "loop_that_stacks_as_many_as_go_in": ("""
graph (int64 n, float[2] x) => (float[2] y, float[k,2] all) {
  y, all = Loop (n, , x) <body = b (int64 i, bool c, float[2] s)
      => (bool d, float[2] r, float[2] e) {
    d = Identity(c)
    r = Sin(s)
    e = Neg(s)
  }>
}""", [[whole(4), floats(2)], [whole(0), floats(2)], [whole(-3), floats(2)]]),
    "loop_until_the_data_says": ("""
graph (float[3] x) => (float[3] y, int64 turns) {
  t = Constant<value: tensor = bool {1}>()
  zero = Constant<value_int: int = 0>()
  one = Constant<value_int: int = 1>()
  limit = Constant<value_float: float = 100.0>()
  y, turns = Loop ( , t, x, zero) <body = b (int64 i, bool c, float[3] s, int64 k)
      => (bool d, float[3] r, int64 l) {
    r = Mul(s, s)
    sum = ReduceSum<keepdims: int = 0>(r)
    d = Less(sum, limit)
    l = Add(k, one)
  }>
}""", [[np.array([1.1, 1.2, 1.05], np.float32)], [np.array([3, 9, 1], np.float32)]]),
    "loop_of_a_count_until_the_data_says": ("""
graph (float[3] x) => (float[3] y) {
  n = Constant<value_int: int = 6>()
  t = Constant<value: tensor = bool {1}>()
  limit = Constant<value_float: float = 100.0>()
  y = Loop (n, t, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] r) {
    r = Add(s, s)
    sum = ReduceSum<keepdims: int = 0>(r)
    d = Less(sum, limit)
  }>
}""", [[np.array([0.1, 0.2, 0.3], np.float32)], [np.array([3, 9, 1], np.float32)],
       [np.array([90, 90, 1], np.float32)]]),
    "loop_that_stacks_until_the_data_says": ("""
graph (float[3] x) => (float[3] y, float[k,3] all) {
  n = Constant<value_int: int = 60>()
  t = Constant<value: tensor = bool {1}>()
  limit = Constant<value_float: float = 100.0>()
  y, all = Loop (n, t, x) <body = b (int64 i, bool c, float[3] s)
      => (bool d, float[3] r, float[3] e) {
    r = Add(s, s)
    e = Identity(s)
    sum = ReduceSum<keepdims: int = 0>(r)
    d = Less(sum, limit)
  }>
}""", [[np.array([0.1, 0.2, 0.3], np.float32)], [np.array([90, 90, 1], np.float32)]]),
    "loop_until_a_counter_says": ("""
graph (float[3] x) => (float[3] y, int64 turns) {
  t = Constant<value: tensor = bool {1}>()
  zero = Constant<value_int: int = 0>()
  three = Constant<value_int: int = 3>()
  limit = Constant<value_int: int = 200>()
  y, turns = Loop ( , t, x, zero) <body = b (int64 i, bool c, float[3] s, int64 k)
      => (bool d, float[3] r, int64 l) {
    l = Add(k, three)
    d = Less(l, limit)
    r = Cos(s)
  }>
}""", [[floats(3)]]),
    "loop_of_slices_at_the_turn": ("""
graph (float[40,3] x) => (float[1,3] y) {
  n = Constant<value_int: int = 40>()
  one = Constant<value_ints: ints = [1]>()
  zero = Constant<value_ints: ints = [0]>()
  first = Slice(x, zero, one)
  y = Loop (n, , first) <body = b (int64 i, bool c, float[1,3] s) => (bool d, float[1,3] r) {
    d = Identity(c)
    from = Reshape(i, one)
    to = Add(from, one)
    row = Slice(x, from, to)
    a = Mul(s, row)
    r = Tanh(a)
  }>
}""", [[floats(40, 3)]]),
    "loop_of_elements_at_the_turn": ("""
graph (float[t,3] x) => (float[3] y, float[t,3] all) {
  shape = Shape(x)
  zero = Constant<value_int: int = 0>()
  n = Gather(shape, zero)
  first = Gather(x, zero)
  y, all = Loop (n, , first) <body = b (int64 i, bool c, float[3] s)
      => (bool d, float[3] r, float[3] e) {
    d = Identity(c)
    row = Gather(x, i)
    a = Mul(s, row)
    r = Tanh(a)
    e = Identity(r)
  }>
}""", [[floats(40, 3)], [floats(2, 3)]]),
    "loop_that_grows_what_it_carries": ("""
graph (float[1,2] x) => (float[k,2] y) {
  n = Constant<value_int: int = 20>()
  y = Loop (n, , x) <body = b (int64 i, bool c, float[m,2] s) => (bool d, float[l,2] r) {
    d = Identity(c)
    f = Cast<to: int = 1>(i)
    next = Add(x, f)
    r = Concat<axis: int = 0>(s, next)
  }>
}""", [[floats(1, 2)]]),
    "loop_that_fills_a_sequence": ("""
graph (float[2,3] x) => (float[2,12] y) {
  n = Constant<value_int: int = 4>()
  none = SequenceEmpty()
  all = Loop (n, , none) <body = b (int64 i, bool c, seq(float[2,3]) s)
      => (bool d, seq(float[2,3]) r) {
    d = Identity(c)
    f = Cast<to: int = 1>(i)
    next = Mul(x, f)
    r = SequenceInsert(s, next)
  }>
  y = ConcatFromSequence<axis: int = 1>(all)
}""", [[floats(2, 3)]]),
    "loop_in_a_loop": ("""
graph (float[2] x) => (float[2] y, float[30,2] all) {
  n = Constant<value_int: int = 30>()
  y, all = Loop (n, , x) <body = b (int64 i, bool c, float[2] s)
      => (bool d, float[2] r, float[2] e) {
    d = Identity(c)
    m = Constant<value_int: int = 20>()
    u = Loop (m, , s) <body = inner (int64 j, bool g, float[2] p) => (bool h, float[2] q) {
      h = Identity(g)
      a = Add(p, x)
      q = Sin(a)
    }>
    r = Add(u, s)
    e = Neg(u)
  }>
}""", [[floats(2)]]),
    "loop_in_a_loop_as_long_as_its_turn": ("""
graph (float[2] x) => (float[2] y) {
  n = Constant<value_int: int = 20>()
  y = Loop (n, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r) {
    d = Identity(c)
    u = Loop (i, , s) <body = inner (int64 j, bool g, float[2] p) => (bool h, float[2] q) {
      h = Identity(g)
      q = Sin(p)
    }>
    r = Add(u, x)
  }>
}""", [[floats(2)]]),
    "branch_of_equal_sizes": ("""
graph (bool c, float[3] x) => (float[3] y, int64[1] k) {
  y, k = If (c) <then_branch = a () => (float[3] p, int64[1] m) {
    p = Sin(x)
    m = Constant<value_ints: ints = [1]>()
  }, else_branch = b () => (float[3] q, int64[1] l) {
    q = Neg(x)
    l = Constant<value_ints: ints = [2]>()
  }>
}""", [[flag(True), floats(3)], [flag(False), floats(3)]]),
    "branch_by_the_data": ("""
graph (float[3] x) => (float[3] y) {
  sum = ReduceSum<keepdims: int = 1>(x)
  zero = Constant<value_float: float = 0.0>()
  c = Less(sum, zero)
  y = If (c) <then_branch = a () => (float[3] p) { p = Neg(x) },
              else_branch = b () => (float[3] q) { q = Identity(x) }>
}""", [[np.array([1, 2, 3], np.float32)], [np.array([1, -2, -3], np.float32)]]),
    "branch_of_other_sizes": ("""
graph (bool c, float[3] x) => (float[k] y) {
  z = If (c) <then_branch = a () => (float[3] p) { p = Sin(x) },
              else_branch = b () => (float[6] q) { q = Concat<axis: int = 0>(x, x) }>
  y = Add(z, z)
}""", [[flag(True), floats(3)], [flag(False), floats(3)]]),
    "branch_by_sizes": ("""
graph (float[n,k] x) => (float[m,l] y) {
  shape = Shape(x)
  one = Constant<value_int: int = 1>()
  k = Gather(shape, one)
  c = Equal(k, one)
  y = If (c) <then_branch = a () => (float[m,l] p) {
    axis = Constant<value_ints: ints = [1]>()
    s = Squeeze(x, axis)
    front = Constant<value_ints: ints = [0]>()
    p = Unsqueeze(s, front)
  }, else_branch = b () => (float[m,l] q) { q = Identity(x) }>
}""", [[floats(3, 1)], [floats(3, 2)]]),
    "branch_in_a_branch": ("""
graph (bool c, bool d, float[3] x) => (float[3] y) {
  y = If (c) <then_branch = a () => (float[3] p) {
    t = Sin(x)
    p = If (d) <then_branch = aa () => (float[3] pp) { pp = Add(t, x) },
                else_branch = ab () => (float[3] pq) { pq = Sub(t, x) }>
  }, else_branch = b () => (float[3] q) { q = Neg(x) }>
}""", [[flag(True), flag(True), floats(3)], [flag(True), flag(False), floats(3)],
       [flag(False), flag(True), floats(3)]]),
    "branch_in_a_loop": ("""
graph (float[3] x) => (float[3] y) {
  n = Constant<value_int: int = 25>()
  zero = Constant<value_float: float = 0.0>()
  y = Loop (n, , x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] r) {
    d = Identity(c)
    sum = ReduceSum<keepdims: int = 0>(s)
    g = Less(sum, zero)
    r = If (g) <then_branch = a () => (float[3] p) { p = Sub(x, s) },
                else_branch = e () => (float[3] q) { q = Sub(s, x) }>
  }>
}""", [[floats(3)]]),
    "branch_with_sequences": ("""
graph (bool c, float[3] x) => (float[k] y, int64 n) {
  s = If (c) <then_branch = a () => (seq(float[3]) p) { p = SequenceConstruct(x, x) },
              else_branch = b () => (seq(float[3]) q) { q = SequenceConstruct(x, x, x) }>
  y = ConcatFromSequence<axis: int = 0>(s)
  n = SequenceLength(s)
}""", [[flag(True), floats(3)], [flag(False), floats(3)]]),
    "scan_of_few": ("""
graph (float[2] h, float[5,2] x) => (float[2] last, float[5,2] all) {
  last, all = Scan <num_scan_inputs: int = 1, body = b (float[2] s, float[2] e)
      => (float[2] r, float[2] g) {
    a = Add(s, e)
    r = Tanh(a)
    g = Neg(r)
  }>(h, x)
}""", [[floats(2), floats(5, 2)]]),
    "scan_of_many": ("""
graph (float[2] h, float[t,2] x, float[t,2] z) => (float[2] last, float[t,2] all) {
  last, all = Scan <num_scan_inputs: int = 2, body = b (float[2] s, float[2] e, float[2] f)
      => (float[2] r, float[2] g) {
    a = Add(s, e)
    m = Mul(a, f)
    r = Tanh(m)
    g = Neg(r)
  }>(h, x, z)
}""", [[floats(2), floats(70, 2), floats(70, 2)]]),
    "scan_along_other_axes_and_backwards": ("""
graph (float[4] h, float[4,30,2] x) => (float[4] last, float[4,30] all) {
  last, all = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [1],
      scan_input_directions: ints = [1], scan_output_axes: ints = [1],
      scan_output_directions: ints = [1], body = b (float[4] s, float[4,2] e)
      => (float[4] r, float[4] g) {
    axis = Constant<value_ints: ints = [1]>()
    sum = ReduceSum<keepdims: int = 0>(e, axis)
    a = Add(s, sum)
    r = Tanh(a)
    g = Neg(r)
  }>(h, x)
}""", [[floats(4), floats(4, 30, 2)]]),
    "scan_that_carries_nothing": ("""
graph (float[30,2] x) => (float[30,2] all) {
  all = Scan <num_scan_inputs: int = 1, body = b (float[2] e) => (float[2] g) {
    g = Sin(e)
  }>(x)
}""", [[floats(30, 2)]]),
    "frame_of_sizes": ("""
graph (float[n,5] x) => (float[m,5] y) {
  shape = Shape(x)
  zero = Constant<value_int: int = 0>()
  four = Constant<value_int: int = 4>()
  n = Gather(shape, zero)
  less = Neg(n)
  more = Mod(less, four)
  first = Constant<value_ints: ints = [0]>()
  last = Constant<value_ints: ints = [-1]>()
  end = Constant<value_ints: ints = [-1000]>()
  list = Unsqueeze(more, first)
  none = Constant<value_ints: ints = [0, 0, 0]>()
  flat = Concat<axis: int = 0>(none, list)
  two = Constant<value_ints: ints = [-1, 2]>()
  pairs = Reshape(flat, two)
  turned = Slice(pairs, last, end, first, last)
  sides = Transpose<perm: ints = [1, 0]>(turned)
  pads = Reshape(sides, last)
  y = Pad(x, pads)
}""", [[floats(6, 5)], [floats(8, 5)]]),
    "sequence_of_all_kinds": ("""
graph (float[2] x, float[2] z)
    => (float[2] a, float[2] b, int64 n, float[3,2] y, float[2,2] parts) {
  s = SequenceConstruct(x, z)
  front = Constant<value_int: int = 0>()
  back = Constant<value_int: int = -1>()
  more = Add(x, z)
  t = SequenceInsert(s, more, front)
  a = SequenceAt(t, front)
  b = SequenceAt(t, back)
  n = SequenceLength(t)
  y = ConcatFromSequence<axis: int = 0, new_axis: int = 1>(t)
  u = SequenceErase(t)
  v = SequenceErase(u, front)
  w = SequenceInsert(v, z, back)
  parts = ConcatFromSequence<axis: int = 1, new_axis: int = 1>(w)
}""", [[floats(2), floats(2)]]),
}


class Cells(torch.nn.Module):
    """A recurrent layer as a loop of the script over its steps."""

    def __init__(self):
        super().__init__()
        self.gates, self.fresh = torch.nn.Linear(7, 8), torch.nn.Linear(7, 4)

    def cell(self, x, h):
        update, reset = torch.sigmoid(self.gates(torch.cat((x, h), 1))).chunk(2, 1)
        return (1 - update) * torch.tanh(self.fresh(torch.cat((x, reset * h), 1))) + update * h

    def forward(self, x, h):
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
        return h


class ListedCells(Cells):
    """Keeps what each step gives in a list, and stacks it."""

    def forward(self, x, h):
        outputs = []
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
            outputs.append(h)
        return torch.stack(outputs)


class Until(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 100.0):
            if bool(x[0] > 1.0):
                x = x * 2
            else:
                x = x + 1
        return x


class Chosen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.second(x).relu(),
                          (x,))


def exported(module, arguments, dynamo, dynamic=None):
    buffer = io.BytesIO()
    settings = {"dynamo": False, "dynamic_axes": dynamic,
                "input_names": [f"x{i}" for i in range(len(arguments))]}
    if dynamo:
        settings = {"dynamo": True, "verbose": False}
    torch.onnx.export(module.eval(), arguments, buffer, opset_version=17 if not dynamo else 18,
                      **settings)
    return onnx.load_model_from_string(buffer.getvalue())


def exports():
    torch.manual_seed(0)
    x, h = torch.randn(5, 2, 3), torch.randn(2, 4)
    steps = {"x0": {0: "steps"}}
    many = torch.randn(40, 2, 3)
    cells = torch.jit.script(Cells())
    yield "exported_loop_of_cells", exported(cells, (x, h), False, steps), [(x, h), (many, h)]
    listed = torch.jit.script(ListedCells())
    yield "exported_list_of_cells", exported(listed, (x, h), False, steps), [(x, h), (many, h)]
    until = torch.jit.script(Until())
    small = torch.tensor([0.5, 0.25])
    yield "exported_while", exported(until, (small,), False), [(small,), (small + 200,)]
    chosen = Chosen()
    one = torch.randn(2, 3)
    yield "exported_cond", exported(chosen, (one,), True), [(one.abs(),), (-one.abs(),)]


def message(number, content):
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def as_bytes(array):
    return numpy_helper.from_array(np.asarray(array)).SerializeToString()


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


def forest(trees, depth, columns, mode, positive):
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


def classes(columns, labels, positive=True, mode="BRANCH_LEQ", **more):
    attributes, (trees, nodes, ids, weights) = forest(5, 4, columns, mode, positive)
    return learner([helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=LEARNED,
        class_treeids=trees, class_nodeids=nodes, class_ids=ids, class_weights=weights,
        classlabels_int64s=labels, **attributes, **more)], ["label", "scores"])


def regression(columns, mode="BRANCH_LEQ", **more):
    attributes, (trees, nodes, ids, weights) = forest(5, 4, columns, mode, False)
    return learner([helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=LEARNED, target_treeids=trees,
        target_nodeids=nodes, target_ids=ids, target_weights=weights, n_targets=len(columns),
        **attributes, **more)], ["y"])


def learned(operator, outputs=("y",), **attributes):
    node = helper.make_node(operator, ["x"], list(outputs), domain=LEARNED, **attributes)
    return learner([node], outputs)


def numbers(count):
    return [float(each) for each in floats(count)]


def learners():
    both = ("label", "scores")
    yield "forest_of_classes", classes([0, 1, 2], [4, 7, 9])
    yield "forest_of_classes_softmax", classes([0, 1, 2], [4, 7, 9], post_transform="SOFTMAX")
    for one in (0, 1):
        yield f"forest_of_one_share_{one}", classes([one], [3, 5])
        yield f"forest_of_one_score_{one}", classes([one], [3, 5], positive=False)
    yield "forest_of_one_logistic", classes([0], [3, 5], False, post_transform="LOGISTIC",
                                            base_values=[0.25])
    yield "forest_regression", regression([0])
    yield "forest_regression_of_many", regression([0, 1, 2], base_values=[0.5, 0.25, -1.0])
    for name in ("AVERAGE", "MIN", "MAX"):
        yield f"forest_{name.lower()}", regression([0, 1], aggregate_function=name)
    for mode in ("LT", "GTE", "GT", "EQ", "NEQ"):
        yield f"forest_branch_{mode.lower()}", regression([0], f"BRANCH_{mode}")
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        yield f"linear_classes_{post.lower()}", learned(
            "LinearClassifier", both, coefficients=numbers(12), intercepts=numbers(3),
            classlabels_ints=[2, 5, 8], post_transform=post)
    yield "linear_regression", learned("LinearRegressor", coefficients=numbers(8), targets=2,
                                       intercepts=numbers(2))
    yield "scaler", learned("Scaler", offset=numbers(4), scale=numbers(4))
    yield "scaler_of_one", learned("Scaler", offset=[0.5], scale=[2.0])
    for norm in ("MAX", "L1", "L2"):
        yield f"normalizer_{norm.lower()}", learned("Normalizer", norm=norm)


def write(out, models, optimises=True):
    count = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, model, rows in models:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            if not optimises:
                options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = onnxruntime.InferenceSession(model.SerializeToString(), options)
            names = [each.name for each in session.get_inputs()]
            for i, row in enumerate(rows):
                outputs = session.run(None, dict(zip(names, row)))
                case = message(1, model.SerializeToString())
                case += b"".join(message(2, as_bytes(each)) for each in row)
                case += b"".join(message(3, as_bytes(each)) for each in outputs)
                entry = zipfile.ZipInfo(f"{name}_{i}" if len(rows) > 1 else name,
                                        (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, case, compresslevel=9)
                count += 1
    print(f"{count} cases, {os.path.getsize(out)} bytes")


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    texts = [(name, text.replace("graph (", f"{name} (", 1).strip(), rows)
             for name, (text, rows) in WRITTEN.items()]
    models = [(name, parser.parse_model(HEAD + text), rows) for name, text, rows in texts]
    models += [(name, model, [[np.asarray(each) for each in row] for row in rows])
               for name, model, rows in exports()]
    write(f"{folder}/control.zip", models)
    samples = floats(30, 4)
    missing = samples.copy()
    missing[::3, 1] = np.nan
    write(f"{folder}/learners.zip", [
        (name, model, [[missing if name.startswith("forest") else samples]])
        for name, model in learners()])


if __name__ == "__main__":
    main(*sys.argv[1:])
