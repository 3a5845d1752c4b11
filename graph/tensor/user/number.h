// A number as the user's C++ has it, exactly: which kind it is decides what dtype it takes among
// tensors, and an integer has more digits than a double holds.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "runtime/base/dtype.h"

namespace tilewright {

class Number {
 public:
  Number(double value) : floating_(value), is_floating_(true) {}
  template <std::integral T>
  Number(T value)
      : floating_(static_cast<double>(value)),
        integer_(static_cast<std::int64_t>(value)),
        is_boolean_(std::is_same_v<T, bool>) {}

  bool is_integral() const { return !is_floating_; }
  double as_double() const { return floating_; }        // the nearest, of an integer
  std::int64_t as_integer() const { return integer_; }  // of an integral one, wrapped to 64 bits
  // The dtype of a tensor made of it: bool, i64 or f32.
  DType dtype() const {
    return is_floating_ ? DType::f32 : is_boolean_ ? DType::boolean : DType::i64;
  }

 private:
  double floating_;
  std::int64_t integer_ = 0;
  bool is_floating_ = false, is_boolean_ = false;
};

}  // namespace tilewright
