// What tensors a foreign program takes: names, dtypes, and sizes that may be symbols; and whether
// those of a call are such.
//
// Apart from any one format: programs of PyTorch and of ONNX both have one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/programs/program_module.h"
#include "models/programs/size_expression.h"

namespace tilewright::programs {

struct TensorFacts {
  DType dtype;
  std::vector<SizeExpression> sizes;
};
struct SymbolRange {
  std::int64_t min, max;  // both included
};

struct SignatureInput {
  std::string name;
  TensorFacts facts;
  bool has_rank = true;  // else any sizes are taken
};
struct Signature {
  std::string_view operation;  // that errors begin with
  std::vector<SignatureInput> inputs;
  std::map<std::string, SymbolRange, std::less<>> symbols;  // others have any size
};

std::vector<ProgramInput> described_inputs(const Signature& signature);

// Raises `Error` "[operation] ..." that names the input, the axis, the size and what would be
// right.
void check_inputs(const Signature& signature, const std::vector<Tensor>& inputs);

}  // namespace tilewright::programs
