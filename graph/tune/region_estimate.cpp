#include "graph/tune/region_estimate.h"

#include <algorithm>
#include <cmath>

#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

// The rates of one core, or one multiprocessor.
struct Rates {
  double flops, memory, outer_cache, inner_cache;  // a second; bytes a second
  double outer_bytes, inner_bytes;                 // sizes of the caches
  double begin;                                    // seconds that a program costs
};
constexpr Rates host_rates = {80e9, 10e9, 60e9, 200e9, 1 << 20, 32 << 10, 0.3e-6};
constexpr Rates gpu_rates = {4e12, 30e9, 60e9, 2e12, 384 << 10, 192 << 10, 1e-6};

constexpr double sum_bytes = 4;
constexpr double host_clock = 3.5e9;  // cycles a second

// Seconds for `bytes` that are gone through again and again, where `held` bytes lie between two
// turns.
double reread_seconds(const Rates& rates, double bytes, double held) {
  if (held <= rates.inner_bytes) return bytes / rates.inner_cache;
  if (held <= rates.outer_bytes) return bytes / rates.outer_cache;
  return bytes / rates.memory;
}

}  // namespace

RegionEstimate::RegionEstimate(const TaskList& list, const Region& region,
                               const dsl::Target& target)
    : target_(target) {
  bytes_moved_ = static_cast<double>(bytes_moved(list, region));
  processors_ = target.is_gpu() ? target.gpu().multiprocessors : planned_threads();
  lanes_ = target.is_gpu() ? 0 : target.lanes;
  const Lowering& lowering = lowering_of(list, region);
  if (lowering.work == nullptr) return;
  RegionWork work = lowering.work(list, region, target);
  has_product_ = work.has_product;
  cuts_columns_ = work.cuts_columns;
  result_passes_ = work.result_passes;
  rows_ = static_cast<double>(work.rows);
  outer_ = static_cast<double>(work.outer);
  width_ = static_cast<double>(work.width);
  depth_ = static_cast<double>(work.depth);
  row_elements_ = static_cast<double>(work.row_elements);
  element_bytes_ = static_cast<double>(work.element_bytes);
  weight_bytes_ = static_cast<double>(work.weight_bytes);
  host_product_ = work.host_product;
}

RegionEstimate::Cut RegionEstimate::cut(const BlockSizes& blocks) const {
  auto size = [](std::int64_t wanted, double all) {
    return wanted == 0 ? all : std::min(static_cast<double>(wanted), all);
  };
  Cut result{size(blocks.rows, rows_), size(blocks.columns, width_), 1, 1, 1};
  double row_blocks = divide_up(rows_, result.rows),
         column_blocks = divide_up(width_, result.columns);
  double splits = static_cast<double>(std::max<std::int64_t>(1, blocks.splits));
  result.programs = outer_ * row_blocks * (cuts_columns_ ? column_blocks : 1) * splits;
  result.rounds = divide_up(result.programs, processors_);
  // Whole vectors, of the host.
  double columns = lanes_ == 0 ? result.columns : divide_up(result.columns, lanes_) * lanes_;
  result.used = rows_ * width_ / (row_blocks * result.rows * column_blocks * columns);
  return result;
}

double RegionEstimate::seconds(const BlockSizes& blocks) const {
  const Rates& rates = lanes_ == 0 ? gpu_rates : host_rates;
  Cut at = cut(blocks);
  if (host_product_)
    return product_cycles(*host_product_, target_, static_cast<std::int64_t>(at.rows),
                          static_cast<std::int64_t>(at.columns), static_cast<int>(processors_),
                          std::max<std::int64_t>(1, blocks.splits)) /
           host_clock;
  // As if all programs took as long: the last round counts whole.
  double of_rounds = at.rounds * processors_ / at.programs;
  double moved = bytes_moved_ / (rates.memory * processors_);
  double begin = at.programs * rates.begin / processors_ * of_rounds;
  if (!has_product_) {
    double held = at.rows * (cuts_columns_ ? at.columns : row_elements_) * element_bytes_;
    double passes = reread_seconds(rates, bytes_moved_, held) / processors_;
    return (moved + passes / at.used) * of_rounds + begin;
  }
  double all = outer_ * rows_ * width_;
  double compute = 2 * all * depth_ / (rates.flops * processors_ * at.used);
  // Each row block goes through the weights of its columns, each column block through its rows.
  double splits = static_cast<double>(std::max<std::int64_t>(1, blocks.splits));
  double panel = at.columns * depth_ / splits * weight_bytes_;
  double operand = at.rows * depth_ / splits * element_bytes_;
  double weights = all / at.rows * depth_ * weight_bytes_,
         operands = all / at.columns * depth_ * element_bytes_;
  double reread = (reread_seconds(rates, weights, panel + operand) +
                   reread_seconds(rates, operands, panel + operand)) /
                  processors_;
  // The result of a product may be gone through several times before the next one.
  if (result_passes_ != 0)
    reread += result_passes_ *
              reread_seconds(rates, all * sum_bytes, at.rows * at.columns * sum_bytes) /
              processors_;
  double partial = splits == 1 ? 0 : 2 * splits * all * 4 / (rates.outer_cache * processors_);
  return (std::max({moved, compute, reread}) + 0.25 * (compute + reread)) * of_rounds + begin +
         partial;
}

std::vector<double> RegionEstimate::features(const BlockSizes& blocks) const {
  Cut at = cut(blocks);
  double columns = cuts_columns_ ? at.columns : row_elements_;
  return {std::log2(at.programs / processors_),         std::log2(at.rows * columns),
          std::log2(at.rows * depth_ * element_bytes_), std::log2(columns * depth_ * weight_bytes_),
          at.rounds * processors_ / at.programs,        at.used};
}

}  // namespace tilewright::graph
