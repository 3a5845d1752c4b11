// Choosing the blocks of products on the host by their cost.
#include "graph/lower/product_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dsl/target/packed_product.h"
#include "dsl/target/row_product.h"

namespace tilewright::graph::product_cost_test {
namespace {

const dsl::Target host = dsl::target_named("avx512");

// An operand that blocks do not cut into equal parts is copied before it is packed. (Which block is
// the cheapest depends on the caches of the host.)
TEST(ProductCost, KnowsEqualBlocksOfWholeVectors) {
  for (std::int64_t size : {1024, 2048, 4096, 8192})
    for (int threads : {1, 2, 8}) {
      ProductExtent p{1, 2048, size, 2048, 4, 4};
      ProductBlock block = cheapest_product_block(p, host, threads);
      double cost = product_cycles(p, host, block.rows, block.columns, threads);
      for (std::int64_t rows = 64; rows <= 512; rows *= 2)
        for (std::int64_t columns = 64; columns <= 1024; columns *= 2)
          EXPECT_LE(cost, product_cycles(p, host, rows, columns, threads))
              << size << " columns, " << threads << " threads: " << block.rows << " x "
              << block.columns << " instead of " << rows << " x " << columns;
    }
}

// Blocks of a right operand that is packed already are whole panels of it.
TEST(ProductCost, CutsPackedOperandsBetweenPanels) {
  for (std::int64_t panels : {2, 8, 21, 64}) {
    ProductExtent p{1, 512, panels * 48, 1024, 4, 4};
    p.panel_width = 48;
    ProductBlock block = cheapest_product_block(p, host, 8);
    EXPECT_EQ(block.columns % 48, 0);
    double cost = product_cycles(p, host, block.rows, block.columns, 8);
    EXPECT_LT(cost, product_cycles(p, host, p.rows, p.columns, 8));
    for (std::int64_t cut = 1; cut <= panels; ++cut)
      EXPECT_LE(cost, product_cycles(p, host, block.rows, (panels + cut - 1) / cut * 48, 8));
  }
}

TEST(ProductCost, ReadsRowsThatAreFarApartOnceAndFetchesThemAhead) {
  for (std::int64_t rows : {1, 4, 8, 16, 33, 47})
    for (std::int64_t size : {1024, 4096}) {
      ProductExtent p{1, rows, size, 2048, 4, 4};
      p.least_columns = 64;
      ProductBlock block = cheapest_product_block(p, host, 2);
      EXPECT_EQ(block.rows, rows) << size;
      EXPECT_GT(block.columns, dsl::row_product(host, rows).vectors * host.lanes) << rows << size;
    }
}

TEST(ProductCost, TakesBlocksNearlyAsCheapAsAnyOther) {
  std::mt19937 random(7);
  auto below = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int i = 0; i < 60; ++i) {
    ProductExtent p{1, below(96, 4096), 16 * below(4, 256), 8 * below(8, 512), 4, 4};
    int threads = 1 << below(0, 4);
    ProductBlock block = cheapest_product_block(p, host, threads);
    EXPECT_LE(block.rows, p.rows);
    EXPECT_LE(block.columns, p.columns);
    double cost = product_cycles(p, host, block.rows, block.columns, threads), least = cost;
    for (std::int64_t rows = 48; rows <= std::min<std::int64_t>(512, p.rows); rows += 8)
      for (std::int64_t columns = 16; columns <= std::min<std::int64_t>(1024, p.columns);
           columns += 16)
        least = std::min(least, product_cycles(p, host, rows, columns, threads));
    EXPECT_LE(cost, 1.05 * least) << p.rows << " x " << p.columns << " x " << p.depth << ", "
                                  << threads << " threads: " << block.rows << " x "
                                  << block.columns;
  }
}

// Blocks that are packed are cut between registers of sums, where columns are no whole number of
// equal blocks and too many for one.
TEST(ProductCost, CutsColumnsWhereRegistersEnd) {
  const dsl::Target tiles = dsl::target_named("amx");
  for (int threads : {1, 2, 4, 8}) {
    for (std::int64_t prime : {67, 71, 73, 79, 83, 89, 97}) {
      ProductExtent p{1, 2048, 16 * prime, 1024, 4, 4};
      EXPECT_EQ(cheapest_product_block(p, host, threads).columns % (3 * host.lanes), 0) << prime;
    }
    for (std::int64_t prime : {131, 137, 139, 149, 151}) {
      ProductExtent p{1, 2048, 16 * prime, 1024, 2, 2};
      std::int64_t columns = cheapest_product_block(p, tiles, threads).columns;
      EXPECT_EQ(columns % dsl::PackedProduct::tiled_columns, 0) << prime << ": " << columns;
    }
  }
}

// A block by tiles is multiplied and stored a chunk of columns at a time: whole panels, where its
// right operand is packed already.
TEST(ProductCost, StoresChunksOfWholePanels) {
  const dsl::Target tiles = dsl::target_named("amx");
  const std::int64_t whole = dsl::PackedProduct::tiled_columns, half = whole / 2;
  ProductExtent p{1, 128, 8 * whole, 256, 2, 2};
  auto chunk = [&](std::int64_t panel, std::int64_t columns) {
    p.panel_width = panel;
    return tiled_chunk(p, tiles, 128, columns);
  };
  EXPECT_EQ(chunk(0, 4 * whole), whole);
  EXPECT_EQ(chunk(0, whole), half);
  EXPECT_EQ(chunk(half, 4 * whole), whole);
  EXPECT_EQ(chunk(2 * whole, 4 * whole), 0);
  EXPECT_EQ(tiled_chunk(p, host, 128, 4 * whole), 0);
}

// A single row is no product that is packed, and all threads read its weights.
// Rows of i8 that are interleaved in registers of 64 columns: blocks end with a register, also
// where the matrix does not.
TEST(ProductCost, CutsFewRowsWhereInterleavedColumnsEnd) {
  for (std::int64_t columns : {73, 1024, 8210})
    for (std::int64_t rows : {1, 20, 47})
      for (int threads : {1, 2, 8}) {
        ProductExtent p{1, rows, columns, 1024, 1, 1};
        p.column_quantum = 64;
        EXPECT_EQ(cheapest_product_block(p, host, threads).columns % 64, 0)
            << columns << " columns, " << rows << " rows, " << threads << " threads";
      }
}

TEST(ProductCost, CutsTheColumnsOfFewRowsForAllThreads) {
  for (std::int64_t rows : {1, 8}) {
    ProductExtent p{1, rows, 4096, 4096, 4, 4};
    ProductBlock block = cheapest_product_block(p, host, 8);
    EXPECT_EQ(block.rows, rows);
    EXPECT_LE(block.columns, p.columns / 8);
  }
}

}  // namespace
}  // namespace tilewright::graph::product_cost_test
