// Resize of ONNX models: against sums over elements, one by one, and in memory that follows from
// the axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::resizing_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using Floats = std::vector<float>;

std::vector<std::string> texts_of(const Shape& shape) {
  std::vector<std::string> sizes;
  for (std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return sizes;
}
std::string resizing(const Shape& from, const Shape& to, const std::string& attributes) {
  return model(graph_of({{node("Resize", {"x", "", "", "sizes"}, {"y"}, attributes)},
                         {numbers(1, {to.rank()}) + number(2, is_int64) +
                          numbers(7, {to.begin(), to.end()}) + bytes(8, "sizes")},
                         {value("x", texts_of(from))},
                         {value("y", texts_of(to))}}));
}

Tensor waves(const Shape& shape) {
  Floats x(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 7919));
  return Tensor::from(x, shape);
}

// Elements of an axis by place, each with its weight.
using Weights = std::vector<std::pair<std::int64_t, double>>;
using WeightsOf = std::function<Weights(std::int64_t size, std::int64_t wanted, std::int64_t i)>;

double place(std::int64_t size, std::int64_t wanted, std::int64_t i) {
  return (static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(wanted) -
         0.5;
}
Weights nearest(std::int64_t size, std::int64_t wanted, std::int64_t i) {
  const auto at = static_cast<std::int64_t>(std::ceil(place(size, wanted, i) - 0.5));
  return {{std::clamp<std::int64_t>(at, 0, size - 1), 1}};
}
Weights linear(std::int64_t size, std::int64_t wanted, std::int64_t i) {
  const double at = std::clamp(place(size, wanted, i), 0.0, static_cast<double>(size - 1));
  const auto below = static_cast<std::int64_t>(at);
  const double share = at - static_cast<double>(below);
  return {{below, 1 - share}, {std::min(below + 1, size - 1), share}};
}
Weights cubic(std::int64_t size, std::int64_t wanted, std::int64_t i) {
  const double at = place(size, wanted, i), below = std::floor(at), t = at - below, a = -0.75;
  const double near = 1 - t, far = t + 1, farthest = 2 - t;
  auto inner = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto outer = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  Weights all = {{-1, outer(far)}, {0, inner(t)}, {1, inner(near)}, {2, outer(farthest)}};
  for (auto& [k, weight] : all)
    k = std::clamp<std::int64_t>(static_cast<std::int64_t>(below) + k, 0, size - 1);
  return all;
}
// Where the axis becomes shorter, all elements that a triangle of the width of one of the result
// reaches; those beyond the ends count as the ends.
Weights smooth(std::int64_t size, std::int64_t wanted, std::int64_t i) {
  const double scale = std::min(static_cast<double>(wanted) / static_cast<double>(size), 1.0);
  const double at = place(size, wanted, i);
  Weights all;
  double total = 0;
  for (auto k = static_cast<std::int64_t>(std::floor(at - 1 / scale)); k <= at + 1 / scale; ++k) {
    const double weight = std::max(1 - std::abs(static_cast<double>(k) - at) * scale, 0.0);
    all.emplace_back(std::clamp<std::int64_t>(k, 0, size - 1), weight);
    total += weight;
  }
  for (auto& [k, weight] : all) weight /= total;
  return all;
}

// x [planes, height, width].
Floats resized(const Tensor& x, const Shape& to, const WeightsOf& weights) {
  const Floats from = x.to_vector<float>();
  Floats result;
  for (std::int64_t p = 0; p < to[0]; ++p)
    for (std::int64_t i = 0; i < to[1]; ++i) {
      const Weights down = weights(x.size(1), to[1], i);
      for (std::int64_t j = 0; j < to[2]; ++j) {
        double sum = 0;
        const Weights across = weights(x.size(2), to[2], j);
        for (const auto& [row, of_row] : down)
          for (const auto& [column, of_column] : across)
            sum += of_row * of_column *
                   from[static_cast<std::size_t>((p * x.size(1) + row) * x.size(2) + column)];
        result.push_back(static_cast<float>(sum));
      }
    }
  return result;
}

TEST(OnnxResize, IsASumOfFewElements) {
  struct Case {
    std::string attributes;
    WeightsOf weights;
  };
  const Case cases[] = {{"", nearest},
                        {text("mode", "linear"), linear},
                        {text("mode", "cubic"), cubic},
                        {text("mode", "linear") + attribute("antialias", 1), smooth}};
  ScratchFolder folder;
  for (const Case& c : cases)
    for (const auto& [from, to] : {std::pair{Shape{2, 5, 7}, Shape{2, 13, 11}},
                                   {Shape{3, 40, 6}, Shape{3, 7, 18}},
                                   {Shape{2, 12, 9}, Shape{2, 4, 3}},
                                   {Shape{2, 6, 90}, Shape{2, 12, 4}},
                                   {Shape{1, 1, 4}, Shape{1, 1, 8}}}) {
      const Tensor x = waves(from);
      const Floats wanted = resized(x, to, c.weights);
      const auto module = load_onnx(folder.write("model.onnx", resizing(from, to, c.attributes)));
      for (const Tensor& y : {module->forward({x})[0], compile(*module)({x})[0]}) {
        ASSERT_EQ(y.shape(), to);
        const Floats got = y.to_vector<float>();
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], wanted[i], 2e-5) << c.attributes << " " << from << " " << i;
      }
    }
}

// Nothing has a number for each element of the result, of which there are 3.6 million; the
// intermediate value is the result along the last axis alone.
TEST(OnnxResize, TakesMemoryByItsAxes) {
  ScratchFolder folder;
  const Shape from = {1, 1, 500, 500}, to = {1, 1, 1900, 1900};
  const auto module = load_onnx(folder.write("model.onnx", resizing(from, to, "")));
  auto fast = compile(*module);
  fast({waves(from)});
  EXPECT_LE(fast.report().at(0).arena_bytes, 2 * 500 * 1900 * 4 + (1 << 20));
}

// By whole factors the result is a view, which is copied once.
TEST(OnnxResize, RepeatsAndSkipsWithoutNumbersOfElements) {
  ScratchFolder folder;
  for (const auto& [from, to] : {std::pair{Shape{1, 2, 8, 8}, Shape{1, 2, 16, 24}},
                                 {Shape{1, 2, 24, 24}, Shape{1, 2, 8, 12}}}) {
    const auto module = load_onnx(folder.write("model.onnx", resizing(from, to, "")));
    auto fast = compile(*module);
    fast({waves(from)});
    EXPECT_THAT(fast.explain(), ::testing::Not(HasSubstr("gather"))) << from;
    EXPECT_LE(fast.report().at(0).launches, 1) << from;
  }
}

// A scale of 0.7 as f32 is less than 0.7; in exact arithmetic 27 elements would be left of 40.
TEST(OnnxResize, HasTheSizesOfScalesInTheirPrecision) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write(
      "model.onnx", model(graph_of({{node("Resize", {"x", "", "scales"}, {"y"})},
                                    {tensor("scales", {2}, floats_as_bytes({0.7F, 1.1F}))},
                                    {value("x", {"40", "50"})},
                                    {bytes(1, "y")}}))));
  EXPECT_EQ(module->forward({waves({40, 50})})[0].shape(), (Shape{28, 55}));
}

// Scales are floats of the file, and decide sizes all the same.
TEST(OnnxResize, ByScalesIsOneGraph) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write(
      "model.onnx",
      model(graph_of({{node("Resize", {"x", "", "scales"}, {"y"}, text("mode", "linear"))},
                      {tensor("scales", {4}, floats_as_bytes({1, 1, 2, 3}))},
                      {value("x", {"batch", "2", "5", "4"})},
                      {bytes(1, "y")}}))));
  EXPECT_TRUE(module->named_parameters().empty());
  const Tensor x = waves({3, 2, 5, 4});
  auto fast = compile(*module, {.fullgraph = true});
  EXPECT_EQ(fast({x})[0].shape(), (Shape{3, 2, 10, 12}));
  expect_near(fast({x})[0], module->forward({x})[0]);
}

// Corners of regions are data; where each bin has so many samples, nothing of them is read.
TEST(OnnxRoiAlign, OfSoManySamplesIsOneGraph) {
  ScratchFolder folder;
  const std::string sizes = attribute("output_height", 3) + attribute("output_width", 2) +
                            attribute("sampling_ratio", 2) + real("spatial_scale", 0.5F);
  const auto module = load_onnx(folder.write(
      "model.onnx", model(graph_of({{node("RoiAlign", {"x", "regions", "images"}, {"y"}, sizes)},
                                    {},
                                    {value("x", {"2", "3", "9", "8"}), value("regions", {"4", "4"}),
                                     value("images", {"4"}, is_int64)},
                                    {bytes(1, "y")}}))));
  const Tensor x = waves({2, 3, 9, 8}), images = remainder(arange(0, 4), 2),
               corners = Tensor::from(
                   std::vector<float>{0, 0, 9, 9, 1, 2, 7, 12, 3, 0, 15, 4, 5, 5, 6, 17}, {4, 4});
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor wanted = roi_align(x, cat({images.to(f32).unsqueeze(1), corners}, 1),
                                  {.size = {3, 2}, .scale = 0.5, .samples = 2, .aligned = true});
  expect_near(fast({x, corners, images})[0], wanted);
}

// How many samples fit is read, at which the part of the graph that takes the images' numbers runs.
TEST(OnnxRoiAlign, OfAnImageThatIsMissingNamesItsNodeOnce) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write(
      "model.onnx", model(graph_of({{node("Add", {"images", "images"}, {"twice"}),
                                     node("RoiAlign", {"x", "regions", "twice"}, {"y"})},
                                    {},
                                    {value("x", {"2", "3", "9", "8"}), value("regions", {"1", "4"}),
                                     value("images", {"1"}, is_int64)},
                                    {bytes(1, "y")}}))));
  const std::vector<Tensor> inputs = {waves({2, 3, 9, 8}),
                                      Tensor::from(std::vector<float>{0, 0, 5, 5}, {1, 4}),
                                      Tensor::from<std::int64_t>({1}, {1})};
  auto fast = compile(*module, {.tell_breaks = false, .index_checks = IndexChecks::all});
  for (const std::string& error :
       {error_of([&] { module->forward(inputs); }), error_of([&] { fast(inputs); })}) {
    EXPECT_THAT(error, HasSubstr("index 2 is outside 2 places"));
    const std::size_t first = error.find("\n  in node \"y\" (RoiAlign) of ");
    EXPECT_NE(first, std::string::npos) << error;
    EXPECT_EQ(error.find("\n  in ", first + 1), std::string::npos) << error;
  }
}

TEST(OnnxResize, RefusesMoreWeightsThanMemoryHolds) {
  ScratchFolder folder;
  const std::string linear_mode = text("mode", "linear");
  const auto module =
      load_onnx(folder.write("model.onnx", resizing({1, 1, 8}, {1, 1, 1 << 30}, linear_mode)));
  EXPECT_THAT(error_of([&] {
                module->forward({waves({1, 1, 8})});
              }),
              HasSubstr("[resize] axis 2, of 8 elements, is resized to 1073741824, of 2 weights "
                        "each; at most 268435456 weights are supported"));
}

}  // namespace
}  // namespace tilewright::resizing_test
