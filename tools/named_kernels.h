// Kernels by name: functions on tensors in shapes of real models, and the tile programs that they
// become on a device. Tools show and measure them; nothing here runs them.
#pragma once

#include <string>
#include <vector>

#include "dsl/device.h"
#include "dsl/ir/function.h"
#include "graph/functional.h"
#include "graph/matmul_precision.h"

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

// Those in whose names one of the words stands; all, if there are no words.
std::vector<NamedKernel> named_kernels(const std::vector<std::string>& words);
// One for each launch.
std::vector<ir::Function> programs_of(const NamedKernel& kernel, const Device& device);

}  // namespace tilewright::tools
