// Transforms of short pieces of signals, there and back, and what goes with transforms:
// frequencies, and the order of their results.
#include <cmath>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/fourier.h"
#include "graph/functions/indexing/strided_parts.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace short_time_rows {
namespace {

// Frames of `points` elements, every `step`, that are multiplied by a window.
struct Frames {
  explicit Frames(const Call& call) : points(call.integer("n_fft")) {
    if (points < 1 || points > most_fourier_points)
      call.refuse("n_fft", concat("is ", points, "; there are from 1 to ", most_fourier_points));
    step = call.has("hop_length") ? call.integer("hop_length") : points / 4;
    if (step < 1) call.refuse("hop_length", concat("is ", step));
    const std::int64_t length = call.has("win_length") ? call.integer("win_length") : points;
    if (length < 1 || length > points)
      call.refuse("win_length", concat("is ", length, "; n_fft is ", points));
    window = call.has("window") ? call.tensor("window") : ones({length});
    if (window.shape() != Shape{length})
      call.refuse("window", concat("is [", window.shape(), "]; [", length, "] is wanted"));
    const std::int64_t before = (points - length) / 2;
    if (length < points) window = pad(window, {before, points - length - before});
    scale = call.flag("normalized", false) ? 1 / std::sqrt(static_cast<double>(points)) : 1;
  }
  std::int64_t points, step;
  Tensor window;
  double scale;
};

// [.., samples] to [.., bins, frames].
Results short_time(const Call& call) {
  const Frames frames(call);
  const bool is_complex = call.is_complex("self");
  const bool is_half = call.flag("onesided", !is_complex);
  if (is_half && is_complex) call.refuse("onesided", "is true of a complex signal");
  if (call.flag("align_to_window", false)) call.refuse("align_to_window", "is true");
  const ComplexTensor signal = call.complex_tensor("self");
  if (signal.shape()[signal.rank() - 1] < frames.points)
    call.refuse("n_fft", concat("is ", frames.points, "; the signal is [", signal.shape(), "]"));
  auto cut = [&](const Tensor& part) {
    return unfold(part, -1, frames.points, frames.step) * frames.window;
  };
  const FourierOptions options{FourierSign::forward, frames.scale};
  const ComplexTensor y =
      is_half
          ? half_fourier(cut(signal.real()), -1, options)
          : fourier({cut(signal.real()), is_complex ? cut(signal.imag()) : Tensor()}, -1, options);
  const ComplexTensor turned = y.transpose(-2, -1);
  if (call.flag("return_complex", false)) return {turned};
  return {turned.pairs()};
}

// Frames [.., count, points] added where each begins.
Tensor overlapped(const Tensor& frames, std::int64_t step) {
  const std::int64_t count = frames.size(-2), points = frames.size(-1);
  const std::int64_t pieces = (points + step - 1) / step;
  const Tensor whole = pad(frames, {0, pieces * step - points});
  Shape sizes(frames.shape().begin(), frames.shape().end() - 2);
  sizes.push_back(count * step);
  Tensor all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Tensor piece = whole.slice(whole.rank() - 1, i * step, (i + 1) * step).reshape(sizes);
    const Tensor moved = pad(piece, {i * step, (pieces - 1 - i) * step});
    all = all.defined() ? all + moved : moved;
  }
  return all.slice(all.rank() - 1, 0, (count - 1) * step + points);
}

constexpr std::int64_t most_pieces = 4096;  // that lie over each other

// [.., bins, frames] to [.., samples].
Results from_short_time(const Call& call) {
  const Frames frames(call);
  const ComplexTensor spectrum = call.complex_tensor("self");
  if (spectrum.rank() < 2) call.refuse("self", "has fewer than two axes");
  const bool gives_complex = call.flag("return_complex", false);
  const std::int64_t bins = spectrum.shape()[spectrum.rank() - 2];
  const bool is_half = call.flag("onesided", bins != frames.points);
  const std::int64_t wanted = is_half ? frames.points / 2 + 1 : frames.points;
  if (bins != wanted || (is_half && gives_complex))
    call.refuse("self", concat("is [", spectrum.shape(), "]; ", wanted, " bins are wanted"));
  if (frames.points / frames.step > most_pieces)
    call.refuse("hop_length", concat("is ", frames.step, "; n_fft is ", frames.points));
  const ComplexTensor turned = spectrum.transpose(-2, -1);
  const double points = static_cast<double>(frames.points);
  const FourierOptions options{FourierSign::inverse, 1 / (points * frames.scale)};
  const ComplexTensor y = is_half ? ComplexTensor(real_fourier(turned, -1, frames.points, options))
                                  : fourier(turned, -1, options);
  const std::int64_t count = turned.size(-2);
  const Tensor weights = overlapped(
      (frames.window * frames.window).expand({count, frames.points}).contiguous(), frames.step);
  const std::int64_t all = (count - 1) * frames.step + frames.points;
  const bool is_centred = call.flag("center", true);
  const std::int64_t start = is_centred ? frames.points / 2 : 0;
  const std::int64_t length = call.has("length") ? call.integer("length") : -1;
  const std::int64_t end = length >= 0 ? start + length : is_centred ? all - start : all;
  if (end < start) call.refuse("self", concat("has ", count, " frames, of which nothing is left"));
  auto given = [&](const Tensor& part) {
    const Tensor sum = overlapped(part * frames.window, frames.step);
    const Tensor taken = (sum.slice(sum.rank() - 1, start, end) / weights.slice(0, start, end));
    return end > all ? pad(taken, {0, end - all}) : taken;
  };
  if (gives_complex) return {ComplexTensor(given(y.real()), given(y.imag()))};
  return {given(y.real())};
}

constexpr Operator rows[] = {
    {"aten.stft.default", by<short_time>},
    {"aten.istft.default", by<from_short_time>},
};

}  // namespace
}  // namespace short_time_rows

std::span<const Operator> short_time_operators() { return short_time_rows::rows; }

}  // namespace tilewright::exported
