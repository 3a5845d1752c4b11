#include "models/encoder/pooling.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

void copy_row(std::span<const float> states, std::size_t row, std::span<float> result) {
  std::ranges::copy(states.subspan(row * result.size(), result.size()), result.begin());
}

void greatest(std::span<const float> states, std::span<float> result) {
  copy_row(states, 0, result);
  for (std::size_t at = result.size(); at < states.size(); at += result.size())
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], states[at + i]);
}

// The sum of all rows, row t times `weight(t)`, divided by `divisor`.
template <typename Weight>
void weighted_sum(std::span<const float> states, std::span<float> result, const Weight& weight,
                  float divisor) {
  std::ranges::fill(result, 0.0F);
  const std::size_t width = result.size();
  for (std::size_t at = 0, row = 0; at < states.size(); at += width, ++row) {
    const float factor = weight(row);
    for (std::size_t i = 0; i < width; ++i) result[i] += factor * states[at + i];
  }
  for (float& value : result) value /= divisor;
}

}  // namespace

void pool(std::span<const float> states, std::size_t width, std::span<const Pool> modes,
          std::span<float> result) {
  const std::size_t tokens = states.size() / width;
  const auto count = static_cast<float>(tokens);
  auto one = [](std::size_t) { return 1.0F; };
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const std::span<float> own = result.subspan(i * width, width);
    switch (modes[i]) {
      case Pool::first: copy_row(states, 0, own); break;
      case Pool::last: copy_row(states, tokens - 1, own); break;
      case Pool::max: greatest(states, own); break;
      case Pool::mean: weighted_sum(states, own, one, count); break;
      case Pool::mean_sqrt: weighted_sum(states, own, one, std::sqrt(count)); break;
      case Pool::weighted_mean:
        weighted_sum(
            states, own, [](std::size_t row) { return static_cast<float>(row + 1); },
            count * (count + 1) / 2);
        break;
    }
  }
}

void normalize(std::span<float> vector) {
  double sum = 0;
  for (float value : vector) sum += static_cast<double>(value) * value;
  const auto length = static_cast<float>(std::max(std::sqrt(sum), 1e-12));
  for (float& value : vector) value /= length;
}

}  // namespace tilewright
