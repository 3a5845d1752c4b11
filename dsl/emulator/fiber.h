// Fibers: many stacks in one thread of the host, and the switch between them.
//
// A thread of an emulated block is a fiber because it must stop in the middle of generated code, at
// a barrier or a shuffle, until the others have come. A switch saves six registers and costs a few
// nanoseconds; nothing but the stack pointer tells one fiber from another. x86-64 only, as the
// host's code generator is.
#pragma once

#include <cstddef>

namespace tilewright::dsl::emulator {

// The saved state of a stack, and the address sanitizer's view of it.
struct Context {
  void* stack_pointer = nullptr;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* sanitizer_stack = nullptr;
};

// Memory for `count` stacks, each with a page below it that no one may touch.
class Stacks {
 public:
  explicit Stacks(int count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  int count() const { return count_; }
  // A context which, when first switched to, runs entry() on stack `index`. `entry` must not
  // return: it ends with `leave`. Whatever ran on that stack before is forgotten.
  Context start(int index, void (*entry)());

 private:
  int count_;
  std::byte* memory_;
};

// Goes on where `to` was left; returns when somebody switches back to `from`.
void switch_context(Context& from, Context& to);
// The same where `from` is never to be switched to again.
[[noreturn]] void leave(Context& from, Context& to);
// The first thing that the entry of a fiber calls; `from` is the context that switched to it.
void arrive(Context& from);

}  // namespace tilewright::dsl::emulator
