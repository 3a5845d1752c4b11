#include "dsl/codegen/gpu/plan/pipeline.h"

#include <algorithm>
#include <functional>

#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int most_stages = 4;

int largest_power(std::int64_t divisor, int most) {
  if (divisor == 0) return most;
  return static_cast<int>(std::min<std::int64_t>(divisor & -divisor, most));
}

class PipelinePlanner {
 public:
  PipelinePlanner(const ir::Function& function, const Uses& uses,
                  const std::vector<ScalarFacts>& facts, const Target& target)
      : function_(function), uses_(uses), facts_(facts), warps_(function.warps), target_(target) {}

  std::optional<LoopPipeline> plan(const Inst& loop, std::int64_t most_bytes) {
    LoopPipeline result = staged_in(loop, [](const Inst&) { return true; });
    if (result.loads.empty()) return std::nullopt;
    const int most = function_.most_stages == 0 ? most_stages : function_.most_stages;
    result.stages = static_cast<int>(std::min<std::int64_t>(most, most_bytes / result.stage_bytes));
    if (result.stages < 2) return std::nullopt;
    for (const Inst& inst : loop.bodies[0].insts)
      if (inst.op == Op::dot_ && serves_warpgroups(inst, result)) {
        result.warpgroups = true;
        auto how = tensor_core_dot(function_, inst, warps_, target_);
        if (info(how->format).defers && may_be_deferred(inst, loop, result))
          result.deferred = &inst;
      }
    return result;
  }

  // The pipeline that a loop with stages asks for; nothing if it is not possible.
  std::optional<LoopPipeline> follow(const Inst& loop) {
    const ir::Block& body = loop.bodies[0];
    LoopPipeline result = staged_in(loop, [](const Inst& inst) { return inst.schedule.staged; });
    result.stages = loop.schedule.stages;
    auto staged =
        std::ranges::count_if(body.insts, [](const Inst& inst) { return inst.schedule.staged; });
    if (staged == 0 || std::ssize(result.loads) != staged) return std::nullopt;
    for (const Inst& inst : body.insts) {
      if (inst.op != Op::dot_) continue;
      result.warpgroups |= serves_warpgroups(inst, result);
      if (!inst.schedule.deferred) continue;
      if (!serves_warpgroups(inst, result) || !may_be_deferred(inst, loop, result))
        return std::nullopt;
      result.deferred = &inst;
    }
    return result;
  }

 private:
  // The loads of a loop that are wanted and can be staged, and what their places follow from.
  template <typename Wanted>
  LoopPipeline staged_in(const Inst& loop, Wanted wanted) const {
    const ir::Block& body = loop.bodies[0];
    LoopPipeline result;
    if (ir::ends_by_condition(loop)) return result;  // nobody knows what the next turn loads
    std::vector<bool> needed(function_.types.size(), false);
    for (const Inst& inst : body.insts) {
      if (!wanted(inst)) continue;
      auto staged = stage(inst, body);
      if (!staged) continue;
      if (!mark_addresses(inst, body, needed)) continue;
      staged->offset = result.stage_bytes;
      result.stage_bytes += (staged->shared.size_bytes() + 1023) / 1024 * 1024;
      result.loads.push_back(std::move(*staged));
    }
    for (const Inst& inst : body.insts)
      if (!inst.results.empty() && needed[inst.results[0]]) result.addresses.push_back(&inst);
    return result;
  }

  bool may_be_deferred(const Inst& dot, const Inst& loop, const LoopPipeline& plan) const {
    return plan.stages >= 3 && only_accumulates(uses_, dot, loop.bodies[0]);
  }

  std::optional<StagedLoad> stage(const Inst& inst, const ir::Block& body) const {
    if (inst.op != Op::load_desc_) return std::nullopt;
    Value value = inst.results[0];
    const ir::Type& type = function_.type(value);
    const Inst* desc = uses_.definition(inst.operands[0]);
    if (desc == nullptr || desc->op != Op::make_desc_ || is_in(body, desc)) return std::nullopt;
    if (uses_.is_written(uses_.base(inst.operands[0]))) return std::nullopt;
    if (type.shape.rank() != 2 || physical_shape(type.shape) != type.shape) return std::nullopt;
    int bytes = static_cast<int>(size_bytes(type.dtype));
    if (access_width(facts_, inst, *desc, 1, type) * bytes != 16) return std::nullopt;

    auto operand = product_operand(uses_, inst);
    if (!operand || !is_in(body, operand->dot)) return std::nullopt;
    auto how = tensor_core_dot(function_, *operand->dot, warps_, target_);
    if (!how) return std::nullopt;
    // Bytes cannot be exchanged on the way to a fragment: their rows must go along k.
    bool rows_along_k = (operand->index == 0) != operand->transposed;
    if (bytes == 1 && !rows_along_k) return std::nullopt;

    std::int64_t row_bytes = type.shape[1] * bytes;
    int chunks = static_cast<int>(std::min<std::int64_t>(8, row_bytes / 16));
    // As wgmma wants it where that may read it; both spread 8 rows over all banks.
    auto shared =
        target_.gpu().has_warpgroup_products && row_bytes >= 32
            ? layout::SharedLayout::tma(type.shape, bytes,
                                        static_cast<int>(std::min<std::int64_t>(128, row_bytes)))
            : layout::SharedLayout::xor_swizzled(
                  type.shape, bytes, 16 / bytes,
                  static_cast<int>(std::max<std::int64_t>(1, 128 / row_bytes)), chunks);
    return StagedLoad{&inst, operand->value, operand->transposed, std::move(shared), 0};
  }

  bool serves_warpgroups(const Inst& dot, const LoopPipeline& plan) const {
    auto how = tensor_core_dot(function_, dot, warps_, target_);
    auto staged = [&](Value operand) {
      return std::ranges::any_of(plan.loads, [&](const StagedLoad& load) {
        return load.operand == operand && load.shared.swizzle_bytes() != 0;
      });
    };
    // wgmma would cut f32 off where it must be rounded: it is, on the way to registers.
    bool reads = how && how->warpgroups && how->format != emulator::Format::tf32;
    return reads && staged(dot.operands[0]) && staged(dot.operands[1]);
  }

  // True if the offsets follow from the loop's index by scalar arithmetic; marks the instructions
  // they need.
  bool mark_addresses(const Inst& load, const ir::Block& body, std::vector<bool>& needed) const {
    std::vector<Value> found;
    std::function<bool(Value)> visit = [&](Value value) {
      if (value == body.params[0]) return true;
      if (std::ranges::find(body.params, value) != body.params.end()) return false;  // carried
      const Inst* inst = uses_.definition(value);
      if (inst == nullptr || !is_in(body, inst)) return true;
      if (!function_.type(value).is_scalar() || ir::info(inst->op).effect != ir::Effect::pure)
        return false;
      found.push_back(value);
      return std::ranges::all_of(inst->operands, visit);
    };
    if (!std::all_of(load.operands.begin() + 1, load.operands.end(), visit)) return false;
    for (Value value : found) needed[value] = true;
    return true;
  }

  const ir::Function& function_;
  const Uses& uses_;
  const std::vector<ScalarFacts>& facts_;
  int warps_;
  const Target& target_;
};

}  // namespace

LoopPipelines plan_pipelines(const ir::Function& function, const Uses& uses,
                             const std::vector<ScalarFacts>& facts, const Target& target) {
  LoopPipelines result;
  PipelinePlanner planner(function, uses, facts, target);
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    if (inst.op != Op::loop_) return;
    if (auto plan = planner.plan(inst, shared_memory_limit(target) / 2))
      result.emplace(&inst, std::move(*plan));
  });
  return result;
}

LoopPipelines pipelines_of(const ir::Function& function, const Uses& uses,
                           const std::vector<ScalarFacts>& facts, const Target& target) {
  LoopPipelines result;
  if (function.roles) return result;
  PipelinePlanner planner(function, uses, facts, target);
  std::int64_t staged = 0;
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    staged += inst.schedule.staged ? 1 : 0;
    if (inst.schedule.stages == 0) return;
    auto plan = planner.follow(inst);
    require(plan.has_value(), "[loop] ", describe(inst.where), ": its ", int{inst.schedule.stages},
            " stages, or its staged loads or deferred products, are not possible on ", target.cpu,
            "; without them pipeline_loads finds a possible schedule");
    staged -= std::ssize(plan->loads);
    result.emplace(&inst, std::move(*plan));
  });
  require(staged == 0, "[load_desc] ", staged, " loads of @", function.name,
          " are staged in no loop that has stages");
  return result;
}

int access_width(const std::vector<ScalarFacts>& facts, const Inst& access, const Inst& make_desc,
                 std::size_t first_offset, const ir::Type& block) {
  std::size_t rank = (make_desc.operands.size() - 1) / 2;
  const Value* sizes = make_desc.operands.data() + 1;
  const Value* strides = sizes + rank;
  if (facts[strides[rank - 1]].constant() != 1) return 1;
  int width = static_cast<int>(16 / size_bytes(block.dtype));
  width = largest_power(facts[make_desc.operands[0]].divisor, width);
  for (std::size_t axis = 0; axis + 1 < rank; ++axis)
    width = largest_power(facts[strides[axis]].divisor, width);
  width = largest_power(facts[access.operands[first_offset + rank - 1]].divisor, width);
  width = largest_power(facts[sizes[rank - 1]].divisor, width);
  // A logical axis that is no multiple of the width ends within a group.
  return block.shape.back() % width == 0 ? width : 1;
}

}  // namespace tilewright::dsl::gpu
