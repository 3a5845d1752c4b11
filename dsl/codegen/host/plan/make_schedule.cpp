#include "dsl/codegen/host/plan/make_schedule.h"

#include <algorithm>
#include <utility>

#include "dsl/codegen/host/plan/gather_course.h"
#include "dsl/codegen/host/plan/materialisation.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::may_be_virtual;
using ir::Op;
using ir::OpClass;
using ir::Value;

constexpr std::size_t most_roots = 8;

// Which values are used only as right operands of dots.
std::vector<bool> right_operands(const ir::Function& function) {
  std::vector<bool> is_right(function.types.size(), false), is_other = is_right;
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    for (std::size_t i = 0; i < inst.operands.size(); ++i)
      (inst.op == Op::dot_ && i == 1 ? is_right : is_other)[inst.operands[i]] = true;
  });
  for (std::size_t i = 0; i < is_right.size(); ++i) is_right[i] = is_right[i] && !is_other[i];
  return is_right;
}

bool needs_dense_operand(const Inst& inst, const Definitions& defs) {
  return inst.op == Op::reshape_ &&
         !only_moves_unit_axes(defs.type(inst.operands[0]).shape, inst.get<ir::Extent>().shape) &&
         !joined_axes(defs.type(inst.operands[0]).shape, inst.get<ir::Extent>().shape);
}

// Builds the steps of the blocks; materialises only values that must be.
class SchedulePlanner {
 public:
  explicit SchedulePlanner(const Definitions& defs)
      : defs_(defs),
        materialised_(defs.function().types.size(), false),
        read_as_array_(defs.function().types.size(), false),
        needed_(defs.function().types.size(), false),
        searched_(defs.function().types.size(), 0) {
    const std::vector<bool> is_right = right_operands(defs.function());
    ir::for_each_inst(defs.function().body, [&](const Inst& inst) {
      if (inst.op == Op::gather_ && !course_in_vector(defs, inst))
        read_as_array_[inst.operands[0]] = true;
      if (!needs_dense_operand(inst, defs)) return;
      // A dot reads panels in place.
      bool is_read_here = !is_right[inst.results[0]] || !panel_block(defs, inst.results[0]);
      if (is_read_here) read_as_array_[inst.operands[0]] = true;
    });
  }

  std::vector<Step> block(const ir::Block& b) {
    for (Value param : b.params)
      if (defs_.is_tile(param)) materialised_[param] = true;
    std::vector<Step> outer_steps = std::move(steps_);
    std::optional<Step> outer_open = std::move(open_);
    const ir::Block* outer_block = std::exchange(block_, &b);
    steps_.clear();
    open_.reset();
    for (const Inst& inst : b.insts) instruction(inst);
    flush();
    std::vector<Step> result = std::move(steps_);
    steps_ = std::move(outer_steps);
    open_ = std::move(outer_open);
    block_ = outer_block;
    return result;
  }

  std::vector<bool> materialised() && { return std::move(materialised_); }

 private:
  void instruction(const Inst& inst) {
    switch (info(inst.op).op_class) {
      case OpClass::control: return control(inst);
      case OpClass::contraction: return dot(inst);
      case OpClass::reduction:
        if (defs_.is_tile(inst.results[0])) materialised_[inst.results[0]] = true;
        return root({&inst, inst.operands[0]});
      case OpClass::exchange:
        raise_error(concat("[codegen] ", describe(inst.where),
                           ": programs of a cluster exchange values on a GPU that has clusters "
                           "(sm_90a), not on the host"));
      case OpClass::hint:
        if (inst.op == Op::print_) return scalar(inst);
        return root({&inst, inst.operands[0]});
      case OpClass::memory:
        if (info(inst.op).effect == ir::Effect::writes) return store(inst);
        break;
      case OpClass::elementwise:
      case OpClass::creation:
      case OpClass::selection:
      case OpClass::shape: break;
    }
    if (!defs_.is_tile(inst.results[0])) return scalar(inst);
    // Materialised where it is defined, so that every reader finds it.
    if (read_as_array_[inst.results[0]]) materialise(inst.results[0]);
    // A load from memory that the program also writes happens here and now.
    if (inst.op == Op::load_ || inst.op == Op::load_desc_)
      if (defs_.is_written(defs_.base(inst.operands[0]))) materialise(inst.results[0]);
  }

  void materialise(Value value) {
    if (materialised_[value]) return;
    root({nullptr, value});
    materialised_[value] = true;
  }

  void scalar(const Inst& inst) {
    if (depends_on_open(inst)) flush();
    if (inst.op == Op::load_ && open_writes(defs_.base(inst.operands[0]))) flush();
    need_operands(inst);
    steps_.push_back({StepKind::scalar, &inst, {}, {}, {}});
  }

  void store(const Inst& inst) {
    auto base = defs_.base(inst.operands[0]);
    if (open_ && (open_reads(base) || open_writes(base))) flush();
    bool by_pointer = inst.op == Op::store_ || inst.op == Op::atomic_;
    // All of what stands before is done before it, and all of it before what follows.
    bool has_order =
        inst.op == Op::atomic_ && inst.get<ir::Atomic>().order != ir::MemoryOrder::relaxed;
    if (has_order) flush();
    if (by_pointer && !defs_.is_tile(inst.operands[0])) return scalar(inst);
    if (!inst.results.empty()) materialised_[inst.results[0]] = true;
    root({&inst, inst.operands[1]});
    if (has_order) flush();
  }

  Shape domain_of(const Root& root) const {
    return root.inst == nullptr ? defs_.type(root.value).shape
                                : ir::domain_of(defs_.function(), *root.inst);
  }
  // Whether the open loop nest can go through this root too.
  bool joins(const Root& root) const {
    if (!open_ || open_->domain != domain_of(root) || open_->roots.size() >= most_roots)
      return false;
    if (root.inst != nullptr) return !depends_on_open(*root.inst);
    return !reaches_open(root.value) && !open_writes_anything();
  }

  void root(Root root) {
    if (!joins(root)) {
      flush();
      open_ = Step{StepKind::loop_nest, nullptr, domain_of(root), {}, {}};
    }
    open_->roots.push_back(root);
  }

  // In this block, and not in one around it.
  bool is_computed_here(Value value) const {
    const Inst* inst = defs_.inst(value);
    return inst != nullptr && info(inst->op).op_class == OpClass::elementwise &&
           std::ranges::any_of(block_->insts, [&](const Inst& i) { return &i == inst; });
  }

  void dot(const Inst& inst) {
    // What is computed for it is in memory then: rather by a loop nest that goes through what it is
    // computed from anyway.
    const Value left = inst.operands[0];
    const bool may_be_kept = is_computed_here(left) && !materialised_[left] && !needed_[left];
    if (may_be_kept && joins({nullptr, left})) {
      // Before what reads it.
      open_->roots.insert(open_->roots.begin(), {nullptr, left});
      materialised_[left] = true;
    }
    flush();
    materialised_[inst.results[0]] = true;
    need_operands(inst);
    steps_.push_back({StepKind::dot, &inst, {}, {}, {}});
  }

  void control(const Inst& inst) {
    flush();
    if (inst.op == Op::yield_) return;
    for (Value result : inst.results)
      if (defs_.is_tile(result)) materialised_[result] = true;
    need_operands(inst);
    Step step{inst.op == Op::loop_ ? StepKind::loop : StepKind::branch, &inst, {}, {}, {}};
    for (const ir::Block& body : inst.bodies) step.bodies.push_back(block(body));
    steps_.push_back(std::move(step));
  }

  void flush() {
    if (!open_) return;
    for (const Root& root : open_->roots) {
      need_operands(root.inst != nullptr ? *root.inst : *defs_.inst(root.value));
      needed_[root.value] = true;
    }
    steps_.push_back(std::move(*open_));
    open_.reset();
  }

  void need_operands(const Inst& inst) {
    for (Value operand : inst.operands) need(operand);
  }
  void need(Value value) {
    if (needed_[value]) return;
    needed_[value] = true;
    const Inst* inst = defs_.inst(value);
    if (inst != nullptr && !materialised_[value] && may_be_virtual(*inst)) need_operands(*inst);
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
  // Each value is visited once: a chain in which each value uses the one before twice has
  // exponentially many paths.
  bool search_open(Value value) const {
    if (searched_[value] == search_) return false;
    searched_[value] = search_;
    if (is_open_result(value)) return true;
    const Inst* inst = defs_.inst(value);
    if (inst == nullptr || materialised_[value] || !may_be_virtual(*inst)) return false;
    return std::ranges::any_of(inst->operands, [&](Value o) { return search_open(o); });
  }
  bool depends_on_open(const Inst& inst) const {
    return open_ && std::ranges::any_of(inst.operands, [&](Value o) { return reaches_open(o); });
  }
  // Loads of written memory are materialised roots, so only those matter.
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
  std::vector<bool> materialised_, read_as_array_;
  std::vector<bool> needed_;                // by a step, but for the open loop nest: it is there
  mutable std::vector<unsigned> searched_;  // by value: the last search that came by
  mutable unsigned search_ = 0;
  std::vector<Step> steps_;
  std::optional<Step> open_;
  const ir::Block* block_ = nullptr;
};

// Memory is best read while results are written, since reads alone use one half of the memory's
// bandwidth, and writes alone the other. So a prefetch moves to the last loop nest over its domain.
// For short rows a half of it moves to the first loop nest that computes values worth
// materialising, during which memory would be idle. (For long rows this is slower, since their loop
// nests last so long that other threads use the memory meanwhile: softmax of 50,257 columns takes
// 4.3 instead of 4.05 ms.) Where nothing is written, memory should never be idle, and a quarter
// stays where it was.
void delay_prefetches(std::vector<Step>& steps) {
  constexpr unsigned all = 0b1111, half = 0b0011, quarter = 0b0001, none = 0;
  auto is_prefetch = [](const Root& r) {
    return r.inst != nullptr && r.inst->op == Op::prefetch_desc_ && r.of_four == all;
  };
  auto materialises = [](const Step& step) {
    return std::ranges::any_of(step.roots, [](const Root& r) { return r.inst == nullptr; });
  };
  auto stores = [](const Step& step) {
    return std::ranges::any_of(step.roots, [](const Root& r) {
      return r.inst != nullptr && r.inst->op == Op::store_desc_;
    });
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (auto& body : steps[i].bodies) delay_prefetches(body);
    std::vector<Root> prefetches;
    std::ranges::copy_if(steps[i].roots, std::back_inserter(prefetches), is_prefetch);
    if (prefetches.empty()) continue;
    Step *materialising = nullptr, *last = &steps[i];
    for (std::size_t j = i; j < steps.size(); ++j) {
      if (steps[j].kind != StepKind::loop_nest || steps[j].domain != steps[i].domain) continue;
      last = &steps[j];
      if (materialising == nullptr && materialises(steps[j])) materialising = &steps[j];
    }
    if (last == &steps[i]) continue;
    std::erase_if(steps[i].roots, is_prefetch);
    Step* earlier = &steps[i];
    unsigned share = quarter;
    if (stores(*last)) {
      earlier = materialising;
      const bool has_rest = materialising != nullptr && materialising != last;
      share = has_rest && element_count(last->domain) < long_loop_nest ? half : none;
    }
    for (Root prefetch : prefetches) {
      prefetch.of_four = share;
      if (share != none) earlier->roots.push_back(prefetch);
      prefetch.of_four = all & ~share;
      last->roots.push_back(prefetch);
    }
  }
  std::erase_if(steps,
                [](const Step& s) { return s.kind == StepKind::loop_nest && s.roots.empty(); });
}

}  // namespace

Schedule make_schedule(const Definitions& definitions) {
  SchedulePlanner planner(definitions);
  Schedule schedule;
  schedule.steps = planner.block(definitions.function().body);
  schedule.materialised = std::move(planner).materialised();
  materialise_expensive_values(definitions, schedule);
  delay_prefetches(schedule.steps);
  return schedule;
}

}  // namespace tilewright::dsl
