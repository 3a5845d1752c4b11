// Statistics of repeated measurements: medians and spreads, which a few disturbed ones do not move.
#pragma once

#include <vector>

namespace tilewright::autotune {

// The share `q` of the values lies below, with linear interpolation between two; values in any
// order, at least one, q between 0 and 1.
double quantile(std::vector<double> values, double q);
double median(std::vector<double> values);
// The upper quartile of the values less the lower one.
double interquartile_range(std::vector<double> values);
// The interquartile range that medians of further such series would show, computed as for the
// normal distribution, where a median of n has 1.25 times the standard deviation of a mean.
double spread_of_median(const std::vector<double>& values);
double geometric_mean(const std::vector<double>& values);

}  // namespace tilewright::autotune
