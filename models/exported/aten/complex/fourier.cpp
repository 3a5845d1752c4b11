// Rows for Fourier transforms: PyTorch's own three, and the functions that are made of them, which
// programs without decompositions name.
#include "graph/functions/fourier/transforms.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace fourier_rows {
namespace {

ComplexOperand self(const Call& call) { return call.complex_operand("self"); }
Tensor real_self(const Call& call) { return call.tensor("self"); }

// Numbered by what results are divided by: nothing, the root of the number of points, that number.
FourierNorm norm_numbered(const Call& call, bool is_forward) {
  const std::int64_t number = call.integer("normalization");
  if (number < 0 || number > 2)
    call.refuse("normalization", concat("is ", number, "; 0, 1 and 2 are known"));
  if (number == 1) return FourierNorm::ortho;
  return (number == 2) == is_forward ? FourierNorm::forward : FourierNorm::backward;
}
FourierNorm norm_named(const Call& call) {
  const std::string name = call.text("norm", "backward");
  if (name == "ortho") return FourierNorm::ortho;
  if (name == "forward") return FourierNorm::forward;
  if (name != "backward") call.refuse("norm", "is not one of backward, ortho and forward");
  return FourierNorm::backward;
}

std::vector<int> axes_within(const Call& call, int rank) {
  const std::vector<int> axes = call.axes("dim");
  for (int axis : axes)
    if (!normalise_axis(axis, rank))
      call.refuse("dim", concat("has the axis ", axis, "; there are ", rank));
  return axes;
}
Value real_to_complex(const Call& call) {
  const Tensor x = call.tensor("self");
  const auto axes = axes_within(call, x.rank());
  const FourierNorm norm = norm_numbered(call, true);
  return call.flag("onesided", true) ? rfftn(x, {}, axes, norm) : fftn(x, {}, axes, norm);
}
Value complex_to_complex(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const auto axes = axes_within(call, z.rank());
  const bool is_forward = call.flag("forward", true);
  const FourierNorm norm = norm_numbered(call, is_forward);
  return is_forward ? fftn(z, {}, axes, norm) : ifftn(z, {}, axes, norm);
}
Tensor complex_to_real(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const auto axes = axes_within(call, z.rank());
  if (axes.empty()) call.refuse("dim", "names no axis");
  Shape sizes(axes.size(), -1);
  sizes[-1] = call.integer("last_dim_size");
  return irfftn(z, sizes, axes, norm_numbered(call, false));
}

template <auto function, auto operand>
Value along_axis(const Call& call) {
  const auto n = call.has("n") ? std::optional(call.integer("n")) : std::nullopt;
  return function(operand(call), n, call.axis("dim", -1), norm_named(call));
}
template <auto function, auto operand>
Value along(const Call& call, const FourierAxes& missing) {
  const auto sizes = call.has("s") ? FourierSizes(call.integers("s")) : std::nullopt;
  const auto axes = call.has("dim") ? FourierAxes(call.axes("dim")) : missing;
  return function(operand(call), sizes, axes, norm_named(call));
}
template <auto function, auto operand>
Value along_axes(const Call& call) {
  return along<function, operand>(call, std::nullopt);
}
template <auto function, auto operand>
Value along_two_axes(const Call& call) {
  return along<function, operand>(call, std::vector<int>{-2, -1});
}

constexpr Operator rows[] = {
    {"aten._fft_r2c.default", by<real_to_complex>},
    {"aten._fft_c2c.default", by<complex_to_complex>},
    {"aten._fft_c2r.default", by<complex_to_real>},
    {"aten.fft_fft.default", by<along_axis<fft, self>>},
    {"aten.fft_ifft.default", by<along_axis<ifft, self>>},
    {"aten.fft_rfft.default", by<along_axis<rfft, real_self>>},
    {"aten.fft_irfft.default", by<along_axis<irfft, self>>},
    {"aten.fft_hfft.default", by<along_axis<hfft, self>>},
    {"aten.fft_ihfft.default", by<along_axis<ihfft, real_self>>},
    {"aten.fft_hfft2.default", by<along_two_axes<hfftn, self>>},
    {"aten.fft_ihfft2.default", by<along_two_axes<ihfftn, real_self>>},
    {"aten.fft_hfftn.default", by<along_axes<hfftn, self>>},
    {"aten.fft_ihfftn.default", by<along_axes<ihfftn, real_self>>},
    {"aten.fft_fft2.default", by<along_two_axes<fftn, self>>},
    {"aten.fft_ifft2.default", by<along_two_axes<ifftn, self>>},
    {"aten.fft_rfft2.default", by<along_two_axes<rfftn, real_self>>},
    {"aten.fft_irfft2.default", by<along_two_axes<irfftn, self>>},
    {"aten.fft_fftn.default", by<along_axes<fftn, self>>},
    {"aten.fft_ifftn.default", by<along_axes<ifftn, self>>},
    {"aten.fft_rfftn.default", by<along_axes<rfftn, real_self>>},
    {"aten.fft_irfftn.default", by<along_axes<irfftn, self>>},
};

}  // namespace
}  // namespace fourier_rows

std::span<const Operator> fourier_operators() { return fourier_rows::rows; }

}  // namespace tilewright::exported
