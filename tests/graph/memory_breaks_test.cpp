// A whole graph cannot hold writes to memory by several names, nor questions about where tensors
// lie. They break it; with fullgraph they are an Error that names the line.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "graph/compile/compile.h"
#include "graph/functions/dlpack.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::memory_breaks_test {
namespace {

using Tensors = std::vector<Tensor>;
// A function of an argument and a state, of 3 x 4 each.
using Function = std::function<Tensors(Tensor x, Tensor state)>;

struct Case {
  std::string name;
  Function function;
};

std::vector<Case> cases() {
  return {
      {"AWriteThatAnotherViewWasReadBefore",
       [](Tensor x, Tensor state) {
         Tensor before = state.select(0, 1) * 2;
         state.copy_from(state + x);
         return Tensors{before + state};
       }},
      {"AViewOfTheStateReadAfterItsWrite",
       [](Tensor x, Tensor state) {
         Tensor row = state.select(0, 1);
         state.copy_from(state + x);
         return Tensors{row * 2};
       }},
      {"AViewOfTheStateReturnedAfterItsWrite",
       [](Tensor x, Tensor state) {
         Tensor row = state.select(0, 1);
         state.copy_from(state + x);
         return Tensors{row};
       }},
      {"AWriteToTheStateByTwoViews",
       [](Tensor x, Tensor state) {
         state.slice(0, 0, 2).copy_from(x.slice(0, 0, 2) * 2);
         state.slice(0, 1, 3).copy_from(x.slice(0, 0, 2) * 3);
         return Tensors{x + 1};
       }},
      {"AWriteFromAViewOfItself",
       [](Tensor x, Tensor state) {
         state.select(0, 0).copy_from(state.slice(0, 0, 1).reshape({4}) + x.select(0, 1));
         state.copy_from(state.slice(0, 0, 1).expand({3, 4}));
         return Tensors{state * 1};
       }},
      {"Strides",
       [](Tensor x, Tensor state) {
         Tensor y = x + state;
         return Tensors{y * static_cast<double>(y.strides()[0])};
       }},
      {"ADevice",
       [](Tensor x, Tensor state) {
         Tensor y = x + state;
         return Tensors{y * (y.device() == state.device() ? 2 : 3)};
       }},
      {"AMoveToADevice",
       [](Tensor x, Tensor state) {
         Tensor y = x + state;
         return Tensors{y.to(state.device()) * 3};
       }},
      {"SharingByDLPack",
       [](Tensor x, Tensor state) {
         Tensor y = x + state;
         return Tensors{from_dlpack(to_dlpack(y)) * 3};
       }},
  };
}

class MemoryBreaks : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Functions, MemoryBreaks, testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

// The contents of the results, the argument and the state after each of some calls.
std::vector<std::vector<float>> values_of(const Function& function, const Options* options) {
  Tensor state = ramp({3, 4}).clone();
  auto call = [&](const Tensor& x) { return function(x, state); };
  std::optional<CompiledCall<Tensors>> compiled;
  if (options != nullptr) compiled = compile(call, *options);
  std::vector<std::vector<float>> values;
  for (int i = 1; i <= 3; ++i) {
    Tensor x = ramp({3, 4}, 0.1F * static_cast<float>(i)).clone();
    Tensors held = compiled ? (*compiled)(x) : call(x);
    held.push_back(x);
    held.push_back(state);
    for (const Tensor& tensor : held) values.push_back(tensor.to_vector<float>());
  }
  return values;
}

TEST_P(MemoryBreaks, AreAsOpByOp) {
  const auto wanted = values_of(GetParam().function, nullptr);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    const Options options{.mode = mode, .tell_breaks = false};
    const auto got = values_of(GetParam().function, &options);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].size(), wanted[i].size());
      for (std::size_t j = 0; j < got[i].size(); ++j)
        ASSERT_NEAR(got[i][j], wanted[i][j], 1e-4) << i << " " << j;
    }
  }
}

TEST_P(MemoryBreaks, AreAnErrorWithFullgraph) {
  const Options options{.fullgraph = true};
  const std::string said = error_of([&] { values_of(GetParam().function, &options); });
  expect_contains(said, "[compile] the function ");
  expect_contains(said, "which breaks the graph, but fullgraph was asked for; ");
  expect_contains(said, "memory_breaks_test.cpp:");
}

TEST_P(MemoryBreaks, AreInTheReport) {
  Tensor state = ramp({3, 4}).clone();
  auto fast = compile([&](const Tensor& x) { return GetParam().function(x, state); },
                      {.tell_breaks = false});
  fast(ramp({3, 4}).clone());
  EXPECT_FALSE(fast.report()[0].graph_break.empty());
}

// Views that operations take of their operands are none that somebody could write to.
TEST(MemoryInAGraph, OperandsThatAreViewedByOperationsMayBeWrittenLater) {
  const std::function<Tensor(const Tensor& x, const Tensor& state)> readers[] = {
      [](const Tensor& x, const Tensor& state) { return matmul(x, state.select(0, 0)); },
      [](const Tensor& x, const Tensor& state) { return matmul(state.select(0, 0), x); },
      [](const Tensor& x, const Tensor& state) { return sum(argmax(state)).to(DType::f32) + x; },
  };
  for (const auto& read : readers) {
    Tensor state = ramp({1, 4}, 0.5F).clone(), own = state.clone();
    auto step = [&](const Tensor& x, Tensor& to) {
      Tensor row = to.reshape({4});
      Tensor result = read(x, row.reshape({1, 4}));
      row.copy_from(row + 1);
      return result;
    };
    Tensor x = ramp({4, 4});
    Compiled fast =
        compile([&](const Tensor& in) { return step(in, state); }, {.tell_breaks = false});
    for (int call = 0; call < 3; ++call) {
      expect_near(fast(x), step(x, own));
      expect_near(state, own);
    }
  }
}

TEST(MemoryInAGraph, AVectorThatIsMultipliedMayBeWrittenInAWholeGraph) {
  Tensor state = ramp({4}, 0.5F).clone(), cube = ramp({2, 3, 4}).clone(), x = ramp({4, 4});
  Tensor point = full({}, 2).clone();
  auto step = [](const Tensor& in, Tensor& vector, Tensor& stack, Tensor& number) {
    Tensor result = matmul(in, vector) + matmul(vector, in) + matmul(vector, vector);
    result = result + sum(matmul(stack, in)) + argmax(stack).to(DType::f32) + softmax(number, 0);
    vector.copy_from(vector + 1);
    stack.copy_from(stack * 2);
    number.copy_from(number + 1);
    return result;
  };
  Tensor own = state.clone(), own_cube = cube.clone(), own_point = point.clone();
  Compiled fast =
      compile([&](const Tensor& in) { return step(in, state, cube, point); }, {.fullgraph = true});
  for (int call = 0; call < 3; ++call) {
    expect_near(fast(x), step(x, own, own_cube, own_point));
    expect_near(state, own);
  }
}

TEST(MemoryInAGraph, AStateThatIsReturnedAndAssignedBreaks) {
  Tensor state = full({3}, 1).clone(), other = full({3}, 2).clone();
  auto step = [&](const Tensor&) {
    Tensor before = state;
    state = other;
    other = before;
    return before;
  };
  Compiled fast = compile(step, {.tell_breaks = false});
  for (double value : {1, 2, 1, 2}) expect_near(fast(ramp({3})), full({3}, value));
}

// Kept by something that is no handle when the function is called.
TEST(MemoryInAGraph, AValueThatIsKeptIsAnErrorWithFullgraph) {
  std::optional<Tensor> kept;
  std::vector<Tensor> list;
  auto first = compile(
      [&](const Tensor& x) {
        kept = x * 2;
        return x + 1;
      },
      {.fullgraph = true});
  auto second = compile(
      [&](const Tensor& x) {
        list.push_back(x * 3);
        return x + 1;
      },
      {.fullgraph = true});
  auto third = compile(
      [&](const Tensor& x) {
        auto handle = std::make_unique<Tensor>(x);
        list.push_back(*handle);
        return x + 1;
      },
      {.fullgraph = true});
  for (const Compiled& each : {first, second, third}) {
    const std::string said = error_of([&] { each(ramp({3})); });
    expect_contains(said,
                    "[compile] the function keeps a tensor that outlives it at memory_breaks");
    expect_contains(said,
                    "which breaks the graph, but fullgraph was asked for; [compile] a tensor");
    kept.reset();
    list.clear();
  }
}

// It breaks where it reads a number, and nowhere else: nothing is written.
TEST(MemoryInAGraph, AnArgumentThatOverlapsAStateDoesNotBreakWhereItIsRead) {
  Tensor state = ramp({3, 4}).clone();
  auto function = [&](const Tensor& x) {
    Tensor y = (x + 1) * state.select(0, 2);
    return sum(y).item<float>() > 0 ? y + state.slice(0, 1, 3) : y - state.slice(0, 1, 3);
  };
  auto fast = compile(function, {.tell_breaks = false});
  for (int call = 0; call < 3; ++call) {
    Tensor x = state.slice(0, 1, 3);
    expect_near(fast(x), function(x));
  }
  std::size_t segments = 0;
  for (const PlanReport& plan : fast.report()) segments += plan.segment.empty() ? 0 : 1;
  EXPECT_EQ(segments, 2U);
}

TEST(MemoryInAGraph, TensorsWithoutElementsMayOverwriteEachOther) {
  Tensor state = zeros({0, 4}), other = zeros({0, 4});
  auto fast = compile([&](const Tensor& x) {
    state.copy_from(x);
    return x.reshape({-1}) + 1;
  });
  EXPECT_EQ(fast(other).shape(), Shape{0});
  EXPECT_EQ(state.shape(), (Shape{0, 4}));
}

}  // namespace
}  // namespace tilewright::memory_breaks_test
