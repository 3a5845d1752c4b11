// Kernels that are run by the interpreter and watched while they are.
#include "dsl/debugger/interpretation.h"
#include "dsl/ir/function.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>

#include "dsl/ir/text/text.h"
#include "dsl/language/words/naming.h"
#include "dsl/launch/device.h"
#include "tests/errors.h"

namespace tilewright::dsl::interpretation_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string here(int line) { return "interpretation_test.cpp:" + std::to_string(line); }

// y = 2 x + 1, a program a block.
int doubled_line = 0;
Kernel affine() {
  return Kernel("affine",
                [](Pointer x, Pointer y, Scalar n, Constexpr block) {
                  Tile i = program_id(0) * block + cast(arange(0, block), i64);
                  doubled_line = __LINE__ + 1;
                  Tile doubled = named(load(x + i, i < n) * 2.0, "doubled");
                  store(y + i, named(doubled + 1.0, "result"), i < n);
                },
                {"x", "y", "n", "block"});
}

struct Affine {
  std::vector<float> x = std::vector<float>(10), y = std::vector<float>(10, -1);
  Affine() { std::iota(x.begin(), x.end(), 0.0F); }
  void run(const InterpretOptions& options = {}) { interpret(affine(), 3, {x, y, 10, 4}, options); }
};

TEST(Interpretation, GivesWhatALaunchGives) {
  Affine interpreted, launched;
  interpreted.run();
  affine().on(Device::cpu()).launch(3, launched.x, launched.y, 10, 4);
  EXPECT_EQ(interpreted.y, launched.y);
}

TEST(Interpretation, TellsOfEachInstructionOfEachProgram) {
  std::int64_t count = 0;
  std::vector<std::string> stores;
  Affine().run({.observer = [&](const TraceStep& step) {
    ++count;
    if (step.inst.op == ir::Op::store_)
      stores.push_back(std::string(step.place) + " " + std::to_string(step.program[0]));
  }});
  EXPECT_EQ(count % 3, 0);
  const std::string line = here(doubled_line + 1);
  EXPECT_THAT(stores, ElementsAre(line + " 0", line + " 1", line + " 2"));
}

TEST(Interpretation, WatchesATileByNameAndProgram) {
  std::vector<std::vector<double>> seen;
  Affine().run({.observer =
                    [&](const TraceStep& step) {
                      EXPECT_EQ(step.place, here(doubled_line));
                      EXPECT_EQ(step.name, "doubled");
                      EXPECT_EQ(step.results[0].dtype(), f32);
                      EXPECT_EQ(step.results[0].shape(), Shape({4}));
                      EXPECT_THAT(std::string(step.text), HasSubstr(".doubled = mul "));
                      EXPECT_EQ(step.results[0].summary(2), "[8, 10, ... 2 more]");
                      seen.push_back(step.results[0].numbers());
                    },
                .watch = "doubled",
                .program = {{1, 0, 0}}});
  EXPECT_THAT(seen, ElementsAre(std::vector<double>{8, 10, 12, 14}));
}

TEST(Interpretation, ShowsPointersAsIndicesOfTheirArrays) {
  std::string seen;
  Affine().run({.observer =
                    [&](const TraceStep& step) {
                      if (step.inst.op == ir::Op::store_) seen = step.operands[0].summary(2);
                    },
                .program = {{1, 0, 0}}});
  EXPECT_EQ(seen, "[y[4], y[5], ... 2 more]");
}

TEST(Interpretation, CountsTheTurnsOfALoop) {
  Kernel kernel("sum", [](Pointer y) {
    Var sum = constant(ir::Scalar::of(f32, 0));
    for (Tile i : range(0, 3)) sum = named(sum + cast(i, f32), "partial");
    store(y, sum);
  });
  std::vector<float> y(1);
  std::vector<std::pair<std::int64_t, double>> seen;
  interpret(
      kernel, 1, {y},
      {.observer =
           [&](const TraceStep& step) { seen.emplace_back(step.turn, step.results[0].number(0)); },
       .watch = "partial"});
  EXPECT_THAT(seen, ElementsAre(std::pair{0, 0.0}, std::pair{1, 1.0}, std::pair{2, 3.0}));
}

TEST(Interpretation, RefusesNamesAndProgramsThatAreNotThere) {
  EXPECT_THAT(error_of([] { Affine().run({.watch = "scores"}); }),
              HasSubstr("[affine] no tile is named \"scores\"; there are \"doubled\", \"result\""));
  for (const auto& [x, y, z] : {std::array{3, 0, 0}, std::array{0, 1, 0}, std::array{0, 0, 1}}) {
    const std::string text = concat("(", x, ", ", y, ", ", z, ")");
    EXPECT_THAT(error_of([&] {
                  Affine().run({.program = {{x, y, z}}});
                }),
                HasSubstr("[affine] there is no program " + text + "; the grid is 3 x 1 x 1"));
  }
  EXPECT_THAT(error_of([] { Affine().run({.unwritten = {"z"}}); }),
              HasSubstr("[affine] \"z\" is not a pointer of the kernel"));
}

TEST(Interpretation, AnErrorOfTheObserverEndsTheRun) {
  EXPECT_THAT(
      error_of([] { Affine().run({.observer = [](const TraceStep&) { raise_error("enough"); }}); }),
      HasSubstr("enough (interpreted at interpretation_test.cpp:"));
}

TEST(Interpretation, FollowsTheRulesOfALaunch) {
  Affine affine_;
  const std::vector<float> constant = affine_.y;
  EXPECT_THAT(error_of([&] {
                interpret(affine(), 3, {affine_.x, constant, 10, 4});
              }),
              HasSubstr("[affine] the argument for y is const, and the kernel writes to it"));
  EXPECT_THAT(error_of([&] {
                interpret(affine(), 3, {affine_.x, affine_.x, 10, 4});
              }),
              HasSubstr("overlap, and the kernel writes y"));
  EXPECT_THAT(error_of([&] {
                interpret(affine(), -1, {affine_.x, affine_.y, 10, 4});
              }),
              HasSubstr("the grid is -1 x 1 x 1"));
  interpret(affine(), 0, {affine_.x, affine_.y, 10, 4});
  EXPECT_EQ(affine_.y, std::vector<float>(10, -1));
}

TEST(Interpretation, OfAProgramTakesWiderNumbers) {
  ir::Function program = ir::parse(
      "func @f(%y: ptr<f16>, %a: f16, %n: i32) {\n"
      "  %c = cast %n, f16 : f16\n  %4.sum = add %a, %c : f16\n  store %y, %4.sum\n}\n");
  std::vector<Half> y(1);
  std::vector<LaunchArgument> arguments = {y, 0.5, 3};
  std::string place;
  interpret(program, 1, arguments,
            {.observer = [&](const TraceStep& step) { place = step.place; }, .watch = "sum"});
  EXPECT_EQ(static_cast<float>(y[0]), 3.5F);
  EXPECT_EQ(place, "line 3");
  arguments[0] = LaunchArgument(std::span<const float>());
  EXPECT_THAT(error_of([&] { interpret(program, 1, arguments); }),
              HasSubstr("[f] the argument for y is memory of f32; the parameter is ptr<f16>"));
}

TEST(Interpretation, OfAProgramRefusesWhatItWasNotTracedFor) {
  ir::Function program =
      ir::parse("func @f(%y: ptr<i64>, %n: i64 align 16) {\n  store %y, %n\n}\n");
  std::vector<std::int64_t> y(1);
  auto error = [&](std::vector<LaunchArgument> arguments) {
    return error_of([&] { interpret(program, 1, arguments); });
  };
  EXPECT_EQ(error({y}), "[f] there are 1 arguments; the program takes 2");
  EXPECT_EQ(error({y, 24}),
            "[f] the argument for n is 24, and the program was traced for multiples of 16");
  EXPECT_EQ(error({y, 0.5}), "[f] the argument for n is a number of f64; the parameter is i64");
  EXPECT_EQ(error({3, 16}), "[f] the argument for y is a number of i64; the parameter is ptr<i64>");
  EXPECT_EQ(error({y, 48}), "no error");
  EXPECT_THAT(y, ElementsAre(48));
}

TEST(NamedTiles, KeepTheirNamesInTheText) {
  ir::Function function = affine().trace({f32, f32, i64, std::int64_t{4}});
  const std::string text = ir::print(function);
  EXPECT_THAT(text, HasSubstr(".doubled = mul "));
  ir::Function read = ir::parse(text);
  EXPECT_EQ(ir::print(read), text);
  EXPECT_EQ(ir::content_hash(read), ir::content_hash(function));
  ir::Function nameless = function;
  nameless.hints.clear();
  EXPECT_EQ(ir::content_hash(nameless), ir::content_hash(function));
}

TEST(NamedTiles, StandInTheTextOfAProgram) {
  Affine affine_;
  const std::string text = program_text(affine(), {affine_.x, affine_.y, 10, 4});
  EXPECT_THAT(text, HasSubstr("(%x: ptr<f32> align 16, %y: ptr<f32> align 16, %n: i64) {"));
  EXPECT_THAT(text, HasSubstr(".doubled = mul "));
  std::vector<LaunchArgument> arguments = {affine_.x, affine_.y, 10};
  interpret(ir::parse(text), 3, arguments);
  EXPECT_EQ(affine_.y[9], 19);
}

TEST(NamedTiles, RefuseWhatIsNoName) {
  Kernel kernel("k", [](Pointer y) { store(y, named(1.0, "two words")); });
  EXPECT_THAT(error_of([&] { kernel.trace({f32}); }),
              HasSubstr(": [named] \"two words\" is not a name; a name is a letter or _, then "
                        "letters, digits and _"));
}

}  // namespace
}  // namespace tilewright::dsl::interpretation_test
