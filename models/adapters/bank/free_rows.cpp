#include "models/adapters/bank/free_rows.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/error.h"

namespace tilewright::adapters {

std::vector<RowRun> FreeRows::take(std::int64_t count) {
  check(count <= count_, "more rows of a pool than are free");
  std::vector<RowRun> taken;
  while (count > 0) {
    auto best = runs_.begin();
    for (auto run = std::next(best); run != runs_.end(); ++run) {
      const bool holds = run->second >= count, held = best->second >= count;
      if (holds != held ? holds : holds == (run->second < best->second)) best = run;
    }
    const RowRun run{best->first, std::min(count, best->second)};
    const std::int64_t rest = best->second - run.count;
    runs_.erase(best);
    if (rest > 0) runs_.emplace(run.first + run.count, rest);
    count_ -= run.count;
    count -= run.count;
    taken.push_back(run);
  }
  return taken;
}

void FreeRows::give(RowRun run) {
  if (run.count == 0) return;
  count_ += run.count;
  auto next = runs_.lower_bound(run.first);
  if (next != runs_.end() && run.first + run.count == next->first) {
    run.count += next->second;
    next = runs_.erase(next);
  }
  if (next != runs_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == run.first) {
      before->second += run.count;
      return;
    }
  }
  runs_.emplace(run.first, run.count);
}

}  // namespace tilewright::adapters
