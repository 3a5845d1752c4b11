#include "graph/functions/resampling/interpolate.h"

#include <cmath>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/resampling/axis_taps.h"
#include "graph/functions/resampling/byte_taps.h"
#include "graph/ir/location.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

struct ModeFacts {
  int least_axes, most_axes;
  bool is_weighted;  // by taps
};
ModeFacts facts_of(InterpolateMode mode) {
  switch (mode) {
    case InterpolateMode::nearest:
    case InterpolateMode::nearest_exact:
    case InterpolateMode::area: return {1, 3, false};
    case InterpolateMode::linear: return {1, 1, true};
    case InterpolateMode::bilinear:
    case InterpolateMode::bicubic: return {2, 2, true};
    case InterpolateMode::trilinear: return {3, 3, true};
  }
  __builtin_unreachable();
}

bool takes_bytes(const Tensor& x, const graph::Resampling& r) {
  return x.dtype() == DType::u8 &&
         (r.mode == InterpolateMode::bilinear || r.mode == InterpolateMode::bicubic);
}

void require_supported(const Tensor& x, const graph::Resampling& r, source_location w) {
  const ModeFacts facts = facts_of(r.mode);
  const int axes = x.rank() - 2;
  require(axes >= facts.least_axes && axes <= facts.most_axes, "[interpolate] x is ", x.shape(),
          " (at ", At{w}, "); in this mode it must have ", facts.least_axes + 2, " to ",
          facts.most_axes + 2, " axes");
  require(r.sizes.rank() == axes, "[interpolate] there are ", r.sizes.rank(), " sizes for ", axes,
          " axes (at ", At{w}, "); there must be one an axis");
  for (int i = 0; i < axes; ++i)
    require(r.sizes[i] > 0 && r.sizes[i] <= INT32_MAX && x.shape()[i + 2] > 0,
            "[interpolate] axes of ", x.shape(), " become ", r.sizes, " (at ", At{w},
            "); no size may be 0 or less, or more than ", INT32_MAX);
  const bool is_nearest =
      r.mode == InterpolateMode::nearest || r.mode == InterpolateMode::nearest_exact;
  require(is_floating(x.dtype()) || is_nearest || takes_bytes(x, r), "[interpolate] x is ",
          x.dtype(), " (at ", At{w},
          "); it must be floating, or u8 in bilinear and bicubic modes, but for the nearest "
          "elements");
  require(!r.align_corners || facts.is_weighted, "[interpolate] corners are to be aligned (at ",
          At{w}, "); only linear and cubic modes align them");
  require(!r.antialias || r.mode == InterpolateMode::bilinear || r.mode == InterpolateMode::bicubic,
          "[interpolate] antialias was asked for (at ", At{w},
          "); bilinear and bicubic modes alone have it");
}

Tensor along_axis(const Tensor& x, int axis, const graph::AxisSampling& sampling,
                  const graph::Resampling& r, source_location w) {
  switch (r.mode) {
    case InterpolateMode::nearest:
      return graph::nearest_along(x, axis, sampling, graph::NearestForm::from_start, w);
    case InterpolateMode::nearest_exact:
      return graph::nearest_along(x, axis, sampling, graph::NearestForm::from_middle, w);
    case InterpolateMode::linear:
    case InterpolateMode::bilinear:
    case InterpolateMode::trilinear:
      return graph::tapped_along(x, axis, sampling, graph::TapForm::linear, r.antialias, w);
    case InterpolateMode::bicubic:
      return graph::tapped_along(x, axis, sampling, graph::TapForm::cubic, r.antialias, w);
    case InterpolateMode::area: break;
  }
  __builtin_unreachable();
}

// The last axis is gathered element by element, the others by rows. So it comes when there is least
// of it: behind those that become shorter.
std::vector<int> order_of_axes(const Shape& x, const Shape& sizes) {
  std::vector<int> order, behind;
  for (int i = 0; i < sizes.rank(); ++i)
    (i == sizes.rank() - 1 || sizes[i] < x[i + 2] ? order : behind).push_back(i);
  order.insert(order.end(), behind.begin(), behind.end());
  return order;
}

// An axis that stays as long as it is keeps its elements, whatever the factor.
Tensor resampled_bytes(const Tensor& x, const graph::Resampling& r, source_location w) {
  const auto form =
      r.mode == InterpolateMode::bicubic ? graph::TapForm::cubic : graph::TapForm::linear;
  Tensor result = graph::reshape_operand(x, x.shape(), w).to(DType::i32, w);
  for (int i = 1; i >= 0; --i) {
    const std::int64_t size = x.shape()[i + 2];
    const auto factor = r.factors.empty() ? std::nullopt : r.factors[static_cast<std::size_t>(i)];
    if (size != r.sizes[i])
      result = graph::bytes_along(result, i + 2, {size, r.sizes[i], factor, r.align_corners}, form,
                                  r.antialias, w);
  }
  return result.to(DType::u8, w);
}

Tensor averaged(const TensorOperand& x, const Shape& sizes) {
  if (sizes.rank() == 1) return adaptive_avg_pool1d(x, sizes);
  return sizes.rank() == 2 ? adaptive_avg_pool2d(x, sizes) : adaptive_avg_pool3d(x, sizes);
}

}  // namespace

Tensor graph::resampled(const TensorOperand& x, const Resampling& r) {
  auto w = x.where;
  const Tensor given = tensor_of(x, "interpolate");
  require_supported(given, r, w);
  if (r.mode == InterpolateMode::area) return averaged(x, r.sizes);
  if (takes_bytes(given, r)) return resampled_bytes(given, r, w);
  std::vector<Number> settings = {static_cast<int>(r.mode), r.align_corners, r.antialias};
  add_settings(settings, r.sizes);
  for (const auto& factor : r.factors) settings.emplace_back(factor.value_or(0));
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const DType own = t[0].dtype();
    Tensor result = reshape_operand(t[0], t[0].shape(), w);
    if (facts_of(r.mode).is_weighted) result = result.to(accumulator(own), w);
    for (int i : order_of_axes(t[0].shape(), r.sizes)) {
      const auto factor = r.factors.empty() ? std::nullopt : r.factors[static_cast<std::size_t>(i)];
      result = along_axis(result, i + 2, {t[0].shape()[i + 2], r.sizes[i], factor, r.align_corners},
                          r, w);
    }
    return {result.to(own, w)};
  };
  return apply_function("interpolate", {&given, 1}, settings, function, w)[0];
}

Tensor interpolate(const TensorOperand& x, const InterpolateOptions& options) {
  if (const graph::AutocastCall cast("interpolate", x.where); cast.is_listed())
    return interpolate(cast(x), options);
  auto w = x.where;
  const Tensor& given = graph::tensor_of(x, "interpolate");
  const int axes = std::max(given.rank() - 2, 0);
  require(options.size.empty() != options.scale_factor.empty(), "[interpolate] there are ",
          options.size.rank(), " sizes and ", options.scale_factor.size(), " factors (at ", At{w},
          "); there must be either of them");
  graph::Resampling r{options.mode, options.size, {}, options.align_corners, options.antialias};
  if (r.sizes.rank() == 1) r.sizes = Shape(static_cast<std::size_t>(axes), r.sizes[0]);
  std::vector<double> factors = options.scale_factor;
  if (factors.size() == 1) factors.resize(static_cast<std::size_t>(axes), factors[0]);
  require(factors.empty() || std::ssize(factors) == axes, "[interpolate] there are ",
          factors.size(), " factors for ", axes, " axes (at ", At{w},
          "); there must be one, or one an axis");
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double wanted = static_cast<double>(given.shape()[static_cast<int>(i) + 2]) * factors[i];
    require(wanted >= 1 && wanted <= INT32_MAX, "[interpolate] the factor of axis ", i + 2, " is ",
            factors[i], ", of ", given.shape(), " (at ", At{w}, "); it must leave 1 to ", INT32_MAX,
            " elements");
    r.sizes.push_back(static_cast<std::int64_t>(std::floor(wanted)));
    if (!options.recompute_scale_factor) r.factors.emplace_back(factors[i]);
  }
  return graph::resampled(x, r);
}

}  // namespace tilewright
