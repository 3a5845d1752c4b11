#include "dsl/analysis/parameter_use.h"

#include <algorithm>

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Origin {
 public:
  Origin(const ir::Function& function, std::size_t param)
      : function_(function), reaches_(function.types.size(), false) {
    mark(function.params[param].value, true);
  }

  // A carried value of a loop may be made in its body: repeats until nothing is new.
  std::vector<bool> run() {
    do {
      is_changed_ = false;
      ir::for_each_inst(function_.body, [&](const Inst& inst) { visit(inst); });
    } while (is_changed_);
    return reaches_;
  }

 private:
  void mark(Value value, bool reached) {
    const ir::Type& type = function_.type(value);
    if (!reached || reaches_[value] || !(type.is_pointer() || type.is_descriptor())) return;
    reaches_[value] = is_changed_ = true;
  }

  void visit(const Inst& inst) {
    if (inst.op == Op::loop_) {
      const ir::Block& body = inst.bodies[0];
      for (std::size_t k = 0; k < inst.results.size(); ++k) {
        bool carried = reaches_[inst.operands[3 + k]] || reaches_[body.insts.back().operands[k]];
        mark(body.params[1 + k], carried);
        mark(inst.results[k], carried);
      }
      return;
    }
    if (inst.op == Op::if_) {
      for (const ir::Block& body : inst.bodies)
        for (std::size_t k = 0; k < inst.results.size(); ++k)
          mark(inst.results[k], reaches_[body.insts.back().operands[k]]);
      return;
    }
    bool from = std::ranges::any_of(inst.operands, [&](Value v) -> bool { return reaches_[v]; });
    for (Value result : inst.results) mark(result, from);
  }

  const ir::Function& function_;
  std::vector<bool> reaches_;
  bool is_changed_ = false;
};

}  // namespace

std::vector<bool> made_from(const ir::Function& function, std::size_t param) {
  return Origin(function, param).run();
}

std::vector<ParameterUse> parameter_use(const ir::Function& function) {
  std::vector<ParameterUse> uses(function.params.size());
  for (std::size_t p = 0; p < uses.size(); ++p) {
    if (!function.type(function.params[p].value).is_pointer()) continue;
    std::vector<bool> reaches = made_from(function, p);
    ir::for_each_inst(function.body, [&](const Inst& inst) {
      ir::OpClass kind = ir::info(inst.op).op_class;
      if (kind != ir::OpClass::memory && kind != ir::OpClass::hint) return;
      if (inst.operands.empty() || !reaches[inst.operands[0]] || inst.op == Op::make_desc_) return;
      bool writes = ir::info(inst.op).effect == ir::Effect::writes;
      uses[p].is_written = uses[p].is_written || writes;
      uses[p].is_read = uses[p].is_read || !writes || inst.op == Op::atomic_;
    });
  }
  return uses;
}

}  // namespace tilewright::dsl
