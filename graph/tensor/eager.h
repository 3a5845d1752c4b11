// Running one op at once: outside capture every operation is one compiled kernel (composites, and
// functions made of several ops: as few as fusion makes of them).
//
// A call is looked up by op, attributes, and the dtypes, shapes and strides of its operands; the
// plan of a one-node graph is built the first time, and kept (eager_plans.h). Thread safe.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

// All operands concrete. The results, as many as the op has, are fresh row-major tensors.
std::vector<Tensor> run_eager(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                              std::optional<DType> dtype, std::source_location where);
// The same, but the one result is written over the first operand, which has its type.
void run_eager_in_place(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                        std::source_location where);

// A function of tensors as one operation, with as few kernels as fusion makes of its ops: it is
// captured once for each key and dtypes, shapes and strides of the operands, and depends on nothing
// else but these. `name` is for messages. All operands concrete; it reads no others, and no data.
using TensorsOfTensors = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
std::vector<Tensor> run_eager_function(std::string_view name, const Hash& key,
                                       std::span<const Tensor> operands,
                                       const TensorsOfTensors& function,
                                       std::source_location where);

// The same, but the one result, which has the type of the first operand, is written over that.
void run_eager_function_in_place(std::string_view name, const Hash& key,
                                 std::span<const Tensor> operands, const TensorsOfTensors& function,
                                 std::source_location where);

}  // namespace tilewright::graph
