// The arguments of a tile program as words of a command line: numbers, arrays that are made, and
// tensors of safetensors files. Apart from the command that takes them, which runs the program.
//
//   1024, -0.5, true            a number, for a parameter that is one
//   random:f32:32x32:7          uniform in [-1, 1), from a seed; integers in [0, 100); default 0
//   zeros:f32:1024, ones:...    all the same
//   range:i32:16                0, 1, 2, ...
//   empty:f32:1024              NaN, or 101 in integers: memory that nobody has written
//   inputs.safetensors:x        the tensor x of that file
#pragma once

#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "graph/tensor/tensor.h"

namespace tilewright::tools {

struct KernelArgument {
  std::string name;       // of the parameter, "0" of the first that has none
  Tensor tensor;          // undefined: a number
  bool is_empty = false;  // was made by `empty`
  dsl::LaunchArgument argument;
};

// One for each parameter, from `name=word` in any order, and words for the others in theirs. Raises
// `Misuse` for other words, parameters that are missing or given twice, and values that do not fit.
std::vector<KernelArgument> kernel_arguments(const ir::Function& program,
                                             const std::vector<std::string>& words);

}  // namespace tilewright::tools
