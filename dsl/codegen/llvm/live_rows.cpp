#include "dsl/codegen/llvm/live_rows.h"

#include <limits>

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::OpClass;
using ir::Value;

// The part of a value that is needed along the axis: nothing as far as is known, up to a count, or
// all of it.
constexpr Value unused = std::numeric_limits<Value>::max(), all = unused - 1;

enum class Along : std::uint8_t { first_axis, last_axis };

class LiveRowsAnalysis {
 public:
  LiveRowsAnalysis(const ir::Function& function, const std::vector<ScalarFacts>& facts, Along along)
      : function_(function),
        facts_(facts),
        along_(along),
        needed_(function.types.size(), unused),
        place_(function.types.size(), 0),
        arrays_(function.types.size(), nullptr),
        is_everywhere_(function.types.size(), false) {
    for (const ir::Param& param : function.params) is_everywhere_[param.value] = true;
    for (const Inst& inst : function.body.insts)
      for (Value result : inst.results) is_everywhere_[result] = inst.bodies.empty();
    number(function.body);
  }

  std::vector<std::optional<Value>> run() {
    do {
      has_changed_ = false;
      block(function_.body);
    } while (has_changed_);
    std::vector<std::optional<Value>> result(needed_.size());
    for (std::size_t value = 0; value < needed_.size(); ++value)
      if (needed_[value] < all) result[value] = needed_[value];
    return result;
  }

 private:
  void number(const ir::Block& block) {
    for (Value param : block.params) place_[param] = next_place_;
    for (const Inst& inst : block.insts) {
      ++next_place_;
      for (Value result : inst.results) place_[result] = next_place_;
      if (inst.op == Op::make_desc_) arrays_[inst.results[0]] = &inst;
      for (const ir::Block& body : inst.bodies) number(body);
    }
  }

  bool is_tile(Value value) const {
    const ir::Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }

  std::int64_t axis_of(const Shape& shape) const {
    return along_ == Along::first_axis ? 0 : shape.rank() - 1;
  }

  void need(Value value, Value count) {
    if (count == unused || !is_tile(value)) return;
    if (count != all && (!is_everywhere_[count] || place_[count] >= place_[value])) count = all;
    Value& known = needed_[value];
    const Value both = known == unused || known == count ? count : all;
    has_changed_ = has_changed_ || both != known;
    known = both;
  }
  void need_all(const Inst& inst) {
    for (Value operand : inst.operands) need(operand, all);
  }

  void block(const ir::Block& b) {
    for (auto inst = b.insts.rbegin(); inst != b.insts.rend(); ++inst) visit(*inst);
  }

  void visit(const Inst& inst) {
    switch (info(inst.op).op_class) {
      case OpClass::elementwise:
        for (Value operand : inst.operands) need(operand, needed_[inst.results[0]]);
        return;
      case OpClass::shape: return need(inst.operands[0], through_shape(inst));
      case OpClass::reduction: {
        const Shape& shape = function_.type(inst.operands[0]).shape;
        const bool keeps = inst.get<ir::Reduction>().axis != axis_of(shape);
        const Value count = needed_[inst.results[0]];
        return need(inst.operands[0], count == unused || keeps ? count : all);
      }
      case OpClass::contraction: {
        // A product computes all columns of the rows that it computes.
        const Value result = needed_[inst.results[0]];
        const Value rows = along_ == Along::first_axis || result == unused ? result : all;
        need(inst.operands[0], rows);
        need(inst.operands[1], rows == unused ? unused : all);
        return need(inst.operands[2], rows);
      }
      case OpClass::memory:
        if (inst.op == Op::store_desc_ && stored(inst))
          return need(inst.operands[1], *stored(inst));
        return need_all(inst);  // what pointers are computed from must be right everywhere
      case OpClass::control: return control(inst);
      case OpClass::creation:
      case OpClass::selection:
      case OpClass::exchange:
      case OpClass::hint: return need_all(inst);
    }
  }

  std::optional<Value> stored(const Inst& store) const {
    const Inst* array = arrays_[store.operands[0]];
    const Shape& shape = function_.type(store.operands[1]).shape;
    if (array == nullptr || shape.empty()) return std::nullopt;
    const auto axis = static_cast<std::size_t>(axis_of(shape));
    return end_along(axis, store, *array, 2, shape[axis], facts_);
  }

  // For the operand of a shape operation: the same, where it leaves the axis as it is.
  Value through_shape(const Inst& inst) const {
    const Value count = needed_[inst.results[0]];
    const Shape &from = function_.type(inst.operands[0]).shape,
                &to = function_.type(inst.results[0]).shape;
    if (count == unused || from.empty()) return count;
    bool keeps = !to.empty() && from[axis_of(from)] == to[axis_of(to)];
    if (inst.op == Op::expand_dims_) keeps = inst.get<ir::Axis>().axis != axis_of(to);
    if (inst.op == Op::permute_)
      keeps = inst.get<ir::Permutation>().dims[axis_of(to)] == axis_of(from);
    return keeps ? count : all;
  }

  // The carried values of a loop are one piece of memory.
  void control(const Inst& inst) {
    for (const ir::Block& body : inst.bodies) block(body);
    if (inst.op == Op::yield_) return;
    for (const ir::Block& body : inst.bodies)
      for (std::size_t k = 0; k < inst.results.size(); ++k) {
        const Value yielded = body.insts.back().operands[k];
        if (inst.op != Op::loop_) {
          need(yielded, all);
          continue;
        }
        const Value same[] = {inst.operands[3 + k], body.params[1 + k], yielded, inst.results[k]};
        for (Value one : same)
          for (Value other : same) need(one, needed_[other]);
      }
  }

  const ir::Function& function_;
  const std::vector<ScalarFacts>& facts_;
  Along along_;
  std::vector<Value> needed_;       // by value
  std::vector<std::size_t> place_;  // of its definition among all instructions
  std::vector<const Inst*> arrays_;
  std::vector<bool> is_everywhere_;  // defined outside of all loops and branches
  std::size_t next_place_ = 0;
  bool has_changed_ = false;
};

}  // namespace

std::optional<Value> end_along(std::size_t axis, const Inst& access, const Inst& array,
                               std::size_t first_offset, std::int64_t size,
                               const std::vector<ScalarFacts>& facts) {
  const Value end = array.operands[1 + axis];
  const ScalarFacts& count = facts[end];
  const bool begins = facts[access.operands[first_offset + axis]].constant() == 0;
  const bool may_end_inside = count.low >= 1 && count.high <= size && !count.constant();
  return begins && may_end_inside ? std::optional(end) : std::nullopt;
}

std::vector<std::optional<Value>> live_rows(const ir::Function& function,
                                            const std::vector<ScalarFacts>& facts) {
  return LiveRowsAnalysis(function, facts, Along::first_axis).run();
}
std::vector<std::optional<Value>> live_columns(const ir::Function& function,
                                               const std::vector<ScalarFacts>& facts) {
  return LiveRowsAnalysis(function, facts, Along::last_axis).run();
}

}  // namespace tilewright::dsl
