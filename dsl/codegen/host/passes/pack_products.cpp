// Says by which loops each product is multiplied, and what is packed for it, where and how.
//
// Before: loop nests are formed, and say which operands are in memory as a whole. After: each dot
// says how it is multiplied (plan/product_plan.h). A right operand that lies in panels is
// multiplied there, without a copy. A left operand that is multiplied by tiles (AMX) and is the
// same in all turns of a loop is packed before it, unless it is large. A store that makes panels of
// pairs of a block in memory, in a loop nest of its own, does so by whole vectors. Without the pass
// all products go along the columns of the right operand, of which they make a copy where its rows
// are not contiguous. A program that says any of this already stays as it is.
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/codegen/host/passes/host_passes.h"
#include "dsl/codegen/host/plan/product_plan.h"
#include "dsl/codegen/llvm/live_rows.h"
#include "dsl/ir/loop_nests.h"
#include "dsl/ir/rewrite.h"
#include "dsl/target/packed_product.h"

namespace tilewright::dsl::host {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Packer {
 public:
  Packer(ir::Function& function, const Target& target)
      : function_(function),
        definitions_(function),
        facts_(scalar_facts(function)),
        live_rows_(live_rows(function, facts_)),
        plans_(definitions_, facts_, live_rows_, target) {}

  bool run() {
    block(function_.body);
    return has_changed_;
  }

 private:
  void block(ir::Block& block) {
    for (std::size_t i = 0; i < block.insts.size(); ++i)
      if (block.insts[i].op == Op::store_desc_ && has_own_nest(block, i)) store(block.insts[i]);
    for (Inst& inst : block.insts) {
      if (inst.op == Op::dot_) dot(inst);
      if (inst.op == Op::loop_) {
        loop(inst);
      } else {
        for (ir::Block& body : inst.bodies) this->block(body);
      }
    }
  }

  bool has_own_nest(const ir::Block& block, std::size_t at) const {
    auto next =
        std::find_if(block.insts.begin() + static_cast<std::ptrdiff_t>(at) + 1, block.insts.end(),
                     [&](const Inst& inst) { return ir::is_root(function_, inst); });
    return !block.insts[at].schedule.joined &&
           (next == block.insts.end() || !next->schedule.joined);
  }

  void store(Inst& inst) {
    if (!plans_.panel_store(inst)) return;
    inst.schedule.in_panels = has_changed_ = true;
  }

  void dot(Inst& inst) {
    const ir::Schedule before = inst.schedule;
    inst.schedule.product = plans_.product(inst);
    inst.schedule.in_panels =
        plans_.panels(inst.operands[1], function_.type(inst.results[0]).dtype).has_value();
    inst.schedule.hoisted = hoisted_.contains(inst.operands[0]) && plans_.is_tiled(inst);
    has_changed_ |= inst.schedule != before;
  }

  void loop(Inst& inst) {
    const ir::Block& body = inst.bodies[0];
    const std::vector<Value> outside = ir::free_values(body);
    std::vector<Value> own;
    for (const Inst& inner : body.insts) {
      const bool is_candidate = inner.op == Op::dot_ && plans_.is_tiled(inner);
      if (!is_candidate) continue;
      const Value left = inner.operands[0];
      const ir::Type& type = function_.type(left);
      bool is_outside = std::ranges::find(outside, left) != outside.end();
      bool is_small =
          element_count(type.shape) * size_bytes(type.dtype) <= PackedProduct::most_tiled_bytes;
      if (is_outside && is_small && hoisted_.insert(left).second) own.push_back(left);
    }
    block(inst.bodies[0]);
    for (Value left : own) hoisted_.erase(left);
  }

  ir::Function& function_;
  const Definitions definitions_;
  const std::vector<ScalarFacts> facts_;
  const std::vector<std::optional<Value>> live_rows_;
  const ProductPlans plans_;
  std::unordered_set<Value> hoisted_;  // packed before the loops around
  bool has_changed_ = false;
};

}  // namespace

bool pack_products(ir::Function& function, const Target& target) {
  bool is_said = false;
  ir::for_each_inst(std::as_const(function.body), [&](const Inst& inst) {
    is_said |= (inst.op == Op::dot_ && inst.schedule != ir::Schedule{}) || inst.schedule.in_panels;
  });
  return !is_said && Packer(function, target).run();
}

}  // namespace tilewright::dsl::host
