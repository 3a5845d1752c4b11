// The plans of operations that run at once, by a hash of all that a plan depends on.
//
// The plans that were used last are kept, within the bounds of runtime/kept/bounds.h. A thread that
// runs a plan owns it meanwhile. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

std::shared_ptr<const Plan> find_eager_plan(const Hash& key);  // null: it is not kept
// Keeps the plan, and returns it; the one that another thread has kept meanwhile, if there is one.
std::shared_ptr<const Plan> keep_eager_plan(const Hash& key, std::shared_ptr<const Plan> plan);
std::int64_t eager_plans();  // that are kept

// What a plan may assume of the memory of its operands, which are concrete.
std::vector<InputMemory> memory_of_operands(std::span<const Tensor> operands);
std::vector<std::shared_ptr<Buffer>> run_eager_plan(const Plan& plan,
                                                    std::span<const Tensor> operands);

}  // namespace tilewright::graph
