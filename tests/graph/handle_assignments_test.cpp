// Functions that assign tensors which outlive them: compiled or not, every call does it.
#include "graph/tensor/handle_assignments.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::handle_assignments_test {
namespace {

// Only some tests check what stderr reports about a break.
template <typename F>
std::string stderr_of(F&& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

TEST(HandleAssignments, AStateThatIsAssignedIsAssignedAtEveryCall) {
  Tensor state = zeros({4}), x = ramp({4});
  Compiled step = compile([&](const Tensor& by) {
    state = state + by;
    return state * 2;
  });
  std::string told = stderr_of([&] {
    for (int i = 1; i <= 3; ++i) {
      expect_near(step(x), x * (2 * i));
      expect_near(state, x * i);
    }
  });
  expect_contains(told, "the graph breaks: assignment at handle_assignments_test.cpp:");
  expect_contains(told, "changes a tensor that outlives it");
  expect_contains(step.report()[0].graph_break, "assignment at handle_assignments_test.cpp:");
}

TEST(HandleAssignments, TensorsThatAreExchangedAreExchangedAtEveryCall) {
  Tensor now = full({4}, 1.0), next = full({4}, 2.0), x = ramp({4});
  Compiled step = compile([&](const Tensor& by) {
    std::swap(now, next);
    return now * by;
  });
  stderr_of([&] {
    for (double value : {2.0, 1.0, 2.0, 1.0}) expect_near(step(x), x * value);
  });
}

TEST(HandleAssignments, AnUndefinedStateIsNotLeftSymbolic) {
  Tensor last, x = ramp({4});
  Compiled step = compile([&](const Tensor& by) {
    last = by * 3;
    return by + 1;
  });
  stderr_of([&] { expect_near(step(x), x + 1); });
  ASSERT_TRUE(last.defined());
  expect_near(last, x * 3);
}

TEST(HandleAssignments, ATensorThatIsKeptInAListBreaksTheGraph) {
  std::vector<Tensor> kept;
  kept.reserve(4);  // a handle that moves would be an assignment
  Tensor x = ramp({4});
  Compiled step = compile([&](const Tensor& by) {
    kept.push_back(by * 3);
    return by + 1;
  });
  std::string told = stderr_of([&] {
    expect_near(step(x), x + 1);
    expect_near(step(x), x + 1);
  });
  expect_contains(
      told,
      "the graph breaks: a value that is kept at handle_assignments_test.cpp:67 keeps a "
      "tensor that outlives it, so");
  expect_contains(told,
                  ", each compiled; explain() names all breaks, Options::fullgraph makes them an "
                  "Error");
  ASSERT_EQ(kept.size(), 2U);
  for (const Tensor& each : kept) expect_near(each, x * 3);
}

TEST(HandleAssignments, FullgraphRefusesThemAndLeavesTheStateAsItWas) {
  Tensor state = full({4}, 5.0), x = ramp({4});
  Compiled step = compile(
      [&](const Tensor& by) {
        state = state + by;
        return state * 2;
      },
      {.fullgraph = true});
  std::string text = error_of([&] { step(x); });
  expect_contains(text, "the function changes a tensor that outlives it at");
  expect_contains(text, "write to it in place (copy_from)");
  expect_near(state, full({4}, 5.0));
}

// An argument has a line where it is used, and none where it is not.
TEST(HandleAssignments, FullgraphNamesTheLineOfTheUser) {
  Tensor state = full({4}, 5.0), x = ramp({4});
  Compiled used =
      compile([&](const Tensor& by) { return state = by, by * 2; }, {.fullgraph = true});
  expect_contains(error_of([&] { used(x); }), "outlives it at handle_assignments_test.cpp:");
  Compiled unused = compile([&](const Tensor& by) { return state = by; }, {.fullgraph = true});
  const std::string said = error_of([&] { unused(x); });
  expect_contains(said, "the function changes a tensor that outlives it, which breaks the graph");
  expect_contains(said, "is assigned within it (of shape 4), which every call should do");
}

// The read of data ends the capture when the state has been assigned already.
TEST(HandleAssignments, ABreakForAnotherReasonGivesBackWhatWasAssigned) {
  Tensor state = zeros({4}), x = full({4}, 1.0);
  Compiled step = compile([&](const Tensor& by) {
    state = state + by;
    return state * (sum(state, {0}).item<float>() > 6 ? 10 : 1);
  });
  stderr_of([&] {
    expect_near(step(x), full({4}, 1.0));
    expect_near(step(x), full({4}, 20.0));
  });
}

TEST(HandleAssignments, HandlesOfTheFunctionItselfMayBeAssigned) {
  Tensor weight = full({4}, 2.0), other = full({4}, 3.0), x = ramp({4});
  auto fast = compile(
      [&](const Tensor& by) {
        Tensor h = weight, g, k = other;
        std::swap(h, k);
        g = h * by;
        h = g + k;
        std::vector<Tensor> list(2);
        list[0] = h;
        list[1] = std::move(g);
        list.push_back(weight);
        list[2] = list[0];
        return list;
      },
      {.fullgraph = true});
  std::vector<Tensor> results = fast(x);
  expect_near(results[0], x * 3 + 2);
  expect_near(results[1], x * 3);
  expect_near(results[2], x * 3 + 2);
}

// Both stand for one tensor before. One is lent, and the other goes on to another tensor.
TEST(HandleAssignments, AHandleThatIsGivenBackWasNotExchanged) {
  Tensor lent = full({4}, 2.0), moved = lent, other = full({4}, 3.0), x = ramp({4});
  Compiled step = compile(
      [&](const Tensor& by) {
        Tensor keeps = lent;
        lent = by * 2;
        Tensor result = lent + keeps;
        lent = keeps;
        moved = other;
        return result * moved;
      },
      {.fullgraph = true});
  for (int call = 0; call < 2; ++call) expect_near(step(x), (x * 2 + 2) * 3);
  expect_near(lent, full({4}, 2.0));
}

// As tables of angles do.
TEST(HandleAssignments, ATableMadeAtTheFirstCallIsKept) {
  struct Model {
    Tensor table;
    Tensor forward(const Tensor& x) {
      if (!table.defined() || table.size(0) < x.size(0))
        table = Tensor::from(std::vector<float>(static_cast<std::size_t>(x.size(0)), 2.0F),
                             {x.size(0)});
      return x * table.slice(0, 0, x.size(0));
    }
  } model;
  Compiled fast = compile(model, {.fullgraph = true});
  for (int size : {4, 7, 3}) expect_near(fast(ramp({size})), ramp({size}) * 2);
}

}  // namespace
}  // namespace tilewright::handle_assignments_test
