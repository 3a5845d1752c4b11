// Kernels that go beside their memory: in the emulator always, on the host with Check::bounds.
#include "dsl/passes/check_bounds.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "tests/dsl/launch_error.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/setting.h"

namespace tilewright::dsl::check_bounds_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Each test runs on the host with checks, and on two emulated GPUs, whose code looks by itself.
class CheckBounds : public ::testing::TestWithParam<const char*> {
 protected:
  Setting device_{"TILEWRIGHT_DEVICE", GetParam()};
  bool is_host() const { return !default_device().is_emulated(); }
  template <typename... T>
  std::string error(const Kernel& kernel, T&&... arguments) {
    return error_of([&] { kernel.with(Check::bounds).launch(1, std::forward<T>(arguments)...); });
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CheckBounds,
                         ::testing::Values("cpu", "emulated:sm_80", "emulated:sm_90a"));

TEST_P(CheckBounds, NameLineIndexAndArrayOfAStore) {
  int line = 0;
  Kernel kernel("beside",
                [&line](Pointer x) {
                  line = __LINE__ + 1;
                  store(x + arange(0, 128), 1.0);
                },
                {"x"});
  std::vector<float> x(100, 7), whole(128);
  std::string message = error(kernel, x);
  EXPECT_THAT(message, HasSubstr("check_bounds_test.cpp:" + std::to_string(line)));
  if (is_host()) {
    EXPECT_THAT(
        message,
        HasSubstr(": [store] program (0, 0, 0): index 127 of x is outside: it has 100 elements"));
    EXPECT_EQ(x, std::vector<float>(100, 1));  // what lies inside is done
  } else {
    EXPECT_THAT(message, HasSubstr("of x, which has 100 elements; mask elements outside"));
  }
  EXPECT_EQ(error(kernel, whole), "no error");
}

TEST_P(CheckBounds, NameAnIndexBelowZero) {
  Kernel kernel(
      "before",
      [](Pointer x, Pointer y, Scalar n) { store(y + cast(n, i64), load(x + cast(n, i64))); },
      {"x", "y", "n"});
  std::vector<double> x(8), y(8);
  EXPECT_THAT(
      error(kernel, std::span(x).subspan(4), std::span(y).first(4), -2),
      HasSubstr(is_host() ? "[load] program (0, 0, 0): index -2 of x is outside: it has 4 elements"
                          : "index -2 of x, which has 4 elements"));
}

TEST_P(CheckBounds, LookThroughMasksLoopsAndConditions) {
  Kernel kernel("walk",
                [](Pointer x, Pointer y, Scalar n, Scalar turns) {
                  Tile i = cast(arange(0, 32), i64);
                  Var from = x + i, sum = zeros({32}, f32);
                  for (Tile turn : range(0, turns)) {
                    sum += load(from, i + turn * 32 < n);
                    from += 32;
                  }
                  if_(n > 0, [&] { store(y + i, sum); });
                },
                {"x", "y", "n", "turns"});
  std::vector<float> x(80, 1), y(32);
  EXPECT_EQ(error(kernel, x, y, 80, 3), "no error");
  EXPECT_EQ(y[15], 3);
  EXPECT_EQ(y[16], 2);
  EXPECT_THAT(error(kernel, x, y, 81, 3),
              HasSubstr(is_host() ? "index 80 of x is outside" : "index 80 of x, which has 80"));
}

TEST_P(CheckBounds, LookAtTheCornersOfBlocks) {
  Kernel kernel(
      "blocks",
      [](Pointer x, Pointer y, Scalar rows, Scalar columns) {
        Desc from = make_desc(x, {rows, columns}, {columns, 1});
        store(make_desc(y, {rows, columns}, {columns, 1}), {0, 0}, load(from, {0, 0}, {16, 16}));
      },
      {"x", "y", "rows", "columns"});
  // So far apart that what is behind x lies nearest to it: an emulated GPU knows addresses alone.
  std::vector<float> memory(64 * 16);
  std::span x = std::span(memory).first(12 * 16), y = std::span(memory).last(12 * 16);
  std::iota(x.begin(), x.end(), 1.F);
  EXPECT_EQ(error(kernel, x, y, 12, 16), "no error");  // masked at the descriptor's edge
  EXPECT_TRUE(std::ranges::equal(x, y));
  EXPECT_THAT(
      error(kernel, x.first(11 * 16), y, 12, 16),
      HasSubstr(is_host()
                    ? "[load] program (0, 0, 0): index 191 of x is outside: it has 176 elements"
                    : "of x, which has 176 elements"));
}

TEST_P(CheckBounds, NameTheProgramAndIndexThatBelongTogether) {
  Kernel kernel("grid",
                [](Pointer x) {
                  Tile column = program_id(0), row = program_id(1);
                  store(x + column + row * 4, cast(row, f32));
                },
                {"x"});
  std::vector<float> x(13);
  const std::string message = error_of([&] { kernel.with(Check::bounds).launch({4, 4}, x); });
  if (!is_host()) {
    EXPECT_THAT(message, HasSubstr("of x, which has 13 elements"));
    return;
  }
  int found = 0;
  for (int column = 1; column < 4; ++column)
    found += message.find("[store] program (" + std::to_string(column) + ", 3, 0): index " +
                          std::to_string(12 + column) + " of x is outside") != std::string::npos;
  EXPECT_EQ(found, 1) << message;
}

TEST_P(CheckBounds, LookAtAtomics) {
  Kernel kernel("count",
                [](Pointer bins, Pointer x) { atomic_add(bins + load(x + arange(0, 8)), 1); },
                {"bins", "x"});
  std::vector<std::int32_t> bins(4), x = {0, 1, 2, 3, 3, 2, 1, 0}, wrong = {0, 1, 2, 3, 4, 2, 1, 0};
  EXPECT_EQ(error(kernel, bins, x), "no error");
  EXPECT_EQ(bins, std::vector<std::int32_t>(4, 2));
  EXPECT_THAT(
      error(kernel, bins, wrong),
      HasSubstr(is_host()
                    ? "[atomic] program (0, 0, 0): index 4 of bins is outside: it has 4 elements"
                    : "index 4 of bins, which has 4 elements"));
}

TEST_P(CheckBounds, KnowNothingOfPointersWithoutASize) {
  Kernel kernel("beside", [](Pointer x, Pointer y) { store(y + 2, load(x - 1)); });
  std::vector<float> x(4, 5), y(4);
  EXPECT_EQ(error(kernel, x.data() + 1, y.data() + 1), "no error");
  EXPECT_EQ(y[3], 5);
}

TEST_P(CheckBounds, ComputeWhatIsComputedWithoutThem) {
  Kernel product("product", [](Pointer a, Pointer b, Pointer c, Scalar m, Scalar n, Scalar k) {
    Desc left = make_desc(a, {m, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
    Var acc = zeros({16, 16}, f32);
    for (Tile i : range(0, k, 16))
      acc = dot(load(left, {0, i}, {16, 16}), load(right, {i, 0}, {16, 16}), acc);
    store(make_desc(c, {m, n}, {n, 1}), {0, 0}, acc);
  });
  std::vector<float> a(13 * 40), b(40 * 11), plain(13 * 11), checked(13 * 11);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 2;
  product.launch(1, a, b, plain, 13, 11, 40);
  product.with(Check::bounds).launch(1, a, b, checked, 13, 11, 40);
  EXPECT_EQ(plain, checked);
}

TEST(CheckBoundsSetting, IsReadWhereAKernelIsCompiled) {
  TILEWRIGHT_ON_THE_HOST_ONLY("code that checks only where it is told to");
  Kernel kernel("beside", [](Pointer x) { store(x + arange(0, 8), 1.0); }, {"x"});
  std::vector<float> x(8);
  {
    Setting check("TILEWRIGHT_CHECK", "bounds");
    EXPECT_THAT(error_of([&] { kernel.launch(1, std::span(x).first(4)); }),
                HasSubstr("of x is outside: it has 4 elements"));
  }
  EXPECT_EQ(error_of([&] { kernel.with(Check::none).launch(1, std::span(x).first(4)); }),
            "no error");
  EXPECT_EQ(x[7], 1);
  Setting check("TILEWRIGHT_CHECK", "races");
  Kernel other("other", [](Pointer p) { store(p + 0, 1.0); });
  EXPECT_EQ(launch_error_of([&] { other.launch(1, x); }),
            "[TILEWRIGHT_CHECK] unknown check \"races\"; known are none, bounds, asserts and all");
}

}  // namespace
}  // namespace tilewright::dsl::check_bounds_test
