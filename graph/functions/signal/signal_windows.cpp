#include "graph/functions/signal/signal_windows.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "graph/functions/pointwise/host_constants.h"
#include "graph/functions/pointwise/special.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// Of places from 0 to 1, in f64.
template <typename Make>
Tensor window(const char* name, std::int64_t size, const WindowOptions& options, source_location w,
              const Make& make) {
  require(size >= 0 && size <= INT32_MAX, "[", name, "] a window of ", size, " elements (at ",
          At{w}, "); from 0 to ", INT32_MAX, " are supported");
  require(is_floating(options.dtype), "[", name, "] the dtype is ", options.dtype, " (at ", At{w},
          "); it must be floating");
  if (size == 0 || (size == 1 && options.single_is_one)) return ones({size}, options.dtype, w);
  const double last = static_cast<double>(options.periodic ? size : size - 1);
  return make(arange(0, size, 1, DType::i64, w).to(DType::f64) / last).to(options.dtype);
}

Tensor of_cosines(const Tensor& x, double a, double b, double c = 0) {
  constexpr double turn = 2 * std::numbers::pi;
  const Tensor sum = a - b * cos(x * turn);
  return c == 0 ? sum : sum + c * cos(x * (2 * turn));
}

}  // namespace

Tensor hann_window(std::int64_t size, const WindowOptions& options, source_location w) {
  return window("hann_window", size, options, w,
                [](const Tensor& x) { return of_cosines(x, 0.5, 0.5); });
}
Tensor hamming_window(std::int64_t size, const HammingOptions& options, source_location w) {
  return window("hamming_window", size, options, w,
                [&](const Tensor& x) { return of_cosines(x, options.alpha, options.beta); });
}
Tensor blackman_window(std::int64_t size, const WindowOptions& options, source_location w) {
  return window("blackman_window", size, options, w,
                [](const Tensor& x) { return of_cosines(x, 0.42, 0.5, 0.08); });
}
Tensor bartlett_window(std::int64_t size, const WindowOptions& options, source_location w) {
  return window("bartlett_window", size, options, w,
                [](const Tensor& x) { return 1.0 - abs(2.0 * x - 1.0); });
}
Tensor kaiser_window(std::int64_t size, double beta, const WindowOptions& options,
                     source_location w) {
  return window("kaiser_window", size, options, w, [&](const Tensor& x) {
    const Tensor from_middle = 2.0 * x - 1.0;
    return i0(beta * sqrt(maximum(1.0 - from_middle * from_middle, 0.0))) /
           i0(full({}, beta, DType::f64));
  });
}

Tensor mel_weight_matrix(const MelScale& scale, DType dtype, source_location w) {
  constexpr std::int64_t most = 8192;
  const std::int64_t mels = scale.mels, points = scale.points, bins = points / 2 + 1;
  require(mels > 0 && points > 0 && mels <= most && points <= most && scale.sample_rate > 0,
          "[mel_weight_matrix] ", mels, " mels of ", points, " points (at ", At{w}, "); 1 to ",
          most, " of both are supported, and a sample rate above 0");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double least = mel(scale.lower),
               step = (mel(scale.upper) - least) / static_cast<double>(mels + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < mels + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (least + step * static_cast<double>(i)) / 2595) - 1);
    edges.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(points + 1) * hertz /
                                                         static_cast<double>(scale.sample_rate))));
  }
  std::vector<double> weights(static_cast<std::size_t>(bins * mels));
  auto at = [&](std::int64_t bin, std::int64_t m) -> double& {
    require(bin >= 0 && bin < bins, "[mel_weight_matrix] frequencies are beyond half the sample ",
            "rate (at ", At{w}, "); from 0 to that are wanted");
    return weights[static_cast<std::size_t>(bin * mels + m)];
  };
  for (std::int64_t m = 0; m < mels; ++m) {
    const std::int64_t low = edges[static_cast<std::size_t>(m)],
                       centre = edges[static_cast<std::size_t>(m) + 1],
                       high = edges[static_cast<std::size_t>(m) + 2];
    if (low == centre)
      at(centre, m) = 1;
    else
      for (std::int64_t j = low; j <= centre; ++j)
        at(j, m) = static_cast<double>(j - low) / static_cast<double>(centre - low);
    for (std::int64_t j = centre; j < high; ++j)
      at(j, m) = static_cast<double>(high - j) / static_cast<double>(high - centre);
  }
  return graph::constant_of(weights, {bins, mels}).to(dtype);
}

}  // namespace tilewright
