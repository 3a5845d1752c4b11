// Drops asserts, which only launches look at that were asked to (check_asserts.h): they have put
// other code in their place before. Needs nothing before it; afterwards there is no assert, and
// what only these needed is `dead_code`.
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

bool drop(ir::Block& block) {
  bool changed = std::erase_if(block.insts,
                               [](const ir::Inst& inst) { return inst.op == ir::Op::assert_; }) > 0;
  for (ir::Inst& inst : block.insts)
    for (ir::Block& body : inst.bodies) changed |= drop(body);
  return changed;
}

}  // namespace

bool drop_asserts(ir::Function& function) { return drop(function.body); }

}  // namespace tilewright::dsl
