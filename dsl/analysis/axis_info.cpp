#include "dsl/analysis/axis_info.h"

#include <algorithm>
#include <numeric>

namespace tilewright::dsl {
namespace {

using ir::Op;
using ir::Value;

class Analysis {
 public:
  explicit Analysis(const ir::Function& function) : function_(function) {
    for (const ir::Type& type : function.types) facts_.push_back(unknown_facts(type));
    for (const ir::Param& param : function.params) {
      const ir::Type& type = function.type(param.value);
      if (type.is_pointer())
        facts_[param.value].info.divisibility[0] =
            std::max<std::int64_t>(1, param.align_bytes / size_bytes(type.dtype));
      else if (param.align_bytes != ir::Param{}.align_bytes)  // Tracer::scalar_param
        facts_[param.value].info =
            uniform_facts(type, constant_facts(type, param.align_bytes)).info;
    }
    block(function.body);
  }

  std::vector<AxisInfo> result() const {
    std::vector<AxisInfo> infos;
    for (const AxisFacts& facts : facts_) infos.push_back(facts.info);
    return infos;
  }

 private:
  const ir::Type& type(Value value) const { return function_.type(value); }

  void block(const ir::Block& block) {
    for (const ir::Inst& inst : block.insts) {
      if (inst.op == Op::loop_)
        loop(inst);
      else if (inst.op == Op::if_)
        branch(inst);
      else if (inst.results.size() == 1)
        facts_[inst.results[0]] = plain(inst);
    }
  }

  AxisFacts plain(const ir::Inst& inst) const {
    const ir::Type& result = type(inst.results[0]);
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::elementwise: {
        std::vector<AxisFacts> operands;
        for (Value operand : inst.operands) operands.push_back(facts_[operand]);
        return elementwise_facts(inst, result, type(inst.operands.back()), operands);
      }
      case ir::OpClass::creation: return creation(inst, result);
      case ir::OpClass::shape:
        return shape_facts(inst, result, type(inst.operands[0]), facts_[inst.operands[0]]);
      case ir::OpClass::memory: return inst.op == Op::load_ ? load(inst) : unknown_facts(result);
      case ir::OpClass::reduction: return reduce(inst);
      case ir::OpClass::selection:
      case ir::OpClass::contraction:
      case ir::OpClass::exchange:
      case ir::OpClass::control:
      case ir::OpClass::hint: return unknown_facts(result);
    }
    __builtin_unreachable();
  }

  AxisFacts creation(const ir::Inst& inst, const ir::Type& result) const {
    if (inst.op == Op::splat_) return uniform_facts(result, facts_[inst.operands[0]]);
    AxisFacts facts = unknown_facts(result);
    if (inst.op == Op::arange_) {
      const ir::Bounds& bounds = inst.get<ir::Bounds>();
      facts.info.contiguity = result.shape;
      facts.info.divisibility[0] = power_of_two_in(bounds.start);
      facts.not_negative = bounds.start >= 0;
    } else if (inst.op != Op::constant_) {
      facts.not_negative = true;  // program_id and num_programs
    } else if (!is_floating(result.dtype)) {
      return constant_facts(result, inst.get<ir::Scalar>().integer);
    }
    return facts;
  }

  // Equal addresses give equal elements, where the mask is equal too.
  AxisFacts load(const ir::Inst& inst) const {
    AxisFacts facts = unknown_facts(type(inst.results[0]));
    facts.info.constancy = facts_[inst.operands[0]].info.constancy;
    for (Value operand : inst.operands)
      for (int axis = 0; axis < facts.info.constancy.rank(); ++axis)
        facts.info.constancy[axis] =
            std::gcd(facts.info.constancy[axis], facts_[operand].info.constancy[axis]);
    return facts;
  }

  AxisFacts reduce(const ir::Inst& inst) const {
    const ir::Type& result = type(inst.results[0]);
    AxisFacts facts = unknown_facts(result);
    if (result.is_scalar()) return facts;
    Shape constancy = facts_[inst.operands[0]].info.constancy;
    constancy.erase(constancy.begin() + inst.get<ir::Reduction>().axis);
    facts.info.constancy = constancy;
    return facts;
  }

  // Assumes of the carried values what holds on entry, and takes back what the body's yields break,
  // until the assumption holds. Every turn only weakens, so it ends.
  void loop(const ir::Inst& inst) {
    const ir::Block& body = inst.bodies[0];
    AxisFacts index = unknown_facts(type(body.params[0]));
    index.info.divisibility[0] = std::gcd(divisor_of_all(facts_[inst.operands[0]]),
                                          divisor_of_all(facts_[inst.operands[2]]));
    index.not_negative |= facts_[inst.operands[0]].not_negative;
    facts_[body.params[0]] = index;
    for (std::size_t i = 0; i < inst.results.size(); ++i)
      facts_[body.params[i + 1]] = facts_[inst.operands[i + 3]];
    for (bool stable = false; !stable;) {
      block(body);
      stable = true;
      for (std::size_t i = 0; i < inst.results.size(); ++i) {
        AxisFacts& param = facts_[body.params[i + 1]];
        AxisFacts both = join(type(inst.results[i]), param, facts_[body.insts.back().operands[i]]);
        stable = stable && both == param;
        param = facts_[inst.results[i]] = std::move(both);
      }
    }
  }

  void branch(const ir::Inst& inst) {
    for (const ir::Block& body : inst.bodies) block(body);
    for (std::size_t i = 0; i < inst.results.size(); ++i)
      facts_[inst.results[i]] =
          join(type(inst.results[i]), facts_[inst.bodies[0].insts.back().operands[i]],
               facts_[inst.bodies[1].insts.back().operands[i]]);
  }

  const ir::Function& function_;
  std::vector<AxisFacts> facts_;
};

}  // namespace

std::vector<AxisInfo> axis_info(const ir::Function& function) {
  return Analysis(function).result();
}

}  // namespace tilewright::dsl
