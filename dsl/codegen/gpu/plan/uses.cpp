#include "dsl/codegen/gpu/plan/uses.h"

#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;

Uses::Uses(const ir::Function& function)
    : bases_(ir::array_bases(function)),
      definitions_(function.types.size(), nullptr),
      users_(function.types.size()),
      written_(function.types.size(), false),
      accesses_(function.types.size(), 0) {
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    for (Value value : inst.results) definitions_[value] = &inst;
    for (Value value : inst.operands) users_[value].push_back(&inst);
    if (ir::info(inst.op).op_class != ir::OpClass::memory || inst.op == Op::make_desc_) return;
    Value array = base(inst.operands[0]);
    ++accesses_[array];
    if (ir::info(inst.op).effect == ir::Effect::writes) written_[array] = true;
  });
}

std::optional<ProductOperand> product_operand(const Uses& uses, const Inst& load) {
  Value value = load.results[0];
  if (uses.users(value).size() != 1) return std::nullopt;
  const Inst* user = uses.users(value)[0];
  bool transposed = user->op == Op::permute_;
  if (transposed) {
    value = user->results[0];
    if (uses.users(value).size() != 1) return std::nullopt;
    user = uses.users(value)[0];
  }
  if (user->op != Op::dot_ || user->operands[0] == user->operands[1] || value == user->operands[2])
    return std::nullopt;
  return ProductOperand{user, user->operands[0] == value ? 0 : 1, value, transposed};
}

bool is_in(const ir::Block& block, const Inst* inst) {
  return !block.insts.empty() && inst >= block.insts.data() &&
         inst < block.insts.data() + block.insts.size();
}

bool only_accumulates(const Uses& uses, const Inst& dot, const ir::Block& body) {
  Value before = dot.operands[2], after = dot.results[0];
  const Inst& yield = body.insts.back();
  if (yield.op != Op::yield_) return false;
  for (std::size_t k = 0; k < yield.operands.size(); ++k)
    if (yield.operands[k] == after && body.params.size() > 1 + k && body.params[1 + k] == before)
      return uses.users(before).size() == 1 && uses.users(after).size() == 1;
  return false;
}

}  // namespace tilewright::dsl::gpu
