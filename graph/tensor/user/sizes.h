// A list of sizes as an argument: a Shape, a list in braces, or one number.
//
//   Tensor none = tw::zeros(3), pooled = max_pool2d(image, 2);
//
// Separate from Shape, which one number must not become by accident where shapes are computed.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"

namespace tilewright {

class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<std::int64_t> list) : list_(list) {}
  Sizes(Shape list) : list_(std::move(list)) {}
  Sizes(const std::vector<std::int64_t>& list) : list_(list) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Sizes(T size) : list_{static_cast<std::int64_t>(size)} {}

  operator const Shape&() const { return list_; }
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  int rank() const { return list_.rank(); }
  std::int64_t operator[](int axis) const { return list_[axis]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  Shape list_;
};

}  // namespace tilewright
