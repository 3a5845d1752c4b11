// Where compiled code goes another way than the interpreter: as no mistake of the compiler is
// known, by what the language leaves open, the last digits of functions and the order of atomics.
#include "dsl/debugger/first_difference.h"

#include <gmock/gmock.h>

#include "dsl/debugger/interpretation.h"
#include "dsl/debugger/observed_program.h"
#include "dsl/interpret/interpret.h"
#include "dsl/language/words/naming.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/launch.h"
#include "tests/errors.h"

namespace tilewright::dsl::first_difference_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FirstDifference : public ::testing::TestWithParam<const char*> {
 protected:
  Device device_ = Device::parse(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, FirstDifference,
                         ::testing::Values("cpu", "emulated:sm_80", "emulated:sm_90a"));

// Sums rows of products: loops, a dot, a reduction.
Kernel scores_kernel() {
  return Kernel("scores",
                [](Pointer a, Pointer b, Pointer y, Scalar k) {
                  Desc left = make_desc(a, {16, k}, {k, 1}), right = make_desc(b, {k, 16}, {16, 1});
                  Var acc = zeros({16, 16}, f32);
                  for (Tile i : range(0, k, 16))
                    acc = dot(load(left, {0, i}, {16, 16}), load(right, {i, 0}, {16, 16}), acc);
                  Tile scores = named(exp(acc.get() * 0.1), "scores");
                  store(y + arange(0, 16), sum(scores, 1));
                },
                {"a", "b", "y", "k"});
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i * 7 % 11) / 8 - 0.5F;
  return all;
}

TEST_P(FirstDifference, IsNoneWhereResultsAgreeAndLeavesTheArgumentsAlone) {
  std::vector<float> a = numbers(16 * 32), b = numbers(32 * 16), y(16, 5);
  EXPECT_FALSE(first_difference(scores_kernel(), device_, 1, {a, b, y, 32}).has_value());
  EXPECT_EQ(y, std::vector<float>(16, 5));
}

// The last digits of f32 differ: with bounds of nothing they are differences, the first of which
// is where compiled code first rounds otherwise.
TEST_P(FirstDifference, NamesInstructionLineProgramElementAndValues) {
  int line = 0;
  Kernel kernel("functions",
                [&line](Pointer x, Pointer y) {
                  Tile i = program_id(0) * 64 + cast(arange(0, 64), i64);
                  Tile half = load(x + i) * 0.5;
                  line = __LINE__ + 1;
                  Tile powers = named(exp(half), "powers");
                  store(y + i, powers + 1.0);
                },
                {"x", "y"});
  std::vector<float> x = numbers(128), y(128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 17 * x[i] + static_cast<float>(i) / 100;
  auto difference = first_difference(kernel, device_, 2, {x, y}, {.relative = 0, .absolute = 0});
  if (!difference) GTEST_SKIP() << "exp is rounded here as the interpreter rounds it";
  EXPECT_EQ(difference->parameter, "y");
  ASSERT_TRUE(difference->origin.has_value());
  const Difference::Origin& origin = *difference->origin;
  EXPECT_EQ(origin.name, "powers");
  EXPECT_THAT(origin.text, HasSubstr(".powers = exp "));
  EXPECT_EQ(origin.place, "first_difference_test.cpp:" + std::to_string(line));
  EXPECT_TRUE(origin.is_seen_alone);
  EXPECT_EQ(origin.count, 64);
  EXPECT_NE(origin.defined.number, origin.computed.number);
  EXPECT_NEAR(origin.defined.number, origin.computed.number, 1e-5 * origin.defined.number);
  EXPECT_THAT(difference->text(), HasSubstr(" on " + device_.text() + ", and "));
  EXPECT_THAT(difference->text(), HasSubstr("is the first that differs: program ("));
}

// The old values that an atomic's elements return depend on an unspecified order: the interpreter
// uses that of the elements, a GPU that of its threads.
TEST(FirstDifferenceOfAtomics, IsTheAtomic) {
  Kernel kernel("counted",
                [](Pointer counter, Pointer y) {
                  Tile place = zeros({64}, i64), lanes = cast(arange(0, 64), i64);
                  Tile old = named(atomic_add(counter + place, lanes), "old");
                  store(y + lanes, old * 2);
                },
                {"counter", "y"});
  std::vector<std::int64_t> counter(1), y(64);
  auto difference = first_difference(kernel, Device::emulated("sm_80"), 1, {counter, y});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->parameter, "y");
  ASSERT_TRUE(difference->origin.has_value());
  EXPECT_EQ(difference->origin->name, "old");
  EXPECT_NE(difference->origin->defined.integer, difference->origin->computed.integer);
  EXPECT_THAT(difference->origin->index, ElementsAre(::testing::Ge(0)));
  EXPECT_EQ(counter, std::vector<std::int64_t>(1));
}

TEST_P(FirstDifference, ObservedProgramsStoreWhatIsComputedEachTime) {
  Kernel kernel("turns",
                [](Pointer y) {
                  Var sum = zeros({2, 3}, f32);
                  for (Tile i : range(0, program_id(0) + 2))
                    sum = sum + cast(i * 10, f32) + cast(arange(0, 3), f32);
                  store(y + program_id(0), dsl::sum(dsl::sum(sum, 1), 0));
                },
                {"y"});
  ir::Function program = kernel.trace({f32});
  std::vector<ObservedValue> values;
  std::size_t place = 0;
  ir::for_each_inst(program.body, [&](const ir::Inst& inst) {
    if (inst.op == ir::Op::add_ && program.type(inst.results[0]).shape == Shape({2, 3}))
      values.push_back({place, 0, program.type(inst.results[0]), 2, 2});
    ++place;
  });
  ASSERT_EQ(values.size(), 2U);
  ir::Function observed = observed_program(program, std::span(values).subspan(1));
  alignas(64) std::int64_t counts[3] = {};
  alignas(64) float elements[24], y[3];
  for (float& element : elements) element = -1;
  Argument arguments[3] = {{.pointer = y}, {.pointer = counts}, {.pointer = elements}};
  auto run = [&] {
    launch_on(device_, *compile(observed, device_), Grid(3), arguments);
    device_.synchronize();
  };
  run();
  EXPECT_THAT(counts, ElementsAre(2, 3, 4));  // the third program stores nothing
  const std::vector<float> turn = {0, 1, 2, 0, 1, 2, 10, 12, 14, 10, 12, 14};
  EXPECT_EQ(std::vector<float>(elements, elements + 12), turn);
  EXPECT_EQ(std::vector<float>(elements + 12, elements + 24), turn);
  EXPECT_THAT(y, ElementsAre(72, 198, 384));
}

TEST(FirstDifferenceErrors, NameWhatDoesNotFit) {
  std::vector<float> a(16), y(16);
  EXPECT_THAT(error_of([&] {
                first_difference(scores_kernel(), Device::cpu(), 1, {a, y});
              }),
              HasSubstr("[scores] there are 2 arguments; the kernel takes 4 (compared at "
                        "first_difference_test.cpp:"));
  EXPECT_THAT(
      error_of([&] {
        first_difference(scores_kernel(), Device::cpu(), 1, {a.data(), a, y, 1});
      }),
      HasSubstr("how much memory the pointer for a has is not known, and it must be copied; give a "
                "vector, a span or a tensor"));
}

}  // namespace
}  // namespace tilewright::dsl::first_difference_test
