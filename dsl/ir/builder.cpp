#include "dsl/ir/builder.h"

#include "dsl/ir/type_rules.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

std::vector<Type> types_of(const Function& function, const std::vector<Value>& values) {
  std::vector<Type> types;
  for (Value value : values) types.push_back(function.type(value));
  return types;
}

}  // namespace

Value Builder::param(std::string name, Type type, int align_bytes) {
  Value value = function_.new_value(std::move(type));
  function_.params.push_back({std::move(name), value, align_bytes});
  return value;
}

Value Builder::append(Op op, std::vector<Value> operands, Immediate immediate) {
  auto results = result_types(op, types_of(function_, operands), immediate);
  Inst inst{op, std::move(operands), {}, std::move(immediate), {}, where_};
  for (Type& type : results) inst.results.push_back(function_.new_value(std::move(type)));
  Value first = inst.results.empty() ? Value{0} : inst.results.front();
  block().insts.push_back(std::move(inst));
  return first;
}

Block& Builder::open_block(std::vector<Type> param_types) {
  open_.push_back(std::make_unique<Block>());
  Block& block = *open_.back();
  for (Type& type : param_types) block.params.push_back(function_.new_value(std::move(type)));
  blocks_.push_back(&block);
  return block;
}

Block Builder::pop(std::vector<Value> yields) {
  append(Op::yield_, std::move(yields));
  Block block = std::move(*open_.back());
  open_.pop_back();
  blocks_.pop_back();
  return block;
}

std::vector<Value> Builder::append_structured(Inst inst) {
  std::vector<std::vector<Type>> yielded;
  for (const Block& body : inst.bodies)
    yielded.push_back(types_of(function_, body.insts.back().operands));
  for (Type& type :
       result_types(inst.op, types_of(function_, inst.operands), inst.immediate, yielded))
    inst.results.push_back(function_.new_value(std::move(type)));
  auto results = inst.results;
  block().insts.push_back(std::move(inst));
  return results;
}

std::vector<Value> Builder::close_loop(Value low, Value high, Value step, std::vector<Value> inits,
                                       std::vector<Value> yields, LoopEnd end) {
  Inst inst{Op::loop_, {low, high, step}, {}, end, {}, where_};
  inst.operands.insert(inst.operands.end(), inits.begin(), inits.end());
  inst.bodies.push_back(pop(std::move(yields)));
  return append_structured(std::move(inst));
}

void Builder::close_block(std::vector<Value> yields) { closed_.push_back(pop(std::move(yields))); }

std::vector<Value> Builder::close_if(Value condition) {
  check(closed_.size() >= 2, "an if needs two closed bodies");
  Inst inst{Op::if_, {condition}, {}, {}, {}, where_};
  inst.bodies.push_back(std::move(closed_[closed_.size() - 2]));
  inst.bodies.push_back(std::move(closed_.back()));
  closed_.resize(closed_.size() - 2);
  return append_structured(std::move(inst));
}

}  // namespace tilewright::ir
