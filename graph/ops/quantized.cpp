#include "graph/ops/family.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "graph/ir/options/weight_packing.h"

namespace tilewright::graph {

namespace rules {

constexpr std::int64_t most_exact_depth = 1 << 17;  // of products of 8 bits in i32

ValueType quantized_linear(const Application& a) {
  const Shape &x = a.shape(0), &w = a.shape(1), &scales = a.shape(2);
  bool packed = a.dtype_of(1) == DType::u8;
  a.need_floating(0);
  a.need_floating(2);
  a.need(packed || a.dtype_of(1) == DType::i8, "the weight is ", a.dtype_of(1),
         "; it must be i8, or u8 with two weights of 4 bits each");
  std::int64_t depth = x.rank() >= 1 ? x[-1] : 0;
  a.need(x.rank() >= 1 && w.rank() == 2 && w[1] * (packed ? 2 : 1) == depth && depth > 0, "x is ",
         x, ", the weight is ", w, " of ", a.dtype_of(1), "; it must be [out, ",
         packed ? "in / 2" : "in", "] with in = x's last size");
  a.need(!packed || depth % packed_block == 0, "x has ", depth,
         " columns; weights of 4 bits come in blocks of ", packed_block);
  a.need(scales.rank() == 2 && scales[0] == w[0] && scales[1] > 0 && depth % scales[1] == 0,
         "the scales are ", scales, ", the weight is ", w, "; they must be [", w[0],
         ", groups] with groups of equally many of the ", depth, " columns");
  a.need(!packed || scales[1] == 1 || depth / scales[1] % packed_block == 0, "a group has ",
         depth / scales[1], " weights of 4 bits; groups must be whole blocks of ", packed_block);
  a.need(!a.attributes.int8_activations || depth <= most_exact_depth, "x has ", depth,
         " columns; rounded to 8 bits, at most ", most_exact_depth, " add up exactly");
  a.need(a.count() < 4 || (a.shape(3) == scales && a.dtype_of(3) == a.dtype_of(2)),
         "the zeros are ", a.dtype_of(a.count() - 1), " ", a.shape(a.count() - 1),
         "; they must be ", a.dtype_of(2), " ", scales, ", as the scales");
  Shape result = x;
  result[-1] = w[0];
  return {a.dtype_of(0), result};
}

}  // namespace rules

namespace {

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
  std::int64_t depth;         // K

  QuantizedRows(const Composite& site, DType wide)
      : numbers(integers(site.operands[1], wide)),
        scales(site.operands[2].to(wide)),
        is_packed(site.operands[1].dtype() == DType::u8),
        depth(site.operands[0].shape()[-1]) {
    numbers = numbers.reshape({width(), groups(), depth / groups()});
    if (site.has(3)) zeros = site.operands[3].to(wide);
  }
  std::int64_t width() const { return scales.shape()[0]; }
  std::int64_t groups() const { return scales.shape()[1]; }
  Term of_groups(const Term& t) const { return t.reshape({width(), groups(), 1}).like(numbers); }
  // The values that scales multiply.
  Term about_zero() const {
    if (zeros) return numbers - of_groups(*zeros);
    return is_packed ? numbers + -8.0 : numbers;
  }
  Term matrix(const Term& grouped) const { return grouped.reshape({width(), depth}); }
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

}  // namespace

// Weights that few rows read are multiplied by f32 as they are made. One scale for a whole row is
// left to the sums.
Term decomposition(The<Op::quantized_linear>, const Composite& site) {
  const Term& x = site.operands[0];
  std::int64_t depth = x.shape()[-1], rows = element_count(x.shape()) / depth;
  DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  QuantizedRows w(site, wide);
  const bool row_invariant = site.node.attributes.row_invariant && !site.target.is_gpu();
  bool few = rows <= streamed_rows(row_invariant) || bit_width(x.dtype()) < 16,
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

namespace {

// The meaning of the operands of a quantised linear.
struct QuantizedNumbers {
  bool is_packed, has_zeros;
  std::int64_t n, groups, depth;
  std::vector<double> weights;  // (integer - zero) * scale, [n, depth]
  std::vector<double> reaches;  // of groups, by which rows get their steps, [n, groups]
};
// Packed weights: column j of a block is in the low half of byte j, or in the high one of j - 16.
QuantizedNumbers quantized_numbers(const Operands& operands) {
  const HostTensor &values = *operands[1], &scales = *operands[2];
  QuantizedNumbers r{values.dtype == DType::u8,
                     operands.size() > 3,
                     scales.shape[0],
                     scales.shape[1],
                     operands[0]->shape[-1],
                     {},
                     {}};
  auto integer = [&](std::int64_t i) {
    if (!r.is_packed) return values.integer[static_cast<std::size_t>(i)];
    std::int64_t in_block = i % packed_block, half = packed_block / 2;
    std::int64_t byte =
        values.integer[static_cast<std::size_t>(i / packed_block * half + in_block % half)];
    return in_block < half ? byte & 15 : byte >> 4;
  };
  for (std::int64_t i = 0; i < r.n * r.depth; ++i) {
    std::int64_t group = i / r.depth * r.groups + i % r.depth * r.groups / r.depth;
    double zero = r.has_zeros ? operands[3]->number(group) : r.is_packed ? 8 : 0;
    r.weights.push_back((static_cast<double>(integer(i)) - zero) * scales.number(group));
  }
  for (std::int64_t i = 0; i < r.n * r.groups; ++i) {
    double zero = r.has_zeros ? operands[3]->number(i) : 0;
    double low = r.is_packed ? 0 : -128, high = r.is_packed ? 15 : 127;
    double reach = r.has_zeros ? std::max(std::abs(zero - low), std::abs(zero - high)) / high : 1;
    r.reaches.push_back(std::abs(scales.number(i)) * reach);
  }
  return r;
}

// The numbers of each row, `width` of them, become whole multiples of the largest of `sizes` in
// that row over `steps`.
void round_rows(std::vector<double>& numbers, std::int64_t width, const std::vector<double>& sizes,
                double steps) {
  const std::size_t columns = static_cast<std::size_t>(width), rows = numbers.size() / columns;
  const std::size_t sized = sizes.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    double largest = 0;
    for (std::size_t i = row * sized; i < (row + 1) * sized; ++i)
      largest = std::max(largest, std::abs(sizes[i]));
    if (largest == 0) continue;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      numbers[i] = std::nearbyint(numbers[i] / largest * steps) * largest / steps;
  }
}

}  // namespace

HostTensor meaning(The<Op::quantized_linear>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  if (element_count(node.shape) == 0) return {node.dtype, node.shape};
  QuantizedNumbers w = quantized_numbers(operands);
  std::vector<double> left;
  for (std::int64_t i = 0; i < x.count(); ++i) left.push_back(x.number(i));
  const std::int64_t most = streamed_rows(node.attributes.row_invariant);
  if (node.attributes.int8_activations && x.count() / w.depth > most) {
    round_rows(left, w.depth, std::vector(left), 127);
    if (w.groups != 1 || w.has_zeros)
      round_rows(w.weights, w.depth, w.reaches, shared_steps(w.is_packed, w.has_zeros));
  }
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    auto first = left.begin() + i / w.n * w.depth;
    result.set_number(
        i, std::inner_product(first, first + w.depth, w.weights.begin() + i % w.n * w.depth, 0.0));
  }
  return result;
}

}  // namespace tilewright::graph
