// Control flow in graphs: choices, while loops and scans, at once and compiled, against loops in
// C++ and the interpreter, and as text.
#include "graph/functions/control/control_flow.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/reference/evaluate_tasks.h"
#include "graph/regions/reference/verify.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::control_flow_test {
namespace {

using Floats = std::vector<float>;

std::vector<Floats> values_of(const Tensors& tensors) {
  std::vector<Floats> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.to(f32).to_vector<float>());
  return values;
}
void expect_near(const std::vector<Floats>& got, const std::vector<Floats>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size()) << i;
    for (std::size_t k = 0; k < got[i].size(); ++k)
      EXPECT_NEAR(got[i][k], wanted[i][k], 1e-5 * (1 + std::abs(wanted[i][k]))) << i << ", " << k;
  }
}
// At once, compiled, compiled and recorded: three calls each.
using Function = std::function<Tensors(const Tensors&)>;
void expect_alike(const Function& function, const Tensors& inputs) {
  const std::vector<Floats> wanted = values_of(function(inputs));
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(function, {.mode = mode});
    for (int call = 0; call < 3; ++call) expect_near(values_of(fast(inputs)), wanted);
  }
}
Tensor random(const Shape& shape, std::uint64_t seed) {
  return randn(shape, f32, Generator(seed)) * 0.5;
}

struct Cell {
  Tensor w, u;
  Turn operator()(const Tensors& state, const Tensors& x) const {
    Tensor h = tanh(matmul(x[0], w) + matmul(state[0], u));
    return {{h, state[1] + 1}, {h * 2.0, sum(h, {0})}};
  }
};

TEST(ControlFlow, AScanIsItsTurnsOneAfterTheOther) {
  Cell cell{random({5, 16}, 1), random({16, 16}, 2)};
  Tensor h = random({3, 16}, 3), xs = random({7, 3, 5}, 4), count = zeros({}, i64).clone();
  for (bool reverse : {false, true})
    expect_alike(
        [&](const Tensors& t) {
          auto [last, all] = scan(cell, {t[0], t[1]}, {t[2]}, {.reverse = reverse});
          return Tensors{last[0], last[1], all[0], all[1]};
        },
        {h, count, xs});
}

TEST(ControlFlow, AScanReadsValuesOfTheFunctionAroundAndViews) {
  Tensor xs = random({4, 9, 6}, 5), h = random({6}, 6), scale = random({6}, 7);
  expect_alike(
      [&](const Tensors& t) {
        Tensor factor = exp(t[2] * 0.5);  // computed once, used in each turn
        auto step = [&](const Tensors& state, const Tensors& x) -> Turn {
          Tensor next = state[0] * factor + x[0].slice(0, 1, 2).reshape({6}) * scale;
          return {{next}, {next - x[1].reshape({6})}};
        };
        // The sliced axis is not the first in memory, and one is sliced to what is not aligned.
        auto [last, all] = scan(step, {t[1]}, {t[0].transpose(0, 1), t[0].select(0, 2)});
        return Tensors{last[0] + 1, all[0].transpose(0, 1).contiguous()};
      },
      {xs, h, random({6}, 8)});
}

TEST(ControlFlow, AScanOverNothingButTurnsCounts) {
  expect_alike(
      [](const Tensors& t) {
        auto step = [](const Tensors& state, const Tensors&) -> Turn {
          return {{state[0] * 2.0}, {state[0]}};
        };
        auto [last, all] = scan(step, {t[0]}, {}, {.turns = 5});
        return Tensors{last[0], all[0]};
      },
      {random({2}, 9)});
}

TEST(ControlFlow, AWhileLoopRunsAsLongAsItsConditionHolds) {
  auto halved = [](const Tensors& t) {
    auto condition = [](const Tensors& s) { return amax(abs(s[0])) > 0.01; };
    auto body = [](const Tensors& s) { return Tensors{s[0] * 0.5, s[1] + 1}; };
    return while_loop(condition, body, {t[0], zeros({1}, i64)});
  };
  expect_alike(halved, {random({37}, 10)});
  EXPECT_EQ(values_of(compile(Function(halved))({zeros({37}).clone()}))[1], Floats{0});
  EXPECT_EQ(values_of(compile(Function(halved))({full({37}, 1, f32).clone()}))[1], Floats{7});
}

TEST(ControlFlow, AChoiceRunsOneOfTwo) {
  Tensor weight = random({8, 8}, 11), bias = random({8}, 12);
  auto function = [&](const Tensors& t) {
    return cond(
        sum(t[0]) > 0.0,
        [&](const Tensors& x) {
          return Tensors{matmul(x[0], weight), x[0]};
        },
        [&](const Tensors& x) {
          return Tensors{x[0] + bias, x[0] * 3.0};
        },
        {t[0]});
  };
  expect_alike(function, {full({4, 8}, 1, f32).clone()});
  expect_alike(function, {full({4, 8}, -1, f32).clone()});
  // One plan for both.
  auto fast = compile(Function(function));
  for (double sign : {1.0, -1.0, 1.0}) {
    Tensor x = full({4, 8}, sign, f32).clone();
    expect_near(values_of(fast({x})), values_of(function({x})));
  }
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(ControlFlow, LoopsNest) {
  expect_alike(
      [](const Tensors& t) {
        auto inner = [](const Tensors& s, const Tensors& x) -> Turn {
          Tensor next = s[0] + x[0];
          return {{next}, {next * next}};
        };
        auto outer = [&](const Tensors& s, const Tensors& row) -> Turn {
          auto [last, all] = scan(inner, {s[0]}, {row[0]});
          Tensor kept = cond(
              last[0] > 0.0, [](const Tensors& v) { return Tensors{v[0]}; },
              [](const Tensors& v) { return Tensors{v[0] * -1.0}; }, last)[0];
          return {{kept}, {all[0]}};
        };
        auto [last, all] = scan(outer, {t[0]}, {t[1]});
        return Tensors{last[0], all[0]};
      },
      {zeros({}).clone(), random({3, 5}, 13)});
}

TEST(ControlFlow, ALoopOf512TurnsIsOneLaunch) {
  Cell cell{random({8, 16}, 14), random({16, 16}, 15)};
  Function scanned = [&](const Tensors& t) {
    auto [last, all] = scan(cell, {t[0], t[1]}, {t[2]});
    return Tensors{last[0], last[1], all[0]};
  };
  auto fast = compile(scanned), part = compile(scanned);
  Tensor xs = random({512, 2, 8}, 16), h = zeros({2, 16}).clone(), count = zeros({}, i64).clone();
  Tensors whole = fast({h, count, xs});
  EXPECT_LE(fast.report()[0].launches, 4);
  Tensors state = {h, count};
  Tensors parts;
  for (std::int64_t at = 0; at < 512; at += 64) {
    Tensors next = part({state[0], state[1], xs.slice(0, at, at + 64)});
    parts.push_back(next[2]);
    state = {next[0], next[1]};
  }
  expect_near(values_of(whole), values_of({state[0], state[1], cat(parts, 0)}));
  EXPECT_EQ(whole[1].item<std::int64_t>(), 512);
}

// The programs of a body whose turns see so many numbers each.
std::string programs_of_turns(std::int64_t numbers) {
  static double factor = 0.37;  // a program of its own each time: only what is new is dumped
  factor += 1;
  auto body = [](const Tensors& s, const Tensors& x) { return Turn{{s[0] * factor + x[0]}, {}}; };
  Setting dump("TILEWRIGHT_DUMP", "simplify");
  testing::internal::CaptureStderr();
  compile(Function([&](const Tensors& t) { return scan(body, {t[0]}, {t[1]}).first; }))(
      {zeros({numbers}).clone(), ones({3, numbers}).clone()});
  return testing::internal::GetCapturedStderr();
}

// Aligned memory may be read faster; the second of three rows of 20 bytes is not aligned.
TEST(ControlFlow, BodiesTakeSlicesToBeAlignedWhereTheyAre) {
  const std::string of_20_bytes = programs_of_turns(5), of_64_bytes = programs_of_turns(16);
  expect_contains(of_20_bytes, " align 4");
  expect_contains(of_64_bytes, "func @");
  EXPECT_EQ(of_64_bytes.find(" align "), std::string::npos) << of_64_bytes;
}

const std::string text =
    "graph {\n"
    "  %0: f32[4] = input\n"
    "  %1: f32[3x4] = input\n"
    "  %2: bool[scalar] = input\n"
    "  %3: f32[4], f32[3x4] = scan %0, %1 {end=3, bodies=<graph {;  %0: f32[4] = input;"
    "  %1: f32[4] = input;  %2: f32[4] = add %0, %1;  inputs %0 %1;  return %2 %2;};>,"
    " carried=1, sliced=1}\n"
    "  %4: f32[3x4] = result %3 {index=1}\n"
    "  %5: f32[4] = cond %2, %3 {bodies=<graph {;  %0: f32[4] = input;  inputs %0;  return %0;};>"
    "<graph {;  %0: f32[4] = input;  %1: f32[4] = neg %0;  inputs %0;  return %1;};>}\n"
    "  inputs %0 %1 %2\n"
    "  return %5 %4\n"
    "}\n";

TEST(ControlFlow, HasATextThatReadsBack) {
  graph::Graph graph = graph::parse(text);
  EXPECT_EQ(graph::print(graph), text);
  graph::Graph other = graph::parse(text);
  EXPECT_EQ(graph::content_hash(graph), graph::content_hash(other));
  std::string changed = text;
  changed.replace(changed.find("add"), 3, "sub");
  EXPECT_NE(graph::content_hash(graph), graph::content_hash(graph::parse(changed)));
  graph::TaskList tasks = graph::make_tasks(graph::run_passes(graph));
  graph::verify(tasks);
  EXPECT_EQ(graph::print(graph::parse_tasks(graph::print(tasks)).list), graph::print(tasks));
}

TEST(ControlFlow, MeansTheSameToTheInterpreterOfTasksAndToPlans) {
  graph::Graph graph = graph::run_passes(graph::parse(text));
  graph::HostTensor start(f32, {4}), rows(f32, {3, 4}), is_true(DType::boolean, {});
  for (std::int64_t i = 0; i < 12; ++i) rows.set_number(i, static_cast<double>(i));
  for (int choice : {0, 1}) {
    is_true.integer = {choice};
    const std::vector<graph::HostTensor> inputs = {start, rows, is_true};
    graph::Evaluation wanted = evaluate(graph, inputs, graph::Rounding::exact_dtype);
    EXPECT_EQ(wanted.outputs[0].floating[3], choice == 1 ? 21 : -21);
    EXPECT_EQ(wanted.outputs[1].floating[11], 21);
    graph::TaskList tasks = graph::make_tasks(graph);
    graph::Evaluation by_tasks = evaluate(graph, tasks, inputs, graph::Rounding::exact_dtype);
    EXPECT_EQ(by_tasks.outputs[0].floating, wanted.outputs[0].floating);
    EXPECT_EQ(by_tasks.outputs[1].floating, wanted.outputs[1].floating);
  }
}

std::string error_of_compiled(const Function& function, const Tensors& inputs) {
  return error_of([&] { compile(function)(inputs); });
}

TEST(ControlFlow, WhatDoesNotFitIsRefusedAtOnceAndCompiled) {
  Tensor x = random({3, 4}, 17);
  auto same = [](const Tensors& t) { return t; };
  auto both = [&](const Function& function, const char* message) {
    expect_contains(error_of([&] { function({x}); }), message);
    expect_contains(error_of_compiled(function, {x}), message);
  };
  both([&](const Tensors& t) { return cond(t[0] > 0.0, same, same, t); },
       "[cond] the condition is bool 3x4");
  both([&](const Tensors& t) { return while_loop([](const Tensors& s) { return s[0]; }, same, t); },
       "[while_loop] the condition is f32 3x4");
  both(
      [&](const Tensors& t) {
        auto positive = [](const Tensors& s) { return sum(s[0]) > -1e9; };
        return while_loop(
            positive, [](const Tensors& s) { return Tensors{s[0].to(f64)}; }, t);
      },
      "[while_loop] carried tensor 0 is f32 3x4, and after a turn f64 3x4");
  both([&](const Tensors&) { return while_loop([](const Tensors& s) { return s[0]; }, same, {}); },
       "[while_loop] nothing is carried");
  auto keep = [](const Tensors& s, const Tensors&) -> Turn { return {s, {}}; };
  both([&](const Tensors& t) { return scan(keep, t, {}).first; }, "[scan] 0 turns");
  both(
      [&](const Tensors& t) {
        return scan(keep, t, {t[0], t[0].transpose(0, 1)}).first;
      },
      "[scan] a sliced tensor is 4x3, the first 3x4");
  both(
      [&](const Tensors& t) {
        return scan([](const Tensors&, const Tensors&) -> Turn { return {}; }, t, t).first;
      },
      "[scan] 1 tensors are carried, and 0 are given");
  both([&](const Tensors&) { return cond(Tensor(), same, same, {}); },
       "[cond] tensor 0 is undefined");
}

TEST(ControlFlow, WhatNoBodyCanHoldIsRefusedWhereAFunctionIsCaptured) {
  Tensor x = random({3, 4}, 18), outside = zeros({4}).clone();
  const Generator generator(1);
  auto scanned = [&](const std::function<Tensor(const Tensor&)>& f) {
    return error_of_compiled(
        [&](const Tensors& t) {
          auto turn = [&](const Tensors& s, const Tensors& row) -> Turn {
            return {{s[0] + f(row[0])}, {}};
          };
          return scan(turn, {zeros({4})}, {t[0]}).first;
        },
        {x});
  };
  expect_contains(scanned([&](const Tensor& row) {
                    outside.copy_from(row);
                    return row;
                  }),
                  "[scan] a function writes a tensor in place");
  expect_contains(scanned([&](const Tensor& row) { return dropout(row, 0.5, true, generator); }),
                  "[scan] a function draws random numbers");
  expect_contains(error_of([&] {
                    graph::parse(
                        "graph {\n  %0: f32[4] = input\n"
                        "  %1: f32[4] = scan %0 {carried=1, bodies=<graph {;  %0: f32[4] = input;"
                        "  inputs %0;  return %0;};>}\n  inputs %0\n  return %1\n}\n");
                  }),
                  "[scan] has 0 turns; there must be at least one");
}

TEST(ControlFlow, TurnsMustBeThoseOfWhatIsSliced) {
  auto with = [](std::int64_t turns) {
    return error_of([&] {
      scan(
          [](const Tensors& s, const Tensors& e) {
            return Turn{{s[0] + e[0]}, {}};
          },
          {zeros({2})}, {ones({3, 2})}, {.turns = turns});
    });
  };
  EXPECT_EQ(with(0), "no error");
  EXPECT_EQ(with(3), "no error");
  expect_contains(with(5), "[scan] 5 turns are asked for, and a sliced tensor is 3x2");
}

TEST(ControlFlow, RandomNumbersAreDrawnBeforeALoop) {
  auto function = [](const Tensor& x) {
    return scan(
               [](const Tensors& s, const Tensors&) {
                 return Turn{{s[0] + rand({2})}, {}};
               },
               {x}, {}, {.turns = 3})
        .first[0];
  };
  const std::string message = error_of([&] { compile(function)(zeros({2})); });
  expect_contains(message, "[scan] a function draws random numbers (at control_flow_test.cpp:");
  expect_contains(message, "draw them before, for all turns");
}

// x grows by a step until it is 10; a step of 0 never ends.
Tensors grown(const Tensors& t) {
  return while_loop([](const Tensors& state) { return state[0] < 10; },
                    [](const Tensors& state) {
                      return Tensors{state[0] + state[1], state[1]};
                    },
                    t);
}
Tensors steps_of(double step) { return {zeros({}).clone(), full({}, step).clone()}; }

// The error of the call if another thread sets the flag while it runs.
template <typename Call>
std::string stopped(const Call& call) {
  std::atomic<bool> stop = false;
  std::thread watch([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop = true;
  });
  StoppableLoops stoppable(stop);
  const std::string error = error_of(call);
  watch.join();
  return error;
}

TEST(StoppableLoops, EndALoopThatNeverEndsAtOnceAndCompiled) {
  expect_contains(stopped([&] { grown(steps_of(0)); }), "[while_loop] was stopped after ");
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(grown, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      expect_contains(stopped([&] { fast(steps_of(0)); }),
                      "as the flag of StoppableLoops is set; a loop ends when its condition");
      EXPECT_EQ(fast(steps_of(4))[0].item<float>(), 12);
    }
  }
}

TEST(StoppableLoops, LookBeforeEachTurnOfTheirThread) {
  const std::atomic<bool> set = true, clear = false;
  auto all = [](const Tensors& t) {
    return scan(
               [](const Tensors& state, const Tensors&) {
                 return Turn{{state[0] + 1}, {}};
               },
               t, {}, {.turns = 40})
        .first;
  };
  auto fast = compile(all);
  const Tensors x = {zeros({2})};
  EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
  {
    StoppableLoops stoppable(set);
    expect_contains(error_of([&] { fast(x); }), "[scan] was stopped after 0 turns");
    expect_contains(error_of([&] { all(x); }), "[scan] was stopped after 0 turns");
    {
      StoppableLoops inner(clear);
      EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
    }
    std::string of_other;
    std::thread other([&] { of_other = error_of([&] { fast(x); }); });
    other.join();
    EXPECT_EQ(of_other, "no error");
    expect_contains(error_of([&] { fast(x); }), "was stopped");
  }
  EXPECT_EQ(fast(x)[0].to_vector<float>()[0], 40);
}

TEST(StoppableLoops, EndThoseWithinOthers) {
  auto nested = [](const Tensors& t) {
    auto turn = [&](const Tensors& state, const Tensors&) -> Turn {
      return {{grown({state[0] * 0, t[1]})[0]}, {}};
    };
    return scan(turn, {t[0]}, {}, {.turns = 30}).first;
  };
  auto fast = compile(nested);
  EXPECT_EQ(fast(steps_of(5))[0].item<float>(), 10);  // compiled before the flag can be set
  expect_contains(stopped([&] { fast(steps_of(0)); }), "[while_loop] was stopped after ");
  EXPECT_EQ(fast(steps_of(5))[0].item<float>(), 10);
}

}  // namespace
}  // namespace tilewright::control_flow_test
