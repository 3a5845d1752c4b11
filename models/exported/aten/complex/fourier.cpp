// Fourier transforms of exported programs: PyTorch's own three, and the functions that are made of
// them, which programs without decompositions name.
#include <algorithm>
#include <cmath>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/fourier.h"
#include "graph/functions/indexing/strided_parts.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace fourier_rows {
namespace {

// The divisor of results: nothing, the root of the number of points, or that number.
enum class Norm : std::uint8_t { none, root, all };

double scale_of(Norm norm, double points) {
  return norm == Norm::none ? 1 : norm == Norm::root ? 1 / std::sqrt(points) : 1 / points;
}
Norm norm_numbered(const Call& call) {
  const std::int64_t number = call.integer("normalization");
  if (number < 0 || number > 2)
    call.refuse("normalization", concat("is ", number, "; 0, 1 and 2 are known"));
  return static_cast<Norm>(number);
}
Norm norm_named(const Call& call, bool is_forward) {
  const std::string name = call.text("norm", "backward");
  if (name == "ortho") return Norm::root;
  if (name != "forward" && name != "backward")
    call.refuse("norm", "is not one of backward, ortho and forward");
  return (name == "forward") == is_forward ? Norm::all : Norm::none;
}

int axis_within(const Call& call, int axis, int rank) {
  const auto own = normalise_axis(axis, rank);
  if (!own) call.refuse("dim", concat("has the axis ", axis, "; there are ", rank));
  return *own;
}
std::vector<int> axes_within(const Call& call, std::vector<int> axes, int rank) {
  for (int& axis : axes) axis = axis_within(call, axis, rank);
  return axes;
}
double points_of(const Shape& shape, const std::vector<int>& axes) {
  double points = 1;
  for (int axis : axes) points *= static_cast<double>(shape[axis]);
  return points;
}

// The tensor with so many elements along the axis, zeros added or elements left out at the end.
Tensor of_size(const Tensor& x, int axis, std::int64_t size) {
  const std::int64_t own = x.size(axis);
  if (size <= own) return x.slice(axis, 0, size);
  Shape added;
  for (int i = x.rank() - 1; i > axis; --i) added.insert(added.end(), {0, 0});
  added.insert(added.end(), {0, size - own});
  return pad(x, added);
}
ComplexTensor of_size(const ComplexTensor& z, int axis, std::int64_t size) {
  if (z.shape()[axis] == size) return z;
  return {of_size(z.real(), axis, size), of_size(z.imag(), axis, size)};
}

// A number of points that a transform may have.
std::int64_t points_within(const Call& call, std::int64_t points) {
  require(points >= 1 && points <= most_fourier_points, "[exported] ", call.node().target,
          " is a transform of ", points, " points; there are from 1 to ", most_fourier_points);
  return points;
}

FourierOptions options(bool is_forward, double scale) {
  return {is_forward ? FourierSign::forward : FourierSign::inverse, scale};
}
// The last of the axes first.
ComplexTensor over_axes(ComplexTensor z, const std::vector<int>& axes, bool is_forward,
                        double scale) {
  for (std::size_t i = axes.size(); i-- > 0; scale = 1)
    z = fourier(z, axes[i], options(is_forward, scale));
  return z;
}
ComplexTensor of_reals(const Tensor& x, std::vector<int> axes, bool is_half, double scale) {
  if (axes.empty()) return {x, zeros(x.shape(), x.dtype())};
  const ComplexTensor z = is_half ? half_fourier(x, axes.back(), options(true, scale))
                                  : fourier({x, {}}, axes.back(), options(true, scale));
  axes.pop_back();
  return over_axes(z, axes, true, 1);
}
Tensor to_reals(const ComplexTensor& z, std::vector<int> axes, std::int64_t points, double scale,
                bool is_forward = false) {
  const int last = axes.back();
  axes.pop_back();
  const ComplexTensor half = of_size(over_axes(z, axes, is_forward, 1), last, points / 2 + 1);
  return real_fourier(half, last, points, options(is_forward, scale));
}

// aten._fft_r2c, _fft_c2c, _fft_c2r.
Value real_to_complex(const Call& call) {
  const Tensor x = call.tensor("self");
  const auto axes = axes_within(call, call.axes("dim"), x.rank());
  const double scale = scale_of(norm_numbered(call), points_of(x.shape(), axes));
  return of_reals(x, axes, call.flag("onesided", true), scale);
}
Value complex_to_complex(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const auto axes = axes_within(call, call.axes("dim"), z.rank());
  const double scale = scale_of(norm_numbered(call), points_of(z.shape(), axes));
  return over_axes(z, axes, call.flag("forward", true), scale);
}
Tensor complex_to_real(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const auto axes = axes_within(call, call.axes("dim"), z.rank());
  if (axes.empty()) call.refuse("dim", "names no axis");
  const std::int64_t points = points_within(call, call.integer("last_dim_size"));
  Shape sizes = z.shape();
  sizes[axes.back()] = points;
  return to_reals(z, axes, points, scale_of(norm_numbered(call), points_of(sizes, axes)));
}

// Which axes, and how many points each: those of the call, or all that the tensor has.
struct Extent {
  std::vector<int> axes;
  Shape points;
};
Extent extent_of(const Call& call, const Shape& shape, const std::vector<int>& missing) {
  Extent extent;
  const bool is_one = call.node().target.find("2.default") == std::string::npos &&
                      call.node().target.find("n.default") == std::string::npos;
  if (is_one) {
    extent.axes = {axis_within(call, call.axis("dim", -1), shape.rank())};
    extent.points = {
        points_within(call, call.has("n") ? call.integer("n") : shape[extent.axes[0]])};
    return extent;
  }
  const Shape given = call.has("s") ? call.integers("s") : Shape();
  extent.axes = call.has("dim") ? call.axes("dim") : missing;
  if (!call.has("dim") && missing.empty()) {
    const int count = call.has("s") ? given.rank() : shape.rank();
    for (int i = 0; i < count; ++i) extent.axes.push_back(i - count);
  }
  extent.axes = axes_within(call, extent.axes, shape.rank());
  for (std::size_t i = 0; i < extent.axes.size(); ++i) {
    const auto at = static_cast<int>(i);
    const bool is_given = call.has("s") && at < given.rank() && given[at] != -1;
    extent.points.push_back(points_within(call, is_given ? given[at] : shape[extent.axes[i]]));
  }
  return extent;
}
const std::vector<int> last_two = {-2, -1}, every = {};

ComplexTensor resized(ComplexTensor z, const Extent& extent, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    z = of_size(z, extent.axes[i], extent.points[static_cast<int>(i)]);
  return z;
}
double points_of(const Extent& extent) { return static_cast<double>(element_count(extent.points)); }

template <bool is_forward, const std::vector<int>& missing>
Value whole(const Call& call) {
  const bool is_real = !call.is_complex("self");
  const ComplexTensor given = call.complex_tensor("self");
  const Extent extent = extent_of(call, given.shape(), missing);
  const double scale = scale_of(norm_named(call, is_forward), points_of(extent));
  const ComplexTensor z = resized(given, extent, extent.axes.size());
  if (is_real && is_forward) return of_reals(z.real(), extent.axes, false, scale);
  return over_axes(z, extent.axes, is_forward, scale);
}
template <const std::vector<int>& missing>
Value half(const Call& call) {
  const ComplexTensor given = call.complex_tensor("self");
  const Extent extent = extent_of(call, given.shape(), missing);
  const double scale = scale_of(norm_named(call, true), points_of(extent));
  return of_reals(resized(given, extent, extent.axes.size()).real(), extent.axes, true, scale);
}
// The number of real results along the last axis, unless it is given.
Extent real_extent(const Call& call, const Shape& shape, const std::vector<int>& missing) {
  Extent extent = extent_of(call, shape, missing);
  if (extent.axes.empty()) call.refuse("dim", "names no axis");
  const bool is_given =
      call.has("n") || (call.has("s") && call.integers("s").rank() == extent.points.rank() &&
                        call.integers("s")[extent.points.rank() - 1] != -1);
  std::int64_t& last = extent.points[extent.points.rank() - 1];
  if (!is_given) last = points_within(call, 2 * (last - 1));
  return extent;
}
template <const std::vector<int>& missing>
Tensor from_half(const Call& call) {
  const ComplexTensor given = call.complex_tensor("self");
  const Extent extent = real_extent(call, given.shape(), missing);
  const double scale = scale_of(norm_named(call, false), points_of(extent));
  return to_reals(resized(given, extent, extent.axes.size() - 1), extent.axes,
                  extent.points[extent.points.rank() - 1], scale);
}
// The other direction of the two before, for a spectrum that is real.
template <const std::vector<int>& missing>
Tensor real_spectrum(const Call& call) {
  const ComplexTensor z = call.complex_tensor("self");
  const Extent extent = real_extent(call, z.shape(), missing);
  return to_reals(resized(z, extent, extent.axes.size() - 1), extent.axes,
                  extent.points[extent.points.rank() - 1],
                  scale_of(norm_named(call, true), points_of(extent)), true);
}
template <const std::vector<int>& missing>
Value half_of_real_spectrum(const Call& call) {
  const ComplexTensor given = call.complex_tensor("self");
  const Extent extent = extent_of(call, given.shape(), missing);
  if (extent.axes.empty()) call.refuse("dim", "names no axis");
  const double scale = scale_of(norm_named(call, false), points_of(extent));
  std::vector<int> others = extent.axes;
  others.pop_back();
  const Tensor x = resized(given, extent, extent.axes.size()).real();
  return over_axes(half_fourier(x, extent.axes.back(), options(false, scale)), others, false, 1);
}

constexpr Operator rows[] = {
    {"aten._fft_r2c.default", by<real_to_complex>},
    {"aten._fft_c2c.default", by<complex_to_complex>},
    {"aten._fft_c2r.default", by<complex_to_real>},
    {"aten.fft_fft.default", by<whole<true, every>>},
    {"aten.fft_ifft.default", by<whole<false, every>>},
    {"aten.fft_rfft.default", by<half<every>>},
    {"aten.fft_irfft.default", by<from_half<every>>},
    {"aten.fft_hfft.default", by<real_spectrum<every>>},
    {"aten.fft_ihfft.default", by<half_of_real_spectrum<every>>},
    {"aten.fft_hfft2.default", by<real_spectrum<last_two>>},
    {"aten.fft_ihfft2.default", by<half_of_real_spectrum<last_two>>},
    {"aten.fft_hfftn.default", by<real_spectrum<every>>},
    {"aten.fft_ihfftn.default", by<half_of_real_spectrum<every>>},
    {"aten.fft_fft2.default", by<whole<true, last_two>>},
    {"aten.fft_ifft2.default", by<whole<false, last_two>>},
    {"aten.fft_rfft2.default", by<half<last_two>>},
    {"aten.fft_irfft2.default", by<from_half<last_two>>},
    {"aten.fft_fftn.default", by<whole<true, every>>},
    {"aten.fft_ifftn.default", by<whole<false, every>>},
    {"aten.fft_rfftn.default", by<half<every>>},
    {"aten.fft_irfftn.default", by<from_half<every>>},
};

}  // namespace
}  // namespace fourier_rows

std::span<const Operator> fourier_operators() { return fourier_rows::rows; }

}  // namespace tilewright::exported
