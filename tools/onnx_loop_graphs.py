"""Loops as texts of ONNX graphs, for onnx_runtime_cases.py."""
import numpy as np

from onnx_case_archive import flag, whole


def loops(floats):
    """Name: the graph, and the inputs of each of its cases, of which `floats` gives random ones."""
    return {
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
    }
