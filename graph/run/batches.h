// Launches that become one: the horizontal fusion of a plan.
//
// An optimizer's step is hundreds of small launches of a few programs, none of which waits for
// another. Launches of one program that do not depend on each other form a batch, which is one
// launch: on the host one parallel loop over the programs of all grids, on a GPU one kernel that
// finds in a table whose arguments its block is to use (runtime/launch_table.h).
//
// A launch joins the last batch of its program that comes after all it depends on, and so runs
// earlier than it stood; everything else keeps its order. It depends on an earlier launch if one of
// the two writes memory that the other touches. Memory is compared as a whole, storage by storage:
// memory that is written in place is shared with nothing else, which callers of a plan guarantee.
// Batches do not grow by more than a little intermediate memory, since that of all their launches
// lives at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::graph {

struct BatchCandidate {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> reads, writes;  // storages
  std::int64_t new_bytes = 0;                // of intermediate values that it writes
  std::size_t most = 1;                      // launches in a batch of this program
};

struct BatchLimits {
  std::int64_t new_bytes = 0;  // of a batch
};

// The launches of each step, in an order in which the steps can run.
std::vector<std::vector<std::uint32_t>> make_batches(std::span<const BatchCandidate> launches,
                                                     std::size_t storages,
                                                     const BatchLimits& limits);

}  // namespace tilewright::graph
