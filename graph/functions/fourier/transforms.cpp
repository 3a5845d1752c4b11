#include "graph/functions/fourier/transforms.h"

#include <cmath>
#include <string_view>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/fourier.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

double scale_of(FourierNorm norm, FourierSign sign, double points) {
  if (norm == FourierNorm::ortho) return 1 / std::sqrt(points);
  const bool divides = (norm == FourierNorm::forward) == (sign == FourierSign::forward);
  return divides ? 1 / points : 1;
}

std::int64_t points_within(std::string_view operation, std::int64_t points) {
  require(points >= 1 && points <= most_fourier_points, "[", operation, "] a transform of ", points,
          " points; there are from 1 to ", most_fourier_points);
  return points;
}

// Which axes, and how many points each of them has.
struct Extent {
  std::vector<int> axes;
  Shape points;

  bool is_empty() const { return axes.empty(); }
  int last_axis() const { return axes.back(); }
  std::vector<int> axes_before_last() const { return {axes.begin(), axes.end() - 1}; }
  double scale(FourierNorm norm, FourierSign sign) const {
    return scale_of(norm, sign, static_cast<double>(element_count(points)));
  }
};

std::vector<int> named_axes(std::string_view operation, const Shape& shape,
                            const FourierSizes& sizes, const FourierAxes& axes) {
  std::vector<int> named;
  if (axes) {
    named = *axes;
  } else {
    const int count = sizes ? sizes->rank() : shape.rank();
    for (int axis = -count; axis < 0; ++axis) named.push_back(axis);
  }
  require(!sizes || sizes->size() == named.size(), "[", operation, "] ", sizes ? sizes->rank() : 0,
          " sizes for ", named.size(), " axes; as many are wanted");
  for (int& axis : named) {
    const auto own = normalise_axis(axis, shape.rank());
    require(own.has_value(), "[", operation, "] axis ", axis, " of [", shape, "]; it has ",
            shape.rank());
    axis = *own;
  }
  return named;
}

// Where results are real, the operand's last axis has half of them unless its size is given.
enum class ResultKind : std::uint8_t { complex, real };

Extent extent_of(std::string_view operation, const Shape& shape, const FourierSizes& sizes,
                 const FourierAxes& axes, ResultKind result = ResultKind::complex) {
  Extent extent{named_axes(operation, shape, sizes, axes), {}};
  for (std::size_t i = 0; i < extent.axes.size(); ++i) {
    const bool is_given = sizes && (*sizes)[static_cast<int>(i)] != -1;
    std::int64_t points = is_given ? (*sizes)[static_cast<int>(i)] : shape[extent.axes[i]];
    const bool is_last = i + 1 == extent.axes.size();
    if (result == ResultKind::real && is_last && !is_given) points = 2 * (points - 1);
    extent.points.push_back(points_within(operation, points));
  }
  return extent;
}
void require_axes(std::string_view operation, const Extent& extent) {
  require(!extent.is_empty(), "[", operation, "] a transform over no axes; at least one is wanted");
}

ComplexTensor resized(const ComplexTensor& z, int axis, std::int64_t size) {
  const std::int64_t own = z.size(axis);
  if (size == own) return z;
  if (size < own) return z.slice(axis, 0, size);
  Shape added(static_cast<std::size_t>(2 * (z.rank() - axis)), 0);
  added[added.rank() - 1] = size - own;
  return map_parts(z, [&](const Tensor& part) { return pad(part, added); });
}
ComplexTensor resized(ComplexTensor z, const Extent& extent, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    z = resized(z, extent.axes[i], extent.points[static_cast<int>(i)]);
  return z;
}
ComplexTensor resized(const ComplexTensor& z, const Extent& extent) {
  return resized(z, extent, extent.axes.size());
}

// The last axis first.
ComplexTensor over_axes(ComplexTensor z, const std::vector<int>& axes, FourierSign sign,
                        double scale) {
  for (std::size_t i = axes.size(); i-- > 0; scale = 1)
    z = fourier(z, axes[i], FourierOptions{sign, scale});
  return z;
}

ComplexTensor whole(std::string_view operation, const ComplexOperand& x, const FourierSizes& sizes,
                    const FourierAxes& axes, FourierNorm norm, FourierSign sign) {
  return graph::of_user_call(operation, x.real.where, [&]() -> ComplexTensor {
    const ComplexTensor z = graph::complex_tensor_of(x);
    const Extent extent = extent_of(operation, z.shape(), sizes, axes);
    if (extent.is_empty()) return {z.real(), z.imag()};
    return over_axes(resized(z, extent), extent.axes, sign, extent.scale(norm, sign));
  });
}

// Half of the results of real terms.
ComplexTensor half(std::string_view operation, const TensorOperand& x, const FourierSizes& sizes,
                   const FourierAxes& axes, FourierNorm norm, FourierSign sign) {
  return graph::of_user_call(operation, x.where, [&]() -> ComplexTensor {
    const ComplexTensor z(graph::tensor_beside(x, f32));
    const Extent extent = extent_of(operation, z.shape(), sizes, axes);
    require_axes(operation, extent);
    const FourierOptions last{sign, extent.scale(norm, sign)};
    return over_axes(half_fourier(resized(z, extent).real(), extent.last_axis(), last),
                     extent.axes_before_last(), sign, 1);
  });
}

// All real results of half of the terms.
Tensor real_of_half(std::string_view operation, const ComplexOperand& x, const FourierSizes& sizes,
                    const FourierAxes& axes, FourierNorm norm, FourierSign sign) {
  return graph::of_user_call(operation, x.real.where, [&]() -> Tensor {
    const ComplexTensor z = graph::complex_tensor_of(x);
    const Extent extent = extent_of(operation, z.shape(), sizes, axes, ResultKind::real);
    require_axes(operation, extent);
    const std::int64_t points = extent.points[-1];
    const ComplexTensor others =
        over_axes(resized(z, extent, extent.axes.size() - 1), extent.axes_before_last(), sign, 1);
    return real_fourier(resized(others, extent.last_axis(), points / 2 + 1), extent.last_axis(),
                        points, FourierOptions{sign, extent.scale(norm, sign)});
  });
}

FourierSizes one_size(std::optional<std::int64_t> n) {
  return n ? FourierSizes(Shape{*n}) : std::nullopt;
}
FourierAxes one_axis(int axis) { return std::vector<int>{axis}; }

}  // namespace

ComplexTensor fft(const ComplexOperand& x, std::optional<std::int64_t> n, int axis,
                  FourierNorm norm) {
  return whole("fft", x, one_size(n), one_axis(axis), norm, FourierSign::forward);
}
ComplexTensor ifft(const ComplexOperand& x, std::optional<std::int64_t> n, int axis,
                   FourierNorm norm) {
  return whole("ifft", x, one_size(n), one_axis(axis), norm, FourierSign::inverse);
}
ComplexTensor rfft(const TensorOperand& x, std::optional<std::int64_t> n, int axis,
                   FourierNorm norm) {
  return half("rfft", x, one_size(n), one_axis(axis), norm, FourierSign::forward);
}
Tensor irfft(const ComplexOperand& x, std::optional<std::int64_t> n, int axis, FourierNorm norm) {
  return real_of_half("irfft", x, one_size(n), one_axis(axis), norm, FourierSign::inverse);
}
Tensor hfft(const ComplexOperand& x, std::optional<std::int64_t> n, int axis, FourierNorm norm) {
  return real_of_half("hfft", x, one_size(n), one_axis(axis), norm, FourierSign::forward);
}
ComplexTensor ihfft(const TensorOperand& x, std::optional<std::int64_t> n, int axis,
                    FourierNorm norm) {
  return half("ihfft", x, one_size(n), one_axis(axis), norm, FourierSign::inverse);
}

ComplexTensor fftn(const ComplexOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
                   FourierNorm norm) {
  return whole("fftn", x, sizes, axes, norm, FourierSign::forward);
}
ComplexTensor ifftn(const ComplexOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
                    FourierNorm norm) {
  return whole("ifftn", x, sizes, axes, norm, FourierSign::inverse);
}
ComplexTensor rfftn(const TensorOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
                    FourierNorm norm) {
  return half("rfftn", x, sizes, axes, norm, FourierSign::forward);
}
Tensor irfftn(const ComplexOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
              FourierNorm norm) {
  return real_of_half("irfftn", x, sizes, axes, norm, FourierSign::inverse);
}
Tensor hfftn(const ComplexOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
             FourierNorm norm) {
  return real_of_half("hfftn", x, sizes, axes, norm, FourierSign::forward);
}
ComplexTensor ihfftn(const TensorOperand& x, const FourierSizes& sizes, const FourierAxes& axes,
                     FourierNorm norm) {
  return half("ihfftn", x, sizes, axes, norm, FourierSign::inverse);
}

ComplexTensor fft2(const ComplexOperand& x, const FourierSizes& sizes, const std::vector<int>& axes,
                   FourierNorm norm) {
  return whole("fft2", x, sizes, axes, norm, FourierSign::forward);
}
ComplexTensor ifft2(const ComplexOperand& x, const FourierSizes& sizes,
                    const std::vector<int>& axes, FourierNorm norm) {
  return whole("ifft2", x, sizes, axes, norm, FourierSign::inverse);
}
ComplexTensor rfft2(const TensorOperand& x, const FourierSizes& sizes, const std::vector<int>& axes,
                    FourierNorm norm) {
  return half("rfft2", x, sizes, axes, norm, FourierSign::forward);
}
Tensor irfft2(const ComplexOperand& x, const FourierSizes& sizes, const std::vector<int>& axes,
              FourierNorm norm) {
  return real_of_half("irfft2", x, sizes, axes, norm, FourierSign::inverse);
}

}  // namespace tilewright
