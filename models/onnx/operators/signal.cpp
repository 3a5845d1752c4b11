// Operators of signals: Fourier transforms as products by matrices that the host computes, and what
// is made of them.
#include <cmath>
#include <numbers>

#include "graph/functions/indexing/strided_parts.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t most_points = 8192;

// cos and sin of 2 pi j k / N, [taken, bins] each; a sign for the direction.
std::pair<Tensor, Tensor> waves(std::int64_t taken, std::int64_t points, std::int64_t bins,
                                bool is_inverse) {
  require(points > 0 && points <= most_points, "[onnx] a transform of ", points, " points");
  std::vector<double> cosines, sines;
  for (std::int64_t j = 0; j < taken; ++j)
    for (std::int64_t k = 0; k < bins; ++k) {
      double angle =
          2 * std::numbers::pi * static_cast<double>(j * k % points) / static_cast<double>(points);
      cosines.push_back(std::cos(angle));
      sines.push_back(is_inverse ? std::sin(angle) : -std::sin(angle));
    }
  return {constant_of(cosines, {taken, bins}), constant_of(sines, {taken, bins})};
}

// x [.., taken, 1 or 2] -> [.., bins, 2], over the axis before the last.
Tensor transformed(const Tensor& x, std::int64_t points, std::int64_t bins, bool is_inverse) {
  std::int64_t taken = std::min(x.size(-2), points);
  auto [cosines, sines] = waves(taken, points, bins, is_inverse);
  Tensor wide = x.to(f64).slice(x.rank() - 2, 0, taken);
  Tensor real = wide.select(x.rank() - 1, 0), re = matmul(real, cosines), im = matmul(real, sines);
  if (x.size(-1) == 2) {
    Tensor imaginary = wide.select(x.rank() - 1, 1);
    re = re - matmul(imaginary, sines);
    im = im + matmul(imaginary, cosines);
  }
  Tensor both = cat({re.unsqueeze(-1), im.unsqueeze(-1)}, re.rank());
  return is_inverse ? both / static_cast<double>(points) : both;
}

Tensor fourier(const Call& call, std::int64_t axis_given) {
  Tensor x = call.tensor(0);
  require(x.rank() >= 3 && (x.size(-1) == 1 || x.size(-1) == 2), "[onnx] a signal [", x.shape(),
          "]; its last axis has one or two elements");
  int axis = call.within(axis_given, x.rank());
  require(axis < x.rank() - 1, "[onnx] a transform over the axis of real and imaginary parts");
  std::int64_t points = call.has(1) ? call.scalar(1).as_integer() : x.size(axis);
  bool is_inverse = call.flag("inverse", false), is_onesided = call.flag("onesided", false);
  Tensor last = x.transpose(axis, x.rank() - 2);
  Tensor y = transformed(last, points, is_onesided ? points / 2 + 1 : points, is_inverse);
  return y.transpose(axis, x.rank() - 2).to(x.dtype());
}

// Frames of the signal, each times a window, transformed.
Tensor short_time(const Call& call) {
  Tensor x = call.tensor(0), window = call.optional_tensor(2);
  std::int64_t step = call.scalar(1).as_integer();
  bool is_onesided = call.flag("onesided", true);
  require(x.rank() == 3 && step > 0, "[onnx] a signal [", x.shape(), "] with frames every ", step);
  std::int64_t length = call.has(3)        ? call.scalar(3).as_integer()
                        : window.defined() ? window.count()
                                           : x.size(1);
  require(length > 0 && length <= x.size(1), "[onnx] frames of ", length, " of [", x.shape(), "]");
  Tensor frames = unfold(x, 1, length, step).transpose(2, 3);
  if (window.defined()) frames = frames * window.reshape({length, 1});
  return transformed(frames, length, is_onesided ? length / 2 + 1 : length, false).to(x.dtype());
}

// [bins, mels], triangles that lie regularly on the scale of mels.
Tensor mel_weights(const Call& call) {
  std::int64_t mels = call.scalar(0).as_integer(), points = call.scalar(1).as_integer();
  auto rate = static_cast<double>(call.scalar(2).as_integer());
  double lower = call.scalar(3).as_double(), upper = call.scalar(4).as_double();
  DType dtype = call.dtype("output_datatype", f32);
  require(mels > 0 && points > 0 && mels <= most_points && points <= most_points, "[onnx] ", mels,
          " mels of ", points, " points");
  std::int64_t bins = points / 2 + 1;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double least = mel(lower), step = (mel(upper) - least) / static_cast<double>(mels + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < mels + 2; ++i) {
    double hertz = 700 * (std::pow(10, (least + step * static_cast<double>(i)) / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(points + 1) * hertz / rate)));
  }
  std::vector<double> weights(static_cast<std::size_t>(bins * mels));
  auto at = [&](std::int64_t bin, std::int64_t m) -> double& {
    require(bin >= 0 && bin < bins, "[onnx] frequencies beyond half the sample rate");
    return weights[static_cast<std::size_t>(bin * mels + m)];
  };
  for (std::int64_t m = 0; m < mels; ++m) {
    auto low = edges[static_cast<std::size_t>(m)], centre = edges[static_cast<std::size_t>(m) + 1],
         high = edges[static_cast<std::size_t>(m) + 2];
    if (low == centre)
      at(centre, m) = 1;
    else
      for (std::int64_t j = low; j <= centre; ++j)
        at(j, m) = static_cast<double>(j - low) / static_cast<double>(centre - low);
    for (std::int64_t j = centre; j < high; ++j)
      at(j, m) = static_cast<double>(high - j) / static_cast<double>(high - centre);
  }
  return constant_of(weights, {bins, mels}).to(dtype);
}

constexpr Operator rows[] = {
    {"DFT", 17, [](const Call& c) { return fourier(c, c.axis("axis", 1)); }},
    {"DFT", 20, [](const Call& c) { return fourier(c, c.has(2) ? c.scalar(2).as_integer() : -2); }},
    {"MelWeightMatrix", 17, by<mel_weights>},
    {"STFT", 17, by<short_time>},
};

}  // namespace

std::span<const Operator> signal_operators() { return rows; }

}  // namespace tilewright::onnx
