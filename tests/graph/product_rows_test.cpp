// Rows of a product that are equal have equal results, to the bit, wherever in a block of rows they
// lie: blocks overlap where their rows do not divide the number of all rows, and two programs store
// the rows that both have.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "runtime/cpu/parallel.h"
#include "tests/every_device.h"

namespace tilewright::product_rows_test {
namespace {

template <typename Function>
void expect_equal_rows(const Function& function, const Tensor& row, std::int64_t rows,
                       bool freezing) {
  const Tensor x = row.expand({rows, row.shape()[1]}).contiguous();
  auto fast = compile(function, {.first_code = FirstCode::full, .freezing = freezing});
  const std::vector<float> results = fast(x).to(f32).template to_vector<float>();
  const std::size_t width = results.size() / static_cast<std::size_t>(rows);
  for (std::size_t i = width; i < results.size(); ++i)
    ASSERT_EQ(results[i], results[i % width])
        << "row " << i / width << " of " << rows << ", " << width << " columns"
        << (freezing ? ", frozen" : "");
}

class ProductRows : public testing::Test {
 protected:
  void SetUp() override { TILEWRIGHT_ON_THE_HOST_ONLY("blocks by the number of threads"); }
  const ThreadLimit two_{2};
};

TEST_F(ProductRows, ThatAreEqualHaveEqualSums) {
  manual_seed(7);
  const Tensor row = randn({1, 240}), w = randn({240, 120});
  for (std::int64_t rows : {33, 40, 41, 48, 50, 100})
    expect_equal_rows([&](const Tensor& x) { return sum(matmul(x, w), -1); }, row, rows, false);
}

// A weight that is packed, or contiguous along either axis, in blocks of all heights, with a
// normalisation behind, which keeps rows whole.
TEST_F(ProductRows, ThatAreEqualHaveEqualNorms) {
  manual_seed(8);
  for (std::int64_t columns : {48, 64, 120, 256}) {
    const Tensor row = randn({1, 70}), w = randn({70, columns}), turned = randn({columns, 70});
    for (std::int64_t rows : {7, 9, 13, 51, 100}) {
      auto norm = [](const Tensor& y) {
        return (y - y.mean(-1, true)) * rsqrt(y.var(-1).unsqueeze(-1));
      };
      for (bool freezing : {false, true})
        expect_equal_rows([&](const Tensor& x) { return norm(matmul(x, w)); }, row, rows, freezing);
      expect_equal_rows([&](const Tensor& x) { return norm(linear(x, turned)); }, row, rows, true);
    }
  }
}

}  // namespace
}  // namespace tilewright::product_rows_test
