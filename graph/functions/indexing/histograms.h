// How many elements, or how much weight, falls into each of a row of bins, under PyTorch's names.
//
// Weights are added in the order of the elements. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// For integers [n] from 0 on: how often each occurs, i64 [the greatest + 1], at least `least_bins`.
// With weights [n] the sums of these, f32 of f32 and f64 of all others. The greatest is read by the
// host, which breaks a graph.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t least_bins = 0,
                std::source_location w = std::source_location::current());

// Equal bins between two edges, of which the last has its right edge. Floats outside, and NaN, are
// in none; counts have the dtype of x. Where both edges are equal they are the least and greatest
// element, and 1 below and above where these are equal too.
Tensor histc(const TensorOperand& x, std::int64_t bins = 100, double least = 0,
             double greatest = 0);

struct HistogramOptions {
  std::optional<std::pair<double, double>> range = {};  // else from the least to the greatest
  Tensor weight = {};                                   // of each element
  bool density = false;                                 // divided by the sum and by widths of bins
};
// {counts [bins], edges [bins + 1]}. Edges that are equal are put apart by 1; those of no elements
// are 0 and 1.
std::pair<Tensor, Tensor> histogram(const TensorOperand& x, std::int64_t bins,
                                    const HistogramOptions& options = {});

// The same between edges that are given, [bins + 1], ascending: counts [bins].
Tensor histogram(const TensorOperand& x, const Tensor& edges, const Tensor& weight = {},
                 bool density = false);

// Of points [.., axes], as many bins along each axis, or between edges that are given for each:
// {counts [bins of each axis], edges}. `weight` has an element for each point, or is undefined.
struct HistogramOfAxes {
  Tensor counts;
  std::vector<Tensor> edges;
};
struct HistogramOfAxesOptions {
  std::vector<std::pair<double, double>> ranges = {};  // of each axis; empty: of its elements
  Tensor weight = {};
  bool density = false;  // divided by the sum and by the volumes of bins
};
HistogramOfAxes histogramdd(const TensorOperand& points, const Shape& bins,
                            const HistogramOfAxesOptions& options = {});
HistogramOfAxes histogramdd(const TensorOperand& points, const std::vector<Tensor>& edges,
                            const HistogramOfAxesOptions& options = {});
// The edges alone.
std::vector<Tensor> histogramdd_bin_edges(const TensorOperand& points, const Shape& bins,
                                          const HistogramOfAxesOptions& options = {});

}  // namespace tilewright
