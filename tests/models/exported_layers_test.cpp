// Operators that call functions on tensors by arguments of their own, which the corpus has not:
// they give what the functions do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/resampling/grid_sample.h"
#include "graph/functions/resampling/interpolate.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/tensors.h"

namespace tilewright::exported_layers_test {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;
using Mode = InterpolateMode;

void expect_same(const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(got.dtype(), wanted.dtype());
  EXPECT_EQ(got.shape(), wanted.shape());
  EXPECT_EQ(got.to(f64).to_vector<double>(), wanted.to(f64).to_vector<double>());
}

// The gradients that PyTorch would keep are not there for others to read.
TEST(ExportedLayers, EntropyOfALinearLayerInPieces) {
  const Tensor x = ramp({3, 2}), weight = ramp({4, 2}), bias = ramp({4}),
               targets = Tensor::from(std::vector<std::int64_t>{1, 3, 0}, {3});
  auto call = [&](const char* target) {
    OneCall one(target);
    one.with("input", x).with("linear_weight", weight).with("target", targets);
    one.with("linear_bias", bias).with("ignore_index", std::int64_t{3});
    one.with("batch_chunk_size", std::int64_t{2}).with("acc_policy", std::string("auto"));
    return one;
  };
  auto wanted = [&](LossReduction reduction, double smoothing) {
    CrossEntropyOptions options;
    options.ignore_index = 3;
    options.label_smoothing = smoothing;
    options.reduction = reduction;
    return cross_entropy(linear(x, weight, bias), targets, Tensor(), options);
  };
  const char* pieces = "torch_nn._linear_cross_entropy_batch_chunked.default";
  const OneCall total = call(pieces)
                            .with("reduction", std::string("sum"))
                            .with("label_smoothing", 0.25)
                            .with("compute_input_grad", true);
  expect_same(std::get<Tensor>(total.results(1)[0]), wanted(LossReduction::sum, 0.25));
  EXPECT_THAT(error_of([&] { total.results(2); }), HasSubstr("\"compute_input_grad\" is true"));
  EXPECT_THAT(error_of([&] { call(pieces).with("reduction", std::string("none")).results(1); }),
              HasSubstr("\"reduction\" must be \"mean\" or \"sum\""));
  expect_same(call("torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default").one(),
              wanted(LossReduction::none, 0));
}

// Statistics that nothing was learned of are empty, in the dtype that they would have.
TEST(ExportedLayers, StatisticsOfDoublesAreDoubles) {
  const Tensor two = ones({2}, f64);
  const exported::Results all = OneCall("aten._native_batch_norm_legit.default")
                                    .with("input", ones({1, 2}, f64))
                                    .with("running_mean", two)
                                    .with("running_var", two)
                                    .with("training", false)
                                    .with("momentum", 0.1)
                                    .with("eps", 0.0)
                                    .results(3);
  for (std::size_t result : {1, 2}) expect_same(std::get<Tensor>(all[result]), zeros({0}, f64));
}

struct Upsampling {
  const char* name;
  Mode mode;
  int axes;
  bool antialias = false, aligns = true;
};

TEST(ExportedLayers, Resample) {
  for (const Upsampling& each :
       std::vector<Upsampling>{{"upsample_nearest1d", Mode::nearest, 1, false, false},
                               {"upsample_nearest2d", Mode::nearest, 2, false, false},
                               {"upsample_nearest3d", Mode::nearest, 3, false, false},
                               {"_upsample_nearest_exact1d", Mode::nearest_exact, 1, false, false},
                               {"_upsample_nearest_exact2d", Mode::nearest_exact, 2, false, false},
                               {"_upsample_nearest_exact3d", Mode::nearest_exact, 3, false, false},
                               {"upsample_linear1d", Mode::linear, 1},
                               {"upsample_bilinear2d", Mode::bilinear, 2},
                               {"upsample_trilinear3d", Mode::trilinear, 3},
                               {"upsample_bicubic2d", Mode::bicubic, 2},
                               {"_upsample_bilinear2d_aa", Mode::bilinear, 2, true},
                               {"_upsample_bicubic2d_aa", Mode::bicubic, 2, true}}) {
    SCOPED_TRACE(each.name);
    const auto axes = static_cast<std::size_t>(each.axes);
    Shape sizes = {1, 2};
    sizes.insert(sizes.end(), axes, 5);
    Tensor x = ramp(sizes);
    const std::vector<std::int64_t> eights(axes, 8);
    InterpolateOptions by_factor{
        .scale_factor = {1.7}, .mode = each.mode, .antialias = each.antialias};
    InterpolateOptions by_size{
        .size = {8}, .mode = each.mode, .align_corners = each.aligns, .antialias = each.antialias};
    OneCall vec(concat("aten.", each.name, ".vec")), sized(concat("aten.", each.name, ".vec")),
        own(concat("aten.", each.name, ".default"));
    vec.with("input", x)
        .with("output_size", std::monostate())
        .with("scale_factors", std::vector<double>(axes, 1.7));
    sized.with("input", x)
        .with("output_size", integers(eights))
        .with("scale_factors", std::monostate());
    own.with("self", x).with("output_size", integers(eights));
    if (axes == 1) own.with("scales", 1.7);
    if (axes == 3) own.with("scales_d", 1.7);
    if (axes > 1) own.with("scales_h", 1.7).with("scales_w", 1.7);
    if (each.aligns) {
      vec.with("align_corners", false);
      sized.with("align_corners", true);
      own.with("align_corners", false);
    }
    expect_same(vec.one(), interpolate(x, by_factor));
    expect_same(sized.one(), interpolate(x, by_size));
    expect_same(own.one(), interpolate(x, by_factor));
  }
}

TEST(ExportedLayers, SampleGrids) {
  Tensor x = ramp({1, 2, 4, 4}), theta = ramp({1, 2, 3}, 0.1F);
  Tensor grid = OneCall("aten.affine_grid_generator.default")
                    .with("theta", theta)
                    .with("size", integers({1, 2, 3, 3}))
                    .with("align_corners", true)
                    .one();
  expect_same(grid, affine_grid(theta, {1, 2, 3, 3}, true));
  auto call = [&](std::int64_t mode) {
    return OneCall("aten.grid_sampler.default")
        .with("input", x)
        .with("grid", grid)
        .with("interpolation_mode", mode)
        .with("padding_mode", std::int64_t{1})
        .with("align_corners", false);
  };
  expect_same(call(1).one(),
              grid_sample(x, grid, {SampleMode::nearest, SamplePadding::border, false}));
  EXPECT_THAT(error_of([&] { call(3).one(); }), HasSubstr("\"interpolation_mode\" is 3"));
}

TEST(ExportedLayers, Pool) {
  Tensor line = ramp({2, 6}), image = ramp({2, 6, 5}), volume = ramp({1, 4, 4, 4});
  auto pool = [](const char* name, const Tensor& x) {
    return OneCall(name).with("self", x).with("kernel_size", integers({2}));
  };
  expect_same(pool("aten.max_pool1d.default", line).one(), max_pool1d(line, {2}));
  expect_same(pool("aten.max_pool2d.default", image).with("ceil_mode", true).one(),
              max_pool2d(image, {2}, {.ceil_mode = true}));
  expect_same(pool("aten.max_pool3d.default", volume).one(), max_pool3d(volume, {2}));
  expect_same(pool("aten.avg_pool1d.default", line).with("padding", integers({1})).one(),
              avg_pool1d(line, {2}, {.padding = {1}}));
  auto parts = [](const char* name, const Tensor& x) {
    return OneCall(name).with("self", x).with("output_size", integers({3})).all();
  };
  expect_same(parts("aten.adaptive_avg_pool1d.default", line)[0], adaptive_avg_pool1d(line, {3}));
  expect_same(parts("aten.adaptive_avg_pool2d.default", image)[0], adaptive_avg_pool2d(image, {3}));
  expect_same(parts("aten.adaptive_avg_pool3d.default", volume)[0],
              adaptive_avg_pool3d(volume, {3}));
  expect_same(parts("aten.adaptive_max_pool1d.default", line)[1],
              adaptive_max_pool1d(line, {3}).second);
}

// With ceil_mode, where PyTorch has the numbers from: one window that begins in the tensor and ends
// behind its padding, and a last one that would begin behind the tensor, which there is not.
TEST(ExportedLayers, PoolWindowsThatReachBeyondTheTensor) {
  Tensor line = Tensor::from(std::vector<float>{1, 5, 2, 4, -3, 6}, {1, 2, 3});
  auto pool = [](const char* name, const Tensor& x, const std::vector<std::int64_t>& kernel,
                 const std::vector<std::int64_t>& stride,
                 const std::vector<std::int64_t>& padding) {
    return OneCall(name)
        .with("self", x)
        .with("kernel_size", integers(kernel))
        .with("stride", integers(stride))
        .with("padding", integers(padding))
        .with("ceil_mode", true);
  };
  auto means = [&](std::int64_t kernel, std::int64_t stride, std::int64_t padding, bool all) {
    return pool("aten.avg_pool1d.default", line, {kernel}, {stride}, {padding})
        .with("count_include_pad", all)
        .one();
  };
  auto expect = [](const Tensor& got, const Shape& shape, const std::vector<float>& right) {
    ASSERT_EQ(got.shape(), shape);
    EXPECT_THAT(got.to_vector<float>(), ::testing::Pointwise(::testing::FloatNear(1e-6F), right));
  };
  expect(means(4, 2, 0, true), {1, 2, 1}, {8.F / 3, 7.F / 3});
  expect(means(6, 2, 1, true), {1, 2, 1}, {1.6F, 1.4F});
  expect(means(6, 2, 1, false), {1, 2, 1}, {8.F / 3, 7.F / 3});
  expect(means(2, 3, 0, true), {1, 2, 1}, {3, 0.5});
  expect(means(2, 2, 1, true), {1, 2, 2}, {0.5, 3.5, 2, 1.5});
  for (std::int64_t stride : {3, 4}) expect(means(1, stride, 0, true), {1, 2, 1}, {1, 4});
  const auto largest = pool("aten.max_pool1d_with_indices.default", line, {6}, {2}, {1}).all();
  expect(largest[0], {1, 2, 1}, {5, 6});
  EXPECT_EQ(largest[1].to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2}));
  expect(pool("aten.max_pool1d.default", line, {2}, {2}, {1}).one(), {1, 2, 2}, {1, 5, 4, 6});
  Tensor plane = line.unsqueeze(0);
  auto of_plane = [&](const char* name) { return pool(name, plane, {3, 5}, {2, 3}, {0, 1}); };
  expect(of_plane("aten.avg_pool2d.default").one(), {1, 1, 1, 1}, {1.5});
  expect(of_plane("aten.avg_pool2d.default").with("divisor_override", std::int64_t{7}).one(),
         {1, 1, 1, 1}, {15.F / 7});
  const auto both = of_plane("aten.max_pool2d_with_indices.default").all();
  expect(both[0], {1, 1, 1, 1}, {6});
  EXPECT_EQ(both[1].to_vector<std::int64_t>(), std::vector<std::int64_t>{5});
  // PyTorch has no window at all then.
  EXPECT_THAT(error_of([&] { means(4, 1, 0, true); }), HasSubstr("does not fit an axis of 3"));
  EXPECT_THAT(error_of([&] { means(5, 2, 0, true); }), HasSubstr("does not fit an axis of 3"));
}

TEST(ExportedLayers, MoveElements) {
  Tensor x = ramp({3, 4}), places = arange(0, 3), one = full({}, 1.5);
  Tensor mask = x > 0;
  auto of_x = [&](const char* name) { return OneCall(name).with("self", x); };
  const std::int64_t rows = 0;
  expect_same(of_x("aten.take.default").with("index", places).one(), take(x, places));
  expect_same(of_x("aten.take_along_dim.default").with("indices", places).one(),
              take_along_dim(x, places));
  expect_same(of_x("aten.index_fill.int_Scalar")
                  .with("dim", rows)
                  .with("index", places)
                  .with("value", 1.5)
                  .one(),
              index_fill(x, 0, places, 1.5));
  expect_same(of_x("aten.index_fill.int_Tensor")
                  .with("dim", rows)
                  .with("index", places)
                  .with("value", one)
                  .one(),
              index_fill(x, 0, places, 1.5));
  expect_same(of_x("aten.index_copy.default")
                  .with("dim", rows)
                  .with("index", places)
                  .with("source", x * 2)
                  .one(),
              x * 2);
  expect_same(of_x("aten.masked_fill.Tensor").with("mask", mask).with("value", one).one(),
              masked_fill(x, mask, 1.5));
  expect_same(of_x("aten.roll.default").with("shifts", integers({1})).one(), roll(x, {1}));
  expect_same(of_x("aten.tril.default").one(), tril(x));
  expect_same(of_x("aten.triu.default").with("diagonal", std::int64_t{1}).one(), triu(x, 1));
  expect_same(of_x("aten.diag_embed.default").with("offset", std::int64_t{1}).one(),
              diag_embed(x, 1));
  expect_same(of_x("aten.fliplr.default").one(), fliplr(x));
  expect_same(of_x("aten.flipud.default").one(), flipud(x));
  expect_same(OneCall("aten.one_hot.default").with("self", places).one(), one_hot(places, 3));
  expect_same(of_x("aten.cummax.default").with("dim", std::int64_t{1}).all()[1],
              cummax(x, 1).second);
  expect_same(of_x("aten.cummin.default").with("dim", std::int64_t{1}).one(), cummin(x, 1).first);
}

TEST(ExportedLayers, Search) {
  Tensor sorted = arange(0, 5) * 2;
  auto search = [&](const std::string& side) {
    return OneCall("aten.searchsorted.Scalar")
        .with("sorted_sequence", sorted)
        .with("self", std::int64_t{4})
        .with("side", side);
  };
  expect_same(search("left").one(), searchsorted(sorted, 4));
  expect_same(search("right").one(), searchsorted(sorted, 4, {.right = true}));
  EXPECT_THAT(error_of([&] { search("up").one(); }), HasSubstr("is neither left nor right"));
  expect_same(OneCall("aten.bucketize.Scalar")
                  .with("self", std::int64_t{3})
                  .with("boundaries", sorted)
                  .with("out_int32", true)
                  .one(),
              bucketize(3, sorted, false, true));
}

}  // namespace
}  // namespace tilewright::exported_layers_test
