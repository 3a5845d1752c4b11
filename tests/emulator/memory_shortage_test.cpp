// Memory that ends, and failures, within LLVM are errors of ours.
#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include <new>

#include "dsl/codegen/llvm/jit.h"

namespace tilewright::dsl::memory_shortage_test {
namespace {

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
}  // namespace tilewright::dsl::memory_shortage_test
