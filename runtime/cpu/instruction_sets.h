// The instruction sets that code for the host is made for, and which of them this processor runs.
//
// In the runtime, since code that was compiled elsewhere names the set that it needs. The
// compiler's facts about each stand in dsl/target/targets.def, under the same names in the same
// order.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tilewright {

// The best first: each has all that those behind it have.
inline constexpr std::array<std::string_view, 5> instruction_sets = {"amx", "avx512_bf16", "avx512",
                                                                     "avx2", "sse"};

// The place of the best one that this processor runs, or that was assumed. (Asks the system for the
// registers of AMX, which must be requested.)
std::size_t best_instruction_set();
// From now on this process counts as a processor with that set, where it has less: an emulator runs
// the missing instructions.
void assume_instruction_set(std::size_t place);

}  // namespace tilewright
