// Nested lists of numbers as C++ writes them, {{1.f, 2.f}, {3.f, 4.f}}: their elements in row-major
// order, and their shape.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "runtime/base/shape.h"

namespace tilewright::detail {

// Adds an axis of this size, or raises `Error` where another list at that depth has another size.
void note_list(Shape& shape, int depth, std::size_t size);

template <typename T>
struct NestedList {
  // bool has no std::vector of which the bytes could be copied.
  std::vector<std::conditional_t<std::same_as<T, bool>, char, T>> elements;
  Shape shape;

  static NestedList of(const auto& lists) {
    NestedList result;
    result.add(lists);
    return result;
  }

 private:
  template <typename Element>
  void add(std::initializer_list<Element> list, int depth = 0) {
    note_list(shape, depth, list.size());
    for (const Element& element : list)
      if constexpr (std::same_as<Element, T>)
        elements.push_back(element);
      else
        add(element, depth + 1);
  }
};

}  // namespace tilewright::detail
