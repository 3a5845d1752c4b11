#include "autotune/database/row/statistics.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace tilewright::autotune {

double quantile(std::vector<double> values, double q) {
  check(!values.empty() && q >= 0 && q <= 1, "a quantile outside 0 to 1, or of an empty list");
  std::ranges::sort(values);
  double at = q * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(at);
  std::size_t above = std::min(below + 1, values.size() - 1);
  double share = at - static_cast<double>(below);
  // Infinite values (failures) have no differences.
  if (share == 0 || values[below] == values[above]) return values[below];
  return values[below] + (values[above] - values[below]) * share;
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double interquartile_range(std::vector<double> values) {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

double spread_of_median(const std::vector<double>& values) {
  return 1.25 * interquartile_range(values) / std::sqrt(static_cast<double>(values.size()));
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tilewright::autotune
