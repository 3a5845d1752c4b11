// Brings operands to where their instructions work on them. Where an operand of a laid-out program
// lies elsewhere, free values are recomputed there (a splat, an arange, a shape operation of a
// value that is brought to its source), and all else moves by convert_layout, in registers, within
// warps or through shared memory, as both layouts say (dsl/layout/conversion.h). A value that was
// brought once in a block of code is found there again, and in blocks within it.
//
// Operands of products stay where they are if they would move through shared memory: both of them
// go there behind one barrier, and fragments are read from there (emit_dot.cpp). Staged operands
// lie in shared memory already.
#include <map>
#include <utility>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/ir/verify_stages.h"
#include "dsl/layout/conversion.h"
#include "dsl/layout/families.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class ConversionInserter {
 public:
  ConversionInserter(ir::Function& function, const Target& target)
      : function_(function), before_(function), uses_(before_), target_(target) {}

  bool run() {
    block(function_.body, nullptr);
    function_.stage = ir::Stage::converted;
    return changed_;
  }

 private:
  bool is_tile(Value value) const {
    const ir::Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }
  // True if a value is a staged load, or one with its axes exchanged.
  bool is_staged(Value value) const {
    const Inst* inst = uses_.definition(value);
    if (inst != nullptr && inst->op == Op::permute_) inst = uses_.definition(inst->operands[0]);
    return inst != nullptr && inst->schedule.staged;
  }

  // `outer`: the loop or if whose body this is.
  void block(ir::Block& block, const Inst* outer) {
    std::vector<Inst> insts = std::exchange(block.insts, {});
    std::vector<Inst>* around = std::exchange(out_, &block.insts);
    scopes_.emplace_back();
    for (Inst& inst : insts) {
      where_ = inst.where;
      if (inst.op == Op::yield_) {
        where_ = {};
        for (std::size_t k = 0; k < outer->results.size(); ++k)
          bring(inst.operands[k], outer->results[k]);
        out_->push_back(std::move(inst));
      } else {
        instruction(std::move(inst));
      }
    }
    scopes_.pop_back();
    out_ = around;
  }

  void instruction(Inst inst) {
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::control:
        for (std::size_t k = 0; inst.op == Op::loop_ && k < inst.results.size(); ++k)
          bring(inst.operands[3 + k], inst.results[k]);
        for (ir::Block& body : inst.bodies) block(body, &inst);
        break;
      case ir::OpClass::memory: memory(inst); break;
      case ir::OpClass::shape: shape(inst); break;
      case ir::OpClass::selection: bring(inst.operands[1], inst.results[0]); break;
      case ir::OpClass::reduction: return reduction(std::move(inst));
      case ir::OpClass::contraction: product(inst); break;
      case ir::OpClass::elementwise:
      case ir::OpClass::exchange:
        for (Value& operand : inst.operands) bring(operand, inst.results[0]);
        break;
      case ir::OpClass::creation:
      case ir::OpClass::hint: break;
    }
    out_->push_back(std::move(inst));
  }

  void memory(Inst& inst) {
    bool stores = inst.op == Op::store_ || inst.op == Op::store_desc_;
    if (inst.op == Op::make_desc_ || inst.op == Op::load_desc_) return;
    if (inst.op == Op::load_) {
      if (!is_tile(inst.results[0])) return;
      const Layout layout = function_.layout(inst.results[0]);
      for (std::size_t i : {std::size_t{2}, std::size_t{0}, std::size_t{1}})
        if (i < inst.operands.size()) bring(inst.operands[i], layout);
      return;
    }
    Value& value = inst.operands[1];
    if (!is_tile(value)) return;
    const Layout layout = stores ? stored(inst) : updated(inst);
    bring(value, layout);
    if (inst.op == Op::store_desc_) return;
    for (std::size_t i : {std::size_t{0}, std::size_t{2}})
      if (i < inst.operands.size()) bring(inst.operands[i], layout);
  }

  // A value in accumulators stays there: rows of them are sectors of memory at least.
  Layout stored(const Inst& store) const {
    const ir::Type& type = function_.type(store.operands[1]);
    if (store.schedule.boxed) return layout::mma_result(type.shape, function_.warps, 1);
    if (function_.roles) return function_.layout(store.operands[1]);
    return natural_layout(type.shape, static_cast<int>(size_bytes(type.dtype)), function_.warps);
  }
  Layout updated(const Inst& atomic) {
    if (function_.roles && uses_.users(atomic.results[0]).empty())
      function_.set_layout(atomic.results[0], Layout(function_.layout(atomic.operands[1])));
    return function_.layout(atomic.results[0]);
  }

  void shape(Inst& inst) {
    if (!is_tile(inst.operands[0]) || !is_tile(inst.results[0]) || is_staged(inst.results[0]))
      return;
    if (auto source = ir::shape_source(function_, inst, function_.layout(inst.results[0])))
      bring(inst.operands[0], *source);
  }

  // It gives its operand's layout without the axis, whatever is wanted of it.
  void reduction(Inst inst) {
    Value result = inst.results[0];
    out_->push_back(std::move(inst));
    if (!is_tile(result)) return;
    Inst& reduce = out_->back();
    Layout given =
        layout::slice(function_.layout(reduce.operands[0]), reduce.get<ir::Reduction>().axis);
    if (given == function_.layout(result)) return;
    reduce.results[0] = new_value(result, given);
    append({Op::convert_layout_, {reduce.results[0]}, {result}, {}, {}, where_});
  }

  void product(Inst& inst) {
    const Layout result = function_.layout(inst.results[0]);
    if (auto how = tensor_core_dot(function_, inst, function_.warps, target_)) {
      fragments(inst.operands[0], how->a, function_.roles.has_value());
      fragments(inst.operands[1], how->b, false);
    }
    bring(inst.operands[2], result);
  }
  // `anyhow`: what stands beside staged operands reads no shared memory of its own.
  void fragments(Value& operand, const Layout& wanted, bool anyhow) {
    if (is_staged(operand)) return;
    int bytes = static_cast<int>(size_bytes(function_.type(operand).dtype));
    auto kind = layout::plan_conversion(function_.layout(operand), wanted, bytes).kind;
    if (anyhow || kind != layout::Conversion::Kind::shared) bring(operand, wanted);
  }

  void bring(Value& operand, Value to) {
    if (is_tile(operand)) bring(operand, Layout(function_.layout(to)));
  }
  void bring(Value& operand, const Layout& layout) {
    if (is_tile(operand)) operand = brought(operand, layout);
  }

  Value brought(Value value, const Layout& layout) {
    if (function_.layout(value) == layout) return value;
    auto key = std::pair(value, layout.hash());
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = scope->find(key); found != scope->end()) return found->second;
    auto again = made_anew(value, layout);
    Value result = again ? *again : new_value(value, layout);
    if (!again) append({Op::convert_layout_, {value}, {result}, {}, {}, where_});
    scopes_.back().emplace(key, result);
    return result;
  }

  std::optional<Value> made_anew(Value value, const Layout& layout) {
    const Inst* inst = uses_.definition(value);
    if (inst == nullptr) return std::nullopt;
    ir::OpClass op_class = ir::info(inst->op).op_class;
    if (op_class != ir::OpClass::creation && op_class != ir::OpClass::shape) return std::nullopt;
    Inst copy{inst->op, inst->operands, {}, inst->immediate, {}, where_};
    if (op_class == ir::OpClass::shape && is_tile(inst->operands[0])) {
      auto source = ir::shape_source(function_, *inst, layout);
      if (!source) return std::nullopt;
      bring(copy.operands[0], *source);
    }
    copy.results = {new_value(value, layout)};
    Value result = copy.results[0];
    append(std::move(copy));
    return result;
  }

  Value new_value(Value like, const Layout& layout) {
    Value value = function_.new_value(ir::Type(function_.type(like)));
    function_.set_layout(value, layout);
    return value;
  }
  void append(Inst inst) {
    out_->push_back(std::move(inst));
    changed_ = true;
  }

  ir::Function& function_;
  const ir::Function before_;  // whose instructions stay where they are
  const Uses uses_;
  const Target& target_;
  std::vector<Inst>* out_ = nullptr;
  std::vector<std::map<std::pair<Value, Hash>, Value>> scopes_;  // what was brought; innermost last
  std::source_location where_;                                   // of the instruction that wants it
  bool changed_ = false;
};

}  // namespace

bool insert_conversions(ir::Function& function, const Target& target) {
  return ConversionInserter(function, target).run();
}

}  // namespace tilewright::dsl::gpu
