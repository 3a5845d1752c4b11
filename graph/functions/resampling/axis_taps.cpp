#include "graph/functions/resampling/axis_taps.h"

#include <algorithm>
#include <cmath>

#include "graph/functions/indexing/numbered.h"

namespace tilewright::graph {

using std::source_location;

namespace {

// How far apart, in elements of x, elements of the result lie, in the precision T.
template <typename T>
T quotient(const AxisSampling& s) {
  if (s.align_corners)
    return s.result > 1 ? static_cast<T>(s.size - 1) / static_cast<T>(s.result - 1) : T(0);
  if (s.factor && *s.factor > 0) return static_cast<T>(1 / *s.factor);
  return static_cast<T>(s.size) / static_cast<T>(s.result);
}
double step_of(const AxisSampling& sampling, DType dtype) {
  return dtype == DType::f64 ? quotient<double>(sampling)
                             : static_cast<double>(quotient<float>(sampling));
}

// Taps of each element of the result, [result, taps].
struct Taps {
  Formula places, weights;
};

// Where elements of the result lie, in elements of x.
Formula positions(const AxisSampling& sampling, const Shape& table, DType dtype,
                  source_location w) {
  const double step = step_of(sampling, dtype);
  Formula i = places_along(table, 0, w).to(dtype);
  return sampling.align_corners ? i * step : (i + 0.5) * step - 0.5;
}
Formula between(const Formula& x, std::int64_t least, std::int64_t most) {
  return lesser(greater(x, x.number(least)), x.number(most));
}

Taps linear_taps(const AxisSampling& sampling, DType dtype, source_location w) {
  const Shape table = {sampling.result, 2};
  Formula tap = places_along(table, 1, w), at = positions(sampling, table, dtype, w);
  at = greater(at, at.number(0));
  Formula first = lesser(at.to(DType::i64), tap.number(sampling.size - 1));
  Formula share = between(at - first.to(dtype), 0, 1);
  return {lesser(first + tap, tap.number(sampling.size - 1)), choice(tap == 0, 1 - share, share)};
}

Taps cubic_taps(const AxisSampling& sampling, DType dtype, source_location w) {
  const Shape table = {sampling.result, 4};
  Formula at = positions(sampling, table, dtype, w), below = floor(at);
  Formula from = places_along(table, 1, w) - 1;  // that element
  Formula distance = abs(at - below - from.to(dtype));
  return {between(below.to(DType::i64) + from, 0, sampling.size - 1),
          cubic_weight(distance, sharpness_of_cubic)};
}

Formula triangle_weight(const Formula& distance) {
  return greater(1 - distance, distance.number(0));
}

// Those that lie within the filter's reach of an element's middle; their weights add up to 1.
Taps wide_taps(const AxisSampling& sampling, TapForm form, DType dtype, source_location w) {
  const double step = step_of(sampling, dtype), reach_of_form = form == TapForm::cubic ? 2 : 1,
               width = std::max(step, 1.0), reach = reach_of_form * width;
  const auto most = std::min(static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1, sampling.size);
  const Shape table = {sampling.result, most};
  Formula middle = (places_along(table, 0, w).to(dtype) + 0.5) * step,
          tap = places_along(table, 1, w);
  auto whole = [&](const Formula& x) { return greater(x, x.number(0)).to(DType::i64); };
  Formula first = whole(middle - reach + 0.5);
  Formula end = lesser(whole(middle + reach + 0.5), tap.number(sampling.size));
  Formula place = first + tap;
  Formula distance = abs((place.to(dtype) - middle + 0.5) * (1 / width));
  Formula weight = form == TapForm::cubic ? cubic_weight(distance, sharpness_of_wide_cubic)
                                          : triangle_weight(distance);
  weight = choice(place < end, weight, 0);
  Tensor total = sum({weight.tensor(), w}, {1}, true);
  return {lesser(place, tap.number(sampling.size - 1)), weight / spread(total, table, w)};
}

// The sum of elements by weights, [.., result, taps, ..].
Tensor weighted_sum(const Tensor& x, int axis, const Taps& taps, source_location w) {
  const std::int64_t count = taps.places.tensor().size(1);
  auto along = [&](const Tensor& weights, const Shape& sizes) {
    Shape alone(sizes.size(), 1);
    for (int i = 0; i < weights.rank(); ++i) alone[axis + i] = weights.shape()[i];
    return spread(weights.reshape(alone, w), sizes, w);
  };
  if (count > most_terms) {
    Formula elements(parts_at(x, axis, taps.places.tensor(), w), w);
    Formula terms = elements * along(taps.weights.tensor(), elements.tensor().shape());
    return sum({terms.tensor(), w}, {axis + 1});
  }
  std::optional<Formula> total;
  for (std::int64_t tap = 0; tap < count; ++tap) {
    auto one = [&](const Formula& all) { return all.tensor().select(1, tap, w); };
    Formula elements(parts_at(x, axis, one(taps.places), w), w);
    Formula term = elements * along(one(taps.weights), elements.tensor().shape());
    total = total ? *total + term : term;
  }
  return total->tensor();
}

// Each element so many times.
Tensor repeated(const Tensor& x, int axis, std::int64_t times, source_location w) {
  Shape apart = x.shape(), spread_out = apart, together = apart;
  apart.insert(apart.begin() + axis + 1, 1);
  spread_out.insert(spread_out.begin() + axis + 1, times);
  together[axis] *= times;
  return spread(reshape_operand(x, apart, w), spread_out, w).tensor().reshape(together, w);
}

float nearest_place(const AxisSampling& s, NearestForm form, std::int64_t i) {
  const float shift = form == NearestForm::from_start ? 0.0F : 0.5F;
  return std::floor((static_cast<float>(i) + shift) * quotient<float>(s));
}

}  // namespace

Formula cubic_weight(const Formula& distance, double a) {
  const Formula& x = distance;
  Formula near = ((a + 2) * x - (a + 3)) * x * x + 1;
  Formula far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return choice(x <= 1, near, choice(x < 2, far, 0));
}

Tensor nearest_along(const Tensor& x, int axis, const AxisSampling& s, NearestForm form,
                     source_location w) {
  const bool is_from_start = form == NearestForm::from_start;
  // For two axes PyTorch ignores the factor where an axis keeps or doubles its size.
  const bool is_by_sizes = is_from_start && x.rank() == 4;
  if (s.size == s.result && (is_by_sizes || (is_from_start && quotient<float>(s) == 1))) return x;
  const std::int64_t times = s.result / s.size;
  bool is_repeated = s.result % s.size == 0;
  // In f32 the quotient's error may decide otherwise. Places only grow, so that the first and the
  // last of each element's repetitions tell.
  const bool is_exact = is_by_sizes && times == 2;
  for (std::int64_t i = 0; is_repeated && !is_exact && times > 0 && i < s.size; ++i)
    for (std::int64_t at : {i * times, i * times + times - 1})
      is_repeated = is_repeated && nearest_place(s, form, at) == static_cast<float>(i);
  if (is_repeated) return repeated(x, axis, times, w);
  Formula i = places_along({s.result}, 0, w).to(DType::f32);
  Formula at = floor((is_from_start ? i : i + 0.5) * static_cast<double>(quotient<float>(s)));
  Formula place = at.to(DType::i64);
  return parts_at(x, axis, lesser(place, place.number(s.size - 1)).tensor(), w);
}

Tensor tapped_along(const Tensor& x, int axis, const AxisSampling& sampling, TapForm form,
                    bool antialias, source_location w) {
  const bool is_same = form == TapForm::linear && !antialias && sampling.size == sampling.result;
  if (is_same) return x;
  Taps taps = antialias                 ? wide_taps(sampling, form, x.dtype(), w)
              : form == TapForm::linear ? linear_taps(sampling, x.dtype(), w)
                                        : cubic_taps(sampling, x.dtype(), w);
  return weighted_sum(x, axis, taps, w);
}

}  // namespace tilewright::graph
