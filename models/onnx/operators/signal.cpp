// Operators of signals: Fourier transforms, and what is made of them.
#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/fourier.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/signal/signal_windows.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace signal_rows {
namespace {

// Of as many points, zeros added or elements left out at the end.
Tensor of_size(const Tensor& x, int axis, std::int64_t points) {
  const std::int64_t size = x.size(axis);
  if (points <= size) return x.slice(axis, 0, points);
  Shape added;
  for (int i = x.rank() - 1; i > axis; --i) added.insert(added.end(), {0, 0});
  added.insert(added.end(), {0, points - size});
  return pad(x, added);
}

// x [.., 1 or 2] -> [.., 2], over an axis before the last; the first results.
Tensor transformed(const Tensor& x, int axis, std::int64_t points, std::int64_t bins,
                   bool is_inverse) {
  const int last = x.rank() - 1;
  const FourierOptions options{is_inverse ? FourierSign::inverse : FourierSign::forward,
                               is_inverse ? 1 / static_cast<double>(points) : 1};
  const Tensor taken = of_size(x, axis, points), real = taken.select(last, 0);
  const bool is_real = x.size(last) == 1;
  const ComplexTensor y =
      is_real && bins < points
          ? half_fourier(real, axis, options)
          : fourier({real, is_real ? Tensor() : taken.select(last, 1)}, axis, options);
  return view_as_real(y).slice(axis, 0, bins);
}

// x [.., 1 or 2], of which the first half of the points is given -> the real results [.., 1].
Tensor real_inverse(const Tensor& x, int axis, std::int64_t points) {
  const int last = x.rank() - 1;
  const Tensor half = of_size(x, axis, points / 2 + 1), real = half.select(last, 0);
  const Tensor imaginary =
      x.size(last) == 1 ? zeros(real.shape(), real.dtype()) : half.select(last, 1);
  return real_fourier({real, imaginary}, axis, points,
                      {FourierSign::inverse, 1 / static_cast<double>(points)})
      .unsqueeze(last);
}

// An inverse one of one side takes half of the spectrum of a real signal, and gives the signal.
Tensor transform_along(const Call& call, std::int64_t axis_given) {
  Tensor x = call.tensor(0);
  require(x.rank() >= 3 && (x.size(-1) == 1 || x.size(-1) == 2), "[onnx] a signal [", x.shape(),
          "]; its last axis has one or two elements");
  int axis = call.within(axis_given, x.rank());
  require(axis < x.rank() - 1,
          "[onnx] a transform over the axis of real and imaginary parts; another than the last is "
          "wanted");
  bool is_inverse = call.flag("inverse", false), is_onesided = call.flag("onesided", false);
  const bool is_of_half = is_inverse && is_onesided;
  const std::int64_t points = call.has(1)  ? call.scalar(1).as_integer()
                              : is_of_half ? 2 * (x.size(axis) - 1)
                                           : x.size(axis);
  require(points > 0 && points <= most_fourier_points, "[onnx] a transform of ", points,
          " points; there are from 1 to ", most_fourier_points);
  if (is_of_half) return real_inverse(x, axis, points);
  return transformed(x, axis, points, is_onesided ? points / 2 + 1 : points, is_inverse);
}

// Frames of the signal, each times a window, transformed.
Tensor short_time(const Call& call) {
  Tensor x = call.tensor(0), window = call.optional_tensor(2);
  std::int64_t step = call.scalar(1).as_integer();
  bool is_onesided = call.flag("onesided", true);
  require(x.rank() == 3 && step > 0, "[onnx] a signal [", x.shape(), "] with frames every ", step,
          "; three axes and a step above 0 are wanted");
  std::int64_t length = call.has(3)        ? call.scalar(3).as_integer()
                        : window.defined() ? window.count()
                                           : x.size(1);
  require(length > 0 && length <= x.size(1), "[onnx] frames of ", length, " of [", x.shape(),
          "]; 1 to ", x.size(1), " elements are wanted");
  Tensor frames = unfold(x, 1, length, step).transpose(2, 3);
  if (window.defined()) frames = frames * window.reshape({length, 1});
  return transformed(frames, 2, length, is_onesided ? length / 2 + 1 : length, false);
}

Tensor mel_weights(const Call& call) {
  return mel_weight_matrix({.mels = call.scalar(0).as_integer(),
                            .points = call.scalar(1).as_integer(),
                            .sample_rate = call.scalar(2).as_integer(),
                            .lower = call.scalar(3).as_double(),
                            .upper = call.scalar(4).as_double()},
                           call.dtype("output_datatype", f32));
}

constexpr Operator rows[] = {
    {"DFT", 17, [](const Call& c) { return transform_along(c, c.axis("axis", 1)); }},
    {"DFT", 20,
     [](const Call& c) { return transform_along(c, c.has(2) ? c.scalar(2).as_integer() : -2); }},
    {"MelWeightMatrix", 17, by<mel_weights>},
    {"STFT", 17, by<short_time>},
};

}  // namespace
}  // namespace signal_rows

std::span<const Operator> signal_operators() { return signal_rows::rows; }

}  // namespace tilewright::onnx
