// The blocks that lowerings choose for regions, on hosts and GPUs by name.
#include <gtest/gtest.h>

#include "dsl/target/packed_product.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/lower/block_sizes.h"
#include "graph/lower/lowering.h"
#include "graph/regions/fuse.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::chosen_blocks_test {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(Tensors&)>;

// A function that is one region.
struct Example {
  Example(const std::vector<Shape>& shapes, const Function& function)
      : list(make_tasks(captured(shapes, function))) {
    std::vector<FusedRegion> regions = fuse_tasks(list, true);
    EXPECT_EQ(regions.size(), 1U);
    region = regions[0].region;
  }
  RowBlocks rows_on(const char* target) const {
    return choose_blocks(list, region, dsl::target_named(target), {});
  }
  LoweredRegion lowered_for(const char* target) const {
    return lower(list, region, dsl::target_named(target));
  }

  TaskList list;
  Region region;
};

Example attention(const Shape& q, std::int64_t keys) {
  const Shape k{q[0], q[1], keys, q[3]};
  return {{q, k, k},
          [](Tensors& x) { return Tensors{scaled_dot_product_attention(x[0], x[1], x[2])}; }};
}

// A host has the scores of a row beside it in a cache: many keys at a time, and whole blocks.
TEST(ChosenBlocks, OfAHostsAttentionAreOfManyKeys) {
  for (auto [keys, columns] : {std::pair{4096, 512}, {1200, 400}, {300, 300}}) {
    const BlockSizes blocks = attention({1, 2, 1, 64}, keys).lowered_for("avx512").blocks;
    EXPECT_EQ(blocks.rows, 1);
    EXPECT_EQ(blocks.columns, columns);
  }
}

// Programs share the keys of a row where there are fewer rows than multiprocessors.
TEST(ChosenBlocks, OfAttentionShareKeysWhereAMultiprocessorWouldBeIdle) {
  const int all = dsl::target_named("sm_90a").gpu().multiprocessors;
  auto blocks = [](std::int64_t rows) {
    return attention({1, rows, 1, 64}, 4096).lowered_for("sm_90a").blocks;
  };
  EXPECT_EQ(blocks(all - 1).splits, 2);
  EXPECT_LE(blocks(all).splits, 1);
}

// All programs reduce the row before they multiply it: fewer of them, with more of the weights.
TEST(ChosenBlocks, OfARowThatIsReducedFirstHaveMoreOfTheWeights) {
  auto elements = [](bool reduces) {
    Example one({{1, 2048}, {2048}, {2048, 2048}}, [=](Tensors& x) {
      return Tensors{linear(reduces ? rms_norm(x[0], x[1]) : x[0] * x[1], x[2])};
    });
    const RowBlocks blocks = one.rows_on("sm_90a");
    EXPECT_TRUE(blocks.sums_elements);
    return blocks.columns * blocks.depth;
  };
  EXPECT_EQ(elements(true), 2 * elements(false));
}

// Rows of two widths, written in place: the wide one is gone through in chunks, and what is reduced
// is stored nowhere.
TEST(ChosenBlocks, OfLongRowsInPlaceAreChunks) {
  Capture capture;
  Tensor x = capture.placeholder(f32, {512, 65'536});
  x.copy_from(softmax(x, -1));
  const TaskList list = make_tasks(run_passes(capture.finish({}).graph));
  const Region region = fuse_tasks(list, true)[0].region;
  ASSERT_TRUE(region.is_in_place);
  EXPECT_EQ(choose_blocks(list, region, dsl::target_named("sm_80"), {}).chunk, 8 << 10);
}

// A product reads whole rows: chunks of columns after the first would read what is overwritten.
TEST(ChosenBlocks, OfProductsInPlaceAreNoChunks) {
  for (bool writes : {false, true}) {
    Capture capture;
    Tensor x = capture.placeholder(f32, {2, 64}), w = capture.placeholder(f32, {64, 64});
    Tensor product = sin(matmul(x, w));
    if (writes) x.copy_from(product);
    const TaskList list =
        make_tasks(run_passes(capture.finish(writes ? Tensors{} : Tensors{product}).graph));
    const Region region = fuse_tasks(list, true)[0].region;
    ASSERT_EQ(region.is_in_place, writes);
    BlockSizes asked;
    asked.chunk = 32;
    const RowBlocks blocks = choose_blocks(list, region, dsl::target_named("sm_80"), asked);
    EXPECT_EQ(blocks.chunk, writes ? 0 : 32);
  }
}

// Where any number of rows may come, a program has place for the most of a class of numbers, and
// whole blocks of accumulators where they are packed.
TEST(ChosenBlocks, ForAnyRowsHavePlaceForTheMostOfAClass) {
  using dsl::PackedProduct;
  auto place = [](std::int64_t rows) {
    Example one({{rows, 512}, {1024, 512}}, [](Tensors& x) { return Tensors{linear(x[0], x[1])}; });
    one.region.sizes_vary = true;
    const RowBlocks blocks = one.rows_on("avx512");
    EXPECT_TRUE(blocks.takes_rows);
    return blocks.rows;
  };
  EXPECT_EQ(place(5), 16);
  EXPECT_EQ(place(20), PackedProduct::least_rows - 1);
  EXPECT_EQ(place(200) % PackedProduct::whole_blocks(dsl::target_named("avx512"), 1), 0);
}

// Blocks of a product in memory are ranked by what they cost; nothing is known of one whose weights
// are computed.
TEST(ChosenBlocks, OfProductsInMemoryAreRankedByTheirCost) {
  for (bool computes : {false, true}) {
    Example one({{1, 64}, {96, 64}, {96, 64}},
                [=](Tensors& x) { return Tensors{linear(x[0], computes ? x[1] * x[2] : x[1])}; });
    auto work = lowering_of(one.list, one.region).work;
    const RegionWork on_host = work(one.list, one.region, dsl::target_named("avx512"));
    EXPECT_TRUE(on_host.has_product && on_host.cuts_columns);
    EXPECT_EQ(on_host.host_product.has_value(), !computes);
    EXPECT_FALSE(work(one.list, one.region, dsl::target_named("sm_80")).host_product);
  }
}

// 14 rows of 16 windows, which see 16 rows in two copies: half a megabyte, and two blocks in all.
TEST(ChosenBlocks, OfAConvolutionFillTheirShareOfTheCache) {
  const Example one({{1, 256, 30, 17}, {32, 256, 3, 2}},
                    [](Tensors& x) { return Tensors{conv2d(x[0], x[1], {})}; });
  std::int64_t blocks = 0;
  for (const LoweredProgram& program : one.lowered_for("avx512").programs)
    if (program.function.name == "convolution") blocks += program.grid.size[0];
  EXPECT_EQ(blocks, 2);
}

}  // namespace
}  // namespace tilewright::graph::chosen_blocks_test
