#include "dsl/ir/rewrite.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "runtime/base/error.h"

namespace tilewright::ir {

Value Replacements::operator()(Value value) const {
  std::size_t steps = 0;
  for (auto it = map_.find(value); it != map_.end(); it = map_.find(value)) {
    value = it->second;
    check(++steps <= map_.size(), "replacements of values form a cycle");
  }
  return value;
}

void replace_uses(Block& block, const Replacements& replacements) {
  if (replacements.empty()) return;
  for_each_inst(block, [&](Inst& inst) {
    for (Value& operand : inst.operands) operand = replacements(operand);
  });
}

void replace_uses(Function& function, const Replacements& replacements) {
  replace_uses(function.body, replacements);
}

std::vector<std::uint32_t> count_uses(const Function& function) {
  std::vector<std::uint32_t> uses(function.types.size());
  for_each_inst(function.body, [&](const Inst& inst) {
    for (Value operand : inst.operands) ++uses[operand];
  });
  return uses;
}

namespace {

void find_bases(const Block& block, std::vector<Value>& bases) {
  for (const Inst& inst : block.insts) {
    if (inst.op == Op::loop_)
      for (std::size_t k = 0; k < inst.results.size(); ++k)
        bases[inst.bodies[0].params[1 + k]] = bases[inst.results[k]] = bases[inst.operands[3 + k]];
    for (const Block& body : inst.bodies) find_bases(body, bases);
    for (std::size_t k = 0; inst.op == Op::if_ && k < inst.results.size(); ++k)
      bases[inst.results[k]] = bases[inst.bodies[0].insts.back().operands[k]];
    if (inst.bodies.empty() && !inst.operands.empty())
      for (Value result : inst.results) bases[result] = bases[inst.operands[0]];
  }
}

void gather_definitions(const Block& block, std::unordered_set<Value>& defined) {
  defined.insert(block.params.begin(), block.params.end());
  for (const Inst& inst : block.insts) {
    defined.insert(inst.results.begin(), inst.results.end());
    for (const Block& body : inst.bodies) gather_definitions(body, defined);
  }
}

template <typename T>
void keep_places(std::vector<T>& list, std::size_t from, const std::vector<bool>& keep) {
  check(list.size() == from + keep.size(), "a structured instruction has uneven lists");
  std::vector<T> kept(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(from));
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) kept.push_back(list[from + i]);
  list = std::move(kept);
}

class Renumbering {
 public:
  explicit Renumbering(Function& function)
      : function_(function), renamed_(function.types.size(), unset) {}

  void run() {
    for (Param& param : function_.params) define(param.value);
    block(function_.body);
    function_.types = std::move(types_);
    function_.hints = std::move(hints_);
    function_.layout_of = std::move(layout_of_);
  }

 private:
  static constexpr Value unset = std::numeric_limits<Value>::max();

  void define(Value& value) {
    renamed_[value] = static_cast<Value>(types_.size());
    types_.push_back(function_.types[value]);
    if (!function_.hints.empty())
      hints_.push_back(value < function_.hints.size() ? function_.hints[value] : "");
    if (!function_.layout_of.empty())
      layout_of_.push_back(function_.has_layout(value) ? function_.layout_of[value] : -1);
    value = renamed_[value];
  }

  void block(Block& b) {
    for (Value& param : b.params) define(param);
    for (Inst& inst : b.insts) {
      for (Value& operand : inst.operands) {
        check(operand < renamed_.size() && renamed_[operand] != unset,
              "a value is used before its definition");
        operand = renamed_[operand];
      }
      for (Block& body : inst.bodies) block(body);
      for (Value& result : inst.results) define(result);
    }
  }

  Function& function_;
  std::vector<Value> renamed_;
  std::vector<Type> types_;
  std::vector<std::string> hints_;
  std::vector<std::int32_t> layout_of_;
};

}  // namespace

std::vector<Value> array_bases(const Function& function) {
  std::vector<Value> bases(function.types.size());
  for (Value value = 0; value < bases.size(); ++value) bases[value] = value;
  find_bases(function.body, bases);
  return bases;
}

std::vector<Value> free_values(const Block& block) {
  std::unordered_set<Value> seen;
  gather_definitions(block, seen);
  std::vector<Value> free;
  for_each_inst(block, [&](const Inst& inst) {
    for (Value operand : inst.operands)
      if (seen.insert(operand).second) free.push_back(operand);
  });
  return free;
}

void keep_results(Inst& inst, const std::vector<bool>& keep) {
  check(info(inst.op).effect == Effect::structured, "only structured instructions carry values");
  keep_places(inst.results, 0, keep);
  for (Block& body : inst.bodies) keep_places(body.insts.back().operands, 0, keep);
  if (inst.op != Op::loop_) return;
  keep_places(inst.operands, 3, keep);
  keep_places(inst.bodies.front().params, 1, keep);
}

void compact(Function& function) { Renumbering(function).run(); }

}  // namespace tilewright::ir
