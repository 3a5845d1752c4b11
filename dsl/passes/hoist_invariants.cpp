// Moves out of loops what gives the same value in every turn: pure instructions whose operands come
// from outside.
//
// Reads move only from loops that write nothing; and, since a loop may run no turn at all, a read
// through plain pointers (which need not be valid then) moves only if the bounds are known to give
// at least one. Reads through descriptors are safe anywhere: they check their bounds. Inner loops
// go first, so that one run moves everything as far as it goes.
#include <optional>

#include "dsl/ir/rewrite.h"
#include "dsl/passes/effects.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Op;

class Hoister {
 public:
  explicit Hoister(const ir::Function& function) : depth_(function.types.size()) {
    note_constants(function.body);
  }

  bool run(ir::Block& block) { return visit(block, 0); }

 private:
  void note_constants(const ir::Block& block) {
    constants_.resize(depth_.size());
    ir::for_each_inst(block, [&](const ir::Inst& inst) {
      if (inst.op == Op::constant_) constants_[inst.results[0]] = inst.get<ir::Scalar>();
    });
  }

  // `depth` counts the blocks around; a value may move out of a loop whose body is deeper than all
  // of its operands.
  bool visit(ir::Block& block, int depth) {
    bool changed = false;
    for (ir::Value param : block.params) depth_[param] = depth;
    std::vector<ir::Inst> code;
    for (ir::Inst& inst : block.insts) {
      for (ir::Block& body : inst.bodies) changed |= visit(body, depth + 1);
      if (inst.op == Op::loop_) changed |= hoist(inst, depth, code);
      for (ir::Value result : inst.results) depth_[result] = depth;
      code.push_back(std::move(inst));
    }
    block.insts = std::move(code);
    return changed;
  }

  bool hoist(ir::Inst& loop, int depth, std::vector<ir::Inst>& outside) {
    bool writes = writes_memory(loop);
    bool turns = runs(loop);
    std::vector<ir::Inst> inside;
    bool changed = false;
    for (ir::Inst& inst : loop.bodies[0].insts) {
      if (!movable(inst, writes, turns) || !is_outside(inst, depth)) {
        inside.push_back(std::move(inst));
        continue;
      }
      for (ir::Value result : inst.results) depth_[result] = depth;
      outside.push_back(std::move(inst));
      changed = true;
    }
    loop.bodies[0].insts = std::move(inside);
    return changed;
  }

  bool runs(const ir::Inst& loop) const {
    if (ir::ends_by_condition(loop)) return false;
    const auto &low = constants_[loop.operands[0]], &high = constants_[loop.operands[1]];
    return low && high && low->dtype != DType::u64 && low->integer < high->integer;
  }

  static bool movable(const ir::Inst& inst, bool writes, bool turns) {
    const ir::OpInfo& row = ir::info(inst.op);
    if (row.effect == ir::Effect::pure) return !is_impure_assembly(inst);
    if (row.effect != ir::Effect::reads || row.op_class == ir::OpClass::hint || writes ||
        ir::cache_policy(inst) == ir::CachePolicy::cv)
      return false;
    return inst.op == Op::load_desc_ || turns;
  }

  bool is_outside(const ir::Inst& inst, int depth) const {
    for (ir::Value operand : inst.operands)
      if (depth_[operand] > depth) return false;
    return true;
  }

  std::vector<int> depth_;  // of the block that defines a value; 0 for the function's
  std::vector<std::optional<ir::Scalar>> constants_;
};

}  // namespace

bool hoist_invariants(ir::Function& function) { return Hoister(function).run(function.body); }

}  // namespace tilewright::dsl
