// Functions that keep a state: in tensors that they write, whose order counts, and in handles.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "graph/compile/compile.h"
#include "graph/tensor/checks/index_checks.h"
#include "tests/tensors.h"

namespace tilewright::state_test {
namespace {

using Values = std::vector<float>;
using Made = std::function<TensorFunction()>;  // a function with a state of its own

// The function returns the same at five calls as it does without being compiled. It returns its
// state too.
void expect_as_eager(const Made& make, const Shape& shape) {
  auto results_of = [&](auto&& function) {
    std::vector<Values> results;
    for (int call = 1; call <= 5; ++call) {
      Tensor x = arange(0, element_count(shape), 1, f32).reshape(shape) * 0.125 + call;
      for (const Tensor& result : function({x}).tensors)
        results.push_back(result.to_vector<float>());
    }
    return results;
  };
  const std::vector<Values> wanted = results_of(make());
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    CompiledFunction compiled(make(), {.mode = mode, .tell_breaks = false});
    auto call = [&](const std::vector<Tensor>& in) { return TensorResults(compiled.call(in)); };
    const std::vector<Values> got = results_of(call);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      for (std::size_t j = 0; j < got[i].size(); ++j)
        ASSERT_NEAR(got[i][j], wanted[i][j], 1e-4 * (1 + std::abs(wanted[i][j])))
            << name_of(mode) << " result " << i << " element " << j;
  }
}
// Two states, of which the first takes what the second was before it is written.
TensorFunction delayed(const Shape& shape, const std::function<Tensor(const Tensor&)>& beside) {
  auto older = std::make_shared<Tensor>(zeros(shape).clone());
  auto old = std::make_shared<Tensor>(zeros(shape).clone());
  return [=](const std::vector<Tensor>& in) {
    older->copy_from(*old + in[0]);
    old->copy_from(in[0]);
    return TensorResults({*older, *old, beside(in[0])});
  };
}

TEST(State, IsReadBeforeItIsWrittenBesideEveryKindOfResult) {
  for (const Shape& shape : {Shape{4, 8}, Shape{64, 64}, Shape{2, 3000}}) {
    const Tensor weight = full({5, shape[1]}, 0.5).clone(), bias = ones({5}).clone();
    const std::function<Tensor(const Tensor&)> results[] = {
        [](const Tensor& x) { return x * 2; },
        [](const Tensor& x) { return sum(x); },
        [](const Tensor& x) { return sum(x, {0}); },
        [](const Tensor& x) { return amax(x, {1}); },
        [](const Tensor& x) { return softmax(x, 1); },
        [](const Tensor& x) { return layer_norm(x); },
        [&](const Tensor& x) { return linear(x, weight, bias); }};
    for (const auto& beside : results)
      expect_as_eager([&] { return delayed(shape, beside); }, shape);
  }
}

TEST(State, IsReadByAProductBeforeItIsWritten) {
  for (const Shape& shape : {Shape{4, 8}, Shape{64, 64}, Shape{3, 3000}}) {
    const Tensor weight = full({7, shape[1]}, 0.01).clone();
    auto make = [&] {
      auto state = std::make_shared<Tensor>(zeros(shape).clone());
      return [=](const std::vector<Tensor>& in) {
        Tensor y = linear(*state + in[0], weight), rows = sum(*state * 0.5, {1});
        state->copy_from(in[0]);
        return TensorResults({y, rows, *state});
      };
    };
    expect_as_eager(make, shape);
  }
}

TEST(State, ThatWasWrittenByRowsIsCopied) {
  auto make = [] {
    auto table = std::make_shared<Tensor>(zeros({4, 3}).clone());
    auto copy = std::make_shared<Tensor>(full({4, 3}, 7).clone());
    return [=](const std::vector<Tensor>& in) {
      table->index_copy_(0, arange(1, 3), in[0]);
      copy->copy_from(*table);
      return TensorResults({*copy, *table, in[0] * 2});
    };
  };
  expect_as_eager(make, {2, 3});
}

TEST(State, InAHandleThatIsAssignedAnotherTensor) {
  auto of = [](const std::function<Tensor(Tensor&, const Tensor&)>& step) {
    return [step] {
      auto state = std::make_shared<Tensor>(ones({3}).clone());
      return [=](const std::vector<Tensor>& in) { return TensorResults({step(*state, in[0])}); };
    };
  };
  const Tensor other = full({3}, 5).clone();
  expect_as_eager(of([&](Tensor& state, const Tensor& x) {
                    Tensor result = state + x;
                    state = other;
                    return result;
                  }),
                  {3});
  expect_as_eager(of([](Tensor& state, const Tensor& x) {
                    Tensor result = state.defined() ? state + x : x * 30;
                    state = Tensor();
                    return result;
                  }),
                  {3});
  expect_as_eager(of([](Tensor& state, const Tensor& x) {
                    Tensor taken = state.defined() ? std::move(state) : x * 30;
                    return taken + x;
                  }),
                  {3});
}

TEST(State, InAnOptionalOrAListThatAFunctionFills) {
  auto optional = [] {
    auto state = std::make_shared<std::optional<Tensor>>();
    return [=](const std::vector<Tensor>& in) {
      if (!*state) *state = zeros({3});
      **state = **state + in[0];
      return TensorResults({**state * 1});
    };
  };
  expect_as_eager(optional, {3});
  auto list = [] {
    auto state = std::make_shared<std::vector<Tensor>>(1, zeros({3}).clone());
    return [=](const std::vector<Tensor>& in) {
      Tensor before = state->front();
      state->clear();
      state->push_back(in[0] + before);
      return TensorResults({before * 1});
    };
  };
  expect_as_eager(list, {3});
}

TEST(State, ATableThatIsMadeAtTheFirstCallBreaksNothing) {
  auto table = std::make_shared<Tensor>();
  const Tensor source = full({3}, 2).clone();
  Compiled f = compile(
      [=](const Tensor& x) {
        if (!table->defined()) *table = source;
        return x * *table;
      },
      {.fullgraph = true});
  EXPECT_EQ(f(ones({3})).to_vector<float>(), Values(3, 2));
}

}  // namespace
}  // namespace tilewright::state_test
