#include "graph/eager.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "graph/functional.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor_body.h"

namespace tilewright::graph {
namespace {

// Plans of one-op graphs by the hash of what they depend on. Entries are never removed.
class PlanTable {
 public:
  std::shared_ptr<const Plan> find(const Hash& key) const {
    std::shared_lock lock(mutex_);
    auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }
  std::shared_ptr<const Plan> insert(const Hash& key, std::shared_ptr<const Plan> plan) {
    std::unique_lock lock(mutex_);
    return plans_.try_emplace(key, std::move(plan)).first->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Hash, std::shared_ptr<const Plan>> plans_;
};

PlanTable& plan_table() {
  static PlanTable table;
  return table;
}

struct Call {
  Op op;
  std::span<const Tensor> operands;
  const Attributes& attributes;
  std::optional<DType> dtype;
  bool in_place;
  std::source_location where;
};

Hash key_of(const Call& call) {
  Hasher hasher;
  hasher.add(call.op).add(call.in_place).add(call.dtype ? 1 + static_cast<int>(*call.dtype) : 0);
  const Attributes& a = call.attributes;
  hasher.add(a.axes).add(a.sizes).add(a.start).add(a.end).add(a.step).add(a.number);
  hasher.add(a.flag).add(a.causal).add(a.window).add(call.operands.size());
  for (const Tensor& operand : call.operands) {
    const TensorBody& body = *operand.body();
    hasher.add(body.dtype).add(body.placement.shape).add(body.placement.strides);
  }
  return hasher.finish();
}

std::shared_ptr<const Plan> plan_of(const Call& call) {
  Graph graph;
  GraphBuilder builder(graph);
  builder.set_location(call.where);
  std::vector<NodeId> ids;
  for (const Tensor& operand : call.operands) {
    const TensorBody& body = *operand.body();
    ids.push_back(builder.input(body.dtype, body.placement.shape, body.placement.strides));
  }
  NodeId node = call.dtype ? builder.append(call.op, ids, call.attributes, *call.dtype)
                           : builder.append(call.op, ids, call.attributes);
  if (call.in_place)
    graph.mutations = {{ids[0], node}};
  else
    graph.outputs = {node};
  return make_plan(run_passes(graph), {.device = Device::cpu()});
}

std::vector<std::shared_ptr<Buffer>> run(const Call& call, std::shared_ptr<const Plan>& plan) {
  for (const Tensor& operand : call.operands) body_of(operand, info(call.op).name, call.where);
  Hash key = key_of(call);
  plan = plan_table().find(key);
  if (!plan) plan = plan_table().insert(key, plan_of(call));
  std::vector<void*> addresses;
  addresses.reserve(call.operands.size());
  for (const Tensor& operand : call.operands) addresses.push_back(address_of(*operand.body()));
  return plan->run(addresses);
}

}  // namespace

Tensor run_eager(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                 std::optional<DType> dtype, std::source_location where) {
  std::shared_ptr<const Plan> plan;
  auto buffers = run({op, operands, attributes, dtype, false, where}, plan);
  const PlanOutput& output = plan->outputs().front();
  // Where an operation changes nothing, as a sum of one element.
  if (output.input)
    buffers.front() =
        copy_row_major(operands[static_cast<std::size_t>(*output.input)]).body()->buffer;
  return make_tensor(output.dtype, row_major(output.shape), std::move(buffers.front()));
}

void run_eager_in_place(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                        std::source_location where) {
  std::shared_ptr<const Plan> plan;
  run({op, operands, attributes, std::nullopt, true, where}, plan);
}

}  // namespace tilewright::graph
