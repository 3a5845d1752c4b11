// Kernels by name: functions on tensors in shapes of real models, and the tile programs that they
// become on a device. Tools show and measure them; nothing here runs them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/function.h"
#include "dsl/launch/device.h"
#include "graph/ir/ir.h"
#include "graph/ir/options/matmul_precision.h"
#include "graph/regions/fuse.h"
#include "graph/tensor/functional.h"

namespace tilewright::tools {

struct NamedKernel {
  struct Argument {
    DType dtype;
    Shape shape;
  };
  std::string name;
  std::vector<Argument> arguments;
  Tensor (*function)(const std::vector<Tensor>& arguments);
  MatmulPrecision precision = MatmulPrecision::highest;
};

// The kernels with one of the words in their names; all, if there are no words.
std::vector<NamedKernel> named_kernels(const std::vector<std::string>& words);
// Likewise, those of GPT-2 124M and Llama 3.2 1B and 3B as a processor runs them, one a shape of a
// layer.
std::vector<NamedKernel> model_kernels(const std::vector<std::string>& words);
// One of the words is in its name, or there are no words.
bool is_named(const NamedKernel& kernel, const std::vector<std::string>& words);
// The kernel's graph, ready to be cut into regions.
graph::Graph graph_of(const NamedKernel& kernel);
// Each region that the kernel has on a device, with the kernel that it is a part of.
void each_region(const NamedKernel& kernel, const Device& device,
                 const std::function<void(const graph::TaskList&, const graph::Region&)>& each);
struct NamedProgram {
  ir::Function function;
  std::int64_t launches = 1;  // that its code takes at once (runtime/launch_table.h)
};
// Each program once, in the order of the plan's.
std::vector<NamedProgram> programs_of(const NamedKernel& kernel, const Device& device);
// The function must have been through the passes.
dsl::gpu::Ptx ptx_of(const NamedProgram& program, const dsl::Target& target);

}  // namespace tilewright::tools
