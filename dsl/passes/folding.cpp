#include "dsl/passes/folding.h"

#include "dsl/ir/type_rules.h"

namespace tilewright::dsl {

using ir::Op;
using ir::Value;

const Folder::Definition* Folder::definition(Value value) const {
  auto found = definitions_.find(value);
  return found == definitions_.end() ? nullptr : &found->second;
}

const Folder::Definition* Folder::definition(Value value, Op op) const {
  const Definition* made = definition(value);
  return made != nullptr && made->op == op ? made : nullptr;
}

std::optional<Value> Folder::spread(Value value) const {
  if (type(value).is_scalar()) return value;
  if (const Definition* splat = definition(value, Op::splat_)) return splat->operands[0];
  return std::nullopt;
}

std::optional<ir::Scalar> Folder::uniform(Value value) const {
  std::optional<Value> scalar = spread(value);
  if (!scalar) return std::nullopt;
  const Definition* constant = definition(*scalar, Op::constant_);
  return constant == nullptr ? std::nullopt
                             : std::optional(std::get<ir::Scalar>(constant->immediate));
}

void Folder::append(ir::Inst inst) {
  if (inst.bodies.empty() && inst.results.size() == 1)
    definitions_.insert_or_assign(inst.results[0],
                                  Definition{inst.op, inst.operands, inst.immediate});
  code->push_back(std::move(inst));
}

Value Folder::emit(Op op, std::vector<Value> operands, ir::Immediate immediate) {
  std::vector<ir::Type> types;
  for (Value operand : operands) types.push_back(type(operand));
  Value result = function_.new_value(ir::result_types(op, types, immediate).front());
  ir::Inst inst{op, std::move(operands), {result}, std::move(immediate), {}, where};
  if (auto simpler = fold(inst)) return *simpler;
  append(std::move(inst));
  return result;
}

Value Folder::emit_constant(ir::Scalar scalar, Shape shape) {
  Value value = emit(Op::constant_, {}, scalar);
  return shape.empty() ? value : emit(Op::splat_, {value}, ir::Extent{std::move(shape)});
}

std::optional<Value> Folder::fold(const ir::Inst& inst) {
  switch (ir::info(inst.op).op_class) {
    case ir::OpClass::elementwise: return fold_elementwise(*this, inst);
    case ir::OpClass::creation:
    case ir::OpClass::shape: return fold_shape(*this, inst);
    case ir::OpClass::memory: return fold_load(*this, inst);
    case ir::OpClass::selection:
    case ir::OpClass::reduction:
    case ir::OpClass::contraction:
    case ir::OpClass::exchange:
    case ir::OpClass::control:
    case ir::OpClass::hint: return std::nullopt;
  }
  __builtin_unreachable();
}

}  // namespace tilewright::dsl
