#include "dsl/passes/effects.h"

#include "dsl/assembly/assembly.h"

namespace tilewright::dsl {
namespace {

template <typename Test>
bool any_within(const ir::Inst& inst, Test test) {
  if (test(inst)) return true;
  for (const ir::Block& body : inst.bodies)
    for (const ir::Inst& inner : body.insts)
      if (any_within(inner, test)) return true;
  return false;
}

}  // namespace

bool writes_memory(const ir::Inst& inst) {
  return any_within(inst,
                    [](const ir::Inst& i) { return ir::info(i.op).effect == ir::Effect::writes; });
}

bool is_impure_assembly(const ir::Inst& inst) {
  return inst.op == ir::Op::inline_asm_ && !ir::assembly_of(inst.get<ir::Text>().text).is_pure;
}

bool acts(const ir::Inst& inst) {
  return any_within(inst, [](const ir::Inst& i) {
    const ir::OpInfo& row = ir::info(i.op);
    return row.effect == ir::Effect::writes || row.op_class == ir::OpClass::hint ||
           is_impure_assembly(i);
  });
}

}  // namespace tilewright::dsl
