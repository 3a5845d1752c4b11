// The axes that a reduction is over: one number, a list, or none, which stands for all of them.
//
//   Tensor rows = sum(x, 1), all = sum(x), both = mean(x, {0, 2});
//
// A class of its own so that a flag is refused in its place: sum(x, true) does not compile.
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tilewright {

class Axes {
 public:
  Axes() = default;
  Axes(std::initializer_list<int> list) : list_(list) {}
  Axes(std::vector<int> list) : list_(std::move(list)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Axes(T axis) : list_{static_cast<int>(axis)} {}

  const std::vector<int>& list() const { return list_; }
  operator const std::vector<int>&() const { return list_; }
  bool empty() const { return list_.empty(); }

 private:
  std::vector<int> list_;
};

}  // namespace tilewright
