// Padding around a tensor, at once and compiled.
#include "graph/functions/convolving/padding.h"

#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"

namespace tilewright::padding_test {
namespace {

using Floats = std::vector<float>;

void expect_padded(const Tensor& x, const Shape& sizes, PadMode mode, const Shape& shape,
                   const Floats& wanted) {
  auto function = [&](const Tensor& t) { return pad(t, sizes, mode, 7); };
  for (const Tensor& y : {function(x), compile(function)(x)}) {
    EXPECT_EQ(y.shape(), shape);
    EXPECT_EQ(y.to_vector<float>(), wanted);
  }
}

TEST(Pad, AddsWhatItsModeSays) {
  Tensor line = Tensor::from(Floats{1, 2, 3, 4}, {4});
  expect_padded(line, {2, 1}, PadMode::constant, {7}, {7, 7, 1, 2, 3, 4, 7});
  expect_padded(line, {3, 2}, PadMode::reflect, {9}, {4, 3, 2, 1, 2, 3, 4, 3, 2});
  expect_padded(line, {2, 1}, PadMode::replicate, {7}, {1, 1, 1, 2, 3, 4, 4});
  expect_padded(line, {2, 4}, PadMode::circular, {10}, {3, 4, 1, 2, 3, 4, 1, 2, 3, 4});
}

TEST(Pad, CutsWhereNumbersAreNegative) {
  Tensor line = Tensor::from(Floats{1, 2, 3, 4}, {4});
  expect_padded(line, {-1, 2}, PadMode::constant, {5}, {2, 3, 4, 7, 7});
  expect_padded(line, {1, -2}, PadMode::replicate, {3}, {1, 1, 2});
}

// From PyTorch 2.15, which reflects elements that are cut off.
TEST(Pad, CutsInEveryMode) {
  Tensor line = Tensor::from(Floats{0, 1, 2, 3, 4, 5}, {1, 1, 6});
  expect_padded(line, {-2, 3}, PadMode::reflect, {1, 1, 7}, {2, 3, 4, 5, 4, 3, 2});
  expect_padded(line, {3, -3}, PadMode::reflect, {1, 1, 6}, {3, 2, 1, 0, 1, 2});
  expect_padded(line, {-5, 2}, PadMode::reflect, {1, 1, 3}, {5, 4, 3});
  expect_padded(line, {-2, 3}, PadMode::circular, {1, 1, 7}, {2, 3, 4, 5, 2, 3, 4});
  expect_padded(line, {3, -2}, PadMode::circular, {1, 1, 7}, {1, 2, 3, 0, 1, 2, 3});
}

// No copy is made where nothing is added.
TEST(Pad, JoinsNoPartsThatAreEmpty) {
  for (PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular})
    for (std::int64_t count : {0, 1}) {
      const graph::Graph graph = graph::captured({{2, 4}}, [=](std::vector<Tensor>& x) {
        return std::vector<Tensor>{pad(x[0], {0, count}, mode)};
      });
      EXPECT_EQ(print(graph).find("cat") != std::string::npos, count != 0) << print(graph);
    }
}

TEST(Pad, KeepsAllDigitsOfIntegers) {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  auto function = [&](const Tensor& t) { return pad(t, {0, 1}, PadMode::constant, odd); };
  Tensor x = Tensor::from(std::vector<std::int64_t>{odd}, {1});
  for (const Tensor& y : {function(x), compile(function)(x)})
    EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{odd, odd}));
}

TEST(Pad, BeginsWithTheLastAxis) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {1, 2, 3});
  expect_padded(x, {1, 0, 0, 1}, PadMode::constant, {1, 3, 4},
                {7, 1, 2, 3, 7, 4, 5, 6, 7, 7, 7, 7});
  expect_padded(x, {0, 1, 1, 0}, PadMode::reflect, {1, 3, 4}, {4, 5, 6, 5, 1, 2, 3, 2, 4, 5, 6, 5});
  expect_padded(x.permute({0, 2, 1}), {0, 0, 2, 0}, PadMode::circular, {1, 5, 2},
                {2, 5, 3, 6, 1, 4, 2, 5, 3, 6});
}

// Each axis goes around what the axes behind it have become.
TEST(Pad, GoesAroundSeveralAxes) {
  const std::int64_t rows = 5, columns = 33, more[4] = {3, 2, 4, 1};
  Floats line;
  for (int i = 0; i < 2 * rows * columns; ++i) line.push_back(static_cast<float>(i));
  Tensor x = Tensor::from(line, {2, rows, columns});
  const Shape shape = {2, rows + more[2] + more[3], columns + more[0] + more[1]};
  auto from = [](PadMode mode, std::int64_t place, std::int64_t size) {
    if (place >= 0 && place < size) return place;
    if (mode == PadMode::reflect) return place < 0 ? -place : 2 * size - 2 - place;
    if (mode == PadMode::circular) return (place + size) % size;
    if (mode == PadMode::replicate) return place < 0 ? std::int64_t{0} : size - 1;
    return std::int64_t{-1};
  };
  for (PadMode mode :
       {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    Floats wanted;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const std::int64_t row = from(mode, i / shape[2] % shape[1] - more[2], rows);
      const std::int64_t column = from(mode, i % shape[2] - more[0], columns);
      const std::int64_t image = i / (shape[1] * shape[2]);
      const auto place = static_cast<std::size_t>((image * rows + row) * columns + column);
      wanted.push_back(row < 0 || column < 0 ? 7.0F : line[place]);
    }
    expect_padded(x, {more[0], more[1], more[2], more[3]}, mode, shape, wanted);
  }
}

TEST(Pad, SaysWhatDoesNotFit) {
  Tensor line = zeros({4});
  auto error = [&](const Shape& sizes, PadMode mode) {
    return error_of([&] { pad(line, sizes, mode); });
  };
  expect_contains(error({1}, PadMode::constant), "a pad has 1 sizes for a tensor of rank 1");
  expect_contains(error({4, 0}, PadMode::reflect), "the axis has 3 to add in this mode");
  expect_contains(error({0, 5}, PadMode::circular), "the axis has 4 to add in this mode");
  for (const Shape& sizes : {Shape{0, -5}, Shape{-5, 9}, Shape{-2, -3}, Shape{INT64_MIN, 0}})
    for (PadMode mode : {PadMode::constant, PadMode::reflect})
      expect_contains(error(sizes, mode), "at most as many as it has, 4, can be cut off");
  constexpr std::int64_t large = INT64_MAX;
  for (const Shape& sizes : {Shape{large, 0}, Shape{0, large - 2}, Shape{large, large},
                             Shape{large / 4, 0}, Shape{large / 4 + 1, large / 4 + 1}})
    for (PadMode mode : {PadMode::constant, PadMode::replicate}) {
      const std::string said = error(sizes, mode);
      EXPECT_TRUE(said.find("too many") != said.npos || said.find("2^63 or more") != said.npos)
          << sizes << ": " << said;
    }
  expect_contains(error_of([&] {
                    pad(zeros({0}), {1, 0}, PadMode::replicate);
                  }),
                  "the axis has 0 to add");
}

}  // namespace
}  // namespace tilewright::padding_test
