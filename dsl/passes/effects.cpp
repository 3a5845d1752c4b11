#include "dsl/passes/effects.h"

namespace tilewright::dsl {
namespace {

template <typename Test>
bool any_within(const ir::Inst& inst, Test test) {
  if (test(ir::info(inst.op))) return true;
  for (const ir::Block& body : inst.bodies)
    for (const ir::Inst& inner : body.insts)
      if (any_within(inner, test)) return true;
  return false;
}

}  // namespace

bool writes_memory(const ir::Inst& inst) {
  return any_within(inst, [](const ir::OpInfo& row) { return row.effect == ir::Effect::writes; });
}

bool acts(const ir::Inst& inst) {
  return any_within(inst, [](const ir::OpInfo& row) {
    return row.effect == ir::Effect::writes || row.op_class == ir::OpClass::hint;
  });
}

}  // namespace tilewright::dsl
