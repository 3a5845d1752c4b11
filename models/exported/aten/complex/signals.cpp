// Rows for short-time Fourier transforms.
#include "graph/functions/fourier/short_time.h"
#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace short_time_rows {
namespace {

std::optional<std::int64_t> optional_integer(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.integer(name)) : std::nullopt;
}
ShortTimeOptions options_of(const Call& call) {
  return {
      .hop_length = optional_integer(call, "hop_length"),
      .win_length = optional_integer(call, "win_length"),
      .window = call.optional_tensor("window"),
      .center = call.flag("center", true),
      .normalized = call.flag("normalized", false),
      .onesided = call.has("onesided") ? std::optional(call.flag("onesided", true)) : std::nullopt};
}

// torch.stft pads the signal for centred frames before it calls this operator.
Results short_time(const Call& call) {
  ShortTimeOptions options = options_of(call);
  options.center = false;
  if (call.flag("align_to_window", false)) call.refuse("align_to_window", "is true");
  const ComplexTensor y = stft(call.complex_operand("self"), call.integer("n_fft"), options);
  if (call.flag("return_complex", false)) return {y};
  return {view_as_real(y)};
}

Results from_short_time(const Call& call) {
  const ComplexTensor spectrum = call.complex_tensor("self");
  const std::int64_t points = call.integer("n_fft");
  const auto length = optional_integer(call, "length");
  if (call.flag("return_complex", false))
    return {complex_istft(spectrum, points, options_of(call), length)};
  return {istft(spectrum, points, options_of(call), length)};
}

constexpr Operator rows[] = {
    {"aten.stft.default", by<short_time>},
    {"aten.istft.default", by<from_short_time>},
};

}  // namespace
}  // namespace short_time_rows

std::span<const Operator> short_time_operators() { return short_time_rows::rows; }

}  // namespace tilewright::exported
