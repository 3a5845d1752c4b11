#include "graph/functions/quantized.h"

#include <algorithm>
#include <cmath>

#include "graph/ir/location.h"
#include "graph/ir/options/batch_invariance.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using graph::At;

void require_fitting(const Tensor& weight, const QuantizeOptions& options, std::int64_t group,
                     std::source_location w) {
  bool packed = options.format == WeightFormat::int4;
  require(weight.rank() == 2 && is_floating(weight.dtype()) && weight.count() > 0,
          "[quantize] the weight is ", weight.dtype(), " ", weight.shape(), " (at ", At{w},
          "); it must be floating, [out, in], and not empty");
  require(group > 0 && weight.size(1) % group == 0, "[quantize] groups of ", group,
          " do not divide rows of ", weight.size(1), " weights (at ", At{w},
          "); choose a group size that does");
  require(!packed || group % packed_block == 0, "[quantize] a group has ", group,
          " weights of 4 bits (at ", At{w}, "); groups must be whole blocks of ", packed_block);
  require(is_floating(options.scale_dtype) && bit_width(options.scale_dtype) >= 16,
          "[quantize] scale_dtype is ", options.scale_dtype, " (at ", At{w},
          "); scales must be floats of 16 bits or more");
  require(packed || !options.zero_points, "[quantize] zero points were wanted of 8 bits (at ",
          At{w}, "); only weights of 4 bits have them");
}

// The grid that the integers of one group stand for.
struct Grid {
  float scale, zero;
  int low, high;
  int nearest(float x) const {
    return std::clamp(static_cast<int>(std::lrint(x / scale + zero)), low, high);
  }
};
Grid grid_of(const float* group, std::int64_t size, const QuantizeOptions& options) {
  auto [low, high] = std::minmax_element(group, group + size);
  float largest = std::max(std::abs(*low), std::abs(*high));
  auto scale_or_one = [](float scale) { return scale > 0 ? scale : 1; };
  if (options.format == WeightFormat::int8) return {scale_or_one(largest / 127), 0, -127, 127};
  if (!options.zero_points) return {scale_or_one(largest / 7), 8, 0, 15};
  float bottom = std::min(*low, 0.0F), top = std::max(*high, 0.0F);
  float scale = scale_or_one((top - bottom) / 15);
  return {scale, std::round(-bottom / scale), 0, 15};
}

// No integer means NaN or infinity.
void require_finite(const std::vector<float>& weight, std::int64_t depth, std::source_location w) {
  auto found = std::ranges::find_if(weight, [](float x) { return !std::isfinite(x); });
  std::int64_t at = found - weight.begin();
  require(found == weight.end(), "[quantize] the weight's element [", at / depth, ", ", at % depth,
          "] is ", found == weight.end() ? 0 : *found, " (at ", At{w},
          "); integers with a scale can only stand for finite numbers");
}

// Narrow scales that became infinity or nothing would lose the whole group.
void require_kept(const std::vector<float>& scales, const Tensor& narrow, std::source_location w) {
  std::vector<float> kept = narrow.to(DType::f32, w).to_vector<float>(w);
  for (std::size_t g = 0; g < scales.size(); ++g)
    require(std::isfinite(kept[g]) && kept[g] > 0, "[quantize] the scale ", scales[g], " of group ",
            g, " is ", kept[g], " as ", narrow.dtype(), " (at ", At{w},
            "); choose f32 as scale_dtype, or a shorter one with its exponents");
}

}  // namespace

QuantizedWeight quantize(const Tensor& weight, const QuantizeOptions& options,
                         std::source_location w) {
  graph::tensor_of({weight, w}, "quantize");
  std::int64_t group = options.group_size;
  if (group == 0 && weight.rank() == 2) group = weight.size(1);
  require_fitting(weight, options, group, w);
  std::int64_t rows = weight.size(0), depth = weight.size(1), groups = depth / group;
  std::vector<float> from = weight.to(DType::f32, w).to_vector<float>(w);
  require_finite(from, depth, w);
  auto count = static_cast<std::size_t>(rows * groups);
  std::vector<float> scales(count), zeros(count);
  bool packed = options.format == WeightFormat::int4;
  std::vector<std::int8_t> whole(packed ? 0 : from.size());
  std::vector<std::uint8_t> halves(packed ? from.size() / 2 : 0, 0);
  for (std::size_t g = 0; g < count; ++g) {
    std::size_t begin = g * static_cast<std::size_t>(group);
    Grid grid = grid_of(from.data() + begin, group, options);
    scales[g] = grid.scale;
    zeros[g] = grid.zero;
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(group); ++i) {
      int number = grid.nearest(from[i]);
      if (!packed) {
        whole[i] = static_cast<std::int8_t>(number);
        continue;
      }
      constexpr std::size_t block = packed_block, half = packed_block / 2;
      std::size_t in_block = i % block, byte = i / block * half + in_block % half;
      halves[byte] = static_cast<std::uint8_t>(halves[byte] | number << (in_block < half ? 0 : 4));
    }
  }
  QuantizedWeight result;
  result.activations = options.activations;
  result.values =
      packed ? Tensor::from(halves, {rows, depth / 2}) : Tensor::from(whole, {rows, depth});
  result.scales = Tensor::from(scales, {rows, groups}).to(options.scale_dtype, w);
  require_kept(scales, result.scales, w);
  if (options.zero_points)
    result.zeros = Tensor::from(zeros, {rows, groups}).to(options.scale_dtype, w);
  return result;
}

Tensor quantized_linear(const TensorOperand& x, const QuantizedWeight& weight) {
  std::vector<Tensor> operands = {graph::tensor_of(x, "quantized_linear"), weight.values,
                                  weight.scales};
  if (weight.zeros.defined()) operands.push_back(weight.zeros);
  graph::Attributes attributes;
  attributes.int8_activations = weight.activations == Activations::int8;
  attributes.row_invariant = graph::BatchInvariance::is_asked();
  return graph::apply(graph::Op::quantized_linear, operands, attributes, x.where);
}

}  // namespace tilewright
