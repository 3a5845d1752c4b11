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

TEST(ProductRows, ThatAreEqualHaveEqualSums) {
  TILEWRIGHT_ON_THE_HOST_ONLY("blocks by the number of threads");
  const ThreadLimit two(2);
  manual_seed(7);
  const Tensor row = randn({1, 240}), w = randn({240, 120});
  for (std::int64_t rows : {33, 40, 41, 48, 50, 100}) {
    const Tensor x = row.expand({rows, 240}).contiguous();
    const std::vector<float> sums =
        compile([](const Tensor& a, const Tensor& b) { return sum(matmul(a, b), -1); })(x, w)
            .to_vector<float>();
    for (std::int64_t i = 1; i < rows; ++i)
      EXPECT_EQ(sums[static_cast<std::size_t>(i)], sums[0]) << "row " << i << " of " << rows;
  }
}

}  // namespace
}  // namespace tilewright::product_rows_test
