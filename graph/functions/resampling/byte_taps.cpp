#include "graph/functions/resampling/byte_taps.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/functions/indexing/numbered.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

using std::source_location;

namespace {

constexpr int most_bits = 22;  // of weights behind the point

// The taps of one element of the result: weights of elements from `first` on.
struct ByteTaps {
  std::int64_t first;
  std::vector<double> weights;
};

double near_weight(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double far_weight(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }
double weight_of(TapForm form, double distance) {
  const double x = std::abs(distance), a = sharpness_of_wide_cubic;
  if (form == TapForm::linear) return x < 1 ? 1 - x : 0;
  return x < 1 ? near_weight(x, a) : x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// All that the filter reaches; they add up to 1.
ByteTaps wide_taps(std::int64_t i, std::int64_t size, double step, TapForm form) {
  const double reach_of_form = form == TapForm::cubic ? 2 : 1, width = std::max(step, 1.0),
               reach = reach_of_form * width, middle = step * (static_cast<double>(i) + 0.5);
  const auto most = static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1;
  const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(middle - reach + 0.5), 0);
  const auto end = std::min(static_cast<std::int64_t>(middle + reach + 0.5), size);
  ByteTaps taps{first, {}};
  double total = 0;
  for (std::int64_t j = 0; j < std::min(end - first, most); ++j) {
    const double distance = (static_cast<double>(j + first) - middle + 0.5) * (1 / width);
    taps.weights.push_back(weight_of(form, distance));
    total += taps.weights.back();
  }
  for (double& weight : taps.weights)
    if (total != 0) weight /= total;
  return taps;
}

// Two or four; those beyond an end add to the element there.
ByteTaps close_taps(std::int64_t i, const AxisSampling& s, double step, TapForm form) {
  const bool is_cubic = form == TapForm::cubic;
  double at =
      s.align_corners ? step * static_cast<double>(i) : step * (static_cast<double>(i) + 0.5) - 0.5;
  if (!is_cubic) at = std::max(at, 0.0);
  const auto below = std::min(static_cast<std::int64_t>(std::floor(at)), s.size - 1);
  const double part = std::clamp(at - static_cast<double>(below), 0.0, 1.0), rest = 1 - part,
               a = sharpness_of_cubic;
  std::vector<double> each = {rest, part};
  if (is_cubic)
    each = {far_weight(part + 1, a), near_weight(part, a), near_weight(rest, a),
            far_weight(rest + 1, a)};
  const std::int64_t reach = is_cubic ? 2 : 1, unbound = below - reach + 1,
                     first = std::max<std::int64_t>(unbound, 0),
                     end = std::min(below + reach + 1, s.size);
  ByteTaps taps{first, std::vector<double>(static_cast<std::size_t>(end - first))};
  for (std::size_t j = 0; j < each.size(); ++j) {
    const std::int64_t place =
        std::clamp<std::int64_t>(unbound + static_cast<std::int64_t>(j), 0, s.size - 1);
    taps.weights[static_cast<std::size_t>(place - first)] += each[j];
  }
  return taps;
}

double step_of(const AxisSampling& s) {
  if (s.align_corners)
    return s.result > 1 ? static_cast<double>(s.size - 1) / static_cast<double>(s.result - 1) : 0;
  if (s.factor && *s.factor > 0) return 1 / *s.factor;
  return static_cast<double>(s.size) / static_cast<double>(s.result);
}

// As many bits behind the point as the greatest weight leaves room for in 16.
int bits_behind_point(const std::vector<ByteTaps>& taps) {
  double greatest = 0;
  for (const ByteTaps& each : taps)
    for (double weight : each.weights) greatest = std::max(greatest, weight);
  int bits = 0;
  while (bits < most_bits && static_cast<int>(0.5 + std::ldexp(greatest, bits + 1)) < 1 << 15)
    ++bits;
  return bits;
}

Tensor constant_of(const std::vector<std::int32_t>& values, const Shape& shape) {
  Tensor constant = Tensor::from(values, shape);
  constant.body()->is_constant = true;
  return constant;
}

// A table's column for the axis, for all other axes alike.
Formula along(const Tensor& column, int axis, const Shape& sizes, source_location w) {
  Shape alone(sizes.size(), 1);
  for (int i = 0; i < column.rank(); ++i) alone[axis + i] = column.shape()[i];
  return spread(column.reshape(alone, w), sizes, w);
}

}  // namespace

Tensor bytes_along(const Tensor& x, int axis, const AxisSampling& s, TapForm form, bool antialias,
                   source_location w) {
  const double step = step_of(s);
  std::vector<ByteTaps> taps;
  for (std::int64_t i = 0; i < s.result; ++i)
    taps.push_back(antialias ? wide_taps(i, s.size, step, form) : close_taps(i, s, step, form));
  std::size_t most = 1;
  for (const ByteTaps& each : taps) most = std::max(most, each.weights.size());
  const int bits = bits_behind_point(taps);
  std::vector<std::int32_t> places, weights;
  for (const ByteTaps& each : taps)
    for (std::size_t j = 0; j < most; ++j) {
      const double weight = j < each.weights.size() ? std::ldexp(each.weights[j], bits) : 0;
      weights.push_back(static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5));
      places.push_back(static_cast<std::int32_t>(
          std::min(each.first + static_cast<std::int64_t>(j), s.size - 1)));
    }
  const auto count = static_cast<std::int64_t>(most);
  const Shape table = {s.result, count};
  Tensor all_places = constant_of(places, table), all_weights = constant_of(weights, table);
  std::optional<Formula> total;
  if (count > most_terms) {
    Formula elements(parts_at(x, axis, all_places, w), w);
    Formula terms = elements * along(all_weights, axis, elements.tensor().shape(), w);
    total = Formula(sum({terms.tensor(), w}, {axis + 1}), w).to(DType::i32);
  } else {
    for (std::int64_t tap = 0; tap < count; ++tap) {
      Formula elements(parts_at(x, axis, all_places.select(1, tap, w), w), w);
      Formula term =
          elements * along(all_weights.select(1, tap, w), axis, elements.tensor().shape(), w);
      total = total ? *total + term : term;
    }
  }
  Formula rounded = *total + static_cast<double>(bits > 0 ? 1 << (bits - 1) : 0);
  Formula whole = rounded.make(Op::shift_right, rounded.number(bits));
  return lesser(greater(whole, whole.number(0)), whole.number(255)).tensor();
}

}  // namespace tilewright::graph
