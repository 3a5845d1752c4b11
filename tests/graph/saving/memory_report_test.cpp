// The memory of a compiled function, known before its first call, against what the pool hands out.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "runtime/buffer.h"
#include "runtime/cpu/system_memory.h"
#include "tests/errors.h"
#include "tests/graph/saving/step_programs.h"

namespace tilewright::memory_report_test {
namespace {

using testing_steps::StepProgram;
using testing_steps::Tensors;

// The most that a call takes from the pool at once. Ballast makes its peak the process's greatest.
template <typename F>
std::int64_t measured(const F& call) {
  const PoolStatistics before = pool_statistics();
  const auto ballast = Buffer::allocate(before.peak_live_bytes - before.live_bytes + 64);
  const std::int64_t live = pool_statistics().live_bytes;
  call();
  return pool_statistics().peak_live_bytes - live;
}

std::int64_t bytes_of(const Tensors& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors)
    bytes += element_count(tensor.shape()) * size_bytes(tensor.dtype());
  return bytes;
}

bool is_on_host() { return default_device() == Device::cpu(); }

class MemoryReports : public testing::TestWithParam<Mode> {};

TEST_P(MemoryReports, AreWhatCallsTake) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has the pool that is looked at";
  for (const StepProgram& program : testing_steps::step_programs())
    for (const auto& step : {program.gradients(), program.descent()}) {
      auto compiled = compile(step, {.mode = GetParam(), .fullgraph = true});
      const MemoryReport memory = compiled.memory(program.data);
      EXPECT_EQ(compiled.report().size(), 1U);
      const std::int64_t first = measured([&] { compiled(program.data); });
      const std::int64_t second = measured([&] { compiled(program.data); });
      EXPECT_EQ(first, second) << program.name;
      if (GetParam() == Mode::default_) {
        EXPECT_EQ(first, memory.peak) << program.name;
      } else {  // a recording has its memory from the beginning, and only loops take more
        EXPECT_EQ(first, memory.loops > 0 ? block_size_for(memory.loops) : 0) << program.name;
      }
      EXPECT_EQ(compiled.report().size(), 1U);
      EXPECT_EQ(memory.arguments, bytes_of(program.data)) << program.name;
      EXPECT_GE(memory.captured, bytes_of(program.parameters)) << program.name;
      EXPECT_GE(memory.intermediate + memory.loops, 1) << program.name;
    }
}
INSTANTIATE_TEST_SUITE_P(Modes, MemoryReports,
                         testing::Values(Mode::default_, Mode::reduce_overhead));

TEST(MemoryReport, CountsResultsAndTheirCopies) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has the pool that is looked at";
  auto twice = compile(
      [](const Tensors& x) {
        const Tensor y = x[0] * 2;
        return Tensors{y, y.clone(), x[0].clone()};
      },
      {.fullgraph = true});
  const Tensors x = {zeros({1000}, f32)};
  const MemoryReport memory = twice.memory(x);
  EXPECT_EQ(memory.results, 4000);
  EXPECT_EQ(memory.copies, 8000);
  EXPECT_EQ(memory.peak, 3 * block_size_for(4000));
  EXPECT_EQ(measured([&] { twice(x); }), memory.peak);
}

TEST(MemoryReport, LoopsWithinLoopsTakeTheirMemoryAtOnce) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has the pool that is looked at";
  const auto inner = [](const Tensors& s, const Tensors&) -> Turn {
    return {{tanh(matmul(s[0], s[0])) + s[0]}, {}};
  };
  const auto outer = [&](const Tensors& s, const Tensors&) -> Turn {
    return {scan(inner, {s[0] * 0.5}, {}, {.turns = 3}).first, {}};
  };
  auto looped =
      compile([&](const Tensor& x) { return scan(outer, {x}, {}, {.turns = 2}).first[0] * 2; },
              {.fullgraph = true});
  const Tensor x = ones({40, 40}, f32);
  const MemoryReport memory = looped.memory(x);
  EXPECT_GE(memory.loops, 2 * 40 * 40 * 4);
  EXPECT_EQ(measured([&] { looped(x); }), memory.peak);
}

// The gradient of a table is no part of its update's program: each one is used when it is there.
TEST(MemoryReport, LargeGradientsDoNotWaitForTheLastOne) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has batches of less than such a gradient";
  constexpr std::int64_t rows = 4096, width = 128;
  Tensors tables;
  for (int i = 0; i < 4; ++i) tables.push_back(zeros({rows, width}, f32));
  auto step = compile(
      [&](const Tensor& ids) {
        const auto loss = [&](const Tensors& each) {
          Tensor h = embedding(ids, each[0]);
          for (const Tensor& table : each) h = tanh(h + embedding(ids, table));
          return sum(h);
        };
        auto [value, gradients] = value_and_grad(loss)(tables);
        for (std::size_t i = 0; i < tables.size(); ++i)
          tables[i].copy_from(tables[i] - gradients[i] * 0.1);
        return value;
      },
      {.fullgraph = true});
  const MemoryReport memory = step.memory(zeros({64}, i64));
  EXPECT_GE(memory.intermediate, rows * width * 4);
  EXPECT_LT(memory.intermediate, 2 * rows * width * 4);
}

TEST(MemoryReport, IsExplained) {
  const StepProgram program = testing_steps::mlp();
  auto compiled = compile(program.descent(), {.fullgraph = true});
  const std::int64_t peak = compiled.memory(program.data).peak;
  expect_contains(compiled.explain(), concat("  a call takes at most ", peak, " B ("));
}

TEST(MemoryReport, IsOfStructuresToo) {
  auto sums = compile([](const std::pair<Tensor, Tensor>& p, const Tensor& x) {
    return std::pair{p.first + x, p.second * x};
  });
  const Tensor x = zeros({32}, f32);
  const MemoryReport memory = sums.memory(std::pair{x, x}, x);
  EXPECT_EQ(memory.arguments, 3 * 32 * 4);
  EXPECT_EQ(memory.results, 2 * 32 * 4);
}

TEST(MemoryReport, MisuseIsAnError) {
  const Tensor x = zeros({4}, f32);
  auto eager = compile([](const Tensor& t) { return t + 1; }, {.backend = Backend::eager});
  expect_contains(error_of([&] { static_cast<void>(eager.memory(x)); }),
                  "[memory] the backend is eager, which plans nothing");
  auto breaks =
      compile([](const Tensor& t) { return t + t[0].item<float>(); }, {.tell_breaks = false});
  expect_contains(error_of([&] { static_cast<void>(breaks.memory(x)); }),
                  "[memory] the function runs in segments, since it breaks: item at ");
}

}  // namespace
}  // namespace tilewright::memory_report_test
