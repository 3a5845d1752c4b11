#include "runtime/launch_table.h"

#include <bit>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright {

LaunchTable LaunchTable::of(std::size_t params, bool has_sizes, std::size_t launches) {
  LaunchTable table{static_cast<int>(params), static_cast<int>(launches), has_sizes};
  while (table.capacity > 1 && table.bytes() > most_bytes) --table.capacity;
  return table;
}

int LaunchTable::places() const {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(capacity)));
}

void LaunchTable::fill(std::span<std::byte> table, std::span<const Grid> grids,
                       const Argument* arguments) const {
  check(grids.size() <= static_cast<std::size_t>(capacity) &&
            table.size() == static_cast<std::size_t>(bytes()),
        "a table has room for fewer launches");
  std::int64_t first = 0;
  for (int i = 0; i < places(); ++i) {
    auto at = static_cast<std::size_t>(i);
    std::int32_t begin = at < grids.size() ? static_cast<std::int32_t>(first) : INT32_MAX;
    std::memcpy(&table[4 * at], &begin, sizeof begin);
    if (at >= grids.size()) continue;
    first += grids[at].count();
    require(first <= INT32_MAX, "[launch] ", first, " programs of ", grids.size(),
            " launches are more than a GPU starts at once");
    for (std::size_t axis = 0; has_sizes && axis < 3; ++axis) {
      auto size = static_cast<std::int32_t>(grids[at].size[axis]);
      auto place = static_cast<std::size_t>(sizes_at()) + 4 * (3 * at + axis);
      std::memcpy(&table[place], &size, sizeof size);
    }
  }
  std::size_t count = grids.size() * static_cast<std::size_t>(params);
  static_assert(sizeof(Argument) == 8);
  std::memcpy(table.data() + arguments_at(), arguments, count * sizeof(Argument));
}

std::int64_t programs_of(std::span<const Grid> grids) {
  std::int64_t count = 0;
  for (const Grid& grid : grids) count += grid.count();
  return count;
}

}  // namespace tilewright
