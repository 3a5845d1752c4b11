// Folds what is known before run time: constants, neutral operands, chains of shape operations and
// casts (folding.h), ifs with a known condition, loops of no turn or of one, and values that a loop
// carries without changing them.
//
// Repeats until nothing changes. Useless instructions are left for dead_code.
#include <optional>
#include <utility>

#include "dsl/ir/rewrite.h"
#include "dsl/passes/folding.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Op;
using ir::Value;

class Simplifier {
 public:
  explicit Simplifier(ir::Function& function) : folder_(function) {}

  // Walks the function once.
  bool run(ir::Block& body) {
    block(body);
    return changed_;
  }

 private:
  void block(ir::Block& block) {
    std::vector<ir::Inst> code;
    std::vector<ir::Inst>* outer = std::exchange(folder_.code, &code);
    for (ir::Inst& inst : block.insts) visit(std::move(inst));
    block.insts = std::move(code);
    folder_.code = outer;
  }

  void replace(Value old, Value by) {
    replaced_.add(old, by);
    changed_ = true;
  }

  void visit(ir::Inst inst) {
    for (Value& operand : inst.operands) operand = replaced_(operand);
    folder_.where = inst.where;
    if (inst.op == Op::loop_) return loop(std::move(inst));
    if (inst.op == Op::if_) return branch(std::move(inst));
    if (inst.op == Op::store_ && fold_store(inst)) return;
    if (inst.results.size() == 1) {
      if (auto simpler = folder_.fold(inst)) return replace(inst.results[0], *simpler);
    }
    folder_.append(std::move(inst));
  }

  // True if the store writes nothing. A mask that is always true is dropped.
  bool fold_store(ir::Inst& inst) {
    if (inst.operands.size() < 3) return false;
    auto mask = folder_.uniform(inst.operands[2]);
    if (!mask) return false;
    changed_ = true;
    inst.operands.pop_back();
    return mask->integer == 0;
  }

  // Puts the instructions of a body here and takes its yields for the results.
  void inlined(ir::Block& body, const std::vector<Value>& results) {
    changed_ = true;
    for (ir::Inst& inst : body.insts) {
      if (inst.op == Op::yield_) {
        for (std::size_t i = 0; i < results.size(); ++i)
          replaced_.add(results[i], replaced_(inst.operands[i]));
      } else {
        visit(std::move(inst));
      }
    }
  }

  // How many turns a loop makes, as far as that is 0, 1 or known to be more (2).
  std::optional<int> turns(const ir::Inst& inst) const {
    auto low = folder_.uniform(inst.operands[0]), high = folder_.uniform(inst.operands[1]);
    auto step = folder_.uniform(inst.operands[2]);
    if (!low || !high || low->dtype == DType::u64) return std::nullopt;
    if (low->integer >= high->integer) return 0;
    if (!step || step->integer <= 0 || ir::ends_by_condition(inst)) return std::nullopt;
    // Not low + step, which may pass the end of the type.
    auto distance =
        static_cast<std::uint64_t>(high->integer) - static_cast<std::uint64_t>(low->integer);
    return static_cast<std::uint64_t>(step->integer) >= distance ? 1 : 2;
  }

  void loop(ir::Inst inst) {
    auto count = turns(inst);
    if (count == 0) {
      for (std::size_t i = 0; i < inst.results.size(); ++i)
        replace(inst.results[i], inst.operands[i + 3]);
      changed_ = true;
      return;
    }
    ir::Block& body = inst.bodies[0];
    if (count == 1) {
      replaced_.add(body.params[0], inst.operands[0]);
      for (std::size_t i = 0; i < inst.results.size(); ++i)
        replaced_.add(body.params[i + 1], inst.operands[i + 3]);
      return inlined(body, inst.results);
    }
    drop_unchanged(inst);
    block(body);
    folder_.append(std::move(inst));
  }

  // A carried value whose yield is its own parameter, or what came in, is what came in.
  void drop_unchanged(ir::Inst& inst) {
    ir::Block& body = inst.bodies[0];
    const std::vector<Value>& yields = body.insts.back().operands;
    std::vector<bool> keep(inst.results.size(), true);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      Value init = inst.operands[i + 3], param = body.params[i + 1], yield = replaced_(yields[i]);
      if ((yield != param && yield != init) || (i == 0 && ir::ends_by_condition(inst))) continue;
      replace(param, init);
      replace(inst.results[i], init);
      keep[i] = false;
    }
    ir::keep_results(inst, keep);
  }

  void branch(ir::Inst inst) {
    if (auto known = folder_.uniform(inst.operands[0]))
      return inlined(inst.bodies[known->integer != 0 ? 0 : 1], inst.results);
    for (ir::Block& body : inst.bodies) block(body);
    const std::vector<Value>& first = inst.bodies[0].insts.back().operands;
    const std::vector<Value>& second = inst.bodies[1].insts.back().operands;
    std::vector<bool> keep(inst.results.size(), true);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (first[i] != second[i]) continue;  // a value that both see was made before the if
      replace(inst.results[i], first[i]);
      keep[i] = false;
    }
    ir::keep_results(inst, keep);
    folder_.append(std::move(inst));
  }

  Folder folder_;
  ir::Replacements replaced_;
  bool changed_ = false;
};

}  // namespace

bool simplify(ir::Function& function) {
  bool changed = false;
  while (Simplifier(function).run(function.body)) changed = true;
  return changed;
}

}  // namespace tilewright::dsl
