#include "dsl/codegen/host/plan/schedule.h"

#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::OpClass;

std::vector<Step> steps_of(const ir::Block& block, const Definitions& defs) {
  std::vector<Step> steps;
  for (const Inst& inst : block.insts) {
    const ir::Schedule& marks = inst.schedule;
    if (ir::is_root(defs.function(), inst)) {
      const bool is_store = info(inst.op).effect == ir::Effect::writes;
      Root root = marks.kept ? Root{nullptr, inst.results[0]}
                             : Root{&inst, inst.operands[is_store ? 1 : 0], marks.quarters};
      if (!marks.joined)
        steps.push_back(
            {StepKind::loop_nest, nullptr, ir::domain_of(defs.function(), inst), {}, {}});
      steps.back().roots.push_back(root);
    } else if (info(inst.op).op_class == OpClass::contraction) {
      steps.push_back({StepKind::dot, &inst, {}, {}, {}});
    } else if (!inst.bodies.empty()) {
      StepKind kind = inst.op == Op::loop_ ? StepKind::loop : StepKind::branch;
      steps.push_back({kind, &inst, {}, {}, {}});
      for (const ir::Block& body : inst.bodies) steps.back().bodies.push_back(steps_of(body, defs));
    } else if (inst.op != Op::yield_ && (inst.results.empty() || !defs.is_tile(inst.results[0]))) {
      steps.push_back({StepKind::scalar, &inst, {}, {}, {}});
    }
  }
  return steps;
}

void describe(const std::vector<Step>& steps, const std::string& indent, std::string& out) {
  for (const Step& step : steps) {
    switch (step.kind) {
      case StepKind::scalar: continue;
      case StepKind::loop_nest:
        out += indent + "loop nest " + to_string(step.domain) + ":";
        for (const Root& root : step.roots)
          out += (root.of_four == 0b1111 ? " " : " part_of_") +
                 (root.inst == nullptr ? "materialise" : std::string(info(root.inst->op).name));
        break;
      case StepKind::dot:
      case StepKind::loop:
      case StepKind::branch: out += indent + std::string(info(step.inst->op).name); break;
    }
    out += "\n";
    for (const auto& body : step.bodies) describe(body, indent + "  ", out);
  }
}

}  // namespace

std::vector<Step> scheduled_steps(const Definitions& definitions) {
  check(definitions.function().stage == ir::Stage::scheduled, "steps of what is not scheduled");
  return steps_of(definitions.function().body, definitions);
}

std::string to_string(const Schedule& schedule, const ir::Function&) {
  std::string out;
  describe(schedule.steps, "", out);
  return out;
}

}  // namespace tilewright::dsl
