// How many elements, or how much weight, falls into each of a row of bins, under PyTorch's names.
//
// Weights are added in the order of the elements. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <optional>
#include <utility>

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

}  // namespace tilewright
