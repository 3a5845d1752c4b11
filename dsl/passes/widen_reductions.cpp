// Sums and products of 16-bit floating tiles accumulate in f32: the operand is cast up, the result
// rounded once. Needs nothing before it; afterwards no sum or product reduces f16 or bf16. Code
// generators can then accumulate in the type they are given.
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;

bool loses_in_16_bits(const ir::Function& function, const Inst& inst) {
  if (inst.op != Op::reduce_) return false;
  DType dtype = function.type(inst.operands[0]).dtype;
  ir::ReduceKind kind = inst.get<ir::Reduction>().kind;
  return is_float16(dtype) && (kind == ir::ReduceKind::sum || kind == ir::ReduceKind::prod);
}

bool widen(ir::Function& function, ir::Block& block) {
  bool changed = false;
  std::vector<Inst> insts;
  insts.reserve(block.insts.size());
  for (Inst& inst : block.insts) {
    for (ir::Block& body : inst.bodies) changed |= widen(function, body);
    if (!loses_in_16_bits(function, inst)) {
      insts.push_back(std::move(inst));
      continue;
    }
    changed = true;
    ir::Value operand = inst.operands[0], result = inst.results[0];
    DType narrow = function.type(operand).dtype;
    ir::Value wide = function.new_value(function.type(operand).with_dtype(DType::f32));
    ir::Value sum = function.new_value(function.type(result).with_dtype(DType::f32));
    insts.push_back({Op::cast_, {operand}, {wide}, DType::f32, {}, inst.where});
    insts.push_back({Op::reduce_, {wide}, {sum}, inst.immediate, {}, inst.where});
    insts.push_back({Op::cast_, {sum}, {result}, narrow, {}, inst.where});
  }
  block.insts = std::move(insts);
  return changed;
}

}  // namespace

bool widen_reductions(ir::Function& function) { return widen(function, function.body); }

}  // namespace tilewright::dsl
