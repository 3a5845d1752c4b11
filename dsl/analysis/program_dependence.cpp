#include "dsl/analysis/program_dependence.h"

#include <algorithm>

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Dependence {
 public:
  Dependence(const ir::Function& function, int axis)
      : function_(function), axis_(axis), depends_(function.types.size(), false) {}

  // A carried value of a loop may depend on values of its body: repeats until nothing is new.
  std::vector<bool> run() {
    do {
      is_changed_ = false;
      ir::for_each_inst(function_.body, [&](const Inst& inst) { visit(inst); });
    } while (is_changed_);
    return depends_;
  }

 private:
  void mark(Value value, bool depends) {
    if (!depends || depends_[value]) return;
    depends_[value] = is_changed_ = true;
  }

  void visit(const Inst& inst) {
    bool here = std::ranges::any_of(inst.operands, [&](Value v) -> bool { return depends_[v]; });
    if (inst.op == Op::program_id_) here = inst.get<ir::Axis>().axis == axis_;
    if (inst.op == Op::loop_) return loop(inst);
    if (inst.op == Op::if_) {
      for (const ir::Block& body : inst.bodies)
        for (std::size_t k = 0; k < inst.results.size(); ++k)
          mark(inst.results[k], here || depends_[body.insts.back().operands[k]]);
      return;
    }
    for (Value result : inst.results) mark(result, here);
  }

  void loop(const Inst& inst) {
    const ir::Block& body = inst.bodies[0];
    bool turns =
        depends_[inst.operands[0]] || depends_[inst.operands[1]] || depends_[inst.operands[2]];
    if (ir::ends_by_condition(inst))
      turns = turns || depends_[inst.operands[3]] || depends_[body.insts.back().operands[0]];
    mark(body.params[0], turns);
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      bool carried =
          turns || depends_[inst.operands[3 + k]] || depends_[body.insts.back().operands[k]];
      mark(body.params[1 + k], carried);
      mark(inst.results[k], carried);
    }
  }

  const ir::Function& function_;
  int axis_;
  std::vector<bool> depends_;
  bool is_changed_ = false;
};

}  // namespace

std::vector<bool> depends_on_program(const ir::Function& function, int axis) {
  return Dependence(function, axis).run();
}

}  // namespace tilewright::dsl
