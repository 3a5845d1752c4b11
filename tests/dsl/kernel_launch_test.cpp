#include <gmock/gmock.h>

#include <numeric>

#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "runtime/trace.h"
#include "tests/dsl/launch_error.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::kernel_launch_test {
namespace {

Kernel add() {
  return Kernel("add",
                [](Pointer x, Pointer y, Pointer out, Scalar n, Constexpr block) {
                  Tile i = program_id(0) * block + cast(arange(0, block), i64);
                  store(out + i, load(x + i, i < n) + load(y + i, i < n), i < n);
                },
                {"x", "y", "out", "n", "block"});
}

TEST(KernelLaunch, RunsEveryProgramOfTheGrid) {
  std::vector<float> x(1000), y(1000, 0.5F), out(1001, -1);
  std::iota(x.begin(), x.end(), 0.F);
  add().launch(8, x, y, out, 1000, 128);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], float(i) + 0.5F);
  EXPECT_EQ(out[1000], -1);
}

TEST(KernelLaunch, CompilesEachSignatureOnce) {
  Kernel kernel = add(), copy = kernel;
  std::vector<float> x(64, 1), out(64);
  std::vector<std::int32_t> whole(64, 3), sum(64);
  kernel.launch(1, x, x, out, 64, 64);
  copy.launch(2, x, x, out, 48, 64);
  EXPECT_EQ(kernel.compiled_count(), 1U);
  kernel.launch(2, x.data(), x.data(), out.data(), 64, 32);
  EXPECT_EQ(kernel.compiled_count(), 2U);
  kernel.launch(1, whole, whole, sum.data(), 64, 64);
  EXPECT_EQ(copy.compiled_count(), 3U);
  EXPECT_EQ(out, std::vector<float>(64, 2));
  EXPECT_EQ(sum, std::vector<std::int32_t>(64, 6));
}

TEST(KernelLaunch, MultipliesMatrices) {
  Kernel matmul("matmul", [](Pointer a, Pointer b, Pointer c, Scalar m, Scalar n, Scalar k,
                             Constexpr bm, Constexpr bn, Constexpr bk) {
    Desc left = make_desc(a, {m, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
    Tile row = program_id(0) * bm, column = program_id(1) * bn;
    Var acc = zeros({bm, bn}, f32);
    for (Tile i : range(0, k, bk))
      acc = dot(load(left, {row, i}, {bm, bk}), load(right, {i, column}, {bk, bn}), acc);
    store(make_desc(c, {m, n}, {n, 1}), {row, column}, acc);
  });
  constexpr std::int64_t m = 37, n = 29, k = 23;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 2;
  matmul.launch({3, 2}, a, b, c, m, n, k, 16, 16, 8);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float wanted = 0;  // small whole numbers: every order of adding gives the same
      for (std::int64_t l = 0; l < k; ++l)
        wanted += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], wanted) << i << ", " << j;
    }
}

TEST(KernelLaunch, RefusesArgumentsThatDoNotFit) {
  std::vector<float> x(4);
  EXPECT_EQ(launch_error_of([&] { add().launch(1, x, x, x, 4); }),
            "[add] there are 4 arguments; the kernel takes 5");
  EXPECT_EQ(launch_error_of([&] { add().launch(1, x, x, x, x, 4); }),
            "[add] the argument for n is a pointer; it must be a number");
  EXPECT_EQ(launch_error_of([&] { add().launch(1, x, x, 3, 4, 4); }),
            "[add] the argument for out is a number; it must be a pointer");
  EXPECT_EQ(launch_error_of([&] { add().launch(1, x, x, x, 4, 0.5F); }),
            "[add] the argument for block is f32; a Constexpr takes an integer");
}

TEST(KernelLaunch, TakesSpansAndArrays) {
  std::array<float, 64> x{}, out{};
  x.fill(3);
  std::vector<float> memory(64, 4);
  add().launch(1, x, std::span<const float>(memory), std::span(out), 64, 64);
  EXPECT_EQ(out[63], 7);
}

TEST(KernelLaunch, TracesOnceASignatureAndDevice) {
  int traces = 0;
  Kernel kernel("counted", [&traces](Pointer x, Constexpr block) {
    ++traces;
    store(x + arange(0, block), 1.0);
  });
  std::vector<float> x(64);
  std::vector<double> wide(64);
  for (int i = 0; i < 3; ++i) kernel.launch(1, x, 32), kernel.launch(1, wide, 32);
  EXPECT_EQ(traces, 2);
  Kernel begins_with_a_number("numbered", [&traces](Constexpr block, Pointer out) {
    ++traces;
    store(out + arange(0, block), 2.0);
  });
  for (int i = 0; i < 2; ++i)
    for (int block : {32, 64}) begins_with_a_number.launch(1, block, x);
  EXPECT_EQ(traces, 4);
  EXPECT_EQ(x[63], 2);
  traces = 2;
  Setting other("TILEWRIGHT_DEVICE", default_device().is_emulated() ? "cpu" : "emulated:sm_80");
  for (int i = 0; i < 3; ++i) kernel.launch(1, x, 32);
  EXPECT_EQ(traces, 3);
}

TEST(KernelLaunch, TakesFunctionsAndNoexceptLambdas) {
  Kernel plain(
      "plain", +[](Pointer x) { store(x + 0, 2.0); });
  Kernel careful("careful", [](Pointer x) noexcept { store(x + 1, 3.0); });
  std::vector<float> x(2);
  plain.launch(1, x);
  careful.launch(1, x);
  EXPECT_EQ(x, (std::vector<float>{2, 3}));
}

TEST(KernelLaunch, IsASpanOfTheTrace) {
  std::vector<float> x(4);
  start_trace();
  Kernel kernel("traced_by_name", [](Pointer p) { store(p + arange(0, 4), 1.0); });
  for (int i = 0; i < 3; ++i) kernel.launch(1, x);
  stop_trace();
  std::int64_t launches = 0;
  for (const TraceTotal& total : trace_totals())
    if (total.kind == "launch" && total.name == "traced_by_name") launches += total.count;
  EXPECT_EQ(launches, 3);
}

TEST(KernelLaunch, AFailedCompilationIsNotKept) {
  Kernel kernel = add();
  std::vector<float> x(4);
  EXPECT_THAT(error_of([&] { kernel.launch(1, x, x, x, 4, 0); }),
              testing::HasSubstr("[arange] the end 0 is not above the start 0"));
  EXPECT_EQ(kernel.compiled_count(), 0U);
}

}  // namespace
}  // namespace tilewright::dsl::kernel_launch_test
