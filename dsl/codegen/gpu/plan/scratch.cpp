#include "dsl/codegen/gpu/plan/scratch.h"

#include <algorithm>

#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/ir/verify_stages.h"
#include "dsl/layout/conversion.h"
#include "dsl/layout/families.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::Conversion;
using layout::In;

class Scratch {
 public:
  Scratch(const ir::Function& function, const Uses& uses, const Target& target)
      : function_(function), uses_(uses), target_(target) {}

  std::int64_t bytes(const Inst& inst) const {
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::shape: return shape(inst);
      case ir::OpClass::selection: {
        const ir::Type& source = function_.type(inst.operands[0]);
        return element_count(source.shape) * size_bytes(source.dtype);
      }
      case ir::OpClass::reduction: {
        WarpReduction over = warp_reduction(function_, inst);
        return over.parts == 1 ? 0 : over.bytes;
      }
      case ir::OpClass::contraction: return product(inst);
      case ir::OpClass::memory: return inst.op == Op::atomic_ ? atomic(inst) : 0;
      case ir::OpClass::control:
      case ir::OpClass::creation:
      case ir::OpClass::elementwise:
      case ir::OpClass::exchange:
      case ir::OpClass::hint: return 0;
    }
    __builtin_unreachable();
  }

 private:
  bool is_tile(Value value) const { return function_.has_layout(value); }

  std::int64_t moved(const Layout& from, const Layout& to, std::int64_t element_bytes) const {
    if (from == to) return 0;
    Conversion plan = layout::plan_conversion(from, to, static_cast<int>(element_bytes));
    return plan.kind == Conversion::Kind::shared ? plan.shared->size_bytes() : 0;
  }

  std::int64_t shape(const Inst& inst) const {
    Value operand = inst.operands[0], result = inst.results[0];
    if (!is_tile(operand) || !is_tile(result)) return 0;
    const ir::Type& type = function_.type(operand);
    if (inst.op == Op::convert_layout_)
      return moved(function_.layout(operand), function_.layout(result),
                   type.is_pointer() ? 8 : size_bytes(type.dtype));
    if (inst.op != Op::reshape_ || ir::shape_source(function_, inst, function_.layout(result)))
      return 0;
    return element_count(type.shape) * size_bytes(type.dtype);
  }

  // A staged load, or one with its axes exchanged, is in a ring.
  bool is_staged(Value value) const {
    const Inst* inst = uses_.definition(value);
    if (inst != nullptr && inst->op == Op::permute_) inst = uses_.definition(inst->operands[0]);
    return inst != nullptr && inst->schedule.staged;
  }

  std::int64_t product(const Inst& inst) const {
    auto how = tensor_core_dot(function_, inst, function_.warps, target_);
    if (!how) {
      SharedProduct product = shared_product(function_, inst);
      return product.bytes(product.chunk);
    }
    std::int64_t total = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      Value operand = inst.operands[i];
      if (is_staged(operand)) continue;
      std::int64_t bytes = moved(function_.layout(operand), i == 0 ? how->a : how->b,
                                 size_bytes(function_.type(operand).dtype));
      total += (bytes + 127) / 128 * 128;
    }
    return total;
  }

  // The old value, for threads that did not ask themselves.
  std::int64_t atomic(const Inst& inst) const {
    Value result = inst.results[0];
    if (uses_.users(result).empty()) return 0;
    const ir::Type& type = function_.type(result);
    if (!is_tile(result)) return size_bytes(type.dtype);
    const Layout& layout = function_.layout(result);
    bool all_ask = layout.redundant_bits(In::lane) == 0 && layout.redundant_bits(In::warp) == 0;
    return all_ask ? 0 : element_count(type.shape) * size_bytes(type.dtype);
  }

  const ir::Function& function_;
  const Uses& uses_;
  const Target& target_;
};

}  // namespace

std::int64_t scratch_bytes(const ir::Function& function, const Uses& uses, const Inst& inst,
                           const Target& target) {
  return Scratch(function, uses, target).bytes(inst);
}

std::int64_t cluster_exchange_bytes(const ir::Function& function) {
  std::int64_t most = 0;
  if (function.cluster == 1) return most;
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    if (inst.op != Op::cluster_reduce_) return;
    const ir::Type& type = function.type(inst.results[0]);
    most = std::max(most, element_count(physical_shape(type.shape)) * size_bytes(type.dtype));
  });
  return (most + 15) / 16 * 16;
}

std::int64_t SharedProduct::stride_of(std::int64_t elements) const {
  const std::int64_t vector = 16 / std::min<std::int64_t>(element_bytes, 16);
  return (elements + vector - 1) / vector * vector + (elements > vector ? vector : 0);
}

std::int64_t SharedProduct::right_offset(std::int64_t count) const {
  return count * left_stride() * element_bytes;
}

std::int64_t SharedProduct::bytes(std::int64_t count) const {
  return right_offset(count) + count * right_stride() * element_bytes;
}

SharedProduct shared_product(const ir::Function& function, const Inst& dot) {
  const ir::Type &a = function.type(dot.operands[0]), &sum = function.type(dot.results[0]);
  SharedProduct product{1, sum.shape[0], sum.shape[1], size_bytes(a.dtype)};
  std::int64_t room = shared_product_bytes / product.bytes(1);
  if (room > 1) room -= room % 2;  // two are multiplied a turn
  product.chunk = std::clamp<std::int64_t>(room, 1, a.shape[1]);
  return product;
}

WarpReduction warp_reduction(const ir::Function& function, const Inst& reduce) {
  auto [kind, axis] = reduce.get<ir::Reduction>();
  const Layout& layout = function.layout(reduce.operands[0]);
  const auto& bases = layout.bases(In::warp);
  WarpReduction over{1, element_count(layout::slice(layout, axis).shape()), 0, 0};
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    bool is_redundant = (layout.redundant_bits(In::warp) >> bit & 1) != 0;
    if (bases[bit][static_cast<std::size_t>(axis)] != 0 && !is_redundant) over.parts *= 2;
  }
  std::int64_t slots = over.parts * over.places;
  over.index_offset = (slots * size_bytes(function.type(reduce.operands[0]).dtype) + 3) / 4 * 4;
  over.bytes = over.index_offset + (ir::gives_index(kind) ? 4 * slots : 0);
  return over;
}

}  // namespace tilewright::dsl::gpu
