// Several launches of a GPU's kernel as one: the table that replaces the kernel's arguments.
//
// The programs of all grids are numbered through, and a block finds by its number whose it is: the
// table says where each launch begins, and its arguments. It goes to the kernel by value, as one
// parameter of at most 4096 bytes, which all drivers take and which comes from the constant cache:
// nothing has to be allocated, kept alive or copied ahead of the launch, and a node of a CUDA graph
// gets other arguments as any other does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/artifact.h"

namespace tilewright {

struct LaunchTable {
  static constexpr int most_bytes = 4096;

  int params = 0;          // of the program
  int capacity = 0;        // launches
  bool has_sizes = false;  // of the grids, for programs that look at more than their number

  // For the given number of launches, or the most there is room for.
  static LaunchTable of(std::size_t params, bool has_sizes, std::size_t launches);

  // The first program of each launch, i32, `places()` of them: a power of two, so that a search
  // needs no bounds; those behind the last launch are INT32_MAX. Then the sizes, 3 x i32 each. Then
  // the arguments, 8 bytes each.
  int places() const;
  int sizes_at() const { return 4 * places(); }
  int arguments_at() const { return (sizes_at() + (has_sizes ? 12 * capacity : 0) + 7) / 8 * 8; }
  int bytes() const { return arguments_at() + 8 * params * capacity; }

  // At most `capacity` grids, whose arguments stand one after the other.
  void fill(std::span<std::byte> table, std::span<const Grid> grids,
            const Argument* arguments) const;
  bool operator==(const LaunchTable&) const = default;
};

// Programs of all grids.
std::int64_t programs_of(std::span<const Grid> grids);

}  // namespace tilewright
