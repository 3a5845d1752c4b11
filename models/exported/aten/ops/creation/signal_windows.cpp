// Windows that signals are multiplied by.
#include "graph/functions/signal/signal_windows.h"

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace signal_window_rows {
namespace {

std::int64_t size_of(const Call& call) {
  const std::int64_t size = call.integer("window_length");
  if (size < 0 || size > INT32_MAX) call.refuse("window_length", concat("is ", size));
  return size;
}
WindowOptions options_of(const Call& call) {
  return {.periodic = call.flag("periodic", true), .dtype = call.dtype().value_or(f32)};
}
using Window = Tensor (*)(std::int64_t, const WindowOptions&, std::source_location);
template <Window window>
constexpr auto plain = [](const Call& c) {
  return window(size_of(c), options_of(c), std::source_location::current());
};
Tensor hamming(const Call& call) {
  return hamming_window(size_of(call),
                        {options_of(call), call.number("alpha", 0.54), call.number("beta", 0.46)});
}
Tensor kaiser(const Call& call) {
  return kaiser_window(size_of(call), call.number("beta", 12), options_of(call));
}

constexpr Operator rows[] = {
    {"aten.hann_window.default", plain<hann_window>},
    {"aten.hann_window.periodic", plain<hann_window>},
    {"aten.hamming_window.default", by<hamming>},
    {"aten.hamming_window.periodic", by<hamming>},
    {"aten.hamming_window.periodic_alpha", by<hamming>},
    {"aten.hamming_window.periodic_alpha_beta", by<hamming>},
    {"aten.blackman_window.default", plain<blackman_window>},
    {"aten.blackman_window.periodic", plain<blackman_window>},
    {"aten.bartlett_window.default", plain<bartlett_window>},
    {"aten.bartlett_window.periodic", plain<bartlett_window>},
    {"aten.kaiser_window.default", by<kaiser>},
    {"aten.kaiser_window.periodic", by<kaiser>},
    {"aten.kaiser_window.beta", by<kaiser>},
};

}  // namespace
}  // namespace signal_window_rows

std::span<const Operator> signal_window_operators() { return signal_window_rows::rows; }

}  // namespace tilewright::exported
