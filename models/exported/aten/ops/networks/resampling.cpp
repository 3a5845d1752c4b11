// Images and volumes at other sizes, and at positions that are data.
#include "graph/functions/resampling/grid_sample.h"
#include "graph/functions/resampling/interpolate.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace resampling_rows {
namespace {

using Mode = InterpolateMode;

// Sizes, or factors for them (.vec), or both, where the factors say only where elements lie
// (.default, which has each factor by the name of its axis).
template <Mode mode, bool antialias = false>
constexpr auto resampled = [](const Call& c) {
  Tensor x = c.tensor("input");
  std::vector<double> factors = c.numbers("scale_factors");
  InterpolateOptions options{.size = c.has("output_size") ? c.integers("output_size") : Shape{},
                             .scale_factor = factors,
                             .mode = mode,
                             .align_corners = c.flag("align_corners", false),
                             .antialias = antialias};
  return interpolate(x, options);
};
template <Mode mode, bool antialias = false>
constexpr auto resampled_to = [](const Call& c) {
  Tensor x = c.tensor("self");
  graph::Resampling resampling{.mode = mode,
                               .sizes = c.integers("output_size"),
                               .align_corners = c.flag("align_corners", false),
                               .antialias = antialias};
  auto factor = [&](std::string_view name) {
    return c.has(name) ? std::optional(c.number(name)) : std::nullopt;
  };
  switch (resampling.sizes.rank()) {
    case 1: resampling.factors = {factor("scales")}; break;
    case 2: resampling.factors = {factor("scales_h"), factor("scales_w")}; break;
    default: resampling.factors = {factor("scales_d"), factor("scales_h"), factor("scales_w")};
  }
  return graph::resampled(x, resampling);
};

Tensor sampled(const Call& call) {
  auto one_of = [&](std::string_view name) {
    std::int64_t value = call.integer(name);
    if (value < 0 || value > 2) call.refuse(name, concat("is ", value));
    return value;
  };
  constexpr SampleMode modes[] = {SampleMode::bilinear, SampleMode::nearest, SampleMode::bicubic};
  constexpr SamplePadding paddings[] = {SamplePadding::zeros, SamplePadding::border,
                                        SamplePadding::reflection};
  return grid_sample(call.tensor("input"), call.tensor("grid"),
                     {.mode = modes[one_of("interpolation_mode")],
                      .padding = paddings[one_of("padding_mode")],
                      .align_corners = call.flag("align_corners", false)});
}

constexpr Operator rows[] = {
    {"aten.upsample_nearest1d.vec", resampled<Mode::nearest>},
    {"aten.upsample_nearest2d.vec", resampled<Mode::nearest>},
    {"aten.upsample_nearest3d.vec", resampled<Mode::nearest>},
    {"aten._upsample_nearest_exact1d.vec", resampled<Mode::nearest_exact>},
    {"aten._upsample_nearest_exact2d.vec", resampled<Mode::nearest_exact>},
    {"aten._upsample_nearest_exact3d.vec", resampled<Mode::nearest_exact>},
    {"aten.upsample_linear1d.vec", resampled<Mode::linear>},
    {"aten.upsample_bilinear2d.vec", resampled<Mode::bilinear>},
    {"aten.upsample_trilinear3d.vec", resampled<Mode::trilinear>},
    {"aten.upsample_bicubic2d.vec", resampled<Mode::bicubic>},
    {"aten._upsample_bilinear2d_aa.vec", resampled<Mode::bilinear, true>},
    {"aten._upsample_bicubic2d_aa.vec", resampled<Mode::bicubic, true>},
    {"aten.upsample_nearest1d.default", resampled_to<Mode::nearest>},
    {"aten.upsample_nearest2d.default", resampled_to<Mode::nearest>},
    {"aten.upsample_nearest3d.default", resampled_to<Mode::nearest>},
    {"aten._upsample_nearest_exact1d.default", resampled_to<Mode::nearest_exact>},
    {"aten._upsample_nearest_exact2d.default", resampled_to<Mode::nearest_exact>},
    {"aten._upsample_nearest_exact3d.default", resampled_to<Mode::nearest_exact>},
    {"aten.upsample_linear1d.default", resampled_to<Mode::linear>},
    {"aten.upsample_bilinear2d.default", resampled_to<Mode::bilinear>},
    {"aten.upsample_trilinear3d.default", resampled_to<Mode::trilinear>},
    {"aten.upsample_bicubic2d.default", resampled_to<Mode::bicubic>},
    {"aten._upsample_bilinear2d_aa.default", resampled_to<Mode::bilinear, true>},
    {"aten._upsample_bicubic2d_aa.default", resampled_to<Mode::bicubic, true>},
    {"aten.grid_sampler.default", by<sampled>},
    {"aten.grid_sampler_2d.default", by<sampled>},
    {"aten.grid_sampler_3d.default", by<sampled>},
    {"aten.affine_grid_generator.default",
     [](const Call& c) {
       return affine_grid(c.tensor("theta"), c.integers("size"), c.flag("align_corners", false));
     }},
};

}  // namespace
}  // namespace resampling_rows

std::span<const Operator> resampling_operators() { return resampling_rows::rows; }

}  // namespace tilewright::exported
