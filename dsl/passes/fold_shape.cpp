// Rules for shape operations and loads: chains become one step, and whatever is done to the shape
// of a value that is everywhere equal, it stays a splat.
#include <numeric>

#include "dsl/passes/folding.h"

namespace tilewright::dsl {

using ir::Op;
using ir::Value;

namespace {

bool is_identity(const std::vector<int>& dims) {
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != static_cast<int>(i)) return false;
  return true;
}

std::optional<Value> fold_chain(Folder& folder, const ir::Inst& inst) {
  const Folder::Definition* inner = folder.definition(inst.operands[0]);
  if (inner == nullptr) return std::nullopt;
  if (inst.op == Op::broadcast_ && inner->op == Op::broadcast_)
    return folder.emit(Op::broadcast_, {inner->operands[0]}, inst.immediate);
  if (inst.op == Op::reshape_ && (inner->op == Op::reshape_ || inner->op == Op::expand_dims_))
    return folder.emit(Op::reshape_, {inner->operands[0]}, inst.immediate);
  if (inst.op == Op::permute_ && inner->op == Op::permute_) {
    std::vector<int> dims = inst.get<ir::Permutation>().dims;
    const auto& first = std::get<ir::Permutation>(inner->immediate).dims;
    for (int& dim : dims) dim = first[static_cast<std::size_t>(dim)];
    return folder.emit(Op::permute_, {inner->operands[0]}, ir::Permutation{dims});
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> fold_shape(Folder& folder, const ir::Inst& inst) {
  if (inst.operands.empty()) return std::nullopt;
  Value x = inst.operands[0];
  const ir::Type& result = folder.type(inst.results[0]);
  bool rearranges = inst.op == Op::permute_ && !is_identity(inst.get<ir::Permutation>().dims);
  if (result == folder.type(x) && !rearranges) return x;
  if (inst.op == Op::splat_) return std::nullopt;
  if (auto scalar = folder.spread(x)) {
    if (result.is_scalar()) return scalar;
    return folder.emit(Op::splat_, {*scalar}, ir::Extent{result.shape});
  }
  return fold_chain(folder, inst);
}

std::optional<Value> fold_load(Folder& folder, const ir::Inst& inst) {
  if (inst.op != Op::load_ || inst.operands.size() < 2) return std::nullopt;
  auto mask = folder.uniform(inst.operands[1]);
  if (!mask) return std::nullopt;
  if (mask->integer != 0) return folder.emit(Op::load_, {inst.operands[0]}, inst.immediate);
  if (inst.operands.size() > 2) return inst.operands[2];
  const ir::Type& type = folder.type(inst.results[0]);
  return folder.emit_constant(ir::Scalar::of_integer(type.dtype, 0), type.shape);
}

}  // namespace tilewright::dsl
