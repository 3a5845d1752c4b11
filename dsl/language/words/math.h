// Words of arithmetic that are made of the operations of tile.h: each is a formula over them, the
// same on every device, and needs nothing of a back end. Apart from tile.h since nothing else
// depends on them.
//
// f16 and bf16 are computed in f32 and rounded once. An error in a formula names the operation that
// it came to and the line of the call.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// The treatment of NaN. Triton's words ignore NaN by default; here NaN propagates by default.
//   all   the result is NaN where an operand is
//   none  the other operand
enum class PropagateNan : std::uint8_t { none, all };

// a / b rounded up, of numbers as the kernel is traced and of tiles of integers; 0 where b is 0.
// Triton adds b - 1 first, which goes wrong beside the greatest number, and below 0.
template <WholeNumber A, WholeNumber B>
constexpr std::int64_t cdiv(A a, B b) {
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  if (y == 0) return 0;
  return x / y + static_cast<std::int64_t>(x % y != 0 && (x < 0) == (y < 0));
}
Tile cdiv(const Operand& a, const Operand& b);

Tile maximum(const Operand& a, const Operand& b, PropagateNan propagate);
Tile minimum(const Operand& a, const Operand& b, PropagateNan propagate);
// x, or the bound that it is beyond; a NaN in x gives `low` with PropagateNan::none. Where low is
// above high it is high.
Tile clamp(const Operand& x, const Operand& low, const Operand& high,
           PropagateNan propagate = PropagateNan::all);

// Quotients of floating numbers. All are rounded to nearest, as `/` is: none of them is faster.
Tile fdiv(const Operand& x, const Operand& y);
Tile div_rn(const Operand& x, const Operand& y);
// The square root rounded to nearest, as `sqrt` is here.
Tile sqrt_rn(const Operand& x);

// Triton has these in libdevice. log1p and expm1 are exact to some units in the last place near 0
// too, atan everywhere, tan as far as cos is.
Tile tan(const Operand& x);
Tile atan(const Operand& x);
Tile log1p(const Operand& x);  // log(1 + x)
Tile expm1(const Operand& x);  // exp(x) - 1
// x to the power of y, of floating numbers as C's pow: through f64, so that f32 is rounded once.
Tile pow(const Operand& x, const Operand& y);

// exp(x) over its sum along the axis, of x less its maximum.
Tile softmax(const Operand& x, int axis);

// The function of the whole tiles, which are made of one shape first. Unlike Triton's it is traced
// over tiles: write `where` for a choice between elements.
template <typename F, typename... More>
auto map_elementwise(F&& function, const Operand& first, const More&... more);

namespace detail {
std::vector<Tile> of_one_shape(std::string_view word, const std::vector<Operand>& operands);
}  // namespace detail

template <typename F, typename... More>
auto map_elementwise(F&& function, const Operand& first, const More&... more) {
  std::vector<Tile> tiles = detail::of_one_shape("map_elementwise", {first, Operand(more)...});
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return function(tiles[I]...); }
  (std::make_index_sequence<1 + sizeof...(More)>{});
}

}  // namespace tilewright::dsl
