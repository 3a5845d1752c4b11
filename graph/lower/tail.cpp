#include "graph/lower/tail.h"

#include <algorithm>

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_splits = 16, least_steps = 4;  // least_steps: of a part
constexpr double least_saving = 0.1;                       // of the time
constexpr double launches_ns = 4000;                       // of two kernels more
constexpr std::int64_t small_rows = 64;  // of tiles of which a multiprocessor makes two at a time
constexpr std::int64_t large_shared_bytes = 128 << 10;  // for which it has large ones twice, too
constexpr std::int64_t sum_bytes = 4;

// As they are reached: of a multiprocessor's tensor cores at 16 bits, and of the memory of all.
struct Rates {
  int sm;
  double operations_a_ns, memory_bytes_a_ns;
};
constexpr Rates rates[] = {{80, 2000, 1700}, {86, 600, 800},     {89, 900, 900},
                           {90, 5000, 2800}, {100, 10000, 6500}, {120, 900, 1500}};

const Rates& rates_of(const dsl::Target& target) {
  const Rates* known = std::ranges::find(rates, target.sm, &Rates::sm);
  return known == std::end(rates) ? rates[std::size(rates) - 1] : *known;
}

std::int64_t divide_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

class Model {
 public:
  Model(const TailWork& work, const dsl::Target& target) : work_(work), rates_(rates_of(target)) {
    // A Hopper multiprocessor's shared memory is all one large tile's.
    bool one = target.sm == 90 || shared_memory_limit(target) < large_shared_bytes;
    std::int64_t each = one && work.rows > small_rows ? 1 : 2;
    at_once_ = each * multiprocessors(target);
    double operations = 2.0 * static_cast<double>(work.products * work.rows * work.columns) *
                        static_cast<double>(work.depth) / static_cast<double>(work.steps);
    step_ns_ = operations / rates_.operations_a_ns * static_cast<double>(each) *
               static_cast<double>(work.element_bytes) / 2;
  }

  std::int64_t at_once() const { return at_once_; }
  std::int64_t tiles_of(const Tail& tail) const {
    return work_.tables * tail.tiles * (tail.of_columns ? work_.row_tiles : work_.column_tiles);
  }
  double ns(const std::optional<Tail>& tail) const {
    std::int64_t whole = work_.tables * work_.row_tiles * work_.column_tiles, parts = 0, steps = 0;
    if (tail) {
      whole -= tiles_of(*tail);
      parts = tiles_of(*tail) * tail->splits;
      steps = divide_up(parts, at_once_) * divide_up(work_.steps, tail->splits);
    }
    steps += divide_up(whole, at_once_) * work_.steps;
    double memory = static_cast<double>(work_.operand_bytes) / rates_.memory_bytes_a_ns;
    double result = std::max(memory, static_cast<double>(steps) * step_ns_);
    if (!tail) return result;
    // Parts are written and read once.
    std::int64_t bytes = 2 * parts * work_.products * work_.rows * work_.columns * sum_bytes;
    return result + launches_ns + static_cast<double>(bytes) / rates_.memory_bytes_a_ns;
  }

 private:
  const TailWork& work_;
  const Rates& rates_;
  std::int64_t at_once_ = 1;
  double step_ns_ = 0;
};

std::int64_t count_along(const TailWork& work, bool columns) {
  return columns ? work.column_tiles : work.row_tiles;
}

}  // namespace

std::optional<Tail> plan_tail(const TailWork& work, const dsl::Target& target) {
  Model model(work, target);
  std::optional<Tail> best;
  double ns = model.ns({}) * (1 - least_saving);
  for (bool columns : {false, true}) {
    if (columns && !work.may_cut_columns) continue;
    for (Tail tail{columns, 1}; tail.tiles < count_along(work, columns); ++tail.tiles) {
      if (tail.tiles > 1 && model.tiles_of(tail) > 2 * model.at_once()) break;
      std::int64_t most = std::min(most_splits, work.steps / least_steps);
      for (tail.splits = 2; tail.splits <= most; ++tail.splits) {
        double other = model.ns(tail);
        if (other >= ns) continue;
        ns = other;
        best = tail;
      }
    }
  }
  return best;
}

std::optional<Tail> wanted_tail(const TailWork& work, const dsl::Target& target, std::int64_t tiles,
                                std::int64_t splits) {
  bool columns = work.may_cut_columns && work.column_tiles > work.row_tiles;
  std::int64_t most = count_along(work, columns) - 1;
  if (most == 0 || splits == 1 || work.depth == 1) return std::nullopt;
  Tail best{columns, std::min(tiles, most), splits == 0 ? 2 : std::min(splits, work.depth)};
  if (splits != 0) return best;
  Model model(work, target);
  for (Tail tail = best; tail.splits <= std::min(most_splits, work.steps); ++tail.splits)
    if (model.ns(tail) < model.ns(best)) best = tail;
  return best;
}

}  // namespace tilewright::graph
