// Sizes of blocks that are asked for, or that were used: what tuning varies and tests force. Apart
// from the choice itself, since a request needs no knowledge of regions. The properties of each
// size are a row of block_sizes.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::graph {

// How much one program handles; 0: as the lowering thinks best.
struct BlockSizes {
#define TILEWRIGHT_BLOCK_SIZE(member, ...) std::int64_t member = 0;
#include "graph/lower/blocks/block_sizes.def"
#undef TILEWRIGHT_BLOCK_SIZE
  bool operator==(const BlockSizes&) const = default;
};

enum class TunedWhere : std::uint8_t { any_device, a_host, a_gpu, a_gpu_with_clusters };

// The sizes that tuning tries: powers of two in a range, or a list.
struct TriedSizes {
  std::int64_t from = 0, to = 0;  // without a list
  std::array<std::int64_t, 32> listed = {};
  std::size_t count = 0;
  bool is_doubling() const { return to != 0; }
  std::span<const std::int64_t> list() const { return std::span(listed).first(count); }
};

// A row of the table.
struct BlockSize {
  std::string_view name;  // in databases, plans' files and for people: not always the member's
  std::int64_t BlockSizes::*size;
  std::int64_t least, most, told_above;
  std::string_view tuned;  // names of lowerings, with blanks between them
  TunedWhere where;
  TriedSizes tried;
  std::string_view meaning;

  bool is_tuned_by(std::string_view lowering) const;
};

std::span<const BlockSize> all_block_sizes();              // in the order of the table
const BlockSize* block_size_named(std::string_view name);  // null: there is no such size

// The sizes that are not 0, as "rows=64 columns=16", or "nothing".
std::string text_of(const BlockSizes& sizes);
BlockSizes most_block_sizes();  // the most that may be asked for of each
// Why this size cannot be asked for, with the possible ones; empty where it can.
std::string why_impossible(const BlockSize& size, std::int64_t value);
// Raises `Error` naming the first size that cannot be asked for.
void require_possible(const BlockSizes& sizes);

// The size that a program uses: the requested one, up to all that there is, or else the lowering's
// own. That may be more than all: a few rows are filled up, for tensor cores.
constexpr std::int64_t settled(std::int64_t asked, std::int64_t own,
                               std::int64_t all = std::numeric_limits<std::int64_t>::max()) {
  const std::int64_t most = all < own ? own : all;
  return asked == 0 ? own : asked < most ? asked : most;
}

}  // namespace tilewright::graph
