#include "models/onnx/program/value.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::onnx {
namespace {

// A float to an integer goes to the nearest one in its range towards 0, as Tensor::to does.
template <typename T>
std::int64_t integer_of(double value) {
  if (std::isnan(value)) return 0;
  constexpr auto least = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= least) return static_cast<std::int64_t>(std::numeric_limits<T>::min());
  if (value >= most) return static_cast<std::int64_t>(std::numeric_limits<T>::max());
  return static_cast<std::int64_t>(value);
}

template <typename T>
Number element_of(const Number& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return Number(value.as_double() != 0 || (value.is_integral() && value.as_integer() != 0));
  } else if constexpr (std::is_integral_v<T>) {
    if (value.is_integral()) return Number(static_cast<T>(value.as_integer()));
    return Number(integer_of<T>(value.as_double()));
  } else {
    return Number(static_cast<double>(static_cast<T>(value.as_double())));
  }
}

}  // namespace

bool can_be_known(DType dtype) {
  return is_boolean(dtype) || (is_integer(dtype) && dtype != u64) || dtype == f32 || dtype == f64;
}

bool Known::is_zero() const {
  return std::ranges::all_of(elements, [](const Number& n) { return n.as_double() == 0; });
}

bool are_numbers(const Tensor& initializer) {
  const DType dtype = initializer.dtype();
  if (!can_be_known(dtype) || initializer.count() > most_known) return false;
  if (initializer.rank() == 0) return true;
  if (is_floating(dtype)) return false;
  const bool may_be_weight = is_integer(dtype) && bit_width(dtype) == 8 && initializer.rank() > 1;
  return !may_be_weight || known_of(initializer).is_zero();
}

Number as_element(const Number& value, DType dtype) {
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>)
      return element_of<T>(value);
    else
      return element_of<float>(value);
  });
}

Known known_of(const Tensor& tensor) {
  Known known{tensor.dtype(), tensor.shape(), {}};
  reserve_list(known.elements, "onnx", tensor.count());
  dispatch(known.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      for (auto element : tensor.to_vector<bool>()) known.elements.emplace_back(bool(element));
    } else if constexpr (std::is_integral_v<T>) {
      for (T element : tensor.to_vector<T>()) known.elements.emplace_back(element);
    } else {
      for (T element : tensor.to_vector<T>())
        known.elements.emplace_back(static_cast<double>(static_cast<float>(element)));
      if constexpr (std::is_same_v<T, double>) {
        std::vector<double> exact = tensor.to_vector<double>();
        known.elements.assign(exact.begin(), exact.end());
      }
    }
  });
  return known;
}

Value Value::absent() {
  Value value;
  value.is_absent_ = true;
  return value;
}
void Value::require_tensor() const {
  require(!is_absent_, "[onnx] an optional value that is absent stands where a tensor is wanted");
  require(sequence_ == nullptr, "[onnx] a sequence stands where a tensor is wanted");
}
DType Value::dtype() const {
  require_tensor();
  return known_ ? known_->dtype : tensor_.dtype();
}
const Shape& Value::shape() const {
  require_tensor();
  return known_ ? known_->shape : tensor_.shape();
}
const Sequence& Value::sequence() const {
  require(sequence_ != nullptr, "[onnx] ",
          is_absent_ ? "an optional value that is absent" : "a tensor",
          " stands where a sequence is wanted");
  return *sequence_;
}

Value stacked(const std::vector<Value>& parts) {
  Known known{parts[0].dtype(), {std::ssize(parts)}, {}};
  known.shape.insert(known.shape.end(), parts[0].shape().begin(), parts[0].shape().end());
  bool are_known = element_count(parts[0].shape()) * std::ssize(parts) <= most_known;
  for (const Value& part : parts) {
    require(part.dtype() == known.dtype && part.shape() == parts[0].shape(),
            "[onnx] tensors that are stacked are ", known.dtype, " [", parts[0].shape(), "] and ",
            part.dtype(), " [", part.shape(), "]; all must have one type and the same sizes");
    are_known = are_known && part.known() != nullptr;
  }
  if (are_known) {
    for (const Value& part : parts)
      known.elements.insert(known.elements.end(), part.known()->elements.begin(),
                            part.known()->elements.end());
    return known;
  }
  std::vector<Tensor> tensors;
  for (const Value& part : parts) tensors.push_back(part.tensor().unsqueeze(0));
  return cat(tensors, 0);
}

namespace {

// Numbers that a formula says: then the compiler knows them, and no memory has them.
Tensor written_as_formula(const Known& known) {
  if (known.elements.empty()) return {};
  const Number& first = known.elements[0];
  bool are_equal = true;
  for (const Number& each : known.elements)
    are_equal = are_equal && each.as_double() == first.as_double() &&
                each.as_integer() == first.as_integer();
  if (are_equal) return full(known.shape, first, known.dtype);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (known.dtype != i32 && known.dtype != i64) return {};
  const std::int64_t start = first.as_integer(), second = known.elements[1].as_integer();
  if (start < -most || start > most || second <= start || second - most > start) return {};
  const std::int64_t step = second - start;
  std::int64_t next = start;
  for (const Number& each : known.elements) {
    if (each.as_integer() != next) return {};
    next += step;
  }
  if (known.dtype == i32 && next > most) return {};
  return arange(start, next, step, known.dtype).reshape(known.shape);
}

}  // namespace

Tensor Value::tensor() const {
  require_tensor();
  if (known_ == nullptr) return tensor_;
  if (Tensor written = written_as_formula(*known_); written.defined()) return written;
  if (tensor_.defined()) return tensor_;
  const Known& known = *known_;
  return dispatch(known.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> bytes;
      for (const Number& each : known.elements) bytes.push_back(each.as_double() != 0);
      return as_constant(
          Tensor::from_bytes(bytes.data(), std::ssize(bytes), known.shape, DType::boolean));
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::vector<T> elements;
      for (const Number& each : known.elements)
        elements.push_back(std::is_integral_v<T> ? static_cast<T>(each.as_integer())
                                                 : static_cast<T>(each.as_double()));
      return constant_of(elements, known.shape);
    } else {
      std::vector<T> elements;
      for (const Number& each : known.elements)
        elements.push_back(T(static_cast<float>(each.as_double())));
      return constant_of(elements, known.shape);
    }
  });
}

}  // namespace tilewright::onnx
