// Short-time Fourier transforms, there and back, as torch.stft and torch.istft have them.
//
// A signal [.., samples] is cut into frames of n_fft samples, every `hop_length`, each of which is
// multiplied by a window and transformed: [.., bins, frames], with n_fft / 2 + 1 bins where the
// transform is one-sided. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/functions/complex/complex_tensor.h"

namespace tilewright {

struct ShortTimeOptions {
  std::optional<std::int64_t> hop_length = {};  // n_fft / 4 if absent
  std::optional<std::int64_t> win_length = {};  // n_fft if absent; zeros lie around a shorter one
  Tensor window = {};                           // [win_length], ones if undefined
  // Frame i is centred at sample i * hop_length, the signal being reflected at its ends; otherwise
  // it begins there.
  bool center = true;
  bool normalized = false;            // results are divided by the root of n_fft
  std::optional<bool> onesided = {};  // if absent, that of a real signal is
};
// Raises `Error` where the signal is shorter than a frame, and for one-sided complex signals.
ComplexTensor stft(const ComplexOperand& signal, std::int64_t n_fft,
                   const ShortTimeOptions& options = {});

// The signal of which `stft` with these options gives the spectrum: frames are transformed back,
// added where they overlap, and divided by the sum of the squared windows. Centred ones lose half a
// frame at either end; `length` is how many samples are given, zeros being added if there are
// fewer. Absent, `onesided` follows from the number of bins.
Tensor istft(const ComplexTensor& spectrum, std::int64_t n_fft,
             const ShortTimeOptions& options = {}, std::optional<std::int64_t> length = {});
// The same for the spectrum, not one-sided, of a complex signal.
ComplexTensor complex_istft(const ComplexTensor& spectrum, std::int64_t n_fft,
                            const ShortTimeOptions& options = {},
                            std::optional<std::int64_t> length = {});

}  // namespace tilewright
