#include "models/exported/aten/ops/shapes/reinterpretation.h"

#include <map>

#include "graph/functions/custom/custom_op.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

constexpr std::int64_t block_elements = 1024;

DType unsigned_of(int bits) { return bits == 8 ? u8 : bits == 16 ? u16 : bits == 32 ? u32 : u64; }

dsl::Tile bits_of(const dsl::Tile& x) {
  return is_boolean(x.dtype()) ? dsl::cast(x, u8)
                               : dsl::bitcast(x, unsigned_of(bit_width(x.dtype())));
}
dsl::Tile of_bits(const dsl::Tile& bits, DType dtype) {
  return is_boolean(dtype) ? bits != 0 : dsl::bitcast(bits, dtype);
}

// Each program makes `block` elements of the wider type, or reads them. Moving whole bytes leaves
// what a float's bits are, which a conversion would not.
dsl::Kernel kernel_to(DType dtype) {
  return {concat("bits_as_", dtype),
          [dtype](dsl::Pointer x, dsl::Pointer y, dsl::Scalar count, dsl::Constexpr block) {
            const dsl::Tile at = dsl::program_id(0) * std::int64_t{block} +
                                 dsl::cast(dsl::arange(0, std::int64_t{block}), i64);
            const dsl::Tile is_inside = at < count;
            const int from = bit_width(x.dtype()), to = bit_width(dtype);
            if (from >= to) {
              const dsl::Tile bits = bits_of(dsl::load(x + at, is_inside));
              for (int part = 0; part < from / to; ++part) {
                const dsl::Tile moved = part == 0 ? bits : bits >> (part * to);
                dsl::store(y + at * (from / to) + part,
                           of_bits(dsl::cast(moved, unsigned_of(to)), dtype), is_inside);
              }
              return;
            }
            const int parts = to / from;
            dsl::Tile all;
            for (int part = 0; part < parts; ++part) {
              const dsl::Tile bits =
                  dsl::cast(bits_of(dsl::load(x + at * parts + part, is_inside)), unsigned_of(to));
              all = part == 0 ? bits : all | bits << (part * from);
            }
            dsl::store(y + at, of_bits(all, dtype), is_inside);
          }};
}

Shape shape_of(const TensorType& x, DType dtype) {
  const int from = bit_width(x.dtype), to = bit_width(dtype);
  Shape sizes = x.shape;
  if (from == to) return sizes;
  const bool fits = sizes.rank() > 0 && sizes[sizes.rank() - 1] * from % to == 0;
  require(fits, "[view] the bits of ", x.dtype, " [", sizes, "] are seen as ", dtype,
          "; the last axis must be a multiple of ", std::max(1, to / from));
  std::int64_t& last = sizes[sizes.rank() - 1];
  last = last * from / to;
  return sizes;
}

CustomOp op_to(DType dtype) {
  auto rule = [dtype](std::span<const TensorType> operands) {
    return std::vector<TensorType>{{dtype, shape_of(operands[0], dtype)}};
  };
  auto launch = [](const CustomCall& call) {
    const std::int64_t count = std::min(call.operand(0).count(), call.result(0).count());
    return TileLaunch{Grid((count + block_elements - 1) / block_elements), {count, block_elements}};
  };
  return custom_op(concat("bits_as_", dtype), rule, TileKernel{kernel_to(dtype), launch});
}

const CustomOp& known_op_to(DType dtype) {
  static const std::map<DType, CustomOp> ops = [] {
    std::map<DType, CustomOp> all;
    for (DType each : all_dtypes()) all.emplace(each, op_to(each));
    return all;
  }();
  return ops.at(dtype);
}

constexpr Operator reinterpretation_rows[] = {
    {"aten.view.dtype",
     [](const Call& c) { return reinterpreted(c.tensor("self"), c.dtype().value()); }},
    {"aten.view_copy.dtype",
     [](const Call& c) { return reinterpreted(c.tensor("self"), c.dtype().value()); }},
};

}  // namespace

Tensor reinterpreted(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Shape shape = shape_of({x.dtype(), x.shape()}, dtype);
  if (element_count(shape) == 0) return zeros(shape, dtype);
  return known_op_to(dtype)(x);
}

std::span<const Operator> reinterpretation_operators() { return reinterpretation_rows; }

}  // namespace tilewright::exported
