// Kernels inside plans that go beside their memory, or whose asserts do not hold: custom ops, and
// launches in compiled functions. They find what a launch of its own finds.
#include "graph/lower/custom/checked_kernel.h"

#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::checked_kernel_test {
namespace {

using namespace dsl;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

int line_of_store = 0;
const Kernel twice("twice",
                   [](Pointer x, Pointer y, Scalar n, Constexpr b) {
                     Tile i = program_id(0) * b + cast(arange(0, b), i64);
                     Tile doubled = load(x + i, i < n) * 2.0;
                     line_of_store = __LINE__ + 1;
                     store(y + i, doubled, i < n);
                   },
                   {"x", "y", "n", "b"});

// Gives `results` elements, and takes them to be as many as the operand has.
CustomOp op_of(const Kernel& kernel, std::int64_t results) {
  return custom_op(
      "halved",
      [results](std::span<const TensorType>) {
        return std::vector<TensorType>{{f32, {results}}};
      },
      TileKernel{kernel, [](const CustomCall& call) {
                   const std::int64_t n = call.operand(0).count();
                   return TileLaunch{Grid(cdiv(n, 64)), {n, std::int64_t{64}}};
                 }});
}
Tensor written_beside(const Kernel& kernel, const Tensor& x) {
  Tensor y = tilewright::zeros({70});
  kernel.launch(cdiv(x.count(), 64), x, y, x.count(), 64);
  return y;
}

class CheckedKernel : public ::testing::TestWithParam<const char*> {
 protected:
  Device device() const { return Device::parse(GetParam()); }
  bool is_host() const { return !device().is_emulated(); }
  // `line` is set by the call. Index 99 of 70 elements is the furthest one that is written, by
  // program 1.
  void expect_found(const std::function<void()>& call, const int& line) {
    const std::string message = error_of(call);
    EXPECT_THAT(message, HasSubstr("checked_kernel_test.cpp:" + std::to_string(line_of_store)));
    EXPECT_THAT(message,
                HasSubstr(is_host() ? "[store] program (1, 0, 0): index 99 of y is outside: it has "
                                      "70 elements; mask elements outside"
                                    : "of y, which has 70 elements; mask elements outside"));
    EXPECT_THAT(message, HasSubstr("(launched at "));
    EXPECT_THAT(message, HasSubstr("checked_kernel_test.cpp:" + std::to_string(line) + ")"));
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CheckedKernel,
                         ::testing::Values("cpu", "emulated:sm_80", "emulated:sm_90a"));

TEST_P(CheckedKernel, OfACustomOpIsLookedAtAtOnceAndCompiled) {
  const CustomOp op = op_of(twice.with(Check::bounds), 70);
  const Tensor x = ramp({100});
  int line = 0;
  auto function = [&](const Tensor& t) {
    line = __LINE__ + 1;
    return op(t * 1.0);
  };
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    expect_found([&] { compile(function, {.mode = mode, .device = device()})(x); }, line);
  auto by_parts = compile(function, {.backend = Backend::aot_eager, .device = device()});
  expect_found([&] { by_parts(x); }, line);
  if (is_host()) expect_found([&] { function(x); }, line);
}

TEST_P(CheckedKernel, LaunchedInACompiledFunctionIsLookedAt) {
  const Kernel checked = twice.with(Check::bounds);
  const Tensor x = ramp({100});
  int line = 0;
  auto function = [&](const Tensor& t) {
    Tensor y = tilewright::zeros({70});
    line = __LINE__ + 1;
    checked.launch(2, t, y, 100, 64);
    return y + 1.0;
  };
  Compiled f = compile(function, {.fullgraph = true, .device = device()});
  expect_found([&] { f(x); }, line);
  auto in_loop = [&](const Tensor& t) {
    return scan(
               [&](const Tensors& s, const Tensors&) {
                 return Turn{{s[0] + function(t)}, {}};
               },
               {tilewright::zeros({70})}, {}, {.turns = 3})
        .first[0];
  };
  expect_found([&] { compile(in_loop, {.device = device()})(x); }, line);
}

// Kernels that stay within their memory compute what they do unchecked.
TEST_P(CheckedKernel, WithoutAFindingGivesWhatItGivesUnchecked) {
  const Tensor x = ramp({100});
  auto by = [&](const CustomOp& op) {
    auto function = [&](const Tensor& t) {
      return op(t + 1.0).slice(0, 0, 100) + op(t.slice(0, 20, 90)).slice(0, 0, 1);
    };
    return compile(function, {.device = device()})(x).to_vector<float>();
  };
  const Floats unchecked = by(op_of(twice, 110));
  EXPECT_EQ(by(op_of(twice.with(Check::all), 110)), unchecked);
  const Floats given = x.to_vector<float>();
  EXPECT_FLOAT_EQ(unchecked[99], 2 * (given[99] + 1 + given[20]));
}

// Messages for the lines of two calls must stay separate, although their programs are the same.
TEST_P(CheckedKernel, IsNamedWithTheLineOfTheCallThatFailed) {
  const CustomOp op = op_of(twice.with(Check::bounds), 70);
  int line = 0;
  auto function = [&](const Tensor& t, const Tensor& u) {
    Tensor a = op(t);
    line = __LINE__ + 1;
    return a + op(u);
  };
  Compiled f = compile(function, {.device = device()});
  EXPECT_EQ(error_of([&] { f(ramp({70}), ramp({70})); }), "no error");
  expect_found([&] { f(ramp({70}), ramp({100})); }, line);
}

TEST_P(CheckedKernel, IsLookedAtWhereTheSettingSaysSo) {
  Setting setting("TILEWRIGHT_CHECK", "bounds");
  const CustomOp op = op_of(twice, 70);
  int line = 0;
  auto function = [&](const Tensor& t) {
    line = __LINE__ + 1;
    return op(t);
  };
  expect_found([&] { compile(function, {.device = device()})(ramp({100})); }, line);
  auto launched = [&](const Tensor& t) { return written_beside(twice, t); };
  EXPECT_THAT(error_of([&] { compile(launched, {.device = device()})(ramp({100})); }),
              HasSubstr(is_host() ? "index 99 of y is outside" : "of y, which has 70 elements"));
}

TEST_P(CheckedKernel, SaysWhichOfItsAssertsDoesNotHold) {
  const Kernel positive("positive",
                        [](Pointer x, Pointer y, Scalar n, Constexpr b) {
                          Tile i = cast(arange(0, b), i64);
                          Tile of = load(x + i, i < n);
                          device_assert(of >= 0.0, "x is negative: {}", {of});
                          store(y + i, of, i < n);
                        },
                        {"x", "y", "n", "b"});
  const Tensor x = ramp({40}) - 100.0;
  auto with = [&](Check check) {
    const CustomOp op = op_of(positive.with(check), 40);
    return error_of(
        [&] { compile([&](const Tensor& t) { return op(t); }, {.device = device()})(x); });
  };
  EXPECT_EQ(with(Check::none), "no error");
  EXPECT_THAT(with(Check::asserts), AllOf(HasSubstr("checked_kernel_test.cpp:"),
                                          HasSubstr("x is negative"), HasSubstr("launched at")));
}

// A plan made without checks does not serve a kernel with checks, nor the other way round. Memory
// beside the two elements is used by nothing else, so the unchecked kernel may write it.
TEST(CheckedKernelOfTheHost, HasPlansOfItsOwn) {
  auto by = [](const Kernel& kernel) {
    return error_of([&] {
      compile(
          [&](const Tensor& t) {
            Tensor y = tilewright::zeros({2});
            kernel.launch(1, t, y, 6, 64);
            return y + 1.0;
          },
          {.device = Device::cpu()})(ramp({6}));
    });
  };
  EXPECT_EQ(by(twice.with(Check::none)), "no error");
  EXPECT_THAT(by(twice.with(Check::bounds)), HasSubstr("index 5 of y is outside"));
  EXPECT_EQ(by(twice.with(Check::none)), "no error");
}

// An interpreted plan runs no code that checks: its calls are equal wherever they stand.
TEST(CheckedKernelOfTheHost, IsAProgramLikeAnyOtherToTheInterpreter) {
  const CustomOp op = op_of(twice.with(Check::bounds), 110);
  const graph::Graph graph = graph::captured({{100}, {100}}, [&](std::vector<Tensor>& x) {
    Tensor first = op(x[0]);
    return std::vector<Tensor>{first, op(x[1])};
  });
  auto programs = [&](bool interpret) {
    return graph::make_plan(graph, {.interpret = interpret, .device = Device::cpu()})
        ->programs()
        .size();
  };
  EXPECT_EQ(programs(false), 2U);
  EXPECT_EQ(programs(true), 1U);
}

}  // namespace
}  // namespace tilewright::checked_kernel_test
