#include "graph/functions/fourier/short_time.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/fourier.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/ir/user_call.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// How a signal is cut into frames.
struct Frames {
  Frames(std::string_view operation, std::int64_t n_fft, const ShortTimeOptions& options)
      : points(n_fft), is_centred(options.center) {
    require(points >= 1 && points <= most_fourier_points, "[", operation, "] \"n_fft\" is ", points,
            "; there are from 1 to ", most_fourier_points);
    step = options.hop_length.value_or(points / 4);
    require(step >= 1, "[", operation, "] \"hop_length\" is ", step, "; at least 1 is wanted");
    const std::int64_t length = options.win_length.value_or(points);
    require(length >= 1 && length <= points, "[", operation, "] \"win_length\" is ", length,
            "; n_fft is ", points);
    window = options.window.defined() ? options.window : ones({length});
    require(window.shape() == Shape{length}, "[", operation, "] \"window\" is [", window.shape(),
            "]; [", length, "] is wanted");
    const std::int64_t before = (points - length) / 2;
    if (length < points) window = pad(window, {before, points - length - before});
    scale = options.normalized ? 1 / std::sqrt(static_cast<double>(points)) : 1;
  }
  std::int64_t points, step = 1;
  Tensor window;
  double scale = 1;
  bool is_centred;
};

// Frames of a signal, weighted, as columns: [.., points, count]. The samples that are a step apart
// are put side by side once, so that each row of the frames is a run of these.
Tensor cut_across(const Tensor& signal, const Frames& frames, std::int64_t count) {
  const std::int64_t step = frames.step, pieces = (frames.points + step - 1) / step;
  const std::int64_t columns = count - 1 + pieces, missing = columns * step - signal.size(-1);
  const Tensor whole =
      missing > 0 ? pad(signal, {0, missing}) : signal.slice(-1, 0, columns * step);
  Shape sizes(whole.shape().begin(), whole.shape().end() - 1);
  sizes.push_back(columns);
  sizes.push_back(step);
  const Tensor across = whole.reshape(sizes).transpose(-2, -1).contiguous();
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t first = i * step, points = std::min(step, frames.points - first);
    all.push_back(across.slice(-2, 0, points).slice(-1, i, i + count) *
                  frames.window.slice(0, first, first + points).unsqueeze(-1));
  }
  return cat(all, -2);
}
// The least number of frames for that, and the most steps in a frame. Frames are added up to whole
// vectors.
constexpr std::int64_t least_across = 16, most_pieces_across = 16, frames_of_vectors = 16;

// Frames [.., count, points] added where each begins.
Tensor overlapped(const Tensor& frames, std::int64_t step) {
  const std::int64_t count = frames.size(-2), points = frames.size(-1);
  const std::int64_t pieces = (points + step - 1) / step;
  const Tensor whole = pad(frames, {0, pieces * step - points});
  Shape sizes(frames.shape().begin(), frames.shape().end() - 2);
  sizes.push_back(count * step);
  Tensor all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Tensor piece = whole.slice(-1, i * step, (i + 1) * step).reshape(sizes);
    const Tensor moved = pad(piece, {i * step, (pieces - 1 - i) * step});
    all = all.defined() ? all + moved : moved;
  }
  return all.slice(-1, 0, (count - 1) * step + points);
}

constexpr std::int64_t most_pieces = 4096;  // that lie over each other

// The samples that are given of all that the frames cover.
struct Span {
  Span(const Frames& frames, std::int64_t count, std::optional<std::int64_t> length)
      : covered((count - 1) * frames.step + frames.points) {
    start = frames.is_centred ? frames.points / 2 : 0;
    end = length ? start + *length : frames.is_centred ? covered - start : covered;
    require(end >= start, "[istft] ", count, " frames, of which nothing is left; more are wanted");
  }
  std::int64_t covered, start, end;
};

ComplexTensor signal_of(const ComplexTensor& spectrum, std::int64_t n_fft,
                        const ShortTimeOptions& options, std::optional<std::int64_t> length,
                        bool is_complex) {
  const Frames frames("istft", n_fft, options);
  require(spectrum.rank() >= 2, "[istft] the spectrum is [", spectrum.shape(),
          "]; [.., bins, frames] is wanted");
  const std::int64_t bins = spectrum.size(-2);
  const bool is_half = options.onesided.value_or(bins != n_fft);
  const std::int64_t wanted = is_half ? n_fft / 2 + 1 : n_fft;
  require(bins == wanted, "[istft] the spectrum is [", spectrum.shape(), "]; ", wanted,
          " bins are wanted");
  require(!(is_half && is_complex), "[istft] the spectrum of a complex signal is one-sided; all ",
          n_fft, " bins are wanted");
  require(n_fft / frames.step <= most_pieces, "[istft] \"hop_length\" is ", frames.step,
          "; n_fft is ", n_fft);
  const ComplexTensor turned = spectrum.transpose(-2, -1);
  const FourierOptions inverse{FourierSign::inverse,
                               1 / (static_cast<double>(n_fft) * frames.scale)};
  const ComplexTensor pieces = is_half ? ComplexTensor(real_fourier(turned, -1, n_fft, inverse))
                                       : fourier(turned, -1, inverse);
  const std::int64_t count = turned.size(-2);
  const Tensor weights =
      overlapped((frames.window * frames.window).expand({count, n_fft}).contiguous(), frames.step);
  const Span span(frames, count, length);
  return map_parts(is_complex ? pieces : ComplexTensor(pieces.real()), [&](const Tensor& part) {
    const Tensor sum = overlapped(part * frames.window, frames.step);
    const Tensor given =
        sum.slice(-1, span.start, span.end) / weights.slice(0, span.start, span.end);
    return span.end > span.covered ? pad(given, {0, span.end - span.covered}) : given;
  });
}

ComplexTensor spectra_of(const ComplexOperand& signal, std::int64_t n_fft,
                         const ShortTimeOptions& options) {
  const Frames frames("stft", n_fft, options);
  const ComplexTensor x = graph::complex_tensor_of(signal);
  const bool is_half = options.onesided.value_or(x.is_real());
  require(!is_half || x.is_real(),
          "[stft] \"onesided\" is true of a complex signal; false is wanted");
  require(x.rank() >= 1, "[stft] the signal has no axes; [.., samples] is wanted");
  const std::int64_t around = frames.is_centred ? n_fft / 2 : 0;
  require(x.size(-1) + 2 * around >= n_fft, "[stft] \"n_fft\" is ", n_fft, "; the signal is [",
          x.shape(), "]");
  const std::int64_t count = (x.size(-1) + 2 * around - n_fft) / frames.step + 1;
  const bool is_across = count >= least_across && n_fft <= frames.step * most_pieces_across;
  const ComplexTensor cut = map_parts(x, [&](const Tensor& part) {
    const Tensor whole = around == 0 ? part : pad(part, {around, around}, PadMode::reflect);
    return is_across
               ? cut_across(whole, frames, divide_up(count, frames_of_vectors) * frames_of_vectors)
               : unfold(whole, -1, n_fft, frames.step) * frames.window;
  });
  const FourierOptions forward{FourierSign::forward, frames.scale};
  const int axis = is_across ? -2 : -1;
  const ComplexTensor y =
      is_half ? half_fourier(cut.real(), axis, forward) : fourier(cut, axis, forward);
  return is_across ? y.slice(-1, 0, count) : y.transpose(-2, -1);
}

}  // namespace

ComplexTensor stft(const ComplexOperand& signal, std::int64_t n_fft,
                   const ShortTimeOptions& options) {
  return graph::of_user_call("stft", signal.real.where,
                             [&] { return spectra_of(signal, n_fft, options); });
}

Tensor istft(const ComplexTensor& spectrum, std::int64_t n_fft, const ShortTimeOptions& options,
             std::optional<std::int64_t> length) {
  return signal_of(spectrum, n_fft, options, length, false).real();
}
ComplexTensor complex_istft(const ComplexTensor& spectrum, std::int64_t n_fft,
                            const ShortTimeOptions& options, std::optional<std::int64_t> length) {
  return signal_of(spectrum, n_fft, options, length, true);
}

}  // namespace tilewright
