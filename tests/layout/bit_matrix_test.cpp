// The laws of linear algebra, on random matrices and by enumeration of all indices of small ones.
#include "dsl/layout/bit_matrix.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/base/error.h"
#include "tests/property/seeds.h"

namespace tilewright::dsl::layout::bit_matrix_test {
namespace {

constexpr std::uint64_t cases = 100'000;

// A matrix of any rank: some columns are sums of others, some are zero.
BitMatrix random_matrix(std::mt19937_64& random, int rows, int columns) {
  std::vector<std::uint64_t> made;
  std::uint64_t mask = rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
  for (int c = 0; c < columns; ++c) {
    std::uint64_t column = random() & mask;
    if (random() % 3 == 0) column &= random() & random();
    if (random() % 4 == 0 && c > 0) column = made[random() % made.size()];
    if (random() % 4 == 0 && c > 1) column = made[random() % made.size()] ^ made.back();
    made.push_back(column);
  }
  return {rows, made};
}
int random_size(std::mt19937_64& random) {
  return static_cast<int>(random() % 8 == 0 ? random() % 65 : random() % 9);
}

TEST(BitMatrix, ComposingIsAssociativeAndMeansApplyingOneAfterTheOther) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    std::mt19937_64 random(seed);
    int sizes[4];
    for (int& size : sizes) size = random_size(random);
    BitMatrix a = random_matrix(random, sizes[0], sizes[1]);
    BitMatrix b = random_matrix(random, sizes[1], sizes[2]);
    BitMatrix c = random_matrix(random, sizes[2], sizes[3]);
    ASSERT_EQ(compose(compose(a, b), c), compose(a, compose(b, c))) << reproduction(seed);
    ASSERT_EQ(compose(a, BitMatrix::identity(sizes[1])), a) << reproduction(seed);
    ASSERT_EQ(compose(BitMatrix::identity(sizes[0]), a), a) << reproduction(seed);
    std::uint64_t index = sizes[2] == 0 ? 0 : random() >> (64 - sizes[2]);
    ASSERT_EQ(compose(a, b).apply(index), a.apply(b.apply(index))) << reproduction(seed);
  }
}

TEST(BitMatrix, RankAndTheKernelsDimensionAddUpToTheColumns) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    std::mt19937_64 random(seed);
    int rows = random_size(random), columns = random_size(random);
    BitMatrix matrix = random_matrix(random, rows, columns);
    auto kernel = matrix.kernel();
    ASSERT_EQ(matrix.rank() + static_cast<int>(kernel.size()), columns) << reproduction(seed);
    for (std::uint64_t index : kernel) ASSERT_EQ(matrix.apply(index), 0U) << reproduction(seed);
    ASSERT_EQ(BitMatrix(columns, kernel).rank(), static_cast<int>(kernel.size()))
        << reproduction(seed);
    if (columns > 8) continue;
    std::set<std::uint64_t> images;
    for (std::uint64_t index = 0; index < 1U << columns; ++index)
      images.insert(matrix.apply(index));
    ASSERT_EQ(images.size(), 1U << matrix.rank()) << reproduction(seed);
  }
}

TEST(BitMatrix, ARightInverseExistsExactlyWhereTheMapIsOnto) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    std::mt19937_64 random(seed);
    int rows = random_size(random), columns = random_size(random);
    BitMatrix matrix = random_matrix(random, rows, columns);
    auto inverse = matrix.right_inverse();
    ASSERT_EQ(inverse.has_value(), matrix.rank() == rows) << reproduction(seed);
    if (!inverse) continue;
    ASSERT_EQ(compose(matrix, *inverse), BitMatrix::identity(rows)) << reproduction(seed);
  }
}

TEST(BitMatrix, SolvesWhatHasASolutionByTheEarliestColumns) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    std::mt19937_64 random(seed);
    int rows = static_cast<int>(random() % 7), columns = static_cast<int>(random() % 7);
    BitMatrix matrix = random_matrix(random, rows, columns);
    std::uint64_t image = random() % (1U << rows);
    auto solution = matrix.solve(image);
    std::set<std::uint64_t> expected;
    for (std::uint64_t index = 0; index < 1U << columns; ++index)
      if (matrix.apply(index) == image) expected.insert(index);
    ASSERT_EQ(solution.has_value(), !expected.empty()) << reproduction(seed);
    // The smallest number has the lowest of all highest bits, and so on downwards.
    if (!solution) continue;
    ASSERT_EQ(*solution, *expected.begin()) << reproduction(seed);
  }
}

TEST(BitMatrix, ADirectSumActsOnBothPartsAlone) {
  for (std::uint64_t seed : seeds_of_test(cases)) {
    std::mt19937_64 random(seed);
    int sizes[4];
    for (int& size : sizes) size = static_cast<int>(random() % 33);
    BitMatrix a = random_matrix(random, sizes[0], sizes[1]);
    BitMatrix b = random_matrix(random, sizes[2], sizes[3]);
    BitMatrix sum = direct_sum(a, b);
    ASSERT_EQ(sum.rank(), a.rank() + b.rank()) << reproduction(seed);
    std::uint64_t low = sizes[1] == 0 ? 0 : random() >> (64 - sizes[1]);
    std::uint64_t high = sizes[3] == 0 ? 0 : random() >> (64 - sizes[3]);
    ASSERT_EQ(sum.apply(low | high << sizes[1]), a.apply(low) | b.apply(high) << sizes[0])
        << reproduction(seed);
  }
}

TEST(BitMatrix, IndependentColumnsAreThoseThatRaiseTheRank) {
  for (std::uint64_t seed : seeds_of_test(10'000)) {
    std::mt19937_64 random(seed);
    BitMatrix matrix = random_matrix(random, random_size(random), random_size(random));
    for (int c = 0; c < matrix.columns(); ++c)
      ASSERT_EQ(matrix.independent_columns() >> c & 1,
                static_cast<std::uint64_t>(matrix.column_range(0, c + 1).rank() -
                                           matrix.column_range(0, c).rank()))
          << reproduction(seed);
  }
}

TEST(BitMatrix, IsAValueThatCanBePrinted) {
  BitMatrix matrix(2, {1, 3, 0});
  EXPECT_EQ(to_string(matrix), "11.\n.1.\n");
  EXPECT_EQ(matrix.hash(), BitMatrix(2, {1, 3, 0}).hash());
  EXPECT_NE(matrix.hash(), BitMatrix(3, {1, 3, 0}).hash());
  EXPECT_EQ(join_columns(matrix, BitMatrix::identity(2)), BitMatrix(2, {1, 3, 0, 1, 2}));
}

TEST(BitMatrix, RefusesWhatDoesNotFit) {
  EXPECT_THROW(BitMatrix(1, {2}), InternalError);
  EXPECT_THROW(BitMatrix(65, {}), InternalError);
  EXPECT_THROW(BitMatrix::identity(2).apply(4), InternalError);
  EXPECT_THROW(compose(BitMatrix::identity(2), BitMatrix::identity(3)), InternalError);
  EXPECT_THROW(join_columns(BitMatrix::identity(2), BitMatrix::identity(3)), InternalError);
}

}  // namespace
}  // namespace tilewright::dsl::layout::bit_matrix_test
