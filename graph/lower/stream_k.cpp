#include "graph/lower/stream_k.h"

#include <algorithm>
#include <limits>

#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t splits_limit = 16, least_steps = 4;  // least_steps: of a part
constexpr double launches_ns = 4000;                        // of two kernels more
constexpr std::int64_t small_rows = 64;  // of tiles of which a multiprocessor makes two at a time
constexpr std::int64_t large_shared_bytes = 128 << 10;  // for which it has large ones twice, too
constexpr std::int64_t sum_bytes = 4;

bool has_two_at_a_time(const StreamKWork& work, const dsl::Target& target) {
  // A Hopper multiprocessor's shared memory is all one large tile's.
  bool one =
      target.gpu().has_warpgroup_products || shared_memory_limit(target) < large_shared_bytes;
  return !one || work.rows <= small_rows;
}

// Where `at_a_time` tiles are in the works on one multiprocessor, which make each other slower.
class Waves {
 public:
  Waves(const StreamKWork& work, const dsl::Target& target, std::int64_t at_a_time)
      : work_(work), gpu_(target.gpu()), at_once_(at_a_time * gpu_.multiprocessors) {
    double operations = 2.0 * static_cast<double>(work.products * work.rows * work.columns) *
                        static_cast<double>(work.depth) / static_cast<double>(work.steps);
    step_ns_ = operations / gpu_.operations_a_ns * static_cast<double>(at_a_time) *
               static_cast<double>(work.element_bytes) / 2;
    whole_ns_ = ns_of_steps(divide_up(tiles(), at_once_) * work_.steps);
  }

  // The time with the band, relative to the time without.
  double time(const StreamKBand& band) const {
    std::int64_t shared = tiles_of(band), parts = shared * band.splits;
    std::int64_t steps = divide_up(tiles() - shared, at_once_) * work_.steps +
                         divide_up(parts, at_once_) * divide_up(work_.steps, band.splits);
    // Parts are written and read once.
    std::int64_t bytes = 2 * parts * work_.products * work_.rows * work_.columns * sum_bytes;
    double handed_on = launches_ns + static_cast<double>(bytes) / gpu_.memory_bytes_a_ns;
    return (ns_of_steps(steps) + handed_on) / whole_ns_;
  }
  // Not even reached if all multiprocessors were at work all the time.
  double least_time() const {
    double steps = static_cast<double>(tiles() * work_.steps) / static_cast<double>(at_once_);
    return (steps * step_ns_ + launches_ns) / whole_ns_;
  }
  bool is_too_long(const StreamKBand& band) const { return tiles_of(band) > 2 * at_once_; }

 private:
  std::int64_t tiles() const { return work_.tables * work_.row_tiles * work_.column_tiles; }
  std::int64_t tiles_of(const StreamKBand& band) const {
    return work_.tables * band.tiles * (band.of_columns ? work_.row_tiles : work_.column_tiles);
  }
  double ns_of_steps(std::int64_t steps) const {
    double memory = static_cast<double>(work_.operand_bytes) / gpu_.memory_bytes_a_ns;
    return std::max(memory, static_cast<double>(steps) * step_ns_);
  }

  const StreamKWork& work_;
  const dsl::GpuFacts& gpu_;
  std::int64_t at_once_;
  double step_ns_ = 0, whole_ns_ = 0;
};

}  // namespace

std::optional<StreamKBand> plan_stream_k(const StreamKWork& work, const dsl::Target& target,
                                         const StreamKRequest& request) {
  if (request.splits == 1 || work.depth == 1) return std::nullopt;
  Waves one(work, target, 1), two(work, target, has_two_at_a_time(work, target) ? 2 : 1);
  bool is_wanted = request.tiles != 0;
  std::optional<StreamKBand> best;
  double least = is_wanted ? std::numeric_limits<double>::infinity() : 1 - request.least_saving;
  if (std::max(one.least_time(), two.least_time()) >= least) return std::nullopt;
  std::int64_t least_splits = 2, most_splits = std::min(splits_limit, work.steps / least_steps);
  if (is_wanted) most_splits = std::max(least_splits, std::min(splits_limit, work.steps));
  if (request.splits != 0) least_splits = most_splits = std::min(request.splits, work.depth);
  for (bool columns : {false, true}) {
    if (columns && !work.may_cut_columns) continue;
    // One at least is whole.
    std::int64_t most_tiles = (columns ? work.column_tiles : work.row_tiles) - 1, least_tiles = 1;
    if (is_wanted) least_tiles = most_tiles = std::min(request.tiles, most_tiles);
    for (StreamKBand band{columns, least_tiles}; 0 < band.tiles && band.tiles <= most_tiles;
         ++band.tiles) {
      if (band.tiles > least_tiles && two.is_too_long(band)) break;
      for (band.splits = least_splits; band.splits <= most_splits; ++band.splits) {
        double time = std::max(one.time(band), two.time(band));
        if (time >= least) continue;
        least = time;
        best = band;
      }
    }
  }
  return best;
}

}  // namespace tilewright::graph
