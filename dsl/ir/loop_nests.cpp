#include "dsl/ir/loop_nests.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "dsl/ir/rewrite.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

template <typename... Parts>
void expect(bool condition, const Inst& inst, const Parts&... parts) {
  if (condition) return;
  std::string line = inst.where.line() > 0 ? describe(inst.where) + ": " : std::string();
  raise_error(concat(line, "[", info(inst.op).name, "] ", parts...));
}

bool is_tile(const Function& function, Value value) {
  const Type& type = function.type(value);
  return !type.is_scalar() && !type.is_descriptor();
}

bool writes(const Inst& inst) { return info(inst.op).effect == Effect::writes; }
bool loads(const Inst& inst) { return inst.op == Op::load_ || inst.op == Op::load_desc_; }

// Where marks may stand, at any stage.
void verify_marks(const Function& function, const Inst& inst) {
  const Schedule& s = inst.schedule;
  Schedule others = s;
  others.kept = others.joined = others.tabulated = others.in_panels = others.hoisted = false;
  others.quarters = Schedule{}.quarters;
  others.product = Schedule{}.product;
  if (s == others) return;
  expect(function.stage == Stage::scheduled, inst,
         "says how a host goes about it; the function is ", name_of(function.stage));
  const bool gives_tile = inst.results.size() == 1 && is_tile(function, inst.results[0]);
  expect(!s.kept || (may_be_virtual(inst) && gives_tile), inst,
         "is kept; only a tile that would be computed where it is needed can be");
  expect(!s.joined || is_root(function, inst), inst,
         "is joined to a loop nest; only instructions that go through a tile can be");
  expect(inst.op == Op::prefetch_desc_ || s.quarters == Schedule{}.quarters, inst,
         "is done for a part of the vectors; only a prefetch_desc can be");
  expect(s.quarters != 0, inst, "is done for none of four vectors; it must be for some");
  bool can_be_tabulated = info(inst.op).op_class == OpClass::elementwise && gives_tile &&
                          function.type(inst.results[0]).is_value() &&
                          function.type(inst.results[0]).dtype == DType::f32;
  expect(!s.tabulated || can_be_tabulated, inst,
         "is tabulated; only an elementwise tile of f32 can be");
  expect(inst.op == Op::dot_ || inst.op == Op::store_desc_ || !s.in_panels, inst,
         "is in panels; only operands of a dot and values of a store_desc can be");
  bool is_of_dots = s.product != Schedule{}.product || s.hoisted;
  expect(inst.op == Op::dot_ || !is_of_dots, inst,
         "says how operands are multiplied; only a dot multiplies");
}

class LoopNestVerifier {
 public:
  explicit LoopNestVerifier(const Function& function)
      : function_(function),
        base_(array_bases(function)),
        defining_(function.types.size(), nullptr),
        is_written_(function.types.size(), false) {
    for_each_inst(function.body, [&](const Inst& inst) {
      for (Value result : inst.results) defining_[result] = &inst;
      if (writes(inst)) is_written_[base_[inst.operands[0]]] = true;
    });
  }

  void run() { block(function_.body); }

 private:
  void block(const Block& block) {
    nest_.clear();
    for (const Inst& inst : block.insts) {
      order_of_reads(inst);
      if (is_root(function_, inst)) {
        root(inst);
        continue;
      }
      bool is_virtual = may_be_virtual(inst) && is_tile(function_, inst.results[0]);
      if (is_virtual) continue;
      nest_.clear();
      for (const Block& body : inst.bodies) this->block(body);
      nest_.clear();
    }
  }

  void order_of_reads(const Inst& inst) const {
    if (!loads(inst) || !is_tile(function_, inst.results[0]) || inst.schedule.kept) return;
    expect(!is_written_[base_[inst.operands[0]]], inst,
           "reads an array that the program writes, wherever its value is needed; it must be kept");
  }

  void root(const Inst& inst) {
    if (inst.schedule.joined) {
      expect(!nest_.empty(), inst, "is joined to the previous loop nest, but there is none");
      const Shape own = domain_of(function_, inst), others = domain_of(function_, *nest_[0]);
      expect(own == others, inst, "goes through ", to_string(own),
             " and is joined to a loop nest that goes through ", to_string(others));
      for (const Inst* other : nest_) keeps_order(inst, *other);
      needs_own_position(inst);
    } else {
      nest_.clear();
    }
    nest_.push_back(&inst);
  }

  bool reads_written(const Inst& inst) const {
    return loads(inst) && is_written_[base_[inst.operands[0]]];
  }

  void keeps_order(const Inst& inst, const Inst& other) const {
    if (!writes(inst) && !reads_written(inst)) return;
    const Value array = base_[inst.operands[0]];
    bool collides = (writes(other) && base_[other.operands[0]] == array) ||
                    (writes(inst) && reads_written(other) && base_[other.operands[0]] == array);
    expect(!collides, inst,
           "is joined to a loop nest in which its array is touched too, and one of both writes it");
  }

  // Follows what is computed at a root's positions back to what its loop nest makes.
  void needs_own_position(const Inst& inst) const {
    auto moves_nothing = [](const Inst& i) { return info(i.op).op_class == OpClass::elementwise; };
    std::set<std::pair<Value, bool>> seen;
    std::vector<std::pair<Value, bool>> open;  // and whether at the root's own position
    auto add = [&](const Inst& user, bool is_own) {
      for (Value operand : user.operands)
        if (seen.insert({operand, is_own}).second) open.emplace_back(operand, is_own);
    };
    add(inst, !inst.schedule.kept || moves_nothing(inst));
    while (!open.empty()) {
      auto [value, is_own] = open.back();
      open.pop_back();
      const Inst* maker = defining_[value];
      if (maker == nullptr) continue;
      if (std::ranges::find(nest_, maker) != nest_.end()) {
        expect(maker->schedule.kept && is_own, inst, "is joined to the loop nest of %", value,
               ", of which it needs ", maker->schedule.kept ? "other elements" : "all elements",
               " first");
        continue;
      }
      bool is_virtual = may_be_virtual(*maker) && is_tile(function_, value);
      if (is_virtual && !maker->schedule.kept) add(*maker, is_own && moves_nothing(*maker));
    }
  }

  const Function& function_;
  const std::vector<Value> base_;  // the array, by pointer or descriptor
  std::vector<const Inst*> defining_;
  std::vector<bool> is_written_;   // by array
  std::vector<const Inst*> nest_;  // the roots of the loop nest so far
};

}  // namespace

bool may_be_virtual(const Inst& inst) {
  OpClass c = info(inst.op).op_class;
  return c == OpClass::elementwise || c == OpClass::creation || c == OpClass::shape ||
         c == OpClass::selection || loads(inst);
}

bool goes_through_tile(const Function& function, const Inst& inst) {
  switch (info(inst.op).op_class) {
    case OpClass::reduction: return true;
    case OpClass::hint: return inst.op == Op::prefetch_desc_;
    case OpClass::memory:
      if (!writes(inst)) return false;
      return inst.op == Op::store_desc_ || is_tile(function, inst.operands[0]);
    case OpClass::elementwise:
    case OpClass::creation:
    case OpClass::shape:
    case OpClass::selection:
    case OpClass::contraction:
    case OpClass::exchange:
    case OpClass::control: break;
  }
  return false;
}

bool is_root(const Function& function, const Inst& inst) {
  return inst.schedule.kept || goes_through_tile(function, inst);
}

Shape domain_of(const Function& function, const Inst& root) {
  if (root.op == Op::prefetch_desc_) return root.get<Extent>().shape;
  if (root.schedule.kept) return function.type(root.results[0]).shape;
  return function.type(root.operands[writes(root) ? 1 : 0]).shape;
}

void verify_loop_nests(const Function& function) {
  for_each_inst(function.body, [&](const Inst& inst) { verify_marks(function, inst); });
  if (function.stage == Stage::scheduled) LoopNestVerifier(function).run();
}

}  // namespace tilewright::ir
