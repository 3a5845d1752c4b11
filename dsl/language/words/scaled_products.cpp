#include "dsl/language/words/scaled_products.h"

#include <algorithm>
#include <string_view>

#include "dsl/language/operands.h"
#include "dsl/language/term.h"
#include "dsl/language/words/arranging.h"

namespace tilewright::dsl {
namespace {

using words::as_type;
using words::bits_as;
using words::choice;
using words::Term;

constexpr std::int64_t scaled_together = 32;

// True if elements of a type are of a format, as they are.
bool is_of(ScaledFormat format, DType dtype) {
  switch (format) {
    case ScaledFormat::e2m1: return dtype == DType::u8;
    case ScaledFormat::e4m3: return dtype == DType::f8e4m3;
    case ScaledFormat::e5m2: return dtype == DType::f8e5m2;
    case ScaledFormat::plain: return is_float16(dtype);
  }
  __builtin_unreachable();
}

std::string_view elements_of(ScaledFormat format) {
  switch (format) {
    case ScaledFormat::e2m1: return "u8";
    case ScaledFormat::e4m3: return "f8e4m3, or its bits as u8,";
    case ScaledFormat::e5m2: return "f8e5m2, or its bits as u8,";
    case ScaledFormat::plain: return "floats of 16 bits";
  }
  __builtin_unreachable();
}

bool has_exponents_of_f32(DType dtype) { return exponent_bits(dtype) == exponent_bits(DType::f32); }

// A type that holds scaled elements of all these formats but the plain ones with fewer exponents.
DType wide_half() {
  return *std::ranges::find_if(all_dtypes(),
                               [](DType d) { return is_float16(d) && has_exponents_of_f32(d); });
}

bool has_bits_in_bytes(ScaledFormat format) {
  return format == ScaledFormat::e4m3 || format == ScaledFormat::e5m2;
}

// One side as f32; its inner axis is the last.
class ScaledSide {
 public:
  ScaledSide(const OperationUse& site, const ScaledOperand& operand, std::string_view name)
      : site_(site), operand_(operand), name_(name) {}

  Term numbers(bool inner_is_first) const {
    Tile tile = site_.tile(operand_.elements);
    const bool is_bits = has_bits_in_bytes(operand_.format) && tile.dtype() == DType::u8;
    site_.expect(tile.type().is_value() && tile.shape().rank() == 2 &&
                     (is_of(operand_.format, tile.dtype()) || is_bits),
                 name_, " is ", tile.type(), "; in this format it must be ",
                 elements_of(operand_.format), " with two axes");
    if (inner_is_first) tile = trans(at(tile));
    if (is_bits)
      tile =
          bitcast(at(tile), operand_.format == ScaledFormat::e4m3 ? DType::f8e4m3 : DType::f8e5m2);
    const Term x(tile, site_.where());
    return operand_.format == ScaledFormat::e2m1 ? halves_of_bytes(x) : as_type(x, DType::f32);
  }

  // Times the scales, [rows, K / 32].
  Term scaled(const Term& x) const {
    if (!operand_.scales) return x;
    Tile scales = site_.tile(*operand_.scales);
    const Shape& shape = x.shape();
    const Shape groups{shape[0], shape[1] / scaled_together};
    site_.expect(
        shape[1] % scaled_together == 0 && scales.type() == ir::Type::tile(DType::u8, groups),
        "the scales of ", name_, " are ", scales.type(), "; for ", shape[0], " rows of ", shape[1],
        " elements they must be u8, one for each ", scaled_together, " of a row");
    const Term exponent = as_type(Term(scales, site_.where()), DType::i32);
    constexpr std::int32_t least = 0x00400000, nan = 0x7fc00000;
    const Term bits = choice(exponent == 255, nan, choice(exponent == 0, least, exponent << 23));
    Tile each = expand_dims(bits_as(bits, DType::f32).operand(), 2);
    each = site_.broadcast(each, {groups[0], groups[1], scaled_together});
    return x * Term(reshape(at(each), shape), site_.where());
  }

 private:
  Operand at(const Tile& tile) const { return {tile, site_.where()}; }

  // Both elements of each byte, side by side.
  Term halves_of_bytes(const Term& bytes) const {
    const Term wide = as_type(bytes, DType::i32);
    return {interleave(number_of(wide & 15).operand(), number_of(wide >> 4).operand()),
            site_.where()};
  }

  // A sign, two bits of exponent and one of mantissa, which stand in an f32 likewise.
  static Term number_of(const Term& half) {
    constexpr std::int32_t one_half = 0x3f000000, bias = 126;
    const Term size = half & 7, sign = (half >> 3) << 31;
    const Term bits = choice(size < 2, size * one_half, (size << 22) + (bias << 23));
    return bits_as(bits | sign, DType::f32);
  }

  const OperationUse& site_;
  const ScaledOperand& operand_;
  std::string_view name_;
};

}  // namespace

Tile dot_scaled(const ScaledOperand& a, const ScaledOperand& b, const std::optional<Operand>& acc) {
  OperationUse site("dot_scaled", a.elements.where);
  const ScaledSide left(site, a, "a"), right(site, b, "b");
  auto is_narrow = [&](const ScaledOperand& side) {
    return side.format == ScaledFormat::plain &&
           !has_exponents_of_f32(site.tile(side.elements).dtype());
  };
  const bool by_tf32 = is_narrow(a) || is_narrow(b);
  const DType multiplied = by_tf32 ? DType::f32 : wide_half();
  const Term x = as_type(left.scaled(left.numbers(false)), multiplied);
  const Term y = as_type(right.scaled(right.numbers(true)), multiplied);
  return dot(x.operand(), Operand(trans(y.operand()), site.where()),
             acc.value_or(Operand(0, site.where())),
             by_tf32 ? InputPrecision::tf32 : InputPrecision::ieee);
}

}  // namespace tilewright::dsl
