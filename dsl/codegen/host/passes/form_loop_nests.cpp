// Says which loops a host core goes through a program's tiles by (schedule.h): what is kept in
// memory as a whole, what shares a loop nest, and in which order all of that happens.
//
// Before: a traced function. After: the order of instructions is that of the loops, each value
// stands right before what needs it first, and marks say which loops there are (ir/loop_nests.h). A
// prefetch of which two loop nests do a part each stands in both. Tiles that nothing needs are left
// out.
#include <algorithm>
#include <unordered_map>

#include "dsl/codegen/host/passes/host_passes.h"
#include "dsl/codegen/host/plan/make_schedule.h"
#include "dsl/ir/rewrite.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::host {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// Builds the list of a block's instructions in a new order.
class BlockListing {
 public:
  BlockListing(ir::Block& block, const std::vector<Step>& steps)
      : old_(std::move(block.insts)), is_placed_(old_.size(), false), block_(block) {
    block_.insts.clear();
    for (std::size_t i = 0; i < old_.size(); ++i)
      for (Value result : old_[i].results) defined_at_[result] = i;
    for (const Step& step : steps) this->step(step);
    if (!old_.empty() && old_.back().op == Op::yield_) {
      place_needed(old_.back().operands);
      place(old_.size() - 1);
    }
    has_changed_ |= std::ranges::find(is_placed_, false) != is_placed_.end();
  }

  bool has_changed() const { return has_changed_; }

 private:
  void step(const Step& step) {
    for (std::size_t k = 0; k < step.roots.size(); ++k) root(step.roots[k], k > 0);
    if (step.kind == StepKind::loop_nest) return;
    const std::size_t at = place_of(step.inst);
    std::vector<Value> needed = old_[at].operands;
    for (std::size_t i = 0; i < step.bodies.size(); ++i) {
      ir::Block& body = old_[at].bodies[i];
      has_changed_ |= BlockListing(body, step.bodies[i]).has_changed();
      for (Value value : ir::free_values(body)) needed.push_back(value);
    }
    place_needed(std::move(needed));
    place(at);
  }

  void root(const Root& root, bool joined) {
    const std::size_t at = root.inst == nullptr ? defined_at_.at(root.value) : place_of(root.inst);
    const bool is_again = root.inst != nullptr && root.inst->op == Op::prefetch_desc_;
    check(is_again || !is_placed_[at], "a value is needed before the loop nest that keeps it");
    place_needed(old_[at].operands);
    place(at);
    ir::Schedule& marks = block_.insts.back().schedule;
    marks.kept = root.inst == nullptr;
    marks.joined = joined;
    marks.quarters = static_cast<std::uint8_t>(root.of_four);
    has_changed_ |= marks != ir::Schedule{};
  }

  std::size_t place_of(const Inst* inst) const {
    return static_cast<std::size_t>(inst - old_.data());
  }

  // The operands of the values that come from this block and have no place yet, in their old order.
  void place_needed(std::vector<Value> values) {
    std::vector<std::size_t> found;
    while (!values.empty()) {
      auto defined = defined_at_.find(values.back());
      values.pop_back();
      if (defined == defined_at_.end() || is_placed_[defined->second]) continue;
      const Inst& inst = old_[defined->second];
      check(ir::may_be_virtual(inst), "a loop nest needs a value that no earlier step makes");
      is_placed_[defined->second] = true;
      found.push_back(defined->second);
      values.insert(values.end(), inst.operands.begin(), inst.operands.end());
    }
    std::ranges::sort(found);
    for (std::size_t at : found) place(at);
  }

  void place(std::size_t at) {
    has_changed_ |= at < last_;
    last_ = std::max(last_, at);
    is_placed_[at] = true;
    // A prefetch may have two places.
    if (old_[at].op == Op::prefetch_desc_)
      block_.insts.push_back(old_[at]);
    else
      block_.insts.push_back(std::move(old_[at]));
  }

  std::vector<Inst> old_;
  std::vector<bool> is_placed_;
  std::unordered_map<Value, std::size_t> defined_at_;
  ir::Block& block_;
  std::size_t last_ = 0;
  bool has_changed_ = false;
};

}  // namespace

bool form_loop_nests(ir::Function& function, const Target&) {
  const Schedule schedule = make_schedule(Definitions(function));
  const bool has_changed = BlockListing(function.body, schedule.steps).has_changed();
  function.stage = ir::Stage::scheduled;
  return has_changed;
}

}  // namespace tilewright::dsl::host
