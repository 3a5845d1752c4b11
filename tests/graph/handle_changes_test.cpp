// Tensors that a compiled function uses and that stand for something else after it was captured.
#include "graph/tensor/handle_changes.h"

#include <gtest/gtest.h>

#include <optional>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/tensor/tensor_body.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/tensors.h"

namespace tilewright::handle_changes_test {
namespace {

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

struct Layer {
  Tensor weight = ramp({4, 4}), bias;
  Tensor forward(const Tensor& x) { return linear(x, weight, bias); }
};

std::int64_t captures(const CompiledFunction& function) {
  return function.report().back().captures;
}

// Signatures that were compiled before and those that are compiled after are one function.
TEST(HandleChanges, AWeightAssignedAnewIsSeenByAllSignaturesInEveryMode) {
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright}) {
      Layer layer;
      Compiled fast = compile(layer, {.mode = mode, .backend = backend});
      Tensor two = ramp({2, 4}), three = ramp({3, 4});
      fast(two);
      for (float value : {3.0F, 5.0F}) {
        layer.weight = full({4, 4}, value);
        for (const Tensor& x : {two, three}) expect_near(fast(x), layer.forward(x));
      }
    }
}

TEST(HandleChanges, WhatFitsIsBoundAnewAndWhatDoesNotIsCompiledAnew) {
  Layer layer;
  Compiled fast = compile(layer);
  Tensor x = ramp({2, 4});
  fast(x);
  std::string key = fast.report()[0].regions[0].key;
  layer.weight = full({4, 4}, 2);
  expect_near(fast(x), layer.forward(x));
  EXPECT_EQ(captures(fast), 2);
  EXPECT_EQ(fast.report()[0].regions[0].key, key);
  expect_contains(fast.explain(), "as happened 1 time");
  layer.weight = ramp({4, 6}).slice(1, 0, 4);  // other strides
  expect_near(fast(x), layer.forward(x));
  layer.weight = ramp({7, 4});  // another shape
  expect_near(fast(x), layer.forward(x));
  layer.weight = layer.weight.to(f16);
  expect_contains(error_of([&] { fast(x); }), "[linear] operand 1 is f16");
  layer.weight = ramp({5, 3});
  expect_contains(error_of([&] { fast(x); }), "[linear]");
  layer.weight = ramp({4, 4});
  expect_near(fast(x), layer.forward(x));
  EXPECT_EQ(fast.report().size(), 1u);
}

TEST(HandleChanges, ATensorThatWasUndefinedAndOneThatBecomesSoAreSeen) {
  Layer layer;
  Compiled fast = compile(layer);
  Tensor x = ramp({2, 4});
  Tensor plain = fast(x).clone();
  layer.bias = full({4}, 1);
  expect_near(fast(x), plain + 1);
  layer.bias = {};
  expect_near(fast(x), plain);
}

TEST(HandleChanges, ATensorCapturedByReferenceIsSeenAndOneByValueIsTheLambdasOwn) {
  for (Mode mode : modes) {
    Tensor weight = full({4}, 2);
    Compiled by_reference =
        compile([&weight](const Tensor& x) { return x * weight; }, {.mode = mode});
    Compiled by_value = compile([weight](const Tensor& x) { return x * weight; }, {.mode = mode});
    Tensor x = ramp({4});
    by_reference(x);
    by_value(x);
    weight = full({4}, 3);
    expect_near(by_reference(x), x * 3);
    expect_near(by_value(x), x * 2);
  }
}

// Views, moves, swaps, containers: all ways in which a handle comes to stand for something else.
TEST(HandleChanges, EveryWayOfChangingAHandleIsSeen) {
  Tensor x = ramp({4});
  Tensor a = full({4, 4}, 2), b = full({4, 4}, 3);
  std::vector<Tensor> list = {full({4}, 1)};
  auto owned = std::make_unique<Tensor>(full({4}, 1));
  auto function = [&](const Tensor& x) {
    return x * a.select(0, 1) + b.transpose(0, 1).select(0, 2) * list[0] + *owned;
  };
  Compiled fast = compile(function);
  auto agrees = [&] { expect_near(fast(x), function(x)); };
  agrees();
  std::swap(a, b);
  agrees();
  Tensor taken = std::move(a);
  a = full({4, 4}, 7);
  agrees();
  list[0] = full({4}, 5);
  agrees();
  list = std::vector<Tensor>{full({4}, 6)};
  agrees();
  list.clear();
  list.push_back(full({4}, 8));
  agrees();
  owned = std::make_unique<Tensor>(full({4}, 9));
  agrees();
  b = taken;
  agrees();
}

TEST(HandleChanges, NothingIsCapturedAgainWhereNoHandleChanged) {
  Tensor weight = full({4}, 2), other = full({4}, 3);
  int runs = 0;
  Compiled fast = compile([&](const Tensor& x) {
    ++runs;
    Tensor local = weight;  // a handle of the function's own comes and goes
    local = local * 2;
    return x * local;
  });
  Tensor x = ramp({4});
  fast(x);
  Compiled unrelated = compile([&](const Tensor& x) { return x + other; });
  unrelated(x);
  other = full({4}, 4);
  for (int i = 0; i < 3; ++i) {
    Tensor copy = weight;
    copy = copy * 2;
    fast(x);
  }
  weight.copy_from(full({4}, 5));
  expect_near(fast(x), x * 10);
  EXPECT_EQ(runs, 1);
  unrelated(x);
  EXPECT_EQ(captures(unrelated), 2);
}

// The closures end with the capture, as do those of imported recurrent networks.
TEST(HandleChanges, BodiesMayHoldWeightsOfTheirOwn) {
  const Tensor weight = ramp({4, 4});
  int runs = 0;
  auto function = [&](const Tensor& x) {
    ++runs;
    auto step = [weight](const Tensors& state, const Tensors& slice) -> Turn {
      Tensor h = matmul(state[0] + slice[0], weight);
      return {{h}, {h}};
    };
    Tensor last = scan(step, {ones({1, 4})}, {x.unsqueeze(1)}).first[0];
    last = while_loop(
        [weight](const Tensors& s) { return sum(s[0]) + sum(weight) * 0 < 1.0; },
        [weight](const Tensors& s) -> Tensors { return {s[0] * 0 + weight.slice(0, 0, 1) + 2}; },
        {last * 0})[0];
    return cond(
        sum(x) > 0, [weight](const Tensors& s) -> Tensors { return {matmul(s[0], weight)}; },
        [weight](const Tensors& s) -> Tensors { return {s[0] - sum(weight)}; }, {last})[0];
  };
  Compiled fast = compile(function, {.fullgraph = true});
  const Tensor x = ramp({40, 4});
  for (int i = 0; i < 4; ++i) fast(x);
  EXPECT_EQ(captures(fast), 1);
  EXPECT_EQ(runs, 1);
  expect_near(fast(x), function(x));
}

TEST(HandleChanges, FrozenWeightsArePackedAnew) {
  TILEWRIGHT_ON_THE_HOST_ONLY("packed weights");
  Tensor weight = ramp({96, 64}), x = ramp({200, 64}, 0.02F);
  auto function = [&](const Tensor& x) { return linear(x, weight); };
  Compiled fast = compile(function, {.freezing = true});
  fast(x);
  ASSERT_EQ(fast.report()[0].packed_weights, 1);
  weight = ramp({96, 64}, 0.03F);
  EXPECT_LT(relative_difference(fast(x).to_vector<float>(), function(x).to_vector<float>()), 1e-5);
  EXPECT_EQ(captures(fast), 2);
}

TEST(HandleChanges, ChangesAreKnownByTheirMemoryAndTooManyConcernEverybody) {
  graph::HandleChanges changes;
  Buffer a, b;
  const Buffer* of_a[] = {&a};
  EXPECT_FALSE(changes.concern(0, of_a));
  changes.add(&b);
  EXPECT_FALSE(changes.concern(0, of_a));
  changes.add(&a);
  EXPECT_TRUE(changes.concern(0, of_a));
  EXPECT_FALSE(changes.concern(2, of_a));
  changes.add(nullptr);
  EXPECT_TRUE(changes.concern(2, of_a));
  for (int i = 0; i < 300; ++i) changes.add(&b);
  EXPECT_EQ(changes.count(), 303u);
  EXPECT_TRUE(changes.concern(3, of_a));
  EXPECT_FALSE(changes.concern(200, of_a));
}

// The source of a copied view is a weight like others: it is read at every call.
TEST(HandleChanges, ACopyOfAViewFollowsItsTensor) {
  Tensor weight = ramp({3, 4});
  auto function = [&](const Tensor& x) {
    return x + weight.transpose(0, 1).contiguous() +
           weight.transpose(0, 1).reshape({12}).reshape({4, 3});
  };
  Compiled fast = compile(function);
  Tensor x = ramp({4, 3});
  expect_near(fast(x), function(x));
  weight.copy_from(full({3, 4}, 2));
  expect_near(fast(x), function(x));
}

// A value that decides what is computed would be that of the first call for ever.
TEST(HandleChanges, AValueReadFromACapturedTensorBreaksTheGraph) {
  Tensor scale = Tensor::scalar(2.0F);
  Compiled fast = compile([&](const Tensor& x) { return x * scale.item<float>(); });
  Tensor x = ramp({4});
  testing::internal::CaptureStderr();
  expect_near(fast(x), x * 2);
  testing::internal::GetCapturedStderr();
  scale.copy_from(Tensor::scalar(3.0F));
  expect_near(fast(x), x * 3);
  expect_contains(fast.report()[0].graph_break, "item at handle_changes_test.cpp:");
}

}  // namespace
}  // namespace tilewright::handle_changes_test
