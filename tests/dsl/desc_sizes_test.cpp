// Descriptors of sizes below 0: nothing is inside, on every back end.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "tests/setting.h"

namespace tilewright::dsl::desc_sizes_test {
namespace {

using Floats = std::vector<float>;

class DescSizes : public ::testing::TestWithParam<const char*> {
 protected:
  Setting device_{"TILEWRIGHT_DEVICE", GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Devices, DescSizes,
                         ::testing::Values("cpu", "emulated:sm_80", "emulated:sm_90a"));

// The contents of 64 elements after a launch of `programs`; the interpreter must give the same.
// They begin at the 16th, so that there is memory before them.
Floats after(const Kernel& kernel, std::int64_t programs, std::int64_t rows, std::int64_t columns) {
  Floats x(64), by_definition;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i) + 1;
  by_definition = x;
  kernel.launch(programs, x, rows, columns);
  std::vector<Argument> arguments(3);
  arguments[0].pointer = by_definition.data();
  arguments[1].integer = rows, arguments[2].integer = columns;
  ir::interpret(kernel.trace({f32, i64, i64}), Grid(programs), arguments);
  EXPECT_EQ(x, by_definition) << rows << " x " << columns;
  return x;
}

int changed(const Floats& x) {
  int count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != float(i) + 1;
  return count;
}

TEST_P(DescSizes, StoreNothingWhereOneIsBelowZero) {
  for (DType dtype : {i64, i32}) {
    Kernel row("row", [=](Pointer x, Scalar n, Scalar) {
      store(make_desc(x + 16, {cast(n, dtype)}, {1}), {0}, full({4}, 7.0, f32));
    });
    for (std::int64_t n : {-1, -4, -1000, 0, 1, 3, 4})
      EXPECT_EQ(changed(after(row, 1, n, 0)), std::max<std::int64_t>(n, 0)) << n;
    EXPECT_EQ(changed(after(row, 1, dtype == i64 ? INT64_MIN : INT32_MIN, 0)), 0);
  }
  Kernel square("square", [](Pointer x, Scalar m, Scalar n) {
    store(make_desc(x + 16, {m, n}, {4, 1}), {0, 0}, full({4, 4}, 7.0, f32));
  });
  for (auto [m, n] : std::initializer_list<std::array<std::int64_t, 2>>{
           {-1, 4}, {4, -1}, {-1, -1}, {0, 4}, {2, 3}, {4, 4}})
    EXPECT_EQ(changed(after(square, 1, m, n)), m > 0 && n > 0 ? m * n : 0) << m << " x " << n;
}

TEST_P(DescSizes, AreKnownToBeBelowZeroAsNumbersToo) {
  Kernel square("square", [](Pointer x, Scalar, Scalar) {
    for (auto [m, n] : {std::pair{-1, 4}, std::pair{4, -2}})
      store(make_desc(x + 16, {m, n}, {4, 1}), {0, 0}, full({4, 4}, 7.0, f32));
  });
  EXPECT_EQ(changed(after(square, 1, 0, 0)), 0);
}

// The window of the third program begins two elements behind the end.
TEST_P(DescSizes, MaskAWindowThatBeginsBehindTheArray) {
  Kernel windows("windows", [](Pointer x, Scalar n, Scalar) {
    Tile at = program_id(0) * 4;
    Tile rest = load(make_desc(x + at, {n - at}, {1}), {0}, {4});
    store(x + 32 + at + arange(0, 4), rest);
  });
  Floats x = after(windows, 3, 6, 0);
  EXPECT_EQ(Floats(x.begin() + 32, x.begin() + 44), (Floats{1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tilewright::dsl::desc_sizes_test
