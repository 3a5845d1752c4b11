// One step of an optimizer over many tensors: few launches of few programs, and the same bits as
// one launch an operation.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::batches_test {
namespace {

struct State {
  Tensor parameter, gradient, first, second;
};

void adamw(State& s, const Tensor& corrections) {
  Tensor m = s.first * 0.9 + s.gradient * 0.1;
  Tensor v = s.second * 0.999 + square(s.gradient) * 0.001;
  Tensor m_hat = m / corrections.slice(0, 0, 1), v_hat = v / corrections.slice(0, 1, 2);
  Tensor p = s.parameter * 0.99999 - m_hat / (sqrt(v_hat) + 1e-8) * 1e-3;
  s.first.copy_from(m);
  s.second.copy_from(v);
  s.parameter.copy_from(p);
}

std::vector<State> states_of(const std::vector<Shape>& shapes) {
  std::vector<State> states;
  for (const Shape& shape : shapes)
    states.push_back({ramp(shape), ramp(shape, 0.02F), ramp(shape, 0.003F), square(ramp(shape))});
  return states;
}

// The 148 parameters of a GPT-2, a sixteenth as wide.
std::vector<Shape> gpt2_shapes() {
  std::vector<Shape> shapes = {{157, 48}, {64, 48}};
  for (int layer = 0; layer < 12; ++layer)
    for (const Shape& shape : std::vector<Shape>{{48},
                                                 {48},
                                                 {48, 144},
                                                 {144},
                                                 {48, 48},
                                                 {48},
                                                 {48},
                                                 {48},
                                                 {48, 192},
                                                 {192},
                                                 {192, 48},
                                                 {48}})
      shapes.push_back(shape);
  shapes.insert(shapes.end(), {{48}, {48}});
  return shapes;
}

Compiled step_of(std::vector<State>& states, const Options& options) {
  return compile(
      [&](const Tensor& corrections) {
        for (State& s : states) adamw(s, corrections);
        return corrections + 0.0;
      },
      options);
}

const Tensor& corrections() {
  static const Tensor values = Tensor::from(std::vector<float>{0.2F, 0.02F}, {2});
  return values;
}

TEST(Batches, AnOptimizersStepIsFewLaunchesWithTheSameBits) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    std::vector<State> fast = states_of(gpt2_shapes()), plain = states_of(gpt2_shapes());
    Compiled step = step_of(fast, {.mode = mode});
    Compiled single = step_of(plain, {.backend = Backend::aot_eager});
    for (int call = 0; call < 3; ++call) {
      step(corrections());
      single(corrections());
    }
    for (std::size_t i = 0; i < fast.size(); ++i) {
      EXPECT_EQ(fast[i].parameter.to_vector<float>(), plain[i].parameter.to_vector<float>()) << i;
      EXPECT_EQ(fast[i].first.to_vector<float>(), plain[i].first.to_vector<float>()) << i;
      EXPECT_EQ(fast[i].second.to_vector<float>(), plain[i].second.to_vector<float>()) << i;
    }
    // A table of a GPU's kernel has room for 74 of them; one more launch is the result's.
    EXPECT_LE(step.report()[0].launches, 4);
    EXPECT_LE(step.report()[0].regions.size(), 2u);
    EXPECT_GE(single.report()[0].launches, 148);
  }
}

TEST(Batches, TensorsOfAnySizeTakePart) {
  std::vector<State> fast = states_of({{1}, {0}, {2}, {17}, {1}, {16}, {1000}, {3, 5}, {33}}),
                     plain = states_of({{1}, {0}, {2}, {17}, {1}, {16}, {1000}, {3, 5}, {33}});
  step_of(fast, {})(corrections());
  step_of(plain, {.backend = Backend::aot_eager})(corrections());
  for (std::size_t i = 0; i < fast.size(); ++i)
    EXPECT_EQ(fast[i].parameter.to_vector<float>(), plain[i].parameter.to_vector<float>()) << i;
}

TEST(Batches, AreSaidInExplain) {
  std::vector<State> states = states_of({{100}, {200}, {300}, {64, 4}});
  Compiled step = compile([&](const Tensor& x) {
    for (State& s : states) s.parameter.copy_from(s.parameter - s.gradient * 0.1);
    return x + 1;
  });
  step(corrections());
  EXPECT_NE(step.explain().find("flat"), std::string::npos) << step.explain();
  EXPECT_NE(step.explain().find(" in "), std::string::npos) << step.explain();
}

// A reader of a new value comes after the batch that computes it, a reader of an old one before.
TEST(Batches, StepsOfStepsStayInOrder) {
  std::vector<Tensor> xs, ys;
  for (std::int64_t size : {40, 70, 100, 130}) {
    xs.push_back(ramp({size}));
    ys.push_back(ramp({size}, 0.05F));
  }
  Compiled step = compile([&](const Tensor& rate) {
    std::vector<Tensor> norms;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      xs[i].copy_from(xs[i] * 0.5 + ys[i]);
      norms.push_back(sum(square(xs[i]), {0}, true) * 0.01);
      ys[i].copy_from(ys[i] - xs[i] * norms.back());
    }
    return cat(norms, 0) * rate;
  });
  std::vector<Tensor> x = xs, y = ys;
  for (Tensor& t : x) t = t.clone();
  for (Tensor& t : y) t = t.clone();
  Tensor rate = Tensor::from(std::vector<float>{1}, {1});
  step(rate);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    x[i] = x[i] * 0.5 + y[i];
    y[i] = y[i] - x[i] * (sum(square(x[i]), {0}, true) * 0.01);
    expect_near(xs[i], x[i]);
    expect_near(ys[i], y[i]);
  }
}

}  // namespace
}  // namespace tilewright::batches_test
