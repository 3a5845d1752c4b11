#include "models/optimizers/lbfgs/strong_wolfe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "graph/tensor/user/functions.h"

namespace tilewright::detail {
namespace {

constexpr double share_of_slope = 1e-4, share_of_flatness = 0.9;
// A step beyond the last one is further by at least so much of their distance, and at most so many
// times as far from the start.
constexpr double least_growth = 0.01, most_growth = 10;
// The share of a bracket that steps keep from its ends, once they have been near twice.
constexpr double margin_of_bracket = 0.1;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The least of the cubic polynomial through both points with their slopes, within the bounds; their
// middle where there is none.
double least_between(const LinePoint& a, const LinePoint& b, double low, double high) {
  const LinePoint &left = a.step <= b.step ? a : b, &right = a.step <= b.step ? b : a;
  const double width = right.step - left.step;
  const double mean = left.slope + right.slope - 3 * (right.loss - left.loss) / width;
  const double square = mean * mean - left.slope * right.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double root = std::sqrt(square);
  const double share = (right.slope + root - mean) / (right.slope - left.slope + 2 * root);
  if (!std::isfinite(share)) return (low + high) / 2;
  return std::min(std::max(right.step - width * share, low), high);
}

class Search {
 public:
  explicit Search(const LineSearch& given) : given_(given) {}

  LinePoint run() const {
    LinePoint before = given_.start, now = evaluated(given_.first_step);
    for (std::int64_t turn = 0; turn < given_.most; ++turn) {
      if (!falls_enough(now) || (turn > 1 && now.loss >= before.loss))
        return narrowed({before, now}, turn);
      if (is_flat_enough(now)) return now;
      if (now.slope >= 0) return narrowed({before, now}, turn);
      const double least = now.step + least_growth * (now.step - before.step);
      const double next = least_between(before, now, least, most_growth * now.step);
      before = std::move(now);
      now = evaluated(next);
    }
    return lower_of({given_.start, now});
  }

 private:
  using Bracket = std::array<LinePoint, 2>;

  LinePoint evaluated(double step) const {
    LinePoint point = given_.evaluate(step);
    if (!std::isfinite(point.loss) || !std::isfinite(point.slope)) point.loss = infinity;
    return point;
  }
  bool falls_enough(const LinePoint& p) const {
    const double most = given_.start.loss + share_of_slope * p.step * given_.start.slope;
    return p.loss <= full({}, most, given_.loss_dtype).to(DType::f64).item<double>();
  }
  bool is_flat_enough(const LinePoint& p) const {
    return std::abs(p.slope) <= -share_of_flatness * given_.start.slope;
  }
  static std::size_t lower(const Bracket& ends) { return ends[1].loss < ends[0].loss ? 1 : 0; }
  static LinePoint lower_of(const Bracket& ends) { return ends[lower(ends)]; }

  // `turn` steps were tried besides the first.
  LinePoint narrowed(Bracket ends, std::int64_t turn) const {
    std::size_t low = lower(ends);
    bool was_near_an_end = false;
    for (; turn < given_.most; ++turn) {
      const auto [left, right] = std::minmax(ends[0].step, ends[1].step);
      if ((right - left) * given_.greatest < given_.least_change) break;
      const double step = kept_from_ends(least_between(ends[0], ends[1], left, right), left, right,
                                         was_near_an_end);
      LinePoint now = evaluated(step);
      if (!falls_enough(now) || now.loss >= ends[low].loss) {
        ends[1 - low] = std::move(now);
        low = lower(ends);
        continue;
      }
      const bool is_found = is_flat_enough(now);
      const double width = ends[1 - low].step - ends[low].step;
      if (!is_found && now.slope * width >= 0) ends[1 - low] = ends[low];
      ends[low] = std::move(now);
      if (is_found) break;
    }
    return ends[low];
  }

  static double kept_from_ends(double step, double left, double right, bool& was_near_an_end) {
    const double margin = margin_of_bracket * (right - left);
    const bool is_near = std::min(right - step, step - left) < margin;
    const bool moves = is_near && (was_near_an_end || step >= right || step <= left);
    was_near_an_end = is_near && !moves;
    if (!moves) return step;
    return std::abs(step - right) < std::abs(step - left) ? right - margin : left + margin;
  }

  const LineSearch& given_;
};

}  // namespace

LinePoint LineSearch::run() const { return Search(*this).run(); }

}  // namespace tilewright::detail
