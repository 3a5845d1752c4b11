// The functions of pytorch_cases.json that have options of their own, by the names that
// tools/pytorch_movement.py and tools/pytorch_layers.py give them.
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/padding.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/resampling/grid_sample.h"
#include "graph/functions/resampling/interpolate.h"
#include "tests/graph/pytorch_arguments.h"

namespace tilewright::pytorch_cases {
namespace {

Tensors both(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }

int axis_of(const Arguments& a) { return a.axis().value_or(0); }
std::int64_t integer(const Arguments& a, const char* name, std::int64_t otherwise = 0) {
  return a.option<std::int64_t>(name, otherwise);
}
// A number, or a list.
Shape sizes(const Arguments& a, const char* name) {
  if (!a.options.contains(name)) return {};
  const json& value = a.options[name];
  return value.is_array() ? shape_of(value) : Shape{value.get<std::int64_t>()};
}
template <typename Functions>
auto by_rank(const Arguments& a, const Functions& functions) {
  return functions[static_cast<std::size_t>(integer(a, "rank") - 1)];
}

// Tensors from the first on, those of the axes that have one.
Tensors indices(const Arguments& a, std::size_t first) {
  Tensors all;
  for (int axis : a.axes()) {
    all.resize(static_cast<std::size_t>(axis) + 1);
    all.back() = a[first++].tensor;
  }
  return all;
}

Tensor averaged(const Arguments& a) {
  constexpr decltype(&avg_pool1d) pools[] = {avg_pool1d, avg_pool2d, avg_pool3d};
  AveragePoolOptions options{.stride = sizes(a, "stride"),
                             .padding = sizes(a, "padding"),
                             .ceil_mode = a.option("ceil_mode", false),
                             .count_include_pad = a.option("count_include_pad", true)};
  if (a.options.contains("divisor_override"))
    options.divisor_override = integer(a, "divisor_override");
  return by_rank(a, pools)(a[0], sizes(a, "kernel_size"), options);
}
std::pair<Tensor, Tensor> greatest(const Arguments& a) {
  constexpr decltype(&max_pool1d_with_indices) pools[] = {
      max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices};
  return by_rank(a, pools)(a[0], sizes(a, "kernel_size"),
                           {.stride = sizes(a, "stride"),
                            .padding = sizes(a, "padding"),
                            .dilation = sizes(a, "dilation"),
                            .ceil_mode = a.option("ceil_mode", false)});
}
Tensor norms(const Arguments& a) {
  constexpr decltype(&lp_pool1d) pools[] = {lp_pool1d, lp_pool2d, lp_pool3d};
  return by_rank(a, pools)(
      a[0], a.option("norm_type", 2.0), sizes(a, "kernel_size"),
      {.stride = sizes(a, "stride"), .ceil_mode = a.option("ceil_mode", false)});
}
Tensor averaged_parts(const Arguments& a) {
  constexpr decltype(&adaptive_avg_pool1d) pools[] = {adaptive_avg_pool1d, adaptive_avg_pool2d,
                                                      adaptive_avg_pool3d};
  return by_rank(a, pools)(a[0], sizes(a, "output_size"));
}
std::pair<Tensor, Tensor> greatest_of_parts(const Arguments& a) {
  constexpr decltype(&adaptive_max_pool1d) pools[] = {adaptive_max_pool1d, adaptive_max_pool2d,
                                                      adaptive_max_pool3d};
  return by_rank(a, pools)(a[0], sizes(a, "output_size"));
}

Tensor resampled(const Arguments& a) {
  static const std::map<std::string, InterpolateMode> modes = {
      {"nearest", InterpolateMode::nearest},
      {"nearest-exact", InterpolateMode::nearest_exact},
      {"linear", InterpolateMode::linear},
      {"bilinear", InterpolateMode::bilinear},
      {"trilinear", InterpolateMode::trilinear},
      {"bicubic", InterpolateMode::bicubic},
      {"area", InterpolateMode::area}};
  return interpolate(a[0], {.size = sizes(a, "size"),
                            .scale_factor = a.option("scale_factor", std::vector<double>()),
                            .mode = modes.at(a.option<std::string>("mode", "nearest")),
                            .align_corners = a.option("align_corners", false),
                            .recompute_scale_factor = a.option("recompute_scale_factor", false),
                            .antialias = a.option("antialias", false)});
}
Tensor sampled(const Arguments& a) {
  static const std::map<std::string, SampleMode> modes = {{"bilinear", SampleMode::bilinear},
                                                          {"nearest", SampleMode::nearest},
                                                          {"bicubic", SampleMode::bicubic}};
  static const std::map<std::string, SamplePadding> paddings = {
      {"zeros", SamplePadding::zeros},
      {"border", SamplePadding::border},
      {"reflection", SamplePadding::reflection}};
  return grid_sample(a[0], a[1].tensor,
                     {.mode = modes.at(a.option<std::string>("mode", "bilinear")),
                      .padding = paddings.at(a.option<std::string>("padding_mode", "zeros")),
                      .align_corners = a.option("align_corners", false)});
}

Tensor convolved(const Arguments& a) {
  constexpr decltype(&conv1d) functions[] = {conv1d, conv2d, conv3d};
  return by_rank(a, functions)(a[0], a[1].tensor, a[2].tensor,
                               {.stride = sizes(a, "stride"),
                                .padding = sizes(a, "padding"),
                                .dilation = sizes(a, "dilation"),
                                .groups = integer(a, "groups", 1)});
}
Tensor transposed(const Arguments& a) {
  constexpr decltype(&conv_transpose1d) functions[] = {conv_transpose1d, conv_transpose2d,
                                                       conv_transpose3d};
  return by_rank(a, functions)(a[0], a[1].tensor, a[2].tensor,
                               {.stride = sizes(a, "stride"),
                                .padding = sizes(a, "padding"),
                                .output_padding = sizes(a, "output_padding"),
                                .dilation = sizes(a, "dilation"),
                                .groups = integer(a, "groups", 1)});
}
Tensor padded(const Arguments& a) {
  static const std::map<std::string, PadMode> modes = {{"constant", PadMode::constant},
                                                       {"reflect", PadMode::reflect},
                                                       {"replicate", PadMode::replicate},
                                                       {"circular", PadMode::circular}};
  return pad(a[0], sizes(a, "pad"), modes.at(a.option<std::string>("mode", "constant")),
             a.option("value", 0.0));
}

}  // namespace

// clang-format off
#define TILEWRIGHT_ROW(name, ...) {#name, [](const Arguments& a) { return Tensors{__VA_ARGS__}; }}
#define TILEWRIGHT_PAIR(name, ...) {#name, [](const Arguments& a) { return both(__VA_ARGS__); }}
// clang-format on

const std::map<std::string, Function>& layer_functions() {
  static const std::map<std::string, Function> table = {
      TILEWRIGHT_ROW(gather, gather(a[0], axis_of(a), a[1].tensor)),
      TILEWRIGHT_ROW(take, take(a[0], a[1].tensor)),
      TILEWRIGHT_ROW(take_along_dim, take_along_dim(a[0], a[1].tensor, a.axis())),
      TILEWRIGHT_ROW(index_select, index_select(a[0], axis_of(a), a[1].tensor)),
      TILEWRIGHT_ROW(one_hot, one_hot(a[0], integer(a, "classes"))),
      TILEWRIGHT_ROW(index, index(a[0], indices(a, 1))),
      TILEWRIGHT_ROW(index_put, index_put(a[0], indices(a, 2), a[1].tensor)),
      TILEWRIGHT_ROW(scatter, scatter(a[0], axis_of(a), a[1].tensor, a[2])),
      TILEWRIGHT_ROW(put, put(a[0], a[1].tensor, a[2].tensor)),
      TILEWRIGHT_ROW(index_copy, index_copy(a[0], axis_of(a), a[1].tensor, a[2].tensor)),
      TILEWRIGHT_ROW(index_fill, index_fill(a[0], axis_of(a), a[1].tensor, a[2])),
      TILEWRIGHT_ROW(masked_fill, masked_fill(a[0], a[1].tensor, a[2])),
      TILEWRIGHT_ROW(masked_scatter, masked_scatter(a[0], a[1].tensor, a[2].tensor)),
      TILEWRIGHT_ROW(flip, flip(a[0], a.axes())),
      TILEWRIGHT_ROW(roll, roll(a[0], sizes(a, "shifts"), a.axes())),
      TILEWRIGHT_ROW(tril, tril(a[0], integer(a, "diagonal"))),
      TILEWRIGHT_ROW(triu, triu(a[0], integer(a, "diagonal"))),
      TILEWRIGHT_ROW(diag_embed,
                     diag_embed(a[0], integer(a, "offset"), a.option("a", -2), a.option("b", -1))),
      TILEWRIGHT_ROW(diagonal,
                     diagonal(a[0], integer(a, "offset"), a.option("a", 0), a.option("b", 1))),
      TILEWRIGHT_ROW(unfold, unfold(a[0], axis_of(a), integer(a, "size"), integer(a, "step"))),
      TILEWRIGHT_ROW(cumsum, cumsum(a[0], axis_of(a), a.dtype())),
      TILEWRIGHT_ROW(cumprod, cumprod(a[0], axis_of(a), a.dtype())),
      TILEWRIGHT_ROW(logcumsumexp, logcumsumexp(a[0], axis_of(a))),
      TILEWRIGHT_PAIR(cummax, cummax(a[0], axis_of(a))),
      TILEWRIGHT_PAIR(cummin, cummin(a[0], axis_of(a))),
      TILEWRIGHT_ROW(searchsorted, searchsorted(a[0], a[1],
                                                {.right = a.option("right", false),
                                                 .out_int32 = a.option("out_int32", false)})),
      TILEWRIGHT_ROW(avg_pool, averaged(a)),
      TILEWRIGHT_PAIR(max_pool, greatest(a)),
      TILEWRIGHT_ROW(lp_pool, norms(a)),
      TILEWRIGHT_ROW(adaptive_avg_pool, averaged_parts(a)),
      TILEWRIGHT_PAIR(adaptive_max_pool, greatest_of_parts(a)),
      TILEWRIGHT_ROW(interpolate, resampled(a)),
      TILEWRIGHT_ROW(grid_sample, sampled(a)),
      TILEWRIGHT_ROW(affine_grid,
                     affine_grid(a[0], sizes(a, "size"), a.option("align_corners", false))),
      TILEWRIGHT_ROW(convolution, convolved(a)),
      TILEWRIGHT_ROW(transposed_convolution, transposed(a)),
      TILEWRIGHT_ROW(pad, padded(a))};
  return table;
}

}  // namespace tilewright::pytorch_cases
