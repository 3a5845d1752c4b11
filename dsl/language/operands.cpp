#include "dsl/language/operands.h"

#include <algorithm>
#include <cmath>

namespace tilewright::dsl {

Tile Operand::as(Tracer& tracer, DType dtype) const {
  if (!is_number_) return tile_;
  auto held = [&] {
    if (is_floating(dtype))
      return ir::Scalar::of(dtype, integral_ ? static_cast<double>(integer_) : number_);
    bool whole = integral_ || (std::trunc(number_) == number_ && std::abs(number_) < 0x1p63);
    std::int64_t integer = integral_ ? integer_ : whole ? static_cast<std::int64_t>(number_) : 0;
    ir::Scalar scalar = ir::Scalar::of_integer(dtype, integer);
    bool negative = integer < 0 && kind_of(dtype) == DTypeKind::unsigned_integer;
    if (!whole || negative || scalar.integer != integer) {
      std::string text = integral_ ? std::to_string(integer_) : concat(number_);
      raise_error(concat(describe(where), ": [constant] ", text, " does not fit ", dtype,
                         ", the type of the other operand; cast that one or write a number of ",
                         dtype));
    }
    return scalar;
  };
  return tracer.append(ir::Op::constant_, {}, held(), where);
}

Tile OperationUse::tile(const Operand& operand) const {
  return tile(operand, operand.is_integral() ? DType::i64 : DType::f32);
}

Tile OperationUse::tile(const Operand& operand, DType dtype) const {
  Tile result = operand.as(tracer_, dtype);
  tracer_.require_usable(result, operation_, where_);
  return result;
}

Tile OperationUse::broadcast(const Tile& tile, const Shape& shape) const {
  ir::Type type = tile.type();
  if (type.shape == shape) return tile;
  auto common = type.is_descriptor() ? std::nullopt : broadcast_shapes(type.shape, shape);
  expect(common == shape, type, " does not broadcast to the shape ", shape,
         "; sizes must agree from the last axis on, or be 1");
  if (type.is_scalar()) return append(ir::Op::splat_, {tile}, ir::Extent{shape});
  Tile result = tile;
  for (int rank = type.shape.rank(); rank < shape.rank(); ++rank)
    result = append(ir::Op::expand_dims_, {result}, ir::Axis{0});
  if (result.shape() == shape) return result;
  return append(ir::Op::broadcast_, {result}, ir::Extent{shape});
}

Tile OperationUse::fit(const Operand& operand, const ir::Type& type, std::string_view role) const {
  Tile result = tile(operand, type.dtype);
  expect(result.type().is_value() && result.dtype() == type.dtype, role, " is ", result.type(),
         "; it must be ", type.dtype, ": cast it");
  return broadcast(result, type.shape);
}

std::vector<Tile> OperationUse::broadcast_together(std::vector<Tile> tiles) const {
  Shape shape = tiles.front().shape();
  for (const Tile& tile : tiles) {
    auto common = broadcast_shapes(shape, tile.shape());
    expect(common.has_value(), "the shapes ", shape, " and ", tile.shape(),
           " do not broadcast; sizes must agree from the last axis on, or be 1");
    shape = *common;
  }
  for (Tile& tile : tiles) tile = broadcast(tile, shape);
  return tiles;
}

std::vector<Tile> OperationUse::unify(std::span<const Operand> operands) const {
  auto first = std::ranges::find_if(operands, [](const Operand& o) { return !o.is_number(); });
  DType dtype = std::ranges::all_of(operands, &Operand::is_integral) ? DType::i64 : DType::f32;
  ir::Type pattern = ir::Type::scalar(dtype);
  if (first != operands.end()) pattern = tile(*first).type();
  std::vector<Tile> tiles;
  for (const Operand& operand : operands) {
    Tile next = tile(operand, pattern.dtype);
    ir::Type type = next.type();
    expect(type.is_value(), "an operand is ", type, "; it must be a scalar or a tile of numbers");
    expect(type.dtype == pattern.dtype, "operands differ in type: ", pattern, " and ", type,
           "; cast one of them");
    tiles.push_back(next);
  }
  return broadcast_together(std::move(tiles));
}

int OperationUse::axis(int axis, int rank) const {
  auto normal = normalise_axis(axis, rank);
  expect(normal.has_value(), "the axis is ", axis, "; with ", rank, " axes it must be from ", -rank,
         " to ", rank - 1);
  return *normal;
}

}  // namespace tilewright::dsl
