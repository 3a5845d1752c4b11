"""Branches, scans and sequences as texts of ONNX graphs, for onnx_runtime_cases.py."""
import numpy as np

from onnx_case_archive import flag


def branches(floats):
    """Name: the graph, and the inputs of each of its cases, of which `floats` gives random ones."""
    return {
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
