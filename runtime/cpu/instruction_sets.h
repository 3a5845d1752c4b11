// The instruction sets that code for the host is made for, and which of them this processor runs.
//
// In the runtime, since code that was compiled elsewhere names the set that it needs. The
// compiler's facts about each stand in dsl/target/targets.def, under the same names in the same
// order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace tilewright {

// The best first: each has all that those behind it have.
inline constexpr std::array<std::string_view, 5> instruction_sets = {"amx", "avx512_bf16", "avx512",
                                                                     "avx2", "sse"};

// Those of processors that this library does not run on, but makes code for: of 64-bit Arm.
inline constexpr std::array<std::string_view, 1> foreign_instruction_sets = {"neon"};
inline bool is_foreign(std::string_view instruction_set) {
  return std::ranges::find(foreign_instruction_sets, instruction_set) !=
         foreign_instruction_sets.end();
}

// The place of the best one that this processor runs, or that was assumed. (Asks the system for the
// registers of AMX, which must be requested.)
std::size_t best_instruction_set();
// From now on this process counts as a processor with that set, where it has less: an emulator runs
// the missing instructions.
void assume_instruction_set(std::size_t place);

}  // namespace tilewright
