#include "dsl/codegen/schedule.h"

#include <algorithm>
#include <set>

#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::OpClass;
using ir::Value;

constexpr int cost_worth_keeping = 6;                         // scalar operations an element
constexpr std::int64_t largest_kept = std::int64_t{1} << 20;  // elements
constexpr std::size_t most_roots = 8;

// Computed where it is needed, unless it is kept.
bool may_be_virtual(const Inst& inst) {
  OpClass c = info(inst.op).op_class;
  return c == OpClass::elementwise || c == OpClass::creation || c == OpClass::shape ||
         inst.op == Op::load_ || inst.op == Op::load_desc_;
}

bool needs_dense_operand(const Inst& inst, const Definitions& defs) {
  return inst.op == Op::reshape_ &&
         !only_moves_unit_axes(defs.type(inst.operands[0]).shape, inst.get<ir::Extent>().shape);
}

// Builds the steps of the blocks, with only what must be kept.
class Planner {
 public:
  explicit Planner(const Definitions& defs)
      : defs_(defs),
        kept_(defs.function().types.size(), false),
        read_as_array_(defs.function().types.size(), false),
        searched_(defs.function().types.size(), 0) {
    ir::for_each_inst(defs.function().body, [&](const Inst& inst) {
      if (needs_dense_operand(inst, defs)) read_as_array_[inst.operands[0]] = true;
    });
  }

  std::vector<Step> block(const ir::Block& b) {
    for (Value param : b.params)
      if (defs_.is_tile(param)) kept_[param] = true;
    std::vector<Step> outer_steps = std::move(steps_);
    std::optional<Step> outer_open = std::move(open_);
    steps_.clear();
    open_.reset();
    for (const Inst& inst : b.insts) instruction(inst);
    flush();
    std::vector<Step> result = std::move(steps_);
    steps_ = std::move(outer_steps);
    open_ = std::move(outer_open);
    return result;
  }

  std::vector<bool> kept() && { return std::move(kept_); }

 private:
  void instruction(const Inst& inst) {
    switch (info(inst.op).op_class) {
      case OpClass::control: return control(inst);
      case OpClass::contraction: return dot(inst);
      case OpClass::reduction:
        if (defs_.is_tile(inst.results[0])) kept_[inst.results[0]] = true;
        return root({&inst, inst.operands[0]});
      case OpClass::hint: return root({&inst, inst.operands[0]});
      case OpClass::memory:
        if (inst.op == Op::store_ || inst.op == Op::store_desc_) return store(inst);
        break;
      case OpClass::elementwise:
      case OpClass::creation:
      case OpClass::shape: break;
    }
    if (!defs_.is_tile(inst.results[0])) return scalar(inst);
    // Kept where it is defined, so that every reader finds it.
    if (read_as_array_[inst.results[0]]) keep(inst.results[0]);
    // A load from memory that the program also writes happens here and now.
    if (inst.op == Op::load_ || inst.op == Op::load_desc_)
      if (defs_.is_written(defs_.base(inst.operands[0]))) keep(inst.results[0]);
  }

  void keep(Value value) {
    if (kept_[value]) return;
    root({nullptr, value});
    kept_[value] = true;
  }

  void scalar(const Inst& inst) {
    if (depends_on_open(inst)) flush();
    if (inst.op == Op::load_ && open_writes(defs_.base(inst.operands[0]))) flush();
    steps_.push_back({StepKind::scalar, &inst, {}, {}, {}});
  }

  void store(const Inst& inst) {
    auto base = defs_.base(inst.operands[0]);
    if (open_ && (open_reads(base) || open_writes(base))) flush();
    if (inst.op == Op::store_ && !defs_.is_tile(inst.operands[0])) return scalar(inst);
    root({&inst, inst.operands[1]});
  }

  void root(Root root) {
    Shape domain = root.inst != nullptr && root.inst->op == Op::prefetch_desc_
                       ? root.inst->get<ir::Extent>().shape
                       : defs_.type(root.value).shape;
    bool joins = open_ && open_->domain == domain && open_->roots.size() < most_roots;
    if (joins && root.inst != nullptr) joins = !depends_on_open(*root.inst);
    if (joins && root.inst == nullptr) joins = !reaches_open(root.value);
    if (joins && root.inst == nullptr) joins = !open_writes_anything();
    if (!joins) {
      flush();
      open_ = Step{StepKind::sweep, nullptr, domain, {}, {}};
    }
    open_->roots.push_back(root);
  }

  void dot(const Inst& inst) {
    flush();
    kept_[inst.results[0]] = true;
    steps_.push_back({StepKind::dot, &inst, {}, {}, {}});
  }

  void control(const Inst& inst) {
    flush();
    if (inst.op == Op::yield_) return;
    for (Value result : inst.results)
      if (defs_.is_tile(result)) kept_[result] = true;
    Step step{inst.op == Op::loop_ ? StepKind::loop : StepKind::branch, &inst, {}, {}, {}};
    for (const ir::Block& body : inst.bodies) step.bodies.push_back(block(body));
    steps_.push_back(std::move(step));
  }

  void flush() {
    if (open_) steps_.push_back(std::move(*open_));
    open_.reset();
  }

  bool is_open_result(Value value) const {
    return std::ranges::any_of(open_->roots, [&](const Root& r) {
      return r.inst == nullptr ? r.value == value
                               : std::ranges::find(r.inst->results, value) != r.inst->results.end();
    });
  }
  bool reaches_open(Value value) const {
    ++search_;
    return search_open(value);
  }
  // Each value is looked at once: a chain whose links use their operand twice has exponentially
  // many paths.
  bool search_open(Value value) const {
    if (searched_[value] == search_) return false;
    searched_[value] = search_;
    if (is_open_result(value)) return true;
    const Inst* inst = defs_.inst(value);
    if (inst == nullptr || kept_[value] || !may_be_virtual(*inst)) return false;
    return std::ranges::any_of(inst->operands, [&](Value o) { return search_open(o); });
  }
  bool depends_on_open(const Inst& inst) const {
    return open_ && std::ranges::any_of(inst.operands, [&](Value o) { return reaches_open(o); });
  }
  // Loads of written memory are kept roots, so only those matter.
  bool open_reads(std::optional<Value> base) const {
    return open_ && std::ranges::any_of(open_->roots, [&](const Root& r) {
             if (r.inst != nullptr) return false;
             const Inst* inst = defs_.inst(r.value);
             return inst != nullptr && (inst->op == Op::load_ || inst->op == Op::load_desc_) &&
                    defs_.base(inst->operands[0]) == base;
           });
  }
  static bool writes(const Root& r) {
    return r.inst != nullptr && info(r.inst->op).effect == ir::Effect::writes;
  }
  bool open_writes(std::optional<Value> base) const {
    return open_ && std::ranges::any_of(open_->roots, [&](const Root& r) {
             return writes(r) && (!base || defs_.base(r.inst->operands[0]) == base);
           });
  }
  bool open_writes_anything() const {
    return std::ranges::any_of(open_->roots, [](const Root& r) { return writes(r); });
  }

  const Definitions& defs_;
  std::vector<bool> kept_, read_as_array_;
  mutable std::vector<unsigned> searched_;  // by value: the last search that came by
  mutable unsigned search_ = 0;
  std::vector<Step> steps_;
  std::optional<Step> open_;
};

// Decides which virtual values to keep, and adds the roots that keep them.
class Keeper {
 public:
  Keeper(const Definitions& defs, Schedule& schedule)
      : defs_(defs),
        schedule_(schedule),
        cost_(defs.function().types.size(), 0),
        places_(defs.function().types.size()) {}

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

  struct Place {
    int step;    // position in order_
    bool plain;  // reached elementwise, so that positions agree
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
        // What the bodies yield is evaluated at their end.
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
    if (!schedule_.kept[inst.results[0]])
      for (Value operand : inst.operands) cost += cost_[operand];
    cost_[inst.results[0]] = std::min<std::int64_t>(cost, 10000);
  }

  void use(Value value, int step, bool plain) {
    if (!defs_.is_tile(value)) return;
    // A place counts once, however many paths lead to it.
    auto is_same = [&](const Place& p) { return p.step == step && p.plain == plain; };
    if (std::ranges::none_of(places_[value], is_same)) places_[value].push_back({step, plain});
  }

  void consumers(const Step& step) {
    int index = next_index_++;
    bool leaving = yields_.contains(step.inst) && yields_.at(step.inst) == index;
    switch (step.kind) {
      case StepKind::scalar: break;
      case StepKind::sweep:
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
    auto& places = places_[value];
    if (!schedule_.kept[value] && worth_keeping(value, places)) {
      keep(value, places);
    }
    if (schedule_.kept[value]) {  // its operands are computed where it is kept, and nowhere else
      if (auto it = keeping_step_.find(value); it != keeping_step_.end())
        for (Value operand : inst.operands) use(operand, it->second, is_plain(inst));
      return;
    }
    for (Place place : places)
      for (Value operand : inst.operands) use(operand, place.step, place.plain && is_plain(inst));
  }

  bool worth_keeping(Value value, const std::vector<Place>& places) const {
    if (places.empty() || defs_.type(value).is_pointer()) return false;
    std::int64_t count = element_count(defs_.type(value).shape);
    if (cost_[value] < cost_worth_keeping || count > largest_kept) return false;
    std::set<int> steps;
    bool again = false;  // computed anew in the turns of a loop
    std::int64_t largest = count;
    for (Place place : places) {
      steps.insert(place.step);
      if (place.step >= static_cast<int>(order_.size())) continue;
      again |= paths_[static_cast<std::size_t>(place.step)].size() > homes_.at(value).size();
      largest =
          std::max(largest, element_count(order_[static_cast<std::size_t>(place.step)]->domain));
    }
    if (steps.size() < 2 && !again) return false;
    return count * 16 > largest;  // a value for a whole row costs nothing to compute again
  }

  // Finds where `value` is first needed and has it kept there.
  void keep(Value value, const std::vector<Place>& places) {
    Place first = *std::ranges::min_element(places, {}, &Place::step);
    schedule_.kept[value] = true;
    const Path& home = homes_.at(value);
    auto at = static_cast<std::size_t>(first.step);
    if (at < order_.size() && paths_[at] == home && order_[at]->kind == StepKind::sweep &&
        first.plain && order_[at]->domain == defs_.type(value).shape) {
      joined_[order_[at]].push_back(value);
      keeping_step_[value] = first.step;
      return;
    }
    // A sweep of its own, before the step of its block that first needs it. For ordering its
    // operands it counts as that step.
    int step = first.step;
    while (step > 0 && paths_[static_cast<std::size_t>(step)] != home) --step;
    keeping_step_[value] = step;
    const Step* before = order_[static_cast<std::size_t>(step)];
    bool at_end = yields_.contains(before->inst) && yields_.at(before->inst) == step;
    check(!at_end || paths_[static_cast<std::size_t>(step)] == home, "a kept value has no place");
    (at_end ? at_end_ : before_)[before].push_back(value);
  }

  // `keep` met values in reverse order of definition; sweeps must come in order.
  void insert(std::vector<Step>& steps) {
    std::vector<Step> result;
    for (Step& step : steps) {
      const Step* key = &step;
      add_sweeps(result, before_, key);
      if (auto it = joined_.find(key); it != joined_.end())
        for (Value value : sorted(it->second))
          step.roots.insert(step.roots.begin(), {nullptr, value});
      for (auto& body : step.bodies) {
        insert(body);
        add_sweeps(body, at_end_, key,
                   step.inst->bodies[static_cast<std::size_t>(&body - step.bodies.data())]);
      }
      result.push_back(std::move(step));
    }
    steps = std::move(result);
  }

  using Values = std::unordered_map<const Step*, std::vector<Value>>;

  static std::vector<Value> sorted(std::vector<Value> values) {
    std::ranges::sort(values, std::greater<>());
    return values;
  }

  void add_sweeps(std::vector<Step>& steps, const Values& values, const Step* key) {
    auto it = values.find(key);
    if (it == values.end()) return;
    auto list = it->second;
    std::ranges::reverse(list);
    for (Value value : list)
      steps.push_back({StepKind::sweep, nullptr, defs_.type(value).shape, {{nullptr, value}}, {}});
  }
  void add_sweeps(std::vector<Step>& steps, const Values& values, const Step* key,
                  const ir::Block& body) {
    auto it = values.find(key);
    if (it == values.end()) return;
    auto list = it->second;
    std::ranges::reverse(list);
    for (Value value : list) {
      bool here = std::ranges::any_of(body.insts, [&](const Inst& inst) {
        return std::ranges::find(inst.results, value) != inst.results.end();
      });
      if (here)
        steps.push_back(
            {StepKind::sweep, nullptr, defs_.type(value).shape, {{nullptr, value}}, {}});
    }
  }

  const Definitions& defs_;
  Schedule& schedule_;
  std::vector<std::int64_t> cost_;
  std::vector<std::vector<Place>> places_;
  std::vector<const Step*> order_;
  std::vector<Path> paths_;
  std::unordered_map<const Inst*, int> yields_;
  std::unordered_map<Value, Path> homes_;
  std::unordered_map<Value, int> keeping_step_;
  Values joined_, before_, at_end_;
  int next_index_ = 0;
};

}  // namespace

Definitions::Definitions(const ir::Function& function)
    : function_(function), defining_(function.types.size(), nullptr) {
  visit(function.body);
}

void Definitions::visit(const ir::Block& block) {
  for (const Inst& inst : block.insts) {
    for (Value result : inst.results) defining_[result] = &inst;
    if (info(inst.op).effect == ir::Effect::writes) {
      if (auto b = base(inst.operands[0]))
        written_.push_back(*b);
      else
        writes_unknown_ = true;
    }
    for (const ir::Block& body : inst.bodies) visit(body);
  }
}

std::optional<Value> Definitions::base(Value value) const {
  const Inst* inst = defining_[value];
  if (inst == nullptr) {
    bool is_param =
        std::ranges::any_of(function_.params, [&](const ir::Param& p) { return p.value == value; });
    return is_param ? std::optional(value) : std::nullopt;
  }
  if (inst->op == Op::select_) {
    auto a = base(inst->operands[1]);
    return a && a == base(inst->operands[2]) ? a : std::nullopt;
  }
  if (!inst->bodies.empty() || inst->operands.empty()) return std::nullopt;
  return base(inst->operands[0]);
}

bool Definitions::is_written(std::optional<Value> base) const {
  if (writes_unknown_) return true;
  if (!base) return !written_.empty();
  return std::ranges::find(written_, *base) != written_.end();
}

bool only_moves_unit_axes(const Shape& from, const Shape& to) {
  Shape a, b;
  std::ranges::copy_if(from, std::back_inserter(a), [](std::int64_t s) { return s != 1; });
  std::ranges::copy_if(to, std::back_inserter(b), [](std::int64_t s) { return s != 1; });
  return a == b;
}

namespace {

// What comes from memory next is best asked for while there is much to compute: a prefetch moves to
// the first later sweep over its domain that computes values worth keeping.
void delay_prefetches(std::vector<Step>& steps) {
  auto is_prefetch = [](const Root& r) {
    return r.inst != nullptr && r.inst->op == Op::prefetch_desc_;
  };
  auto keeps = [](const Step& step) {
    return std::ranges::any_of(step.roots, [](const Root& r) { return r.inst == nullptr; });
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (auto& body : steps[i].bodies) delay_prefetches(body);
    if (keeps(steps[i]) || std::ranges::none_of(steps[i].roots, is_prefetch)) continue;
    for (std::size_t j = i + 1; j < steps.size(); ++j) {
      if (steps[j].kind != StepKind::sweep || steps[j].domain != steps[i].domain ||
          !keeps(steps[j]))
        continue;
      std::ranges::copy_if(steps[i].roots, std::back_inserter(steps[j].roots), is_prefetch);
      std::erase_if(steps[i].roots, is_prefetch);
      break;
    }
  }
  std::erase_if(steps, [](const Step& s) { return s.kind == StepKind::sweep && s.roots.empty(); });
}

}  // namespace

Schedule make_schedule(const Definitions& definitions) {
  Planner planner(definitions);
  Schedule schedule;
  schedule.steps = planner.block(definitions.function().body);
  schedule.kept = std::move(planner).kept();
  Keeper(definitions, schedule).run();
  delay_prefetches(schedule.steps);
  return schedule;
}

namespace {

void describe(const std::vector<Step>& steps, const std::string& indent, std::string& out) {
  for (const Step& step : steps) {
    switch (step.kind) {
      case StepKind::scalar: continue;
      case StepKind::sweep:
        out += indent + "sweep " + to_string(step.domain) + ":";
        for (const Root& root : step.roots)
          out += " " + (root.inst == nullptr ? "keep" : std::string(info(root.inst->op).name));
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

std::string to_string(const Schedule& schedule, const ir::Function&) {
  std::string out;
  describe(schedule.steps, "", out);
  return out;
}

}  // namespace tilewright::dsl
