// Which numbers a loop of the language goes through: those of Python's range, on every back end.
#include <gmock/gmock.h>

#include <optional>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::range_test {
namespace {

using Numbers = std::vector<std::int64_t>;

// The values of Python's range(low, high, step), and none for a step of 0.
Numbers expected(std::int64_t low, std::int64_t high, std::int64_t step) {
  Numbers numbers;
  if (step > 0)
    for (; low < high; low += step) numbers.push_back(low);
  if (step < 0)
    for (; low > high; low += step) numbers.push_back(low);
  return numbers;
}

void note(const Tile& out, Var& count, const Tile& i) {
  store(out + count, cast(i, i64));
  count += 1;
}

// Stores how many turns there were, and then their numbers; `step` at run time or, with
// `known`, as a number.
Kernel kernel(DType dtype, std::optional<std::int64_t> known) {
  return Kernel("turns", [=](Pointer out, Scalar low, Scalar high, Scalar step) {
    Var count = std::int64_t{1};
    Operand by = known ? Operand(*known) : Operand(cast(step, dtype));
    for (Tile i : range(cast(low, dtype), cast(high, dtype), by)) note(out, count, i);
    store(out + 0, count - 1);
  });
}

Numbers launched(const Kernel& kernel, std::int64_t low, std::int64_t high, std::int64_t step) {
  Numbers out(33, -1);
  kernel.launch(1, out, low, high, step);
  return {out.begin() + 1, out.begin() + 1 + out[0]};
}

Numbers interpreted(const Kernel& kernel, std::int64_t low, std::int64_t high, std::int64_t step) {
  Numbers out(33, -1);
  std::vector<Argument> arguments(4);
  arguments[0].pointer = out.data();
  arguments[1].integer = low, arguments[2].integer = high, arguments[3].integer = step;
  ir::interpret(kernel.trace({i64, i64, i64, i64}), Grid(1), arguments);
  return {out.begin() + 1, out.begin() + 1 + out[0]};
}

struct Bounds {
  std::int64_t low, high, step;
};
const std::vector<Bounds> all_bounds = {{0, 4, 1},  {4, 0, -1},  {0, 10, 3},  {10, 0, -3},
                                        {0, 4, -1}, {4, 0, 1},   {3, 3, 1},   {3, 3, -1},
                                        {-5, 5, 4}, {5, -5, -4}, {7, 8, 100}, {8, 7, -100}};

class Range : public ::testing::TestWithParam<const char*> {
 protected:
  Setting device_{"TILEWRIGHT_DEVICE", GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Devices, Range,
                         ::testing::Values("cpu", "emulated:sm_80", "emulated:sm_90a"));

TEST_P(Range, GoesUpAndDownByANumber) {
  for (auto [low, high, step] : all_bounds)
    for (DType dtype : {i64, i32}) {
      Kernel turns = kernel(dtype, step);
      EXPECT_EQ(launched(turns, low, high, 0), expected(low, high, step))
          << low << " to " << high << " by " << step;
      EXPECT_EQ(interpreted(turns, low, high, 0), expected(low, high, step));
    }
}

TEST_P(Range, GoesUpAndDownByWhatIsFoundAtRunTime) {
  for (DType dtype : {i64, i32}) {
    Kernel turns = kernel(dtype, {});
    for (auto [low, high, step] : all_bounds) {
      EXPECT_EQ(launched(turns, low, high, step), expected(low, high, step))
          << low << " to " << high << " by " << step;
      EXPECT_EQ(interpreted(turns, low, high, step), expected(low, high, step));
    }
  }
}

// The step's distance is no number of the type.
TEST_P(Range, MakesOneTurnDownByTheLeastNumberOfTheType) {
  constexpr std::int64_t least64 = INT64_MIN, most64 = INT64_MAX;
  constexpr std::int64_t least32 = INT32_MIN, most32 = INT32_MAX;
  for (DType dtype : {i64, i32}) {
    std::int64_t step = dtype == i64 ? least64 : least32, most = dtype == i64 ? most64 : most32;
    for (std::optional<std::int64_t> known : {std::optional<std::int64_t>(), std::optional(step)}) {
      Kernel turns = kernel(dtype, known);
      for (std::int64_t by : {step, step + 1}) {
        EXPECT_EQ(launched(turns, 10, 0, by), Numbers{10});
        EXPECT_EQ(launched(turns, most, 0, by), Numbers{most});
        EXPECT_EQ(launched(turns, 0, 10, by), Numbers{});
        EXPECT_EQ(interpreted(turns, 10, 0, by), Numbers{10});
        EXPECT_EQ(interpreted(turns, most, 0, by), Numbers{most});
        EXPECT_EQ(interpreted(turns, 0, 10, by), Numbers{});
      }
    }
  }
}

TEST_P(Range, MakesNoTurnWhereTheStepIsFoundToBeZero) {
  for (DType dtype : {i64, i32, u32}) {
    Kernel turns = kernel(dtype, {});
    EXPECT_EQ(launched(turns, 0, 4, 0), Numbers{});
    EXPECT_EQ(interpreted(turns, 0, 4, 0), Numbers{});
    EXPECT_EQ(launched(turns, 1, 8, 3), expected(1, 8, 3));
  }
}

// Loads that run ahead of a loop (on GPUs) must go where the loop goes.
TEST_P(Range, SumsProductsFromTheLastBlockToTheFirst) {
  Kernel product("product", [](Pointer a, Pointer b, Pointer c, Constexpr k) {
    Desc left = make_desc(a, {32, k}, {k, 1}), right = make_desc(b, {k, 32}, {32, 1});
    Var acc = zeros({32, 32}, f32);
    for (Tile i : range(k - 16, -16, -16))
      acc = dot(load(left, {0, i}, {32, 16}), load(right, {i, 0}, {16, 32}), acc);
    store(make_desc(c, {32, 32}, {32, 1}), {0, 0}, acc);
  });
  constexpr std::size_t k = 80;
  std::vector<float> a(32 * k), b(k * 32), c(32 * 32);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 2;
  product.launch(1, a, b, c, std::int64_t{k});
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 32; ++j) {
      float wanted = 0;  // small whole numbers: every order of adding gives the same
      for (std::size_t l = 0; l < k; ++l) wanted += a[i * k + l] * b[l * 32 + j];
      ASSERT_EQ(c[i * 32 + j], wanted) << i << ", " << j;
    }
}

TEST(RangeMisuse, AStepOfZeroIsAnError) {
  Kernel kernel("stands", [](Pointer out) {
    for (Tile i : range(0, 4, 0)) store(out + i, 1.0);
  });
  EXPECT_EQ(error_of([&] { kernel.trace({f32}); }),
            "range_test.cpp:" + std::to_string(__LINE__ - 3) +
                ": [range] the step is 0; it must be above 0, or below to count down");
}

TEST(RangeMisuse, StepsThatAreKnownToBePositiveCostNothing) {
  Kernel kernel("persistent", [](Pointer out, Scalar n) {
    for (Tile i : range(program_id(0) * 4, n, num_programs(0) * 4)) store(out + i, 1.0);
  });
  ir::Function program = kernel.trace({f32, i64});
  ir::for_each_inst(program.body,
                    [](const ir::Inst& inst) { EXPECT_NE(inst.op, ir::Op::select_); });
}

}  // namespace
}  // namespace tilewright::dsl::range_test
