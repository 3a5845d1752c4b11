// Control flow that is refused: conditions, bodies and turns that do not fit, at once and compiled.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/random/random.h"
#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::control_flow_misuse_test {
namespace {

// At once, compiled, compiled and recorded: three calls each.
using Function = std::function<Tensors(const Tensors&)>;

std::string error_of_compiled(const Function& function, const Tensors& inputs) {
  return error_of([&] { compile(function)(inputs); });
}

TEST(ControlFlow, WhatDoesNotFitIsRefusedAtOnceAndCompiled) {
  Tensor x = ramp({3, 4});
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
  Tensor x = ramp({3, 4}), outside = zeros({4}).clone();
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
  auto branches = [&](const std::function<Tensor(const Tensor&)>& written) {
    return error_of_compiled(
        [&](const Tensors& t) {
          Tensor y = written(t[0]);
          auto write = [&](const Tensors&) {
            y.copy_from(y + 1.0);
            return Tensors{y * 1.0};
          };
          auto leave = [&](const Tensors&) { return Tensors{y * 1.0}; };
          const Tensors chosen = cond(sum(t[0]) > 0.0, write, leave, {});
          return Tensors{chosen[0] + y};
        },
        {x});
  };
  for (const auto& written :
       {std::function<Tensor(const Tensor&)>([](const Tensor& t) { return t; }),
        std::function<Tensor(const Tensor&)>([](const Tensor& t) { return t * 2.0; })})
    expect_contains(
        branches(written),
        "[copy_from] a function of control flow writes a tensor of the function around");
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

// A body cannot run in segments, so its break is an Error with and without fullgraph.
TEST(ControlFlow, BodiesThatReadValuesAreRefusedWhereTheyDo) {
  auto twice_if_small = [](const Tensors& t) {
    return sum(t[0]).item<float>() > 2 ? Tensors{t[0] * 2} : Tensors{t[0] * 1};
  };
  const Function choice = [&](const Tensors& t) {
    return cond(sum(t[0]) > 0.0, twice_if_small, twice_if_small, t);
  };
  const std::string at = "[compile] the function reads data at control_flow_misuse_test.cpp:";
  const std::string said = error_of_compiled(choice, {ramp({3})});
  expect_contains(said, at);
  expect_contains(said, ", where a graph cannot break, as in the body of a loop or branch; [item]");
  const std::string whole =
      error_of([&] { compile(choice, {.fullgraph = true})(Tensors{ramp({3})}); });
  expect_contains(whole, ", which breaks the graph, but fullgraph was asked for; [item]");
}

}  // namespace
}  // namespace tilewright::control_flow_misuse_test
