#include "graph/ir/decompositions.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "graph/ir/op_dispatch.h"
#include "graph/ir/weight_packing.h"

namespace tilewright::graph {
namespace {

// A node under construction, so that decompositions read as formulas. Numbers take its type.
struct Term {
  GraphBuilder* builder;
  NodeId id;

  Shape shape() const { return builder->node(id).shape; }
  DType dtype() const { return builder->node(id).dtype; }
  Term make(Op op, std::vector<NodeId> operands, const Attributes& attributes = {}) const {
    return {builder, builder->append(op, std::move(operands), attributes)};
  }
  Term number(double value) const { return {builder, builder->full(dtype(), shape(), value)}; }
  Term to(DType target) const {
    if (dtype() == target) return *this;
    return {builder, builder->append(Op::to, {id}, {}, target)};
  }
  Term reshape(const Shape& sizes) const {
    return sizes == shape() ? *this : make(Op::reshape, {id}, {.axes = {}, .sizes = sizes});
  }
  Term expand(const Shape& sizes) const {
    return sizes == shape() ? *this : make(Op::expand, {id}, {.axes = {}, .sizes = sizes});
  }
  Term like(const Term& other) const { return expand(other.shape()); }
  // A vector along the last axis of `other`, as wide as all of it.
  Term along_rows_of(const Term& other) const {
    Shape sizes(other.shape().size(), 1);
    sizes[-1] = shape()[0];
    return reshape(sizes).like(other);
  }
  Term reduce(Op op, const std::vector<int>& axes) const {
    return make(op, {id}, {.axes = axes, .sizes = {}});
  }
};

Term operator+(const Term& a, const Term& b) { return a.make(Op::add, {a.id, b.id}); }
Term operator-(const Term& a, const Term& b) { return a.make(Op::sub, {a.id, b.id}); }
Term operator*(const Term& a, const Term& b) { return a.make(Op::mul, {a.id, b.id}); }
Term operator/(const Term& a, const Term& b) { return a.make(Op::div, {a.id, b.id}); }
Term operator+(const Term& a, double b) { return a + a.number(b); }
Term operator*(const Term& a, double b) { return a * a.number(b); }
Term operator/(double a, const Term& b) { return b.number(a) / b; }
Term unary(Op op, const Term& x) { return x.make(op, {x.id}); }

// What a decomposition is given: the composite and its operands.
struct Site {
  const Node& node;
  std::vector<Term> operands;

  bool has(std::size_t i) const { return i < operands.size(); }
  // An operand in the type that inner arithmetic uses: f32 for the 16-bit types.
  Term wide(std::size_t i) const {
    return operands[i].to(bit_width(node.dtype) < 32 && is_floating(node.dtype) ? DType::f32
                                                                                : node.dtype);
  }
};

// The shares of the elements' sum that are one `count`th of it.
Term share(const Term& x, const std::vector<int>& axes, double count) {
  return x.reduce(Op::sum, axes) * (1 / count);
}
std::int64_t elements_over(const Term& x, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (int axis : axes) count *= x.shape()[axis];
  return count;
}
Term average(const Term& x, const std::vector<int>& axes) {
  return share(x, axes, static_cast<double>(elements_over(x, axes)));
}

Term decomposition(The<Op::relu>, const Site& site) {
  const Term& x = site.operands[0];
  return x.make(Op::maximum, {x.id, x.number(0).id});
}
Term decomposition(The<Op::silu>, const Site& site) {
  Term x = site.wide(0);
  return x * unary(Op::sigmoid, x);
}
// The tanh form uses (1 + tanh(y)) / 2 = sigmoid(2 y), which does not cancel.
Term decomposition(The<Op::gelu>, const Site& site) {
  Term x = site.wide(0);
  if (!site.node.attributes.tanh_form)
    return x * 0.5 * (unary(Op::erf, x * (1 / std::numbers::sqrt2)) + 1.0);
  double c = 2 * std::sqrt(2 / std::numbers::pi);
  return x * unary(Op::sigmoid, x * (x * x * (c * 0.044715) + c));
}
Term decomposition(The<Op::reciprocal>, const Site& site) { return 1.0 / site.operands[0]; }
Term decomposition(The<Op::square>, const Site& site) {
  return site.operands[0] * site.operands[0];
}

Term choice(const Term& condition, const Term& a, const Term& b) {
  return a.make(Op::where, {condition.id, a.id, b.id});
}
Term compared(Op op, const Term& a, double b) { return a.make(op, {a.id, a.number(b).id}); }

// Where the remainder towards 0 is none, or of the divisor's sign, it is the one wanted.
Term is_of_other_sign(const Term& remainder, const Term& divisor) {
  Term differ = compared(Op::lt, remainder, 0);
  differ = differ.make(Op::ne, {differ.id, compared(Op::lt, divisor, 0).id});
  Term some = compared(Op::ne, remainder, 0);
  return some.make(Op::logical_and, {some.id, differ.id});
}
Term decomposition(The<Op::remainder>, const Site& site) {
  Term a = site.wide(0), b = site.wide(1);
  Term r = a.make(Op::fmod, {a.id, b.id});
  if (kind_of(r.dtype()) == DTypeKind::unsigned_integer) return r;
  return choice(is_of_other_sign(r, b), r + b, r);
}
// Of floats the quotient of what the divisor goes into is whole but for rounding; by 0 it is that
// of the division, infinite or NaN.
Term decomposition(The<Op::floor_divide>, const Site& site) {
  Term a = site.wide(0), b = site.wide(1);
  if (kind_of(a.dtype()) == DTypeKind::unsigned_integer) return a / b;
  Term r = a.make(Op::fmod, {a.id, b.id}), other = is_of_other_sign(r, b);
  if (!is_floating(a.dtype())) return choice(other, a / b + -1.0, a / b);
  Term quotient = (a - r) / b;
  quotient = choice(other, quotient + -1.0, quotient);
  return choice(compared(Op::eq, b, 0), a / b, unary(Op::round, quotient));
}

Term decomposition(The<Op::mean>, const Site& site) {
  return average(site.wide(0), site.node.attributes.axes);
}
// The mean is rounded, by more than the deviations where these are small beside it. By how much the
// sum of the deviations tells, which would be 0 (Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983).
Term variance(const Site& site) {
  Term x = site.wide(0);
  const auto& axes = site.node.attributes.axes;
  Term deviation = x - average(x, axes).like(x);
  auto elements = static_cast<double>(elements_over(x, axes));
  Term off = deviation.reduce(Op::sum, axes);
  Term squares = (deviation * deviation).reduce(Op::sum, axes) - off * off * (1 / elements);
  squares = squares.make(Op::maximum, {squares.id, squares.number(0).id});
  return squares * (1 / std::max(0.0, elements - site.node.attributes.number));
}
Term decomposition(The<Op::var>, const Site& site) { return variance(site); }
Term decomposition(The<Op::stddev>, const Site& site) { return unary(Op::sqrt, variance(site)); }

Term decomposition(The<Op::softmax>, const Site& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  const auto& axes = site.node.attributes.axes;
  Term e = unary(Op::exp, x - x.reduce(Op::amax, axes).like(x));
  return e * (1.0 / e.reduce(Op::sum, axes)).like(e);
}
Term decomposition(The<Op::log_softmax>, const Site& site) {
  Term x = site.wide(0);
  if (element_count(x.shape()) == 0) return x;
  const auto& axes = site.node.attributes.axes;
  Term shifted = x - x.reduce(Op::amax, axes).like(x);
  Term total = unary(Op::exp, shifted).reduce(Op::sum, axes);
  return shifted - unary(Op::log, total).like(x);
}

Term decomposition(The<Op::layer_norm>, const Site& site) {
  Term x = site.wide(0);
  std::vector<int> last = {x.shape().rank() - 1};
  Term deviation = x - average(x, last).like(x);
  Term variance = average(deviation * deviation, last);
  Term y = deviation * unary(Op::rsqrt, variance + site.node.attributes.number).like(x);
  if (site.has(1)) y = y * site.wide(1).along_rows_of(x);
  if (site.has(2)) y = y + site.wide(2).along_rows_of(x);
  return y;
}
Term decomposition(The<Op::rms_norm>, const Site& site) {
  Term x = site.wide(0);
  Term square = average(x * x, {x.shape().rank() - 1});
  Term y = x * unary(Op::rsqrt, square + site.node.attributes.number).like(x);
  return site.has(1) ? y * site.wide(1).along_rows_of(x) : y;
}

Term decomposition(The<Op::linear>, const Site& site) {
  const Term &x = site.operands[0], &w = site.operands[1];
  Shape leading = x.shape();
  leading[-1] = 1;
  Term rows = x.reshape({element_count(leading), x.shape()[-1]});
  Term transposed = w.make(Op::permute, {w.id}, {.axes = {1, 0}, .sizes = {}});
  Term y = rows.make(Op::matmul, {rows.id, transposed.id});
  if (site.has(2)) y = y + site.operands[2].along_rows_of(y);
  return y.reshape(site.node.shape);
}

// The integers [N, K] as numbers of this type; the halves of a byte are 16 columns apart.
Term integers(const Term& values, DType dtype) {
  if (values.dtype() != DType::u8) return values.to(dtype);
  std::int64_t rows = values.shape()[0], half = packed_block / 2, blocks = values.shape()[1] / half;
  Shape all{rows, blocks, 2, half};
  Attributes steps;
  steps.end = 8;
  steps.step = 4;
  Term shift{values.builder, values.builder->append(Op::arange, {}, steps, DType::u8)};
  Term bytes = values.reshape({rows, blocks, 1, half}).expand(all);
  Term shifted =
      bytes.make(Op::shift_right, {bytes.id, shift.reshape({1, 1, 2, 1}).expand(all).id});
  Term bits = shifted.make(Op::bitwise_and, {shifted.id, shifted.number(15).id});
  return bits.to(dtype).reshape({rows, blocks * packed_block});
}

// A quantised weight [N, K] as its operands say it, [N, groups, K / groups].
struct QuantizedRows {
  Term numbers;               // the integers
  std::optional<Term> zeros;  // [N, groups]
  Term scales;                // [N, groups]
  bool is_packed;             // of 4 bits

  QuantizedRows(const Site& site, DType wide)
      : numbers(integers(site.operands[1], wide)),
        scales(site.operands[2].to(wide)),
        is_packed(site.operands[1].dtype() == DType::u8) {
    numbers = numbers.reshape({width(), groups(), depth() / groups()});
    if (site.has(3)) zeros = site.operands[3].to(wide);
  }
  std::int64_t width() const { return scales.shape()[0]; }
  std::int64_t groups() const { return scales.shape()[1]; }
  std::int64_t depth() const { return element_count(numbers.shape()) / width(); }
  Term of_groups(const Term& t) const { return t.reshape({width(), groups(), 1}).like(numbers); }
  // What scales multiply.
  Term about_zero() const {
    if (zeros) return numbers - of_groups(*zeros);
    return is_packed ? numbers + -8.0 : numbers;
  }
  Term matrix(const Term& grouped) const { return grouped.reshape({width(), depth()}); }
};

// Integers of 8 bits, and what one of them is worth: one number a row.
struct Rounded {
  Term integers, steps;  // i8 [rows, depth], [rows, 1]
};

constexpr double least_step = 1e-30;  // rows of zeros have one too
Term at_least(const Term& x, double least) {
  return x.make(Op::maximum, {x.id, x.number(least).id});
}

// To the nearest by the largest of each row.
Rounded rounded(const Term& x) {
  constexpr double most = 127;
  Term largest = unary(Op::abs, x).reduce(Op::amax, {1});
  Term nearest = unary(Op::round, x * (most / at_least(largest, least_step)).like(x));
  return {nearest.to(DType::i8), largest * (1 / most)};
}

// Groups of a row get one step, a fraction of the largest one's scale: integers of 4 bits become
// multiples of 15 of it there, or of 8 about a zero point.
Rounded rounded(const QuantizedRows& w, const Term& values) {
  if (w.groups() == 1 && !w.zeros)
    return {w.is_packed ? w.matrix(w.about_zero()).to(DType::i8) : values, w.scales};
  const double low = w.is_packed ? 0 : -128, high = w.is_packed ? 15 : 127;
  const double steps = shared_steps(w.is_packed, w.zeros.has_value());
  Term sizes = unary(Op::abs, w.scales);
  if (w.zeros) {
    Term below = unary(Op::abs, *w.zeros + -low), above = unary(Op::abs, *w.zeros + -high);
    sizes = sizes * below.make(Op::maximum, {below.id, above.id}) * (1 / high);
  }
  Term largest = sizes.reduce(Op::amax, {1});
  Term shares = w.scales * (steps / at_least(largest, least_step)).like(w.scales);
  Term numbers = unary(Op::round, w.about_zero() * w.of_groups(shares));
  return {w.matrix(numbers).to(DType::i8), largest * (1 / steps)};
}

// Weights that few rows read are multiplied by f32 as they are made. One scale for a whole row is
// left to the sums.
Term decomposition(The<Op::quantized_linear>, const Site& site) {
  const Term& x = site.operands[0];
  std::int64_t depth = x.shape()[-1], rows = element_count(x.shape()) / depth;
  DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  QuantizedRows w(site, wide);
  bool few = rows <= streamed_rows || bit_width(x.dtype()) < 16,
       scales_sums = w.groups() == 1 && few;
  auto product = [&](const Term& left, const Term& right, DType dtype) {
    Term turned = right.make(Op::permute, {right.id}, {.axes = {1, 0}, .sizes = {}});
    return Term{x.builder, x.builder->append(Op::matmul, {left.id, turned.id}, {}, dtype)};
  };
  if (site.node.attributes.int8_activations && !few) {
    Rounded left = rounded(x.to(wide).reshape({rows, depth}));
    Rounded right = rounded(w, site.operands[1]);
    Term y = product(left.integers, right.integers, DType::i32).to(wide);
    // Weights first: sums of large numbers may be too large for f32 without them.
    y = y * right.steps.reshape({w.width()}).along_rows_of(y) * left.steps.like(y);
    return y.reshape(site.node.shape);
  }
  Term grouped = w.about_zero();
  if (!scales_sums) grouped = grouped * w.of_groups(w.scales);
  Term weight = w.matrix(grouped).to(few ? wide : x.dtype());
  Term left = x.to(weight.dtype()).reshape({rows, depth});
  Term y = product(left, weight, weight.dtype());
  if (scales_sums) y = y * w.scales.reshape({w.width()}).along_rows_of(y);
  return y.reshape(site.node.shape);
}

}  // namespace

NodeId append_decomposition(GraphBuilder& builder, const Node& node,
                            const std::vector<NodeId>& operands) {
  Site site{node, {}};
  for (NodeId id : operands) site.operands.push_back({&builder, id});
  Term result =
      dispatch_op<Kind::composite, Term>(node.op, [&](auto op) { return decomposition(op, site); });
  return result.to(node.dtype).id;
}

}  // namespace tilewright::graph
