// Kernels for tests, written as LLVM's text and run by the emulator.
//
// The declarations of the device operations that a text calls are added to it, so that a text is
// the kernel and nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/codegen/gpu/emulate/emulate.h"
#include "tests/errors.h"

namespace tilewright::dsl {

struct ParsedModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};
ParsedModule parse_kernel(const std::string& text);

// A kernel `k` whose body is given, with pointer parameters %a, %b, %c to global memory and the
// number %n; %tid, %lane, %warp and %shared are defined.
std::string kernel_text(const std::string& body);

Argument pointer_argument(const void* pointer);
Argument integer_argument(std::int64_t value);

// Runs all of a grid of `blocks` blocks.
void run_emulated(const std::string& text, const KernelShape& shape,
                  const std::vector<Argument>& arguments, std::int64_t blocks = 1,
                  const EmulatorOptions& options = {});

// The message of the fault that the body of a kernel raises on one block. %a, %b, %c point to 64 KB
// each.
std::string fault_of(const std::string& body, int threads = 32, const EmulatorOptions& options = {},
                     std::int64_t shared_bytes = 4096);

}  // namespace tilewright::dsl
