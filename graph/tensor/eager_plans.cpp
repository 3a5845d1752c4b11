#include "graph/tensor/eager_plans.h"

#include <mutex>
#include <shared_mutex>

#include "dsl/launch/compile.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/fork_gate.h"
#include "runtime/kept/bounded_table.h"

namespace tilewright::graph {
namespace {

std::int64_t code_bytes_of(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const ExecutableKernel& kernel : plan.executable()->kernels) {
    if (kernel.single) bytes += dsl::code_bytes(*kernel.single);
    if (kernel.batched && kernel.batched != kernel.single)
      bytes += dsl::code_bytes(*kernel.batched);
  }
  return bytes;
}

class PlanTable {
 public:
  std::shared_ptr<const Plan> find(const Hash& key) const {
    std::shared_lock lock(mutex_);
    return plans_.find(key);
  }
  std::shared_ptr<const Plan> insert(const Hash& key, std::shared_ptr<const Plan> plan) {
    const Bounds bounds = bounds_of_tables();
    std::vector<Plans::Shared> given_up;  // destroyed when the lock is free
    GatedLock lock(mutex_);
    if (auto other = plans_.find(key)) return other;
    given_up = plans_.insert(key, plan, code_bytes_of(*plan), bounds);
    return plan;
  }
  std::int64_t size() const {
    std::shared_lock lock(mutex_);
    return plans_.size();
  }

 private:
  using Plans = BoundedTable<const Plan>;
  mutable std::shared_mutex mutex_;
  Plans plans_;
};

// Never destroyed, as the code that its plans run (dsl/launch/compile.cpp).
PlanTable& plan_table() {
  static PlanTable& table = *new PlanTable;
  return table;
}

}  // namespace

std::shared_ptr<const Plan> find_eager_plan(const Hash& key) { return plan_table().find(key); }
std::shared_ptr<const Plan> keep_eager_plan(const Hash& key, std::shared_ptr<const Plan> plan) {
  return plan_table().insert(key, std::move(plan));
}
std::int64_t eager_plans() { return plan_table().size(); }

std::vector<InputMemory> memory_of_operands(std::span<const Tensor> operands) {
  std::vector<InputMemory> result;
  for (const Tensor& operand : operands)
    result.push_back({.is_aligned = begins_aligned(*operand.body())});
  return result;
}

std::vector<std::shared_ptr<Buffer>> run_eager_plan(const Plan& plan,
                                                    std::span<const Tensor> operands) {
  std::vector<void*> addresses;
  addresses.reserve(operands.size());
  for (const Tensor& operand : operands) addresses.push_back(address_of(*operand.body()));
  return plan.run(addresses);
}

}  // namespace tilewright::graph
