// LBFGS goes the way of torch.optim.LBFGS (PyTorch 2.15, f64), and goes on after it was saved.
#include "models/optimizers/lbfgs/lbfgs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "models/layers/module.h"
#include "tests/errors.h"

namespace tilewright::lbfgs_test {
namespace {

using ::testing::HasSubstr;

Tensor waves(const Shape& shape, double step) {
  return sin(arange(0, element_count(shape)).to(f64) * step).reshape(shape);
}

struct Rosenbrock : Module {
  Tensor x = Tensor::from(std::vector<double>{-1.5, 2}, {2});
  Rosenbrock() { register_parameter("x", x); }
  Tensor loss() const {
    const Tensor a = x.slice(0, 0, 1), b = x.slice(0, 1, 2);
    return sum((1 - a) * (1 - a) + 100 * (b - a * a) * (b - a * a));
  }
};

struct Net : Module {
  Tensor first, bias, second, x = waves({20, 4}, 0.37), y = waves({20, 1}, 0.91);
  explicit Net(DType dtype = f64)
      : first(waves({6, 4}, 0.7).to(dtype)),
        bias(waves({6}, 0.3).to(dtype)),
        second(waves({1, 6}, 1.1).to(dtype)) {
    x = x.to(dtype);
    y = y.to(dtype);
    register_parameter("first", first);
    register_parameter("bias", bias);
    register_parameter("second", second);
  }
  Tensor loss() const {
    const Tensor error = linear(tanh(linear(x, first) + bias), second) - y;
    return mean(error * error);
  }
};

struct Path {
  std::vector<double> losses;
  std::int64_t iterations = 0, evaluations = 0;
};

// Six steps. Where `is_saved`, a second optimizer goes on with the state of the first after two.
template <typename Problem>
Path path_of(Problem& problem, const LbfgsOptions& options, bool is_compiled,
             bool is_saved = false) {
  auto at_once = [&] { return value_and_grad(problem, [&] { return problem.loss(); })(); };
  auto compiled = compile([&](const Tensor&) { return at_once(); });
  const Tensor nothing = zeros({1});
  Lbfgs one(problem, options), two(problem, options);
  Path path;
  for (int i = 0; i < 6; ++i) {
    if (is_saved && i == 2) two.load(Weights::of(one.state()));
    Lbfgs& optimizer = is_saved && i >= 2 ? two : one;
    const Tensor loss =
        is_compiled ? optimizer.step([&] { return compiled(nothing); }) : optimizer.step(at_once);
    path.losses.push_back(loss.to(f64).item<double>());
    path.iterations = optimizer.iterations();
    path.evaluations = optimizer.evaluations();
  }
  return path;
}

void expect_path(const Path& path, const Path& expected, double tolerance) {
  ASSERT_EQ(path.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < path.losses.size(); ++i)
    EXPECT_NEAR(path.losses[i], expected.losses[i], tolerance * std::abs(expected.losses[i])) << i;
  EXPECT_EQ(path.iterations, expected.iterations);
  EXPECT_EQ(path.evaluations, expected.evaluations);
}

const Path net_without_search = {{1.075608675734444, 0.666828915808287, 0.5108452247992545,
                                  0.48266881103962395, 0.4748411106501308, 0.4334037789203474},
                                 48,
                                 48};
const Path net_searched = {{1.075608675734444, 0.4832229630768641, 0.4468315831670228,
                            0.37016104025358987, 0.33238752750141765, 0.3305307722768486},
                           48,
                           58};
const LbfgsOptions without_search = {.lr = 0.1, .max_iter = 8, .history_size = 5};
const LbfgsOptions searches = {
    .max_iter = 8, .history_size = 5, .line_search = LineSearchOf::strong_wolfe};

TEST(Lbfgs, GoesTheWayOfPyTorch) {
  for (const bool is_compiled : {false, true}) {
    Net first, second;
    expect_path(path_of(first, without_search, is_compiled), net_without_search, 1e-9);
    expect_path(path_of(second, searches, is_compiled), net_searched, 1e-9);
  }
}

TEST(Lbfgs, FindsTheLeastOfAValley) {
  Rosenbrock valley, whole;
  expect_path(
      path_of(valley, {.max_iter = 7, .history_size = 4, .line_search = LineSearchOf::strong_wolfe},
              true),
      {{12.5, 5.77415944879044, 3.7452401783414446, 1.5381701673668937, 0.6321991128893665,
        0.1327568416652286},
       37,
       49},
      1e-9);
  const Path path = path_of(whole, {.line_search = LineSearchOf::strong_wolfe}, true);
  EXPECT_EQ(path.iterations, 44);
  EXPECT_EQ(path.evaluations, 56);
  EXPECT_THAT(whole.x.to_vector<double>(),
              ::testing::ElementsAre(::testing::DoubleNear(0.9999979943196398, 1e-8),
                                     ::testing::DoubleNear(0.9999973438921637, 1e-8)));
}

TEST(Lbfgs, OfFloatsIsNearThatOfDoubles) {
  Net net(f32);
  const Path path = path_of(net, searches, true);
  for (std::size_t i = 0; i < path.losses.size(); ++i)
    EXPECT_NEAR(path.losses[i], net_searched.losses[i], 2e-3 * net_searched.losses[i]) << i;
}

TEST(Lbfgs, GoesOnFromASavedState) {
  for (const LbfgsOptions& options : {without_search, searches}) {
    Net whole, saved;
    const Path expected = path_of(whole, options, true), path = path_of(saved, options, true, true);
    EXPECT_EQ(path.losses, expected.losses);
    EXPECT_EQ(path.iterations, expected.iterations);
    EXPECT_EQ(path.evaluations, expected.evaluations);
  }
}

TEST(Lbfgs, LoadsTheLatestOfALongerHistory) {
  Net net;
  Lbfgs longer(net, searches), shorter(net, {.lr = 0.5, .history_size = 2});
  longer.step([&] { return value_and_grad(net, [&] { return net.loss(); })(); });
  shorter.load(Weights::of(longer.state()));
  EXPECT_EQ(shorter.lr(), 1);
  const NamedTensors all = longer.state(), latest = shorter.state();
  EXPECT_FALSE(latest.contains("state.ro.2"));
  EXPECT_EQ(latest.at("state.ro.1").item<double>(), all.at("state.ro.4").item<double>());
}

TEST(Lbfgs, EvaluatesNoMoreThanItMay) {
  Net net;
  LbfgsOptions options = searches;
  options.max_eval = 6;
  expect_path(path_of(net, options, true),
              {{1.075608675734444, 0.49387864949968385, 0.47981185421361394, 0.45439335964297883,
                0.42178453728753257, 0.3891833330678883},
               27,
               36},
              1e-9);
}

TEST(Lbfgs, TakesNoStepIntoWhatIsNotFinite) {
  // Beyond 1 there is no logarithm, and the first step goes there.
  struct Log : Module {
    Tensor x = Tensor::from(std::vector<double>{0.5}, {1});
    Log() { register_parameter("x", x); }
    Tensor loss() const { return sum(x * x * -40 - log(1 - x)); }
  } problem;
  auto evaluate = [&] { return value_and_grad(problem, [&] { return problem.loss(); })(); };
  Lbfgs optimizer(problem, {.lr = 50, .line_search = LineSearchOf::strong_wolfe});
  const double before = optimizer.step(evaluate).item<double>();
  const double after = evaluate().first.item<double>();
  EXPECT_LT(after, before);
  EXPECT_LT(problem.x.item<double>(), 1);
}

// A wall of infinity with a finite slope.
TEST(Lbfgs, HalvesStepsIntoInfinity) {
  struct Wall : Module {
    Tensor x = Tensor::from(std::vector<double>{3}, {1});
    Wall() { register_parameter("x", x); }
    Tensor loss() const {
      return sum(where(x > 0.0, 20.0 * x - log(x), std::numeric_limits<double>::infinity()));
    }
  } problem;
  auto evaluate = [&] { return value_and_grad(problem, [&] { return problem.loss(); })(); };
  Lbfgs optimizer(problem, {.lr = 4, .line_search = LineSearchOf::strong_wolfe});
  for (int i = 0; i < 4; ++i) optimizer.step(evaluate);
  EXPECT_NEAR(problem.x.item<double>(), 0.05, 1e-6);
}

TEST(Lbfgs, GoesOnAfterAnExceptionAsIfItHadNotBeen) {
  Net whole, disturbed;
  Lbfgs one(whole, without_search), two(disturbed, without_search);
  int calls = 0;
  one.step([&] { return value_and_grad(whole, [&] { return whole.loss(); })(); });
  auto evaluate = [&] {
    require(++calls != 2, "once");
    return value_and_grad(disturbed, [&] { return disturbed.loss(); })();
  };
  EXPECT_THAT(error_of([&] { two.step(evaluate); }), HasSubstr("once"));
  EXPECT_EQ(two.iterations(), 0);
  two.step(evaluate);
  EXPECT_EQ(disturbed.first.to_vector<double>(), whole.first.to_vector<double>());
}

TEST(Lbfgs, MisuseIsAnErrorAndChangesNothing) {
  Net net;
  const std::vector<double> before = net.first.to_vector<double>();
  Lbfgs optimizer(net, searches);
  auto right = [&] { return value_and_grad(net, [&] { return net.loss(); })(); };
  EXPECT_THAT(error_of([&] {
                optimizer.step([&] {
                  auto all = right();
                  all.second.erase("bias");
                  return all;
                });
              }),
              HasSubstr("[LBFGS] there is no gradient of \"bias\""));
  EXPECT_THAT(error_of([&] {
                optimizer.step([&] {
                  auto [loss, gradients] = right();
                  return std::pair{loss * NAN, gradients};
                });
              }),
              HasSubstr("[LBFGS] the loss is nan"));
  int calls = 0;
  EXPECT_THAT(error_of([&] {
                optimizer.step([&] {
                  require(++calls < 3, "no more");
                  return right();
                });
              }),
              HasSubstr("no more"));
  EXPECT_NE(net.first.to_vector<double>(), before) << "one iteration was whole";
  EXPECT_THAT(error_of([&] {
                compile([&](const Tensor& x) { return x + optimizer.step(right); })(ones({1}));
              }),
              HasSubstr("[LBFGS] a step is taken in a function that is captured"));
  EXPECT_THAT(error_of([&] { Lbfgs(net, {.history_size = 0}); }),
              HasSubstr("[LBFGS] history_size is 0"));
  EXPECT_THAT(error_of([&] { Lbfgs(net, {.lr = -1}); }), HasSubstr("[LBFGS] lr is -1"));
  NamedTensors state = optimizer.state();
  state.at("state.d") = zeros({3}, f64);
  EXPECT_THAT(error_of([&] { Lbfgs(net).load(Weights::of(state)); }),
              HasSubstr("[LBFGS] state.d is f64 3"));
  state.at("state.d") = full({36}, NAN, f64);
  EXPECT_THAT(error_of([&] { Lbfgs(net).load(Weights::of(state)); }),
              HasSubstr("[LBFGS] state.d has NaN or infinity"));
  NamedTensors incomplete = optimizer.state();
  incomplete.emplace("state.ro.7", full({}, 1, f64));
  EXPECT_THAT(error_of([&] { Lbfgs(net).load(Weights::of(incomplete)); }),
              HasSubstr("[LBFGS] state.ro.7 is no part of a state"));
  state.at("state.n_iter") = full({}, -2, f64);
  EXPECT_THAT(error_of([&] { Lbfgs(net).load(Weights::of(state)); }),
              HasSubstr("[LBFGS] state.n_iter is -2"));
  EXPECT_THAT(error_of([&] { optimizer.set_lr(NAN); }), HasSubstr("[LBFGS] lr is nan"));
  net.bias = zeros({7}, f64);
  EXPECT_THAT(error_of([&] { optimizer.step(right); }),
              HasSubstr("[LBFGS] the parameter \"bias\" is f64 7"));
}

}  // namespace
}  // namespace tilewright::lbfgs_test
