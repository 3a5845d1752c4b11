// Which tasks become one region, for the patterns that fusion is there for.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/regions/fuse.h"
#include "graph/run/plan.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::regions_test {
namespace {

using Tensors = std::vector<Tensor>;

std::size_t regions_of(const Graph& graph) { return fuse_tasks(make_tasks(graph), true).size(); }

std::vector<FusedRegion> fused(const Graph& graph) { return fuse_tasks(make_tasks(graph), true); }

TEST(Regions, SoftmaxIsOne) {
  Graph graph = captured({{64, 100}}, [](Tensors& x) { return Tensors{softmax(x[0], -1)}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, SoftmaxAlongAnInnerAxisIsOne) {
  Graph graph = captured({{4, 30, 7}}, [](Tensors& x) { return Tensors{softmax(x[0], 1)}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, ResidualAndRmsNormAreOneThatStoresBoth) {
  Graph graph = captured({{64, 96}, {64, 96}, {96}}, [](Tensors& x) {
    Tensor h = x[0] + x[1];
    return Tensors{h, rms_norm(h, x[2])};
  });
  auto regions = fused(graph);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(std::count(regions[0].region.stored.begin(), regions[0].region.stored.end(), true), 2);
}

TEST(Regions, LayerNormIsOne) {
  Graph graph = captured({{64, 96}, {96}, {96}},
                         [](Tensors& x) { return Tensors{layer_norm(x[0], x[1], x[2])}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, GeluAndBiasAreOne) {
  Graph graph = captured({{64, 96}, {96}}, [](Tensors& x) { return Tensors{gelu(x[0] + x[1])}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, LinearWithBiasAndReluIsOne) {
  Graph graph = captured({{300, 512}, {1024, 512}, {1024}},
                         [](Tensors& x) { return Tensors{relu(linear(x[0], x[1], x[2]))}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, ANormJoinsTheLargeProductThatReadsIt) {
  Graph graph = captured({{8, 512}, {512}, {1024, 512}},
                         [](Tensors& x) { return Tensors{linear(rms_norm(x[0], x[1]), x[2])}; });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, GatedProductsOfOneOperandAreOne) {
  Graph graph = captured({{8, 512}, {1024, 512}, {1024, 512}}, [](Tensors& x) {
    return Tensors{silu(linear(x[0], x[1])) * linear(x[0], x[2])};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, AChainOfSmallProductsIsOne) {
  Graph graph = captured({{10, 10}, {10, 10}, {10}, {10, 10}, {10}}, [](Tensors& x) {
    Tensor hidden = sigmoid(relu(linear(x[0], x[1], x[2])));
    return Tensors{relu(linear(hidden, x[3], x[4]))};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, AProductOfLargeWeightsDoesNotWaitInOneProgramForAnother) {
  Graph graph = captured({{1, 512}, {2048, 512}, {512, 2048}}, [](Tensors& x) {
    return Tensors{linear(relu(linear(x[0], x[1])), x[2])};
  });
  EXPECT_EQ(regions_of(graph), 2u);
}

TEST(Regions, AttentionIsOne) {
  Graph graph = captured({{1, 8, 16, 32}, {1, 2, 16, 32}, {1, 2, 16, 32}}, [](Tensors& x) {
    AttentionOptions options;
    options.causal = true;
    return Tensors{scaled_dot_product_attention(x[0], x[1], x[2], options)};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

// A value that goes into a region and, through a reduction over rows, into it again.
TEST(Regions, StayConvex) {
  Graph graph = captured({{32, 48}}, [](Tensors& x) {
    Tensor e = exp(x[0]);
    Tensor total = sum(e, {0, 1}, true);
    return Tensors{e / total};
  });
  std::vector<FusedRegion> regions = fused(graph);
  std::vector<std::size_t> region_of(64);
  TaskList list = make_tasks(graph);
  for (std::size_t r = 0; r < regions.size(); ++r)
    for (TaskId task : regions[r].region.tasks) region_of[task] = r;
  for (TaskId id = 0; id < list.tasks.size(); ++id)
    for (TaskId before : list.tasks[id].after) EXPECT_LE(region_of[before], region_of[id]);
}

TEST(Regions, SiblingsThatReadTheSameValuesAreOne) {
  Graph graph = captured({{64, 96}, {64, 96}}, [](Tensors& x) {
    return Tensors{x[0] * x[1], x[0] + x[1]};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

// Queries and keys of several heads that are turned by one table, [rows, 4]. With 4 rows, or one,
// the tables of both can be seen as equally long, but in other orders.
TEST(Regions, SiblingsThatReadTheSameValuesInOtherRowsStayApart) {
  for (std::int64_t rows : {1, 4, 5}) {
    Graph graph = captured({{8, rows, 4}, {4, rows, 4}, {rows, 4}}, [](Tensors& x) {
      return Tensors{x[0] * x[2], x[1] * x[2]};
    });
    EXPECT_EQ(regions_of(graph), 2u) << rows;
  }
}

// As they do where one is a step of an optimizer: but a reduction is no such step.
TEST(Regions, AReductionAndAStepThatShareANumberAreOne) {
  Graph graph = captured({{64, 96}, {64}, {1}}, [](Tensors& x) {
    return Tensors{sum(x[0] * x[2], {1}), x[1] * x[2]};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

TEST(Regions, PartsOfACatAreWrittenInPlaceByTheirProducers) {
  // Rotary embedding, half by half.
  Graph graph = captured({{2, 5, 4, 16}, {5, 8}, {5, 8}}, [](Tensors& x) {
    Tensor q = x[0].transpose(1, 2);  // [2, 4, 5, 16]
    Tensor a = q.slice(3, 0, 8), b = q.slice(3, 8, 16);
    return Tensors{cat({a * x[1] - b * x[2], b * x[1] + a * x[2]}, 3)};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

// The first step varies along axes that the second has joined.
TEST(Regions, ElementsUnderAnotherShapeKeepTheirRowsAsLongAsTheyCanBe) {
  Graph graph = captured({{40, 2, 16}, {1, 2, 1}, {20, 1}}, [](Tensors& x) {
    return Tensors{(x[0] + x[1]).reshape({20, 64}) * x[2]};
  });
  auto regions = fused(graph);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].region.width, 16);
}

// Places of a block before the windows that they are of, as a transposed convolution has them.
TEST(Regions, ElementsInAnotherOrderKeepTheRunsThatBothOrdersHave) {
  Graph graph = captured({{9, 5, 2, 3, 32}, {32}}, [](Tensors& x) {
    Tensor moved = (x[0] + x[1]).permute({0, 2, 1, 3, 4}).reshape({18, 15, 32});
    return Tensors{cat({x[0].reshape({18, 15, 32}), moved}, 2)};
  });
  for (const FusedRegion& fused : fused(graph)) EXPECT_EQ(fused.region.width, 32);
}

TEST(IndexMaps, OfPermutationsHaveInverses) {
  const Shape shape = {3, 4, 2, 5};
  std::vector<int> order = {0, 1, 2, 3};
  do {
    StridedView view;
    const Strides strides = row_major_strides(shape);
    for (int axis : order) {
      view.shape.push_back(shape[axis]);
      view.strides.push_back(strides[axis]);
    }
    const IndexMap map = index_map(view);
    const auto back = inverse(map);
    ASSERT_TRUE(back);
    for (std::int64_t i = 0; i < map.size(); ++i) EXPECT_EQ((*back)(map(i)), i);
  } while (std::ranges::next_permutation(order).found);
  EXPECT_FALSE(inverse(IndexMap({{3, 1}, {4, 0}})));  // reads elements several times
  EXPECT_FALSE(inverse(IndexMap({{3, 1}, {4, 5}})));  // and leaves some out
  EXPECT_TRUE(inverse(IndexMap()));
}

TEST(Regions, TransposedReadersReadMemory) {
  Graph graph = captured({{30, 40}}, [](Tensors& x) {
    Tensor e = exp(x[0]);
    return Tensors{softmax(e, 1), softmax(e, 0)};
  });
  EXPECT_EQ(regions_of(graph), 2u);
}

// Even if everything could be one: compiled code must not grow without bound.
TEST(Regions, HaveAtMost96Tasks) {
  for (int steps : {90, 100}) {
    Graph graph = captured({{64, 64}}, [=](Tensors& x) {
      Tensor h = x[0];
      for (int i = 0; i < steps; ++i) h = i % 3 == 0 ? sin(h) : i % 3 == 1 ? exp(h) : abs(h);
      return Tensors{h};
    });
    std::size_t most = 0;
    std::vector<FusedRegion> regions = fused(graph);
    for (const FusedRegion& one : regions) most = std::max(most, one.region.tasks.size());
    EXPECT_EQ(regions.size(), steps <= 96 ? 1U : 2U) << steps;
    EXPECT_LE(most, 96U) << steps;
  }
}

TEST(Regions, ARowOfEqualSmallStepsIsNotCutIntoLayers) {
  Graph graph = captured({{64, 64}}, [](Tensors& x) {
    Tensor h = x[0];
    for (int i = 0; i < 20; ++i) h = sin(h);
    return Tensors{h};
  });
  EXPECT_EQ(regions_of(graph), 1u);
}

// The copy of the table reads what the rows are made of, so that one region would save a read. But
// rows are written in any order: one of the copy could be stored over what was written there.
TEST(Regions, ACopyIsMadeBeforeRowsAreWrittenOverIt) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId table = builder.input(f32, {8, 16}), at = builder.input(i64, {8});
  NodeId doubled = builder.append(Op::add, {table, table});
  graph.outputs = {
      builder.append(Op::index_copy, {table, at, doubled}, {.axes = {0}, .sizes = {}})};
  TaskList list = make_tasks(graph);
  for (const FusedRegion& fused : fuse_tasks(list, true)) {
    std::vector<StorageId> written;
    for (TaskId id : fused.region.tasks) written.push_back(list.tasks[id].storage);
    std::ranges::sort(written);
    EXPECT_EQ(std::ranges::adjacent_find(written), written.end());
  }
}

TEST(Regions, AreTheSameAtEveryRun) {
  auto make = [] {
    return captured({{64, 96}, {96, 96}}, [](Tensors& x) {
      Tensor h = softmax(linear(x[0], x[1]), -1);
      return Tensors{h + x[0], sum(h, {0}), exp(h)};
    });
  };
  std::vector<FusedRegion> a = fused(make()), b = fused(make());
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].region.tasks, b[i].region.tasks);
}

}  // namespace
}  // namespace tilewright::graph::regions_test
