// Keeps one of several equal pure instructions, and of equal reads with no write between them.
//
// Instructions are equal if operation, operands (in any order where the operation commutes),
// immediate and result type are. One is replaced by an earlier one of the same block or of a block
// around it, which always runs before. Source lines do not matter; the first one stays.
#include <algorithm>
#include <bit>
#include <map>

#include "dsl/ir/rewrite.h"
#include "dsl/passes/effects.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Op;
using Key = std::vector<std::uint64_t>;

void append(Key& key, const Shape& list) {
  key.push_back(list.size());
  key.insert(key.end(), list.begin(), list.end());
}

void append(Key& key, const ir::Immediate& immediate) {
  key.push_back(immediate.index());
  if (auto* s = std::get_if<ir::Scalar>(&immediate)) {
    key.push_back(static_cast<std::uint64_t>(s->dtype));
    key.push_back(static_cast<std::uint64_t>(s->integer));
    key.push_back(std::bit_cast<std::uint64_t>(s->floating));
  }
  if (auto* b = std::get_if<ir::Bounds>(&immediate)) append(key, Shape{b->start, b->end});
  if (auto* a = std::get_if<ir::Axis>(&immediate)) append(key, Shape{a->axis});
  if (auto* e = std::get_if<ir::Extent>(&immediate)) append(key, e->shape);
  if (auto* p = std::get_if<ir::Permutation>(&immediate))
    append(key, Shape(std::vector<std::int64_t>(p->dims.begin(), p->dims.end())));
  if (auto* d = std::get_if<DType>(&immediate)) key.push_back(static_cast<std::uint64_t>(*d));
  if (auto* a = std::get_if<ir::Access>(&immediate))
    key.push_back(static_cast<std::uint64_t>(a->cache));
  if (auto* a = std::get_if<ir::BlockAccess>(&immediate)) {
    append(key, a->shape);
    key.push_back(static_cast<std::uint64_t>(a->cache));
  }
  if (auto* r = std::get_if<ir::Reduction>(&immediate))
    append(key, Shape{static_cast<std::int64_t>(r->kind), r->axis});
  if (auto* p = std::get_if<ir::Precision>(&immediate))
    key.push_back(static_cast<std::uint64_t>(p->input));
  if (auto* t = std::get_if<ir::Text>(&immediate)) {
    key.push_back(t->text.size());
    key.insert(key.end(), t->text.begin(), t->text.end());
  }
}

class Numbering {
 public:
  bool run(ir::Block& block) {
    bool changed = false;
    std::vector<Key> entered;
    std::vector<ir::Inst> code;
    for (ir::Inst& inst : block.insts) {
      for (ir::Value& operand : inst.operands) operand = same_(operand);
      if (!inst.bodies.empty()) {
        changed |= structured(inst);
      } else if (ir::info(inst.op).effect == ir::Effect::writes) {
        memory_ = ++memories_;
      } else if (!inst.results.empty() && ir::cache_policy(inst) != ir::CachePolicy::cv &&
                 !is_impure_assembly(inst)) {
        auto [found, fresh] = known_.try_emplace(key(inst), inst.results[0]);
        if (!fresh) {
          same_.add(inst.results[0], found->second);
          changed = true;
          continue;
        }
        entered.push_back(found->first);
      }
      code.push_back(std::move(inst));
    }
    block.insts = std::move(code);
    for (const Key& key : entered) known_.erase(key);
    return changed;
  }

 private:
  // Memory that a body reads may have been written by an earlier iteration; later code sees its
  // writes.
  bool structured(ir::Inst& inst) {
    bool wrote = writes_memory(inst), changed = false;
    std::uint64_t before = memory_;
    for (ir::Block& body : inst.bodies) {
      memory_ = wrote && inst.op == Op::loop_ ? ++memories_ : before;
      changed |= run(body);
    }
    memory_ = wrote ? ++memories_ : before;
    return changed;
  }

  Key key(const ir::Inst& inst) const {
    const ir::OpInfo& row = ir::info(inst.op);
    Key key{static_cast<std::uint64_t>(inst.op)};
    if (row.effect == ir::Effect::reads) key.push_back(memory_);
    std::vector<ir::Value> operands = inst.operands;
    if (row.has(ir::commutative)) std::ranges::sort(operands);
    key.insert(key.end(), operands.begin(), operands.end());
    append(key, inst.immediate);
    return key;
  }

  std::map<Key, ir::Value> known_;
  ir::Replacements same_;
  // The state of memory as a number; every write makes a new one.
  std::uint64_t memory_ = 0, memories_ = 0;
};

}  // namespace

bool common_subexpressions(ir::Function& function) { return Numbering().run(function.body); }

}  // namespace tilewright::dsl
