// Modules whose parameters stand for other tensors after functions were compiled from them.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/layers/containers.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"
#include "models/weights/weights.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compiled_module_test {
namespace {

struct Net : Module {
  Linear first{32, 32}, second{32, 32, false};
  Net() {
    register_module("first", first);
    register_module("second", second);
  }
  Tensor forward(const Tensor& x) { return second(relu(first(x))); }
};

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

void expect_close(const Tensor& a, const Tensor& b) {
  EXPECT_LT(relative_difference(a.to_vector<float>(), b.to_vector<float>()), 1e-4);
}

TEST(CompiledModule, FollowsAssignedParametersAndWhatIsLoadedIntoThem) {
  for (Mode mode : modes) {
    Net net, other;
    Compiled fast = compile(net, {.mode = mode});
    Tensor two = ramp({2, 32}), three = ramp({3, 32});
    fast(two);
    net.first.weight = full({32, 32}, 0.5);
    for (const Tensor& x : {two, three}) expect_close(fast(x), net.forward(x));
    net.load(Weights::of(other.state()));
    for (const Tensor& x : {two, three}) expect_close(fast(x), other.forward(x));
  }
}

struct Stack : Module {
  ModuleList<Linear> layers;
  Stack() {
    register_module("layers", layers);
    layers.add(32, 32);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i) y = relu(layers[i](y));
    return y;
  }
};

TEST(CompiledModule, SeesLayersThatAreAdded) {
  Stack stack;
  Sequential chain;
  chain.add<Linear>(32, 32);
  auto both = [&](const Tensor& x) { return stack.forward(x) + chain.forward(x); };
  Compiled fast = compile(both);
  Tensor x = ramp({2, 32});
  for (int added = 0; added < 3; ++added) {
    for (int call = 0; call < 2; ++call) expect_close(fast(x), both(x));
    stack.layers.add(32, 32);
    if (added == 1) chain.add<Linear>(32, 32);
  }
  ASSERT_EQ(fast.recompilations().size(), 2U);
  expect_contains(fast.recompilations()[0].sentence(),
                  "the number of layers is 2, compiled for 1 (read at ");
  expect_contains(fast.recompilations()[0].sentence(), "compiled_module_test.cpp:");
}

// A function of no module, which reaches one by a pointer, follows too.
TEST(CompiledModule, FollowsThroughAPointer) {
  auto net = std::make_unique<Net>();
  Compiled fast = compile([&net](const Tensor& x) { return net->forward(x); });
  Tensor x = ramp({2, 32});
  fast(x);
  net->second.weight = ramp({32, 32});
  expect_close(fast(x), net->forward(x));
  net = std::make_unique<Net>();
  expect_close(fast(x), net->forward(x));
}

TEST(CompiledModule, FollowsQuantisation) {
  for (Mode mode : modes) {
    Net net;
    Compiled fast = compile(net, {.mode = mode});
    Tensor x = ramp({2, 32});
    Tensor exact = fast(x).clone();
    net.quantize({.format = WeightFormat::int4, .group_size = 32});
    Tensor rounded = fast(x);
    expect_close(rounded, net.forward(x));
    EXPECT_GT(relative_difference(rounded.to_vector<float>(), exact.to_vector<float>()), 1e-3);
    EXPECT_EQ(fast.report().size(), 1u);
  }
}

}  // namespace
}  // namespace tilewright::compiled_module_test
