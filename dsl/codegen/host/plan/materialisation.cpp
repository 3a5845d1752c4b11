#include "dsl/codegen/host/plan/materialisation.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::may_be_virtual;
using ir::Op;
using ir::OpClass;
using ir::Value;

constexpr int cost_worth_materialising = 6;                    // scalar operations an element
constexpr std::int64_t many_rows = 64, largest_row = 4 << 10;  // elements
constexpr std::int64_t largest_materialised = std::int64_t{1} << 20;  // elements

// Decides which virtual values to materialise, and adds the roots that do.
class Materialiser {
 public:
  Materialiser(const Definitions& defs, Schedule& schedule)
      : defs_(defs),
        schedule_(schedule),
        cost_(defs.function().types.size(), 0),
        uses_(defs.function().types.size()) {}

  void run() {
    number(schedule_.steps, {});
    std::vector<const Inst*> order;
    ir::for_each_inst(defs_.function().body, [&](const Inst& inst) { order.push_back(&inst); });
    for (const Inst* inst : order) add_cost(*inst);
    home(defs_.function().body, {});
    for (const Step* step : order_) consumers(*step);
    for (auto it = order.rbegin(); it != order.rend(); ++it) decide(**it);
    insert(schedule_.steps);
  }

 private:
  using Path = std::vector<const Inst*>;  // the loops and branches around something

  struct Use {
    int step;    // position in order_
    bool plain;  // reached elementwise, so that positions agree
  };

  struct Keeping {
    int step;
    bool is_joined;  // to the loop nest of that step; else it has one of its own, right before
  };

  void number(std::vector<Step>& steps, Path path) {
    for (Step& step : steps) {
      if (step.kind == StepKind::loop || step.kind == StepKind::branch) {
        // The bounds and initial values are evaluated on entry.
        order_.push_back(&step);
        paths_.push_back(path);
        Path inner = path;
        inner.push_back(step.inst);
        for (auto& body : step.bodies) number(body, inner);
        // The values that the bodies yield are evaluated at their end.
        yields_.emplace(step.inst, static_cast<int>(order_.size()));
        order_.push_back(&step);
        paths_.push_back(inner);
        continue;
      }
      order_.push_back(&step);
      paths_.push_back(path);
    }
  }

  void home(const ir::Block& block, const Path& path) {
    for (const Inst& inst : block.insts) {
      for (Value result : inst.results) homes_[result] = path;
      Path inner = path;
      inner.push_back(&inst);
      for (const ir::Block& body : inst.bodies) home(body, inner);
    }
  }

  void add_cost(const Inst& inst) {
    if (inst.results.size() != 1 || !may_be_virtual(inst) || !defs_.is_tile(inst.results[0]))
      return;
    std::int64_t cost = info(inst.op).cost;
    if (!schedule_.materialised[inst.results[0]])
      for (Value operand : inst.operands) cost += cost_[operand];
    cost_[inst.results[0]] = std::min<std::int64_t>(cost, 10000);
  }

  void use(Value value, int step, bool plain) {
    if (!defs_.is_tile(value)) return;
    // A use counts once, however many paths lead to it.
    auto is_same = [&](const Use& p) { return p.step == step && p.plain == plain; };
    if (std::ranges::none_of(uses_[value], is_same)) uses_[value].push_back({step, plain});
  }

  void consumers(const Step& step) {
    int index = next_index_++;
    bool leaving = yields_.contains(step.inst) && yields_.at(step.inst) == index;
    switch (step.kind) {
      case StepKind::scalar: break;
      case StepKind::loop_nest:
        for (const Root& root : step.roots) {
          if (root.inst == nullptr) {
            for (Value operand : defs_.inst(root.value)->operands)
              use(operand, index, is_plain(*defs_.inst(root.value)));
            continue;
          }
          for (Value operand : root.inst->operands) use(operand, index, true);
        }
        break;
      case StepKind::dot:
        for (Value operand : step.inst->operands) use(operand, index, false);
        break;
      case StepKind::loop:
      case StepKind::branch:
        if (!leaving)
          for (Value operand : step.inst->operands) use(operand, index, false);
        else
          for (const ir::Block& body : step.inst->bodies)
            for (Value operand : body.insts.back().operands) use(operand, index, false);
        break;
    }
  }

  static bool is_plain(const Inst& inst) { return info(inst.op).op_class == OpClass::elementwise; }

  void decide(const Inst& inst) {
    if (inst.results.size() != 1) return;
    Value value = inst.results[0];
    if (!defs_.is_tile(value) || !may_be_virtual(inst)) return;
    auto& uses = uses_[value];
    if (!schedule_.materialised[value] && worth_materialising(value, uses)) {
      materialise(value, uses);
    }
    // The operands of a materialised value are computed where it is materialised, and nowhere else.
    if (schedule_.materialised[value]) {
      if (auto it = keeping_step_.find(value); it != keeping_step_.end())
        for (Value operand : inst.operands)
          use(operand, it->second.step, it->second.is_joined && is_plain(inst));
      return;
    }
    for (Use one : uses)
      for (Value operand : inst.operands) use(operand, one.step, one.plain && is_plain(inst));
  }

  bool worth_materialising(Value value, const std::vector<Use>& uses) const {
    if (uses.empty() || defs_.type(value).is_pointer()) return false;
    std::int64_t count = element_count(defs_.type(value).shape);
    if (cost_[value] < cost_worth_materialising)
      return cost_[value] > 0 && repeats_along_rows(value, uses);
    if (count > largest_materialised) return false;
    std::set<int> steps;
    bool again = false;  // recomputed in the iterations of a loop
    std::int64_t largest = count;
    for (Use one : uses) {
      steps.insert(one.step);
      if (one.step >= static_cast<int>(order_.size())) continue;
      again |= paths_[static_cast<std::size_t>(one.step)].size() > homes_.at(value).size();
      largest =
          std::max(largest, element_count(order_[static_cast<std::size_t>(one.step)]->domain));
    }
    if (steps.size() < 2 && !again) return repeats_along_rows(value, uses);
    return count * 16 > largest;  // a value for a whole row costs nothing to compute again
  }

  // True if a row would be computed again for each of very many rows. Then reading it from a near
  // cache costs less than even a conversion.
  bool repeats_along_rows(Value value, const std::vector<Use>& uses) const {
    const Shape& shape = defs_.type(value).shape;
    std::int64_t count = element_count(shape);
    return std::ranges::any_of(uses, [&](const Use& one) {
      if (one.step >= static_cast<int>(order_.size())) return false;
      const Shape& domain = order_[static_cast<std::size_t>(one.step)]->domain;
      return !domain.empty() && shape.back() == domain.back() && count == shape.back() &&
             count <= largest_row && element_count(domain) >= many_rows * count;
    });
  }

  // Finds where `value` is first needed and has it materialised there.
  void materialise(Value value, const std::vector<Use>& uses) {
    Use first = *std::ranges::min_element(uses, {}, &Use::step);
    schedule_.materialised[value] = true;
    const Path& home = homes_.at(value);
    auto at = static_cast<std::size_t>(first.step);
    // Elements at other positions must be there before the loop nest begins.
    bool is_plain =
        std::ranges::all_of(uses, [&](const Use& p) { return p.step != first.step || p.plain; });
    if (at < order_.size() && paths_[at] == home && order_[at]->kind == StepKind::loop_nest &&
        is_plain && order_[at]->domain == defs_.type(value).shape) {
      joined_[order_[at]].push_back(value);
      keeping_step_[value] = {first.step, true};
      return;
    }
    // A loop nest of its own, before the step of its block that first needs it. For ordering its
    // operands it counts as that step.
    int step = first.step;
    while (step > 0 && paths_[static_cast<std::size_t>(step)] != home) --step;
    keeping_step_[value] = {step, false};
    const Step* before = order_[static_cast<std::size_t>(step)];
    bool at_end = yields_.contains(before->inst) && yields_.at(before->inst) == step;
    check(!at_end, "a value that its block needs at its end alone is kept");
    before_[before].push_back(value);
  }

  // `materialise` met values in reverse order of definition; loop nests must come in order.
  void insert(std::vector<Step>& steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      const Step* key = &step;
      add_sweeps(result, key);
      if (auto it = joined_.find(key); it != joined_.end())
        for (Value value : sorted(it->second))
          step.roots.insert(step.roots.begin(), {nullptr, value});
      for (auto& body : step.bodies) insert(body);
      result.push_back(std::move(step));
    }
    steps = std::move(result);
  }

  using Values = std::unordered_map<const Step*, std::vector<Value>>;

  static std::vector<Value> sorted(std::vector<Value> values) {
    std::ranges::sort(values, std::greater<>());
    return values;
  }

  void add_sweeps(std::vector<Step>& steps, const Step* key) {
    auto it = before_.find(key);
    if (it == before_.end()) return;
    auto list = it->second;
    std::ranges::reverse(list);
    for (Value value : list)
      steps.push_back(
          {StepKind::loop_nest, nullptr, defs_.type(value).shape, {{nullptr, value}}, {}});
  }

  const Definitions& defs_;
  Schedule& schedule_;
  std::vector<std::int64_t> cost_;
  std::vector<std::vector<Use>> uses_;
  std::vector<const Step*> order_;
  std::vector<Path> paths_;
  std::unordered_map<const Inst*, int> yields_;
  std::unordered_map<Value, Path> homes_;
  std::unordered_map<Value, Keeping> keeping_step_;
  Values joined_, before_;
  int next_index_ = 0;
};

}  // namespace

void materialise_expensive_values(const Definitions& definitions, Schedule& schedule) {
  Materialiser(definitions, schedule).run();
}

}  // namespace tilewright::dsl
