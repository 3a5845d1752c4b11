// Quick code, and the full code that takes its place: the same bits, once, while others run it.
#include "dsl/launch/full_code.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "dsl/launch/kept_objects.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::dsl::full_code_test {
namespace {

constexpr std::int64_t columns = 64;

// y = tanh(x) * scale + x, a row of elements each: programs differ by their scales.
ir::Function program_of(double scale) {
  Tracer t("tanh_rows");
  Tile x = t.pointer_param("x", f64), y = t.pointer_param("y", f64);
  Tile read = load(make_desc(x, {columns}, {1}), {0}, {columns});
  store(make_desc(y, {columns}, {1}), {0}, tanh(read) * scale + read);
  return t.finish();
}

using Row = std::array<double, columns>;

Row results_of(const Artifact& kernel) {
  alignas(64) Row x, y = {};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1 * static_cast<double>(i) - 3;
  const Argument arguments[2] = {{.pointer = x.data()}, {.pointer = y.data()}};
  launch(kernel, Grid(1), arguments);
  return y;
}

std::shared_ptr<const Artifact> quick_kernel(double scale) {
  return compile(program_of(scale), Device::cpu(), 0, CodeTier::quick);
}

void rest() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

TEST(FullCode, TakesThePlaceOfQuickCodeWithTheSameBits) {
  Setting nothing_kept("TILEWRIGHT_CACHE_DIR", "off");
  const auto kernel = quick_kernel(1.5);
  const HostFunction quick = kernel->host.load();
  EXPECT_EQ(awaiting_full_code(), 1);
  const Row first = results_of(*kernel);
  EXPECT_EQ(kernel->host.load(), quick) << "nobody asked for full code";
  finish_full_code();
  EXPECT_EQ(awaiting_full_code(), 0);
  EXPECT_NE(kernel->host.load(), quick);
  EXPECT_EQ(results_of(*kernel), first);
  const HostFunction full = kernel->host.load();
  finish_full_code();
  EXPECT_EQ(kernel->host.load(), full) << "it was generated twice";
}

TEST(FullCode, IsGeneratedForWhoeverAsksForIt) {
  Setting nothing_kept("TILEWRIGHT_CACHE_DIR", "off");
  const auto quick = quick_kernel(2.5), other = quick_kernel(3.5);
  const HostFunction first = quick->host.load(), others = other->host.load();
  EXPECT_EQ(compile(program_of(2.5)), quick);
  EXPECT_NE(quick->host.load(), first);
  EXPECT_EQ(other->host.load(), others);
  EXPECT_EQ(awaiting_full_code(), 1);
  EXPECT_EQ(quick_kernel(2.5), quick) << "full code is as good";
  finish_full_code();
}

TEST(FullCode, ComesInTheBackgroundOnceItHasBegun) {
  Setting nothing_kept("TILEWRIGHT_CACHE_DIR", "off");
  std::vector<std::shared_ptr<const Artifact>> kernels;
  std::vector<HostFunction> quick;
  for (int i = 0; i < 6; ++i) {
    kernels.push_back(quick_kernel(10 + i));
    quick.push_back(kernels.back()->host.load());
  }
  const Row first = results_of(*kernels[5]);
  std::atomic<bool> is_over = false;
  std::thread caller([&] {  // launches meanwhile
    for (; !is_over; rest()) EXPECT_EQ(results_of(*kernels[5]), first);
  });
  begin_full_code();
  while (awaiting_full_code() > 0) rest();
  is_over = true;
  caller.join();
  for (std::size_t i = 0; i < kernels.size(); ++i) EXPECT_NE(kernels[i]->host.load(), quick[i]);
  EXPECT_EQ(results_of(*kernels[5]), first);
  // The job is over; others begin another.
  const auto later = quick_kernel(20);
  begin_full_code();
  while (awaiting_full_code() > 0) rest();
  EXPECT_EQ(results_of(*later).size(), first.size());
}

TEST(FullCode, IsNotGeneratedForKernelsThatAreGone) {
  Setting nothing_kept("TILEWRIGHT_CACHE_DIR", "off");
  Setting none("TILEWRIGHT_KEPT_PLANS", "1");
  quick_kernel(30);
  const auto kept = quick_kernel(31);  // in its place
  EXPECT_EQ(awaiting_full_code(), 2);
  finish_full_code();
  EXPECT_EQ(awaiting_full_code(), 0);
}

TEST(FullCode, IsKeptInPlaceOfQuickCode) {
  ScratchFolder folder;
  Setting cache("TILEWRIGHT_CACHE_DIR", folder.path().c_str());
  const ir::Function program = program_of(40);
  const Target target = host_target();
  auto is_kept = [&](CodeTier tier) {
    return kept_object({program, ir::content_hash(program), target, false, tier}).has_value();
  };
  const auto kernel = quick_kernel(40);
  EXPECT_TRUE(is_kept(CodeTier::quick));
  EXPECT_FALSE(is_kept(CodeTier::full));
  finish_full_code();
  EXPECT_FALSE(is_kept(CodeTier::quick));
  EXPECT_TRUE(is_kept(CodeTier::full));
}

}  // namespace
}  // namespace tilewright::dsl::full_code_test
