// Layers that repeat: stretches of equal tasks, and the program that each becomes.
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "graph/regions/repeats.h"
#include "graph/run/plan.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::repeats_test {
namespace {

using Tensors = std::vector<Tensor>;

TEST(Regions, LayersBecomeOneProgram) {
  constexpr int layers = 64;
  std::vector<Shape> shapes = {{10, 10}, {10, 10}, {10}};
  for (int i = 0; i < layers; ++i)
    for (const Shape& shape : {Shape{10, 10}, Shape{10}, Shape{10, 10}, Shape{10}})
      shapes.push_back(shape);
  Graph graph = captured(shapes, [](Tensors& x) {
    Tensor h = linear(x[0], x[1], x[2]);
    for (std::size_t at = 3; at < x.size(); at += 4) {
      h = sigmoid(relu(linear(h, x[at], x[at + 1])));
      h = relu(linear(h, x[at + 2], x[at + 3]));
    }
    return Tensors{h};
  });
  std::vector<Stretch> stretches = find_repeats(make_tasks(graph)).stretches;
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].turns(), layers);
  auto plan = make_plan(graph, {.interpret = true});
  ASSERT_EQ(plan->programs().size(), 2u);
  EXPECT_EQ(plan->programs()[1].instances, layers);
  EXPECT_EQ(plan->launches(), layers + 1);
}

// Behind a first layer of its own kind, layers of two products and of one, all as wide.
Graph two_stacks(int first, int second) {
  std::vector<Shape> shapes = {{10, 10}, {10, 10}, {10}};
  for (int i = 0; i < 2 * first + second; ++i) shapes.push_back({10, 10});
  return captured(shapes, [=](Tensors& x) {
    Tensor h = linear(x[0], x[1], x[2]);
    std::size_t at = 3;
    for (int i = 0; i < first; ++i, at += 2)
      h = relu(linear(sigmoid(relu(linear(h, x[at]))), x[at + 1]));
    for (int i = 0; i < second; ++i) h = tanh(exp(linear(h, x[at++])) + 1);
    return Tensors{h};
  });
}

TEST(Regions, EachOfTwoStacksOfLayersBecomesOneProgram) {
  Graph graph = two_stacks(16, 12);
  std::vector<Stretch> stretches = find_repeats(make_tasks(graph)).stretches;
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].turns(), 16u);
  EXPECT_EQ(stretches[1].turns(), 12u);
  EXPECT_NE(stretches[0].period, stretches[1].period);
  auto plan = make_plan(graph, {.interpret = true});
  ASSERT_EQ(plan->programs().size(), 3u);
  EXPECT_EQ(plan->programs()[1].instances, 16);
  EXPECT_EQ(plan->programs()[2].instances, 12);
}

// A list of tasks that differ by their kind alone: products are capitals.
TaskList list_of(const std::string& letters) {
  TaskList list;
  for (char letter : letters) {
    Task task{};
    task.kind = std::isupper(letter) ? TaskKind::contraction : TaskKind::pointwise;
    task.shape = {letter};
    list.tasks.push_back(task);
  }
  return list;
}
std::string repeats_in(const std::string& letters) {
  std::string text;
  for (const Stretch& s : find_repeats(list_of(letters)).stretches)
    text += letters.substr(s.begin, s.period) + "*" + std::to_string(s.turns()) + " ";
  return text;
}

TEST(Repeats, AreStretchesEachWithItsLeastPeriod) {
  EXPECT_EQ(repeats_in("Abc"), "");
  EXPECT_EQ(repeats_in("AbcAbcAbc"), "");  // too few to be layers
  EXPECT_EQ(repeats_in("xAbcAbcAbcAbcy"), "Abc*4 ");
  // The code that follows begins like another layer: no reason to see two layers as one.
  EXPECT_EQ(repeats_in("AbcAbcAbcAbcAbcAbcAbcAbcAb"), "Abc*8 ");
  EXPECT_EQ(repeats_in("AbcAbcAbcAbcAbczDeDeDeDeDeDe"), "Abc*5 De*6 ");
  EXPECT_EQ(repeats_in("DeDeDeDeAbcAbcAbcAbcDeDeDeDeDe"), "De*4 Abc*4 De*5 ");
  // The longest row, of small steps, hides no layers.
  EXPECT_EQ(repeats_in("AbcAbcAbcAbc" + std::string(40, 'x')), "Abc*4 ");
}

TEST(Repeats, CountTurnsThroughAllStretches) {
  Repeats repeats = find_repeats(list_of("xAbAbAbAbyyyCdeCdeCdeCde"));
  ASSERT_EQ(repeats.stretches.size(), 2u);
  EXPECT_EQ(repeats.turn(0), -1);
  EXPECT_EQ(repeats.turn(2), 0);
  EXPECT_EQ(repeats.turn(8), 3);
  EXPECT_EQ(repeats.turn(9), -1);
  EXPECT_EQ(repeats.turn(12), 4);
  EXPECT_EQ(repeats.turn(23), 7);
  EXPECT_EQ(repeats.period(0), 2u);
  EXPECT_EQ(repeats.period(10), 3u);
  EXPECT_EQ(repeats.period(23), 3u);
}

// The layers differ in nothing but how they read one weight: as it lies, or turned.
TEST(Repeats, AreOfTasksThatReadMemoryInOneOrder) {
  auto stretches_where = [](auto is_turned) {
    Graph graph = captured({{10, 10}, {10, 10}}, [=](Tensors& x) {
      Tensor h = x[0];
      for (int i = 0; i < 12; ++i) h = relu(matmul(h, is_turned(i) ? x[1].transpose(0, 1) : x[1]));
      return Tensors{h};
    });
    return find_repeats(make_tasks(graph)).stretches;
  };
  ASSERT_EQ(stretches_where([](int) { return true; }).size(), 1U);
  EXPECT_TRUE(stretches_where([](int i) { return i % 5 < 2; }).empty());
}

}  // namespace
}  // namespace tilewright::graph::repeats_test
