// Drops instructions whose results nothing needs, and values that loops and ifs carry in vain.
//
// Writes and hints are needed for their own sake, and so is control flow that holds one. From them
// need flows backwards. A carried value is needed if the loop's result or its parameter inside is;
// a value that only feeds itself is not. Nothing must hold before; after, values are numbered
// densely.
#include <algorithm>

#include "dsl/ir/rewrite.h"
#include "dsl/passes/effects.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Op;

class Liveness {
 public:
  explicit Liveness(const ir::Function& function) : live_(function.types.size()) {
    block(function.body, {});
  }

  bool operator()(ir::Value value) const { return live_[value]; }

  bool needed(const ir::Inst& inst) const {
    for (ir::Value result : inst.results)
      if (live_[result]) return true;
    return inst.op == Op::yield_ || acts(inst);
  }

  // Which results (and so yields, carried values) of a loop or if stay.
  std::vector<bool> kept(const ir::Inst& inst) const {
    std::vector<bool> keep;
    for (std::size_t i = 0; i < inst.results.size(); ++i)
      keep.push_back(live_[inst.results[i]] ||
                     (inst.op == Op::loop_ && live_[inst.bodies[0].params[i + 1]]) ||
                     (i == 0 && ir::ends_by_condition(inst)));
    return keep;
  }

 private:
  void need(ir::Value value) { live_[value] = true; }

  void block(const ir::Block& block, const std::vector<bool>& yields) {
    for (auto inst = block.insts.rbegin(); inst != block.insts.rend(); ++inst) {
      if (inst->op == Op::yield_) {
        for (std::size_t i = 0; i < yields.size(); ++i)
          if (yields[i]) need(inst->operands[i]);
      } else if (needed(*inst)) {
        structured_or_plain(*inst);
      }
    }
  }

  void structured_or_plain(const ir::Inst& inst) {
    if (ir::info(inst.op).effect != ir::Effect::structured) {
      for (ir::Value operand : inst.operands) need(operand);
      return;
    }
    // A parameter found live makes one more carried value needed: until no more are found.
    std::vector<bool> keep = kept(inst), before;
    do {
      before = keep;
      for (const ir::Block& body : inst.bodies) this->block(body, keep);
      keep = kept(inst);
    } while (keep != before);
    std::size_t fixed = inst.op == Op::loop_ ? 3 : 1;
    for (std::size_t i = 0; i < inst.operands.size(); ++i)
      if (i < fixed || keep[i - fixed]) need(inst.operands[i]);
  }

  std::vector<bool> live_;
};

bool sweep(ir::Block& block, const Liveness& live) {
  std::size_t dropped =
      std::erase_if(block.insts, [&](const ir::Inst& inst) { return !live.needed(inst); });
  bool changed = dropped > 0;
  for (ir::Inst& inst : block.insts) {
    if (inst.bodies.empty()) continue;
    for (ir::Block& body : inst.bodies) changed |= sweep(body, live);
    std::vector<bool> keep = live.kept(inst);
    if (std::ranges::find(keep, false) == keep.end()) continue;
    ir::keep_results(inst, keep);
    changed = true;
  }
  return changed;
}

}  // namespace

bool dead_code(ir::Function& function) {
  Liveness live(function);
  bool changed = sweep(function.body, live);
  ir::compact(function);
  return changed;
}

}  // namespace tilewright::dsl
