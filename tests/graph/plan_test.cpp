// Plans run by hand: outputs that are inputs, strides, empty tensors, repeated programs.
#include "graph/run/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/plan/recording.h"
#include "tests/graph/buffers.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::plan_test {
namespace {

using namespace testing_buffers;

using Tensors = std::vector<Tensor>;

TEST(Plan, ReturnsARowMajorBufferAnOutput) {
  Graph graph = captured({{2, 3}}, [](Tensors& x) {
    return Tensors{x[0] + 1, x[0].transpose(0, 1)};
  });
  auto plan = make_plan(graph);
  std::vector<float> x = counting(6);
  void* inputs[] = {x.data()};
  auto outputs = plan->run(inputs);
  EXPECT_EQ(elements<float>(*outputs[0], 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(elements<float>(*outputs[1], 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Plan, NamesTheInputThatAnOutputIs) {
  Graph graph = captured({{4}}, [](Tensors& x) { return Tensors{x[0], exp(x[0])}; });
  auto plan = make_plan(graph);
  EXPECT_EQ(plan->outputs()[0].input, 0);
  EXPECT_EQ(plan->outputs()[1].input, std::nullopt);
}

TEST(Plan, ReadsInputsThroughTheirStrides) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {2, 3}, {1, 2});
  graph.outputs = {builder.append(Op::neg, {x})};
  auto plan = make_plan(graph);
  std::vector<float> memory = {0, 3, 1, 4, 2, 5};
  void* inputs[] = {memory.data()};
  EXPECT_EQ(elements<float>(*plan->run(inputs)[0], 6),
            (std::vector<float>{-0.0F, -1, -2, -3, -4, -5}));
}

TEST(Plan, HandlesTensorsWithoutElements) {
  Graph graph = captured({{0, 3}, {2, 0}, {0, 4}}, [](Tensors& x) {
    return Tensors{exp(x[0]), sum(x[0], {0}), matmul(x[1], x[2]), cat({x[0], x[0] + 1}, 0)};
  });
  auto plan = make_plan(graph);
  float nothing = 0;
  void* inputs[] = {&nothing, &nothing, &nothing};
  auto outputs = plan->run(inputs);
  EXPECT_EQ(elements<float>(*outputs[1], 3), std::vector<float>(3, 0));
  EXPECT_EQ(elements<float>(*outputs[2], 8), std::vector<float>(8, 0));
}

TEST(Plan, SharesArenaBytesAmongValuesThatAreNotNeededTogether) {
  Graph graph = captured({{64, 64}}, [](Tensors& x) {
    Tensor h = x[0];
    for (int i = 0; i < 8; ++i) h = softmax(h.transpose(0, 1), -1);
    return Tensors{h};
  });
  auto plan = make_plan(graph, {.fuse = false});
  EXPECT_LE(plan->arena_bytes(), 5 * 64 * 64 * 4);
}

TEST(Plan, SumsManyElementsToOneInParts) {
  Graph graph = captured({{600, 500}}, [](Tensors& x) { return Tensors{sum(x[0], {0, 1})}; });
  auto plan = make_plan(graph);
  std::vector<float> ones(300'000, 1);
  void* inputs[] = {ones.data()};
  EXPECT_EQ(elements<float>(*plan->run(inputs)[0], 1)[0], 300'000);
  EXPECT_EQ(plan->launches(), 2);
}

// Programs that share an inner axis hand on what they have in the arena.
// Beyond the inner axis weights are read as 0, whose reciprocals are infinite.
TEST(Plan, WeightsThatAreComputedEndWithTheInnerAxis) {
  for (std::int64_t depth : {97, 100, 130, 515})
    for (bool is_turned : {false, true})
      for (const Device& device : {Device::cpu(), Device::emulated("sm_80")}) {
        Graph graph = captured({{3, depth}, is_turned ? Shape{40, depth} : Shape{depth, 40}},
                               [=](Tensors& x) {
                                 Tensor w = reciprocal(x[1]);
                                 return Tensors{matmul(x[0], is_turned ? w.transpose(0, 1) : w)};
                               });
        auto plan = make_plan(graph, {.device = device});
        std::vector<float> ones(static_cast<std::size_t>(3 * depth), 1),
            fours(static_cast<std::size_t>(40 * depth), 4);
        void* inputs[] = {ones.data(), fours.data()};
        EXPECT_EQ(elements<float>(*plan->run(inputs)[0], 120),
                  std::vector<float>(120, static_cast<float>(depth) / 4))
            << depth << ", " << device.text() << (is_turned ? ", turned" : "");
      }
}

TEST(Plan, ProgramsThatShareAnInnerAxisComputeTheSame) {
  Graph graph = captured({{6, 100}, {9, 100}, {1, 2, 5, 8}, {1, 2, 30, 8}}, [](Tensors& x) {
    return Tensors{relu(linear(x[0], x[1])), scaled_dot_product_attention(x[2], x[3], x[3])};
  });
  std::vector<std::vector<float>> memory;
  std::vector<void*> inputs;
  for (std::size_t count : {600, 900, 80, 480}) {
    memory.push_back(counting(count));
    for (float& x : memory.back()) x = std::sin(x);
  }
  for (auto& x : memory) inputs.push_back(x.data());
  auto one = make_plan(graph), several = make_plan(graph, {.blocks = {.splits = 3}});
  EXPECT_EQ(one->launches(), 2);
  EXPECT_EQ(several->launches(), 4);
  EXPECT_GT(several->arena_bytes(), 0);
  auto expected = one->run(inputs), actual = several->run(inputs);
  for (std::size_t i : {0, 1}) {
    std::size_t count = i == 0 ? 54 : 80;
    for (std::size_t k = 0; k < count; ++k)
      // Sums of other order, of up to 50: a few units in the last place.
      EXPECT_NEAR(elements<float>(*actual[i], count)[k], elements<float>(*expected[i], count)[k],
                  5e-5);
  }
  Recording recording(several->executable());
  EXPECT_EQ(elements<float>(*recording.run(inputs)[0], 54), elements<float>(*actual[0], 54));
}

// Rows that two blocks have belong to one of them, and what all columns have in common is no
// block's own.
TEST(Plan, ProgramsThatShareAnInnerAxisMayRunInAnyOrder) {
  Graph graph = captured({{1, 33}, {33, 1}, {1, 33}, {1, 2, 5, 8}, {1, 2, 13, 8}}, [](Tensors& x) {
    Tensor attended = scaled_dot_product_attention(
        x[3], x[4], x[4], {.causal = true, .alignment = CausalAlignment::bottom_right});
    return Tensors{matmul(x[0], x[1]) + x[2], attended};
  });
  std::vector<std::vector<float>> memory;
  std::vector<void*> inputs;
  for (std::size_t count : {33, 33, 33, 80, 208}) {
    memory.push_back(counting(count));
    for (float& x : memory.back()) x = std::sin(x);
  }
  for (auto& x : memory) inputs.push_back(x.data());
  PlanOptions options{.interpret = true};
  auto expected = make_plan(graph, options)->run(inputs);
  options.blocks = {.rows = 2, .columns = 2, .splits = 2};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options.shuffle_interpreted = seed;
    auto actual = make_plan(graph, options)->run(inputs);
    for (std::size_t i : {0, 1}) {
      std::size_t count = i == 0 ? 33 : 80;
      for (std::size_t k = 0; k < count; ++k)
        ASSERT_NEAR(elements<float>(*actual[i], count)[k], elements<float>(*expected[i], count)[k],
                    1e-5)
            << "output " << i << ", element " << k << ", order " << seed;
    }
  }
}

TEST(Recording, FollowsTheAddressesOfItsInputsAndKeepsItsOutputs) {
  Graph graph = captured(
      {{8}, {8}}, [](Tensors& x) { return Tensors{x[0].reshape({8}) * 2 + sum(x[1], {0}, true)}; });
  auto plan = make_plan(graph);
  Recording recording(plan->executable());
  std::vector<float> a = counting(8), b(8, 1), c = counting(8, 10);
  void* first[] = {a.data(), b.data()};
  const Buffer* buffer = recording.run(first)[0].get();
  EXPECT_EQ(elements<float>(*buffer, 2), (std::vector<float>{8, 10}));
  void* second[] = {c.data(), b.data()};
  EXPECT_EQ(recording.run(second)[0].get(), buffer);
  EXPECT_EQ(elements<float>(*buffer, 2), (std::vector<float>{28, 30}));
  a[0] = 5;  // read by address at each call
  EXPECT_EQ(recording.run(first)[0].get(), buffer);
  EXPECT_EQ(elements<float>(*buffer, 1), (std::vector<float>{18}));
}

TEST(Plan, TunedPlansComputeTheSame) {
  Graph graph = captured({{64, 96}, {128, 96}}, [](Tensors& x) {
    return Tensors{softmax(x[0], -1), relu(linear(x[0], x[1]))};
  });
  std::vector<float> x(64 * 96), w(128 * 96);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  void* inputs[] = {x.data(), w.data()};
  auto plain = make_plan(graph)->run(inputs);
  for (std::int64_t splits : {0, 3}) {  // of one program, or of two
    auto tuned =
        make_plan(graph, {.blocks = {.splits = splits}, .tune = PlanTuning{}})->run(inputs);
    EXPECT_EQ(elements<float>(*plain[1], 64 * 128), elements<float>(*tuned[1], 64 * 128));
    for (std::size_t i = 0; i < 64 * 96; ++i)
      EXPECT_NEAR(elements<float>(*plain[0], 64 * 96)[i], elements<float>(*tuned[0], 64 * 96)[i],
                  1e-6);
  }
}

// A norm is computed in the product of few rows, for each block of columns; before that of many.
TEST(Plan, ANormIsComputedOnceForAProductOfManyRows) {
  for (std::int64_t rows : {8, 47, 48, 200}) {
    Graph graph = captured({{rows, 96}, {96}, {256, 96}}, [](std::vector<Tensor>& x) {
      return std::vector<Tensor>{linear(rms_norm(x[0], x[1]), x[2])};
    });
    auto plan = make_plan(graph, {.device = Device::cpu()});
    EXPECT_EQ(plan->programs().size(), rows < 48 ? 1U : 2U) << rows;
  }
}

}  // namespace
}  // namespace tilewright::graph::plan_test
