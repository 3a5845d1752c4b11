// Options::saved_share and Options::memory_limit: gradients are the same bits whatever is computed
// again for them, and memory never grows when less is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"
#include "tests/graph/saving/step_programs.h"

namespace tilewright::saved_share_test {
namespace {

using testing_doubles::values;
using testing_steps::StepProgram;
using testing_steps::Tensors;

struct Compiled {
  Tensors results;
  PlanReport report;
  std::string text;
};
Compiled compiled_with(const StepProgram& program, const Options& options) {
  auto step = compile(program.gradients(), options);
  Tensors results = step(program.data);
  return {std::move(results), step.report()[0], step.explain()};
}
using Make = StepProgram (*)();

void expect_same_bits(const Tensors& got, const Tensors& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(values(got[i]), values(wanted[i])) << what << ", result " << i;
}

TEST(SavedShare, GradientsAreTheSameBits) {
  for (Make make :
       {testing_steps::mlp, testing_steps::cnn, testing_steps::gpt, testing_steps::lstm}) {
    const Compiled all = compiled_with(make(), {.fullgraph = true});
    EXPECT_TRUE(all.report.saving.again.empty());
    for (double share : {0.7, 0.3, 0.0}) {
      const Compiled some = compiled_with(make(), {.fullgraph = true, .saved_share = share});
      expect_same_bits(some.results, all.results, concat(make().name, " at ", share));
    }
  }
}

TEST(SavedShare, SmallerOnesNeverTakeMoreMemory) {
  for (Make make : {testing_steps::mlp, testing_steps::cnn, testing_steps::gpt}) {
    const StepProgram program = make();
    std::int64_t memory = 0, saved = 0, first = 0;
    for (int tenth : {10, 9, 7, 5, 3, 1, 0}) {
      auto step = compile(program.gradients(), {.fullgraph = true, .saved_share = tenth / 10.0});
      const std::int64_t now = step.memory(program.data).peak;
      const SavingReport saving = step.report()[0].saving;
      if (tenth == 10) first = now;
      if (tenth == 10) memory = now;
      if (tenth >= 9) saved = saving.saved_bytes;  // there is no report where all is kept
      EXPECT_LE(now, memory) << program.name << " at " << tenth;
      EXPECT_LE(saving.saved_bytes, saved) << program.name << " at " << tenth;
      memory = now;
      saved = saving.saved_bytes;
    }
    if (program.name == "gpt") {
      EXPECT_LT(4 * memory, 3 * first);
    }
  }
}

TEST(SavedShare, KeepsToTheShareWhereThatFreesMemory) {
  const Compiled half =
      compiled_with(testing_steps::gpt(), {.fullgraph = true, .saved_share = 0.5});
  const SavingReport& saving = half.report.saving;
  EXPECT_GT(saving.bytes_of_all, 0);
  EXPECT_LE(2 * saving.saved_bytes, saving.bytes_of_all);
  EXPECT_FALSE(saving.again.empty());
  std::int64_t sum = 0;
  for (const SavedValue& value : saving.saved) sum += value.bytes;
  EXPECT_EQ(sum, saving.saved_bytes);
  expect_contains(half.text, concat("  gradients keep ", saving.saved.size(), " values, ",
                                    saving.saved_bytes, " B of ", saving.bytes_of_all, " B:\n"));
  expect_contains(half.text, concat("  and have computed again ", saving.again.size(), " values"));
  expect_contains(half.text, "step_programs.cpp:");
}

TEST(SavedShare, CheckpointsHold) {
  const auto layer = checkpoint(
      [](const Tensor& x, const Tensor& weight) { return tanh(matmul(x, weight)) * 1.5; });
  StepProgram program = testing_steps::mlp();
  program.loss = [layer](const Tensors& each, const Tensors& given) {
    Tensor h = given[0];
    for (std::size_t i = 0; i + 1 < each.size(); ++i) h = layer(h, each[i]);
    return mean(square(matmul(h, each.back()) - given[1]));
  };
  const Compiled all = compiled_with(program, {.fullgraph = true});
  const Compiled none = compiled_with(program, {.fullgraph = true, .saved_share = 0});
  expect_same_bits(none.results, all.results, "with checkpoints");
  expect_contains(none.text, "region checkpoint: called 3 times");
}

TEST(MemoryLimit, IsKeptOrNamesTheLeast) {
  const StepProgram program = testing_steps::gpt();
  const auto memory_with = [&](const Options& options) {
    return compile(program.gradients(), options).memory(program.data).peak;
  };
  const std::int64_t most = memory_with({.fullgraph = true});
  const std::int64_t least = memory_with({.fullgraph = true, .saved_share = 0});
  ASSERT_LT(least, most);
  for (std::int64_t limit : {most, (most + least) / 2, least}) {
    const std::int64_t memory = memory_with({.fullgraph = true, .memory_limit = limit});
    EXPECT_LE(memory, limit);
    EXPECT_GE(memory, least);
  }
  EXPECT_EQ(memory_with({.fullgraph = true, .memory_limit = most}), most);
  expect_contains(
      error_of([&] { memory_with({.fullgraph = true, .memory_limit = least - 1}); }),
      concat("[compile] memory_limit is ", least - 1,
             " bytes, but results and intermediate values take at least ", least, " bytes"));
}

TEST(SavedShare, GradientsInBodiesKeepAllAndSaySo) {
  const auto turn = [](const Tensors& s, const Tensors&) -> Turn {
    return {{s[0] - grad([](const Tensor& x) { return sum(tanh(x)); })(s[0])}, {}};
  };
  auto step = compile([&](const Tensor& x) { return scan(turn, {x}, {}, {.turns = 2}).first[0]; },
                      {.tell_unkept = false, .saved_share = 0.5});
  step(zeros({8}, f32));
  expect_contains(step.explain(),
                  "Options::saved_share does not hold: gradients inside of branches");
}

TEST(SavedShare, MisuseIsAnError) {
  const auto step = [](const Tensor& x) { return x; };
  expect_contains(error_of([&] { compile(step, {.saved_share = 1.5}); }),
                  "[compile] saved_share is 1.5; it must be from 0");
  expect_contains(error_of([&] { compile(step, {.memory_limit = -1}); }),
                  "[compile] memory_limit is -1 bytes; it must be positive");
}

}  // namespace
}  // namespace tilewright::saved_share_test
