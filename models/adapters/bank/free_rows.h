// Which rows of a pool are free. Rows are taken as one run where there is one that is long enough,
// else in pieces, so that a pool is full only once every row is taken.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tilewright::adapters {

struct RowRun {
  std::int64_t first = 0, count = 0;
  bool operator==(const RowRun&) const = default;
};

class FreeRows {
 public:
  explicit FreeRows(std::int64_t count) { give({0, count}); }
  std::int64_t count() const { return count_; }
  // Takes rows, of which there are as many: the shortest run that holds all, or the longest ones.
  std::vector<RowRun> take(std::int64_t count);
  // Makes rows free; they join with their neighbours.
  void give(RowRun run);

 private:
  std::map<std::int64_t, std::int64_t> runs_;  // from the first row to how many there are
  std::int64_t count_ = 0;
};

}  // namespace tilewright::adapters
