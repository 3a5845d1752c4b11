// Freezing within branches and loops: weights that bodies read are packed once, and what follows
// from weights alone is computed once, whatever the body's node is.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/random/random.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::freezing_inside_test {
namespace {

using Function = std::function<Tensors(const Tensors&)>;

const Options frozen{.fullgraph = true, .device = Device::cpu(), .freezing = true};
const Options live{.fullgraph = true, .device = Device::cpu()};

Tensor random(const Shape& shape, std::uint64_t seed) {
  return randn(shape, f32, Generator(seed)) * 0.2;
}

void expect_close(const Tensors& got, const Tensors& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), wanted[i].shape());
    const auto a = got[i].to_vector<float>(), b = wanted[i].to_vector<float>();
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], 1e-4F * (1 + std::abs(b[k]))) << "result " << i << ", element " << k;
  }
}

// The plan of a frozen function, after three calls that agree with calls of one that is not.
PlanReport expect_alike(const Function& function, const Tensors& inputs,
                        const Options& options = frozen) {
  auto fast = compile(function, options);
  auto plain = compile(function, live);
  for (int call = 0; call < 3; ++call) expect_close(fast(inputs), plain(inputs));
  EXPECT_EQ(plain.report()[0].packed_weights, 0);
  EXPECT_EQ(plain.report()[0].frozen_values, 0);
  return fast.report()[0];
}

Tensors choice(const Tensors& t, const std::function<Tensor(const Tensor&)>& yes,
               const std::function<Tensor(const Tensor&)>& no) {
  return cond(
      sum(t[0]) > 0.0, [&](const Tensors& x) { return Tensors{yes(x[0])}; },
      [&](const Tensors& x) { return Tensors{no(x[0])}; }, {t[0]});
}

TEST(FreezingInside, PacksTheWeightsOfBothBranches) {
  const Tensor w = random({128, 96}, 1), u = random({128, 96}, 2), filters = random({64, 64, 3}, 3);
  const Function products = [=](const Tensors& t) {
    return choice(
        t, [&](const Tensor& x) { return matmul(x, w); },
        [&](const Tensor& x) { return matmul(x, u) + matmul(x * 2.0, w); });
  };
  for (double sign : {1.0, -1.0}) {
    const PlanReport report = expect_alike(products, {full({64, 128}, sign, f32).clone()});
    EXPECT_EQ(report.packed_weights, 2);  // w once, though both branches read it
    EXPECT_EQ(report.packed_bytes, 2 * 128 * 96 * 4);
  }
  const Function convolutions = [=](const Tensors& t) {
    return choice(
        t, [&](const Tensor& x) { return relu(conv1d(x, filters, {}, {.padding = {1}})); },
        [](const Tensor& x) { return x * 2.0; });
  };
  EXPECT_EQ(expect_alike(convolutions, {full({1, 64, 16}, 1, f32).clone()}).packed_weights, 1);
}

TEST(FreezingInside, PacksTheWeightsOfLoops) {
  const Tensor w = random({96, 96}, 4), u = random({96, 96}, 5), x = random({64, 96}, 6);
  const Function turns = [=](const Tensors& t) {
    auto below = [=](const Tensors& s) { return sum(s[1]) < 3.0; };
    auto turn = [=](const Tensors& s) { return Tensors{tanh(matmul(s[0], w)), s[1] + 1.0}; };
    return while_loop(below, turn, {t[0], zeros({1})});
  };
  EXPECT_EQ(expect_alike(turns, {x}).packed_weights, 1);
  const Function steps = [=](const Tensors& t) {
    auto step = [=](const Tensors& s, const Tensors& each) -> Turn {
      Tensor h = tanh(matmul(s[0], w) + matmul(each[0], u));
      return {{h}, {sum(h)}};
    };
    auto [last, all] = scan(step, {t[0]}, {t[1]});
    return Tensors{last[0], all[0]};
  };
  EXPECT_EQ(expect_alike(steps, {x, random({4, 64, 96}, 7)}).packed_weights, 2);
}

TEST(FreezingInside, PacksWeightsOfBodiesWithinBodies) {
  const Tensor w = random({96, 96}, 8), x = random({64, 96}, 9);
  const Function nested = [=](const Tensors& t) {
    auto step = [=](const Tensors& s, const Tensors&) -> Turn {
      Tensor next = choice(
          s, [&](const Tensor& v) { return matmul(v, w) * 0.5; },
          [&](const Tensor& v) { return matmul(v, w) * -0.5; })[0];
      return {{next}, {sum(next)}};
    };
    auto [last, all] = scan(step, {t[0]}, {}, {.turns = 3});
    return Tensors{last[0], all[0]};
  };
  EXPECT_EQ(expect_alike(nested, {x}).packed_weights, 1);
}

// A weight that is a view of another, and lies in columns, is read in place.
TEST(FreezingInside, PacksViewsOfWeights) {
  const Tensor both = random({2, 96, 128}, 10), w = both.select(0, 1).transpose(0, 1);
  const Function function = [=](const Tensors& t) {
    return choice(
        t, [&](const Tensor& x) { return matmul(x, w); },
        [&](const Tensor& x) { return matmul(x, both.select(0, 0).transpose(0, 1)); });
  };
  EXPECT_EQ(expect_alike(function, {full({64, 128}, 1, f32).clone()}).packed_weights, 2);
  EXPECT_EQ(expect_alike(function, {full({64, 128}, -1, f32).clone()}).packed_weights, 2);
}

// Filters of 8 bits, and the factors of a norm.
TEST(FreezingInside, ComputesOnceWhatFollowsFromWeights) {
  const Tensor filters = round(random({64, 32, 3}, 11) * 127.0).to(i8),
               scales = random({64, 1, 1}, 12);
  const Tensor weight = random({64}, 13), var = random({64}, 14) * 0.1 + 1.0;
  const Function function = [=](const Tensors& t) {
    return choice(
        t,
        [&](const Tensor& x) {
          Tensor y = conv1d(x, filters.to(f32) * scales, {}, {.padding = {1}});
          return y * (weight * rsqrt(var + 1e-5)).reshape({-1, 1});
        },
        [&](const Tensor& x) { return conv1d(x, filters.to(f32), {}, {.padding = {1}}); });
  };
  for (double sign : {1.0, -1.0}) {
    const PlanReport report = expect_alike(function, {full({1, 32, 16}, sign, f32).clone()});
    EXPECT_EQ(report.frozen_values, 3);
    EXPECT_EQ(report.frozen_bytes, (2 * 64 * 32 * 3 + 64) * 4);
    EXPECT_EQ(report.packed_weights, 2);
  }
}

TEST(FreezingInside, ComputesOnceWhatLoopsReadOfWeights) {
  const Tensor w = random({96, 96}, 15), scale = random({96, 1}, 16), x = random({64, 96}, 17);
  const Function turns = [=](const Tensors& t) {
    auto below = [=](const Tensors& s) { return sum(s[1]) < amax(exp(scale)) + 1.0; };
    auto turn = [=](const Tensors& s) {
      return Tensors{tanh(matmul(s[0], w * rsqrt(sum(w * w, {1}, true)))), s[1] + 1.0};
    };
    return while_loop(below, turn, {t[0], zeros({1})});
  };
  const PlanReport report = expect_alike(turns, {x});
  EXPECT_EQ(report.frozen_values, 2);
  EXPECT_EQ(report.packed_weights, 1);  // of what was computed
}

// A branch that gives an operand as it is copies it by the operand's strides.
TEST(FreezingInside, BranchesGiveOperandsThatLieAnyhow) {
  const Tensor x = random({3, 5}, 21);
  const Tensors views = {x.reshape({1, 3, 5}).expand({4, 3, 5}), x.permute({1, 0}),
                         x.slice(1, 0, 5, 2)};
  for (const Tensor& view : views) {
    const Function function = [=](const Tensors& t) {
      auto first = [](const Tensors& s) { return Tensors{s[0], s[1] * 2.0}; };
      auto second = [](const Tensors& s) { return Tensors{s[1], s[0]}; };
      return cond(sum(t[0]) > 0.0, first, second, {view, view});
    };
    const auto fast = compile(function);
    for (const Tensor& t : {ones({2}), full({2}, -1.0)})
      EXPECT_EQ(fast(Tensors{t})[0].to_vector<float>(), view.to_vector<float>());
  }
}

// A value made of weights outside, and multiplied inside, is packed as a weight is.
TEST(FreezingInside, PacksWhatWasMadeOfWeightsOutside) {
  const Tensor w = random({96, 96}, 18);
  const Function function = [=](const Tensors& t) {
    const Tensor normed = w * rsqrt(sum(w * w, {1}, true));
    return choice(
        t, [&](const Tensor& x) { return matmul(x, normed); }, [](const Tensor& x) { return x; });
  };
  const PlanReport report = expect_alike(function, {full({64, 96}, 1, f32).clone()});
  EXPECT_EQ(report.frozen_values, 1);
  EXPECT_EQ(report.packed_weights, 1);
}

// Equal nodes of control flow whose weights are frozen or an argument do not share a call.
TEST(FreezingInside, LeavesArgumentsAlone) {
  const Tensor w = random({96, 96}, 19), x = full({64, 96}, 1, f32).clone();
  const Function function = [=](const Tensors& t) {
    auto multiplied = [&](const Tensor& factor) {
      return choice(
          t, [&](const Tensor& v) { return matmul(v, factor); }, [](const Tensor& v) { return v; });
    };
    return Tensors{multiplied(w)[0], multiplied(t[1])[0]};
  };
  const Tensor other = random({96, 96}, 20);
  EXPECT_EQ(expect_alike(function, {x, other}).packed_weights, 1);
}

TEST(FreezingInside, KeepsWeightsFromBeingWritten) {
  Tensor w = random({96, 96}, 21);
  const Tensor x = full({64, 96}, 1, f32).clone();
  auto fast = compile(Function([=](const Tensors& t) {
                        return choice(
                            t, [&](const Tensor& v) { return matmul(v, w); },
                            [](const Tensor& v) { return v; });
                      }),
                      frozen);
  w.copy_from(random({96, 96}, 22));
  expect_close(fast({x}), {matmul(x, w)});
  expect_contains(error_of([&] {
                    w.copy_from(random({96, 96}, 23));
                  }),
                  "[copy_from] the tensor is frozen");
}

// On a GPU nothing is packed; values are computed once.
TEST(FreezingInside, ComputesValuesOnAGpu) {
  const Tensor w = random({96}, 24), x = full({64, 96}, 1, f32).clone();
  const Function function = [=](const Tensors& t) {
    return choice(
        t, [&](const Tensor& v) { return v * (w * rsqrt(sum(w * w))); },
        [](const Tensor& v) { return v; });
  };
  Options options = frozen;
  options.device = Device::parse("emulated:sm_90a");
  auto fast = compile(function, options);
  expect_close(fast({x}), function({x}));
}

}  // namespace
}  // namespace tilewright::freezing_inside_test
