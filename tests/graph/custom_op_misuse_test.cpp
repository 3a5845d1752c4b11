// Misuse that custom ops refuse, and where.
#include <gmock/gmock.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_misuse_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Types = std::span<const TensorType>;
using Buffers = std::span<const BufferView>;

// An op whose rule gives these.
CustomOp giving(std::vector<TensorType> results, const CustomOptions& options = {}) {
  return custom_op(
      "odd", [results = std::move(results)](Types) { return results; },
      BufferFunction([](Buffers, Buffers) {}), options);
}

TEST(CustomOpMisuse, ABadShapeRuleIsNamedAtTheCall) {
  Tensor x = ramp({2, 3});
  CustomOp throws = custom_op(
      "needs_rank_three",
      [](Types operands) -> std::vector<TensorType> {
        if (operands[0].shape.rank() != 3) throw std::runtime_error("rank 3 is needed");
        return {operands[0]};
      },
      BufferFunction([](Buffers, Buffers) {}));
  const std::string at = "custom_op_misuse_test.cpp:" + std::to_string(__LINE__ + 1);
  std::string text = error_of([&] { throws(x); });
  EXPECT_THAT(text, AllOf(HasSubstr("[needs_rank_three] for f32 [2x3] the shape rule fails: rank 3 "
                                    "is needed"),
                          HasSubstr(at)));
  auto f = compile([&](const Tensor& t) { return throws(t + 1.0); });
  EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("[needs_rank_three] for f32 [2x3]"));
  EXPECT_THAT(error_of([&] { giving({})(x); }), HasSubstr("the shape rule gives no result"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {2, -1}}})(x);
              }),
              HasSubstr("[odd] for f32 [2x3] the shape rule gives result 0 the size -1"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {1LL << 40, 1LL << 40}}})(x);
              }),
              HasSubstr("whose elements are too many to count"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {2}}, {i64, {2}}}).all({x});
              }),
              HasSubstr("gives result 1 the type i64, and result 0 f32"));
}

TEST(CustomOpMisuse, ARuleThatDoesNotFitTheImplementationIsNamedAtTheCall) {
  Tensor x = ramp({2, 3});
  dsl::Kernel copy(
      "copy", [](dsl::Pointer a, dsl::Pointer b, dsl::Scalar) { dsl::store(b, dsl::load(a)); });
  auto like = [](Types operands) { return std::vector<TensorType>{operands[0]}; };
  auto launching = [&](std::vector<std::variant<std::int64_t, float, double>> numbers) {
    return custom_op("copy_one", like, TileKernel{copy, [numbers](const CustomCall&) {
                                                    return TileLaunch{Grid(1), numbers};
                                                  }});
  };
  EXPECT_THAT(error_of([&] {
                launching({1}).all({x, x});
              }),
              HasSubstr("the kernel copy takes 2 Pointers, and there are 3 operands and results"));
  EXPECT_THAT(error_of([&] { launching({})(x); }), HasSubstr("gives 0 numbers, and none for p2"));
  EXPECT_THAT(error_of([&] { launching({1, 2})(x); }), HasSubstr("the kernel copy takes 1"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {2, 3}}, {f32, {2}}})(x);
              }),
              HasSubstr("there are 2 results"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {3}}}, {.writes = {0}}).all({x});
              }),
              HasSubstr("an op that writes its first operand gives a result of its type"));
  EXPECT_THAT(
      error_of([&] {
        giving({x.dtype() == f32 ? TensorType{f32, {3}} : TensorType{}}, {.writes = {0}}).all({});
      }),
      HasSubstr("there is nothing to write"));
  CustomOp wrong = custom_op(
      "wrong",
      [](Types) {
        return std::vector<TensorType>{{f32, {7}}};
      },
      GraphFunction([](std::span<const Tensor> t) { return std::vector<Tensor>{t[0] * 2.0}; }));
  EXPECT_THAT(
      error_of([&] { wrong(x); }),
      HasSubstr("the function gives f32 [2x3] as result 0, and the shape rule says f32 [7]"));
}

TEST(CustomOpMisuse, PartsThatAreMissingOrImpossibleAreRefused) {
  auto like = [](Types operands) { return std::vector<TensorType>{operands[0]}; };
  EXPECT_THAT(error_of([&] { custom_op("a b", like, BufferFunction([](Buffers, Buffers) {})); }),
              HasSubstr("[custom_op] the name is \"a b\""));
  EXPECT_THAT(error_of([&] { custom_op("f", like, BufferFunction()); }),
              HasSubstr("[custom_op] f has no implementation"));
  EXPECT_THAT(error_of([&] { custom_op("f", like, GraphFunction()); }),
              HasSubstr("[custom_op] f has no implementation"));
  EXPECT_THAT(
      error_of([&] { custom_op("f", ShapeRule(), BufferFunction([](Buffers, Buffers) {})); }),
      HasSubstr("[custom_op] f has no shape rule"));
  EXPECT_THAT(error_of([&] {
                giving({{f32, {2}}}, {.writes = {1}});
              }),
              HasSubstr("[custom_op] odd writes operand 1"));
  dsl::Kernel none("none", [](dsl::Pointer) {});
  EXPECT_THAT(error_of([&] {
                custom_op("f", like, TileKernel{none, {}});
              }),
              HasSubstr("no launch"));
  auto launch = [](const CustomCall&) { return TileLaunch{}; };
  EXPECT_THAT(error_of([&] {
                custom_op("f", like, TileKernel{none, launch, std::vector<Configuration>(33)});
              }),
              HasSubstr("has 33 configurations"));
}

TEST(CustomOpMisuse, WhatACallDoesNotHaveIsNamed) {
  CustomCall call("op", {{f32, {2}}}, {{f32, {2}}}, {{"block", 4}});
  EXPECT_EQ(call["block"], 4);
  EXPECT_THAT(error_of([&] { call["rows"]; }), HasSubstr("has no \"rows\"; it has block"));
  EXPECT_THAT(error_of([&] { call.operand(1); }), HasSubstr("there is no operand 1"));
  EXPECT_THAT(error_of([&] { call.result(1); }), HasSubstr("there is no result 1"));
  BufferView view{{f32, {2}}, nullptr};
  EXPECT_THAT(error_of([&] { view.elements<double>(); }), HasSubstr("are f32, and are asked for"));
}

TEST(CustomOpMisuse, ElementwiseFunctionsAreWhatGraphsHaveOperationsFor) {
  Tensor x = ramp({4});
  CustomOp sums = custom_op(
      "sums", elementwise([](dsl::Tile t) { return t * dsl::cast(dsl::program_id(0), f32); }));
  EXPECT_THAT(error_of([&] { sums(x); }),
              AllOf(HasSubstr("[sums] "), HasSubstr("custom_op_misuse_test.cpp:"),
                    HasSubstr("uses program_id, which graphs have no operation for")));
  CustomOp adds = custom_op("adds", elementwise([](dsl::Tile a, dsl::Tile b) { return a + b; }));
  EXPECT_THAT(error_of([&] { adds(x); }),
              AllOf(HasSubstr("there are 1 operands (at custom_op_misuse_test.cpp:"),
                    HasSubstr("the function takes 2")));
  EXPECT_THAT(error_of([&] { adds(x, ramp({3})); }),
              HasSubstr("shapes do not broadcast: [4], [3]"));
  CustomOp nothing = custom_op("nothing", elementwise([](dsl::Tile) { return dsl::Tile(); }));
  EXPECT_THAT(error_of([&] { nothing(x); }), HasSubstr("the elementwise function gives nothing"));
}

TEST(CustomOpMisuse, GraphFunctionsUseTheirOperandsAlone) {
  Tensor x = ramp({4}), other = ramp({4});
  auto like = [](Types operands) { return std::vector<TensorType>{operands[0]}; };
  CustomOp captures = custom_op("captures", like, GraphFunction([=](std::span<const Tensor> t) {
                                  return std::vector<Tensor>{t[0] + other};
                                }));
  EXPECT_THAT(error_of([&] { captures(x); }), HasSubstr("uses a tensor that is not an operand"));
  EXPECT_THAT(error_of([&] { captures(Tensor()); }),
              HasSubstr("[captures] operand 0 is undefined"));
}

// As a launch outside of graphs refuses them; nothing is computed of memory that nobody wrote.
TEST(CustomOpMisuse, GridsAndKnobsThatALaunchRefusesAreRefused) {
  Tensor x = ramp({4});
  dsl::Kernel copy("copy", [](dsl::Pointer a, dsl::Pointer b) {
    dsl::Tile i = dsl::program_id(0);
    dsl::store(b + i, dsl::load(a + i));
  });
  auto like = [](Types operands) { return std::vector<TensorType>{operands[0]}; };
  auto launched_on = [&](const Grid& grid, std::vector<Configuration> configurations) {
    return custom_op("copied", like,
                     TileKernel{copy,
                                [grid](const CustomCall&) {
                                  return TileLaunch{grid, {}};
                                },
                                std::move(configurations)});
  };
  for (const Grid& grid : {Grid(-1), Grid(1, -2, 3), Grid(1LL << 40, 1LL << 40)}) {
    CustomOp op = launched_on(grid, {});
    EXPECT_THAT(error_of([&] { op(x); }), HasSubstr("[copied] the grid is "));
    auto f = compile([&](const Tensor& t) { return op(t) + 1.0; });
    EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("[copied] the grid is "));
  }
  for (const Configuration& knobs : {Configuration{{"num_warps", 5}}, {{"maxnreg", 3}}}) {
    CustomOp op = launched_on(Grid(4), {knobs});
    auto f = compile([&](const Tensor& t) { return op(t); });
    EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("[copied]"));
  }
}

// It would wait for itself.
TEST(CustomOpMisuse, AnOpDoesNotCallTheFunctionThatRunsIt) {
  std::function<Tensor(const Tensor&)> again;
  CustomOp op = custom_op(
      "calls", [](Types operands) { return std::vector{operands[0]}; },
      BufferFunction(
          [&](std::span<const BufferView> operands, std::span<const BufferView> results) {
            std::vector<float> values(operands[0].elements<const float>().begin(),
                                      operands[0].elements<const float>().end());
            values = again(Tensor::from(values, {4})).to_vector<float>();
            std::ranges::copy(values, results[0].elements<float>().begin());
          }));
  auto f = compile([&](const Tensor& x) { return op(x) + 1.0; });
  Tensor x = ramp({4});
  again = [&](const Tensor& t) { return f(t); };
  for (int turn = 0; turn < 2; ++turn)
    EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("would wait for itself without end"));
  auto other = compile([](const Tensor& t) { return t * 2.0; });
  again = [&](const Tensor& t) { return other(t); };
  expect_near(f(x), x * 2.0 + 1.0);
}

// As compile.h says: what the function wrote before the op, what it wrote behind it, or nothing.
TEST(CustomOpMisuse, WhatAnOpThatRaisesLeavesIsAValueThatTheFunctionWrote) {
  bool raises = true;
  const CustomOp op = custom_op(
      "raising", [](Types operands) { return std::vector<TensorType>{operands[0]}; },
      BufferFunction([&](Buffers operands, Buffers results) {
        if (raises) throw std::runtime_error("it raises");
        results[0].elements<float>()[0] = operands[0].elements<const float>()[0];
      }));
  for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright})
    for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
      Tensor state = zeros({1}).clone(), other = zeros({1}).clone();
      auto f = compile(
          [&](const Tensor& x) {
            state.copy_from(state + 1.0);
            other.copy_from(x);
            Tensor y = op(x * 2.0);
            state.copy_from(state + 10.0);
            other.copy_from(y);
            return y + state;
          },
          {.mode = mode, .backend = backend});
      raises = true;
      EXPECT_THROW(f(ones({1})), std::runtime_error);
      const float left = state.item<float>(), copied = other.item<float>();
      if (backend == Backend::eager) {
        EXPECT_EQ(left, 1);
        EXPECT_EQ(copied, 1);
      }
      EXPECT_TRUE(left == 0 || left == 1 || left == 11) << left;
      EXPECT_TRUE(copied == 0 || copied == 1) << copied;
      raises = false;
      EXPECT_EQ(f(ones({1})).item<float>(), left + 13);
      EXPECT_EQ(state.item<float>(), left + 11);
      EXPECT_EQ(other.item<float>(), 2);
    }
}

}  // namespace
}  // namespace tilewright::custom_op_misuse_test
