// The elements of an axis of x that windows see at one of their places. Programs that copy them
// know the place as a number where they write places out one by one, and as a tile in a loop.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/lower/convolution/convolution_shape.h"
#include "graph/lower/frame.h"

namespace tilewright::graph {

// Places and phases that a program writes out one by one; more of them are a loop, since the time
// to compile a program grows with its size.
inline constexpr std::int64_t most_written_out = 64;

inline std::int64_t not_negative(std::int64_t number) { return std::max<std::int64_t>(number, 0); }
inline dsl::Tile not_negative(const dsl::Tile& number) { return dsl::maximum(number, 0); }

inline void add_places(Offset& offset, std::int64_t number, std::int64_t stride) {
  offset.add_number(number * stride);
}
inline void add_places(Offset& offset, const dsl::Tile& number, std::int64_t stride) {
  offset.add(number, stride);
}

// Every `stride`-th element from a place on: the first that there is, how many there are, and how
// many windows begin before the first.
template <typename Number>
struct SeenElements {
  Number first, count, shift;
};
template <typename Number>
SeenElements<Number> seen_elements(const WindowAxis& axis, const Number& place) {
  const std::int64_t less_one = axis.stride - 1;
  const Number shift = not_negative(axis.before + less_one - place) / axis.stride;
  const Number first = place - axis.before + shift * axis.stride;
  return {first, not_negative(axis.size + less_one - first) / axis.stride, shift};
}

}  // namespace tilewright::graph
