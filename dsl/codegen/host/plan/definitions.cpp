#include "dsl/codegen/host/plan/definitions.h"

#include <algorithm>

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

Definitions::Definitions(const ir::Function& function)
    : function_(function), defining_(function.types.size(), nullptr) {
  visit(function.body);
}

void Definitions::visit(const ir::Block& block) {
  for (const Inst& inst : block.insts) {
    for (Value result : inst.results) defining_[result] = &inst;
    if (info(inst.op).effect == ir::Effect::writes) {
      if (auto b = base(inst.operands[0]))
        written_.push_back(*b);
      else
        writes_unknown_ = true;
    }
    for (const ir::Block& body : inst.bodies) visit(body);
  }
}

std::optional<Value> Definitions::base(Value value) const {
  const Inst* inst = defining_[value];
  if (inst == nullptr) {
    bool is_param =
        std::ranges::any_of(function_.params, [&](const ir::Param& p) { return p.value == value; });
    return is_param ? std::optional(value) : std::nullopt;
  }
  if (inst->op == Op::select_) {
    auto a = base(inst->operands[1]);
    return a && a == base(inst->operands[2]) ? a : std::nullopt;
  }
  if (!inst->bodies.empty() || inst->operands.empty()) return std::nullopt;
  return base(inst->operands[0]);
}

bool Definitions::is_written(std::optional<Value> base) const {
  if (writes_unknown_) return true;
  if (!base) return !written_.empty();
  return std::ranges::find(written_, *base) != written_.end();
}

bool only_moves_unit_axes(const Shape& from, const Shape& to) {
  Shape a, b;
  std::ranges::copy_if(from, std::back_inserter(a), [](std::int64_t s) { return s != 1; });
  std::ranges::copy_if(to, std::back_inserter(b), [](std::int64_t s) { return s != 1; });
  return a == b;
}

std::optional<PanelBlock> panel_block(const Definitions& definitions, Value matrix) {
  auto made_by = [&](Value value, Op op) {
    const Inst* inst = definitions.inst(value);
    return inst != nullptr && inst->op == op ? inst : nullptr;
  };
  const Inst* reshape = made_by(matrix, Op::reshape_);
  const Inst* permute = reshape ? made_by(reshape->operands[0], Op::permute_) : nullptr;
  const Inst* load = permute ? made_by(permute->operands[0], Op::load_desc_) : nullptr;
  if (load == nullptr) return std::nullopt;
  const std::vector<int>& dims = permute->get<ir::Permutation>().dims;
  const bool in_pairs = dims == std::vector{1, 3, 0, 2};
  const Shape& block = load->get<ir::BlockAccess>().shape;
  if ((!in_pairs && dims != std::vector{1, 0, 2}) || (in_pairs && block[3] != 2))
    return std::nullopt;
  const Shape seen{block[1] * (in_pairs ? 2 : 1), block[0] * block[2]};
  if (definitions.type(matrix).shape != seen) return std::nullopt;
  return PanelBlock{load, permute, in_pairs};
}

std::optional<std::vector<std::vector<int>>> joined_axes(const Shape& from, const Shape& to) {
  constexpr std::int64_t most_lanes = 16;
  std::vector<std::vector<int>> result(to.size());
  int next = 0;
  for (int axis = 0; axis < to.rank(); ++axis) {
    auto& parts = result[static_cast<std::size_t>(axis)];
    std::int64_t size = 1;
    for (; size < to[axis] && next < from.rank(); ++next) {
      size *= from[next];
      if (from[next] != 1) parts.push_back(next);
    }
    bool fits = size == to[axis] && (parts.size() < 2 || from[parts.back()] % most_lanes == 0);
    if (!fits) return std::nullopt;
  }
  return result;
}

}  // namespace tilewright::dsl
