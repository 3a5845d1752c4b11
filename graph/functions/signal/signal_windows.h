// Windows that signals are multiplied by, and weights of the mel scale, under the names of PyTorch
// and ONNX.
//
// A window of that many elements from 0 on, computed in f64 and rounded once. One that is periodic
// is that of one element more, without its last. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct WindowOptions {
  bool periodic = true;
  DType dtype = DType::f32;
  bool single_is_one = true;  // whether one element is 1, as in PyTorch, or what its formula says
};
// Sums of cosines.
Tensor hann_window(std::int64_t size, const WindowOptions& options = {},
                   std::source_location w = std::source_location::current());
// alpha - beta cos(2 pi n / N).
struct HammingOptions : WindowOptions {
  double alpha = 0.54, beta = 0.46;
};
Tensor hamming_window(std::int64_t size, const HammingOptions& options = {},
                      std::source_location w = std::source_location::current());
Tensor blackman_window(std::int64_t size, const WindowOptions& options = {},
                       std::source_location w = std::source_location::current());
// A triangle.
Tensor bartlett_window(std::int64_t size, const WindowOptions& options = {},
                       std::source_location w = std::source_location::current());
// J. Kaiser's, by the modified Bessel function of order 0.
Tensor kaiser_window(std::int64_t size, double beta = 12, const WindowOptions& options = {},
                     std::source_location w = std::source_location::current());

// ONNX's MelWeightMatrix: [bins, mels], triangles that lie regularly on the scale of mels between
// two frequencies, for spectra of `points` points, which have points / 2 + 1 bins.
struct MelScale {
  std::int64_t mels, points, sample_rate;
  double lower, upper;  // frequencies
};
Tensor mel_weight_matrix(const MelScale& scale, DType dtype = DType::f32,
                         std::source_location w = std::source_location::current());

}  // namespace tilewright
