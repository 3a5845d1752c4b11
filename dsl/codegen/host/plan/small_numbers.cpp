#include "dsl/codegen/host/plan/small_numbers.h"

#include <algorithm>

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int most_steps = 8;  // that a lookup may replace

}  // namespace

std::optional<std::int64_t> SmallNumbers::mask(const Inst& inst) const {
  if (inst.op != Op::and_ || !is_integer(defs_.type(inst.results[0]).dtype)) return std::nullopt;
  const Inst* mask = defs_.inst(inst.operands[1]);
  while (mask != nullptr && (mask->op == Op::splat_ || mask->op == Op::broadcast_))
    mask = defs_.inst(mask->operands[0]);
  if (mask == nullptr || mask->op != Op::constant_) return std::nullopt;
  const std::int64_t most = mask->get<ir::Scalar>().integer;
  return most >= 0 && most < table_size ? std::optional(most) : std::nullopt;
}

SmallNumber SmallNumbers::of(const Inst& inst) {
  if (mask(inst)) return {&inst, 0};
  SmallNumber result;
  for (Value operand : inst.operands) {
    SmallNumber of_operand = of(operand);
    if (of_operand.inst == nullptr) continue;
    if (result.inst != nullptr && result.inst != of_operand.inst) return {};
    result = {of_operand.inst, std::max(result.steps, of_operand.steps + 1)};
  }
  return result.steps <= most_steps ? result : SmallNumber();
}

SmallNumber SmallNumbers::of(Value value) {
  const Inst* inst = defs_.inst(value);
  if (inst == nullptr || inst->schedule.kept || defs_.type(value).is_scalar() ||
      ir::info(inst->op).op_class != ir::OpClass::elementwise || inst->op == Op::offset_)
    return {};
  if (auto known = found_.find(value); known != found_.end()) return known->second;
  return found_[value] = of(*inst);
}

}  // namespace tilewright::dsl
