#include "dsl/emulator/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "runtime/base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the registers that a called function must keep, stores the stack pointer at *rdi, goes on
// at rsi.
asm(R"(
.text
.globl tilewright_switch_stacks
.hidden tilewright_switch_stacks
.type tilewright_switch_stacks, @function
tilewright_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tilewright_switch_stacks, .-tilewright_switch_stacks
)");
extern "C" void tilewright_switch_stacks(void** save, void* to);

namespace tilewright::dsl::emulator {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr int saved_registers = 6;

// Stacks begin at different offsets, or the frames of all threads would compete for the same lines
// of the cache.
constexpr std::size_t stack_offset(int index) { return static_cast<std::size_t>(index) % 64 * 576; }

void switch_stacks(Context& from, Context& to, [[maybe_unused]] bool for_ever) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &from.sanitizer_stack, to.stack_bottom,
                                 to.stack_bytes);
#endif
  tilewright_switch_stacks(&from.stack_pointer, to.stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.sanitizer_stack, nullptr, nullptr);
#endif
}

}  // namespace

Stacks::Stacks(int count) : count_(count) {
  std::size_t bytes = static_cast<std::size_t>(count) * stack_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, "[emulator] no memory for the stacks of ", count, " threads (",
          bytes, " bytes)");
  memory_ = static_cast<std::byte*>(memory);
  for (int i = 0; i < count; ++i)
    mprotect(memory_ + static_cast<std::size_t>(i) * stack_bytes, page_bytes, PROT_NONE);
}

Stacks::~Stacks() { munmap(memory_, static_cast<std::size_t>(count_) * stack_bytes); }

Context Stacks::start(int index, void (*entry)()) {
  std::byte* bottom = memory_ + static_cast<std::size_t>(index) * stack_bytes + page_bytes;
  std::size_t bytes = stack_bytes - page_bytes;
#if defined(__SANITIZE_ADDRESS__)
  // Frames that were left and never returned from have their guards still set.
  __asan_unpoison_memory_region(bottom, bytes);
#endif
  // As if `entry` had been called: the stack is 16-byte aligned before the return address.
  auto* top = reinterpret_cast<std::uintptr_t*>(bottom + bytes - stack_offset(index));
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 0; i < saved_registers; ++i) *--top = 0;
  return {top, bottom, bytes, nullptr};
}

void switch_context(Context& from, Context& to) { switch_stacks(from, to, false); }

void leave(Context& from, Context& to) {
  switch_stacks(from, to, true);
  std::abort();
}

void arrive([[maybe_unused]] Context& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &from.stack_bottom, &from.stack_bytes);
#endif
}

}  // namespace tilewright::dsl::emulator
