// Sums of many elements over any axis are exact to a few roundings: over the first axis, where rows
// are added to rows, as well as over the last.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "graph/compile/compile.h"
#include "graph/tensor/tensor.h"
#include "tests/every_device.h"

namespace tilewright::exact_sums_test {
namespace {

constexpr double unit = 0x1p-24;  // the rounding of an f32 to the nearest

struct Table {
  std::int64_t rows, columns;
  std::vector<float> elements;
  Tensor tensor() const { return Tensor::from(elements, {rows, columns}); }
  double at(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
  std::vector<double> sums() const {
    std::vector<double> result(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) result[static_cast<std::size_t>(j)] += at(i, j);
    return result;
  }
};

Table random_table(std::int64_t rows, std::int64_t columns) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(0.5F, 1.5F);
  Table table{rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  for (float& element : table.elements) element = uniform(generator);
  return table;
}

// Relative errors of what is above zero, in roundings.
void expect_close(const Tensor& actual, const std::vector<double>& expected, double roundings) {
  const std::vector<float> values = actual.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], roundings * unit * std::abs(expected[i])) << "of " << i;
}

TEST(ExactSums, OfAColumnOfMillionsHaveThatMean) {
  TILEWRIGHT_ON_THE_HOST_ONLY("sums of rows in parts");
  Tensor x = full({3000, 4}, 1e6).clone();
  for (float element : mean(x, {0}).to_vector<float>()) EXPECT_NEAR(element, 1e6F, 0.0625F);
  for (float element : mean(x.transpose(0, 1), {1}).to_vector<float>())
    EXPECT_NEAR(element, 1e6F, 0.0625F);
}

TEST(ExactSums, OfRowsErrLikeTheLogarithmOfTheirNumber) {
  TILEWRIGHT_ON_THE_HOST_ONLY("sums of rows in parts");
  const std::vector<std::pair<std::int64_t, std::int64_t>> tables = {
      {3000, 4}, {1'000'000, 1}, {1'000'003, 3}, {100'003, 64}, {30'000, 333}};
  for (const auto& [rows, columns] : tables) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const Table table = random_table(rows, columns);
    const Tensor x = table.tensor();
    const double depth = std::ceil(std::log2(static_cast<double>(rows)));
    std::vector<double> sums = table.sums(), means, variances, norms;
    for (std::size_t j = 0; j < sums.size(); ++j) {
      means.push_back(sums[j] / static_cast<double>(rows));
      double squares = 0, of_deviations = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const double element = table.at(i, static_cast<std::int64_t>(j));
        squares += element * element;
        of_deviations += (element - means[j]) * (element - means[j]);
      }
      norms.push_back(std::sqrt(squares));
      variances.push_back(of_deviations / static_cast<double>(rows - 1));
    }
    for (bool at_once : {true, false}) {
      auto run = [&](auto&& function) { return at_once ? function(x) : compile(function)(x); };
      expect_close(run([](const Tensor& t) { return sum(t, {0}); }), sums, depth);
      expect_close(run([](const Tensor& t) { return mean(t, {0}); }), means, depth);
      expect_close(run([](const Tensor& t) { return sqrt(sum(t * t, {0})); }), norms, depth);
      expect_close(run([](const Tensor& t) { return var(t, {0}); }), variances, 4 * depth);
    }
  }
}

}  // namespace
}  // namespace tilewright::exact_sums_test
