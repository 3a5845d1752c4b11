// Memory that ends, and failures, within LLVM: errors, after which the same process generates code
// as before. `new` is replaced for the whole test program, so that the n-th call from here on
// fails.
#include <llvm/Support/ErrorHandling.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/llvm/jit.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "dsl/target/device.h"

namespace {

thread_local long calls_to_failure = 0;  // 0: none fails

void* block_of(std::size_t bytes, std::size_t alignment) {
  if (calls_to_failure > 0 && --calls_to_failure == 0) throw std::bad_alloc();
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) { return block_of(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return block_of(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace tilewright::dsl {
namespace {

ir::Function doubling(Machine machine) {
  ir::Function function = ir::parse(R"(
func @doubling(%p: ptr<f32>, %n: i64) {
  %one = constant 1 : i64
  %zero = constant 0 : i64
  %d = make_desc %p, %n, %one : desc<f32, 1>
  %x = load_desc %d, %zero, [64] : f32[64]
  %y = add %x, %x : f32[64]
  store_desc %d, %y, %zero
}
)");
  run_passes(function, {.machine = machine});
  return function;
}

void expect_doubled(const Artifact& artifact) {
  std::vector<float> x(64, 1.5F);
  std::vector<Argument> arguments = {{.pointer = x.data()}, {.integer = 64}};
  std::int64_t grid[3] = {1, 1, 1};
  artifact.run(arguments.data(), grid, 0, 1, nullptr);
  EXPECT_EQ(x, std::vector<float>(64, 3.0F));
}

// Calls `generate` with ever later calls of `new` failing until none is left to fail; returns how
// often it failed.
template <typename Generate>
int failures_of(const Generate& generate) {
  int failures = 0;
  for (long at = 1;; at += 1 + at / 8) {
    calls_to_failure = at;
    try {
      generate();
    } catch (const std::bad_alloc&) {
      calls_to_failure = 0;
      ++failures;
      continue;
    }
    bool is_over = calls_to_failure > 0;
    calls_to_failure = 0;
    if (is_over) return failures;
  }
}

TEST(MemoryShortage, AnyFailingNewInHostCodeIsRaisedAndTheNextKernelRuns) {
  ir::Function function = doubling(Machine::host);
  const Target& target = host_target();
  EXPECT_GT(failures_of([&] { generate_host_code(function, target); }), 30);
  expect_doubled(*generate_host_code(function, target));
}

TEST(MemoryShortage, AnyFailingNewInAGpusCodeIsRaisedAndTheNextKernelRuns) {
  ir::Function function = doubling(Machine::gpu);
  Target target = target_named("sm_90a");
  std::string expected = gpu::generate_ptx(function, target).text;
  EXPECT_GT(failures_of([&] { gpu::generate_ptx(function, target); }), 30);
  EXPECT_EQ(gpu::generate_ptx(function, target).text, expected);
  EXPECT_GT(failures_of([&] { gpu::generate_emulated(function, target); }), 30);
  expect_doubled(*gpu::generate_emulated(function, target));
}

TEST(MemoryShortage, LlvmRaisesInsteadOfEndingTheProcess) {
  initialise_llvm();
  EXPECT_THROW(llvm::report_bad_alloc_error("a buffer"), std::bad_alloc);
  try {
    llvm::report_fatal_error("cannot select");
    FAIL();
  } catch (const LlvmFailure& error) {
    EXPECT_STREQ(error.what(), "[codegen] LLVM gave up: cannot select");
  }
}

}  // namespace
}  // namespace tilewright::dsl
