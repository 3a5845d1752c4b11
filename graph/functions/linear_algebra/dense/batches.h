// Ops of the host that factor a batch of matrices, one at a time: what they have in common.
//
// A factorisation is a class template of the elements it computes with, double or complex<double>.
// Operands [b, ..] and results [b, ..] are f32 or f64, all of one call alike; where the elements
// are complex each is two tensors, the real and the imaginary parts. The class is made once a
// thread, from the memory of the whole batch, and called with the number of each matrix:
//
//   template <typename T> struct Roots {
//     static std::vector<Part> results(std::span<const Shape> operands, Flags flags);
//     static double work(std::span<const Shape> operands);  // operations for a matrix, roughly
//     Roots(Operands& operands, Operands& results, Flags flags);
//     void operator()(std::int64_t i);
//   };
//
// Eigen stays behind the sources of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <Eigen/Core>

#include "graph/functions/custom/custom_op.h"
#include "graph/functions/linear_algebra/dense/factors.h"

namespace tilewright::graph::dense {

using Complex = std::complex<double>;
template <typename T>
inline constexpr bool is_complex = std::is_same_v<T, Complex>;
template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // by columns
template <typename T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// A result: of the matrices' elements, or always of one kind.
enum class Kind : std::uint8_t { as_matrices, real, complex };
struct Part {
  Shape shape;
  Kind kind = Kind::as_matrices;
};

// Memory of one operand or result of all matrices, a matrix of rows and columns each. [b, k] are
// columns, and [b] one element each.
template <typename T>
class Field {
 public:
  explicit Field(std::span<const BufferView> parts) : parts_(parts.begin(), parts.end()) {
    const Shape& shape = parts_[0].type.shape;
    rows_ = shape.rank() > 1 ? shape[1] : 1;
    columns_ = shape.rank() > 2 ? shape[2] : 1;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  void read(std::int64_t i, Matrix<T>& to) const {
    to.resize(rows_, columns_);
    with_elements([&](auto element) {
      using Stored = decltype(element);
      if constexpr (is_complex<T>) {
        to.real() = view<const Stored>(0, i).template cast<double>();
        to.imag() = view<const Stored>(1, i).template cast<double>();
      } else {
        to = view<const Stored>(0, i).template cast<double>();
      }
    });
  }
  template <typename Derived>
  void write(std::int64_t i, const Eigen::MatrixBase<Derived>& from) const {
    with_elements([&](auto element) {
      using Stored = decltype(element);
      if constexpr (is_complex<T>) {
        view<Stored>(0, i) = from.real().template cast<Stored>();
        view<Stored>(1, i) = from.imag().template cast<Stored>();
      } else {
        view<Stored>(0, i) = from.template cast<Stored>();
      }
    });
  }
  void fill(std::int64_t i, double value) const {
    with_elements([&](auto element) {
      using Stored = decltype(element);
      for (std::size_t part = 0; part < parts_.size(); ++part)
        view<Stored>(part, i).setConstant(static_cast<Stored>(value));
    });
  }

 private:
  template <typename Function>
  void with_elements(const Function& function) const {
    if (parts_[0].type.dtype == DType::f32)
      function(0.0F);
    else
      function(0.0);
  }
  template <typename Stored>
  auto view(std::size_t part, std::int64_t i) const {
    using Bare = std::remove_const_t<Stored>;
    using Rows = Eigen::Matrix<Bare, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Seen = std::conditional_t<std::is_const_v<Stored>, const Rows, Rows>;
    return Eigen::Map<Seen>(static_cast<Stored*>(parts_[part].data) + i * rows_ * columns_, rows_,
                            columns_);
  }

  std::vector<BufferView> parts_;
  std::int64_t rows_, columns_;
};

// Tensors of a call, which are taken in their order.
class Operands {
 public:
  explicit Operands(std::span<const BufferView> views) : views_(views) {}
  template <typename T>
  Field<T> take() {
    const std::size_t count = is_complex<T> ? 2 : 1;
    Field<T> field(views_.first(count));
    views_ = views_.subspan(count);
    return field;
  }

 private:
  std::span<const BufferView> views_;
};

// Whether all elements are numbers; iterations are not begun with what is none.
template <typename Derived>
bool is_finite(const Eigen::MatrixBase<Derived>& x) {
  return x.allFinite();
}

// The power of two up to the greatest real or imaginary part, 1 for a matrix without such a part.
// Divided by it elements are around 1, so that their squares and absolute values neither overflow
// nor vanish.
template <typename Derived>
double scale_of(const Eigen::MatrixBase<Derived>& a) {
  if (a.size() == 0) return 1;
  double greatest = a.real().cwiseAbs().maxCoeff();
  if constexpr (is_complex<typename Derived::Scalar>)
    greatest = std::max(greatest, a.imag().cwiseAbs().maxCoeff());
  if (!(greatest > 0) || !std::isfinite(greatest)) return 1;
  return std::ldexp(1.0, std::ilogb(greatest));
}

// Part by part: Eigen would divide complex elements by complex numbers, whose squares overflow.
template <typename T>
void divide(Matrix<T>& a, double by) {
  a.real() /= by;
  if constexpr (is_complex<T>) a.imag() /= by;
}
template <typename T>
void multiply(Matrix<T>& a, double by) {
  a.real() *= by;
  if constexpr (is_complex<T>) a.imag() *= by;
}

using OneMatrix = std::function<void(std::int64_t)>;
// Calls what `make` gives each thread for the numbers of all matrices; one thread where there is
// little work in them.
void for_each_matrix(std::int64_t count, double work, const std::function<OneMatrix()>& make);

// The op of that name, defined the first time it is asked for.
CustomOp op_named(const std::string& name, const std::function<CustomOp(const std::string&)>& make);
// "linalg_" and the name, with a word for complex matrices and the number of the flags.
std::string name_of(std::string_view name, bool is_complex, Flags flags);
// Shapes of operands or results of which each may be two tensors.
std::vector<Shape> shapes_of(std::span<const TensorType> types, bool is_complex);
std::vector<TensorType> types_of(std::span<const Part> results, DType dtype, bool is_complex);

template <typename Factorisation, bool is_complex>
CustomOp op_of(const std::string& name, Flags flags) {
  auto rule = [flags](std::span<const TensorType> operands) {
    return types_of(Factorisation::results(shapes_of(operands, is_complex), flags),
                    operands[0].dtype, is_complex);
  };
  auto function = [flags](std::span<const BufferView> operands,
                          std::span<const BufferView> results) {
    std::vector<TensorType> types;
    for (const BufferView& operand : operands) types.push_back(operand.type);
    for_each_matrix(operands[0].type.shape[0], Factorisation::work(shapes_of(types, is_complex)),
                    [&]() -> OneMatrix {
                      Operands given(operands), made(results);
                      // A function must be copyable, and what is shared is the thread's own.
                      auto one = std::make_shared<Factorisation>(given, made, flags);
                      return [one](std::int64_t i) { (*one)(i); };
                    });
  };
  return custom_op(name, rule, BufferFunction(function));
}

template <template <typename> class Factorisation>
CustomOp op_of(std::string_view name, bool is_complex, Flags flags) {
  return op_named(name_of(name, is_complex, flags), [&](const std::string& full) {
    return is_complex ? op_of<Factorisation<Complex>, true>(full, flags)
                      : op_of<Factorisation<double>, false>(full, flags);
  });
}

}  // namespace tilewright::graph::dense
