// The limits of a program's demands on one thread of a GPU. A tile is spread over the registers of
// a block's threads, and every instruction on it is written out for each register: code grows with
// the tiles. So programs are refused here, by an error that names the tile, if their code would
// take minutes and gigabytes to make and be useless: a thread has 255 registers. Code for the host
// goes over tiles in loops and has none of these bounds.
#pragma once

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

// Elements of one tile.
constexpr std::int64_t most_elements_a_thread = 512;
// Instructions in all, each counted once for every element that a thread has of its tile. Accesses
// to memory weigh most: LLVM compares their conditions with each other, in time by the square of
// their number, which is some seconds here.
constexpr std::int64_t most_instructions_a_thread = 1 << 15;
// The limit for all parameters, which every driver takes.
constexpr std::int64_t most_parameter_bytes = 4096;

// Raises `Error` for parameters, and `OutOfMemory` for tiles and instructions: smaller ones may do.
// `takes_table`: the parameters are in a table (runtime/launch_table.h).
void require_within_bounds(const ir::Function& function, const Target& target, bool takes_table);

}  // namespace tilewright::dsl::gpu
