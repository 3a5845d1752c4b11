// Where emulated code calls out: one instruction of a kernel that the emulator runs in C++.
//
// The rewrite of a kernel for the host (codegen/gpu/emulate/emulate.h) gives every call of a device
// operation, and every load and store that is checked, a CallSite of its own, which lives as long
// as the code. Operands and results pass through arrays of eight-byte slots, so that no calling
// convention stands between generated code and the C++ functions, and so that the thread which
// completes a collective finds the operands of all others where they wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dsl/target/wgmma_form.h"

namespace tilewright::dsl::emulator {

class ThreadBlock;
struct Thread;
struct CallSite;

// One operand or result.
union Slot {
  std::uint64_t u64;
  std::uint32_t u32;
  std::int32_t i32;
  std::uint16_t u16;
  std::uint8_t flag;  // 0 or 1
  float f32;
  std::byte* pointer;
};

// One call as a meaning sees it.
struct Call {
  ThreadBlock& block;
  Thread& thread;
  const CallSite& site;
  const Slot* operands;
  Slot* results;
};

// The implementation of an operation. It may wait (the thread's fiber is switched away) and may
// throw EmulationFault; it must own nothing on the heap while it waits.
using Meaning = void (*)(const Call& call);

// The bytes of shared memory within which the metadata of an access promises that it stays, in one
// of several stages; end is 0 if it promises nothing.
struct NotedBytes {
  std::int64_t begin = 0, end = 0;  // of stage 0
  std::int64_t stages = 1, stage_bytes = 0;

  bool contain(std::int64_t first, std::int64_t bytes) const {
    for (std::int64_t stage = 0; stage < stages; ++stage)
      if (first >= begin + stage * stage_bytes && first + bytes <= end + stage * stage_bytes)
        return true;
    return end == 0;
  }
};

struct CallSite {
  std::string operation;  // without "td.", or "load", "store", "atomic"
  std::string location;   // "kernel.cpp:12", or empty
  Meaning meaning = nullptr;
  int index = 0;      // among the sites of its kernel
  int number = 0;     // of a member of a family, such as 3 of cp_async_wait_3
  int bytes = 0;      // that a load or store touches
  int alignment = 1;  // that it was promised, in bytes
  NotedBytes noted;
  std::optional<WgmmaForm> product;
  std::optional<WgmmaWait> product_wait;
};

}  // namespace tilewright::dsl::emulator
