// The tensors that a foreign program takes: names, dtypes, and sizes that may be symbols; and a
// check of those of a call. An input that is an integer to the program, such as a size, is a tensor
// of i64 without axes here, whose element each call reads.
//
// Apart from any one format: programs of PyTorch and of ONNX both have one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/programs/program_module.h"
#include "models/programs/shared_expressions.h"
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
  // For an integer: its name in sizes.
  std::optional<SizeExpression> integer = {};
};
// A number of an input that a condition names.
struct InputNumber {
  enum class Kind : std::uint8_t { size, stride, integer, constant };
  Kind kind = Kind::size;
  std::size_t input = 0;
  int axis = 0;
  std::int64_t value = 0;  // of a constant: an input that the application holds
};
// Conditions on the sizes and integers of a call, which must hold.
struct SizeCondition {
  std::string text;   // as the program has it
  std::size_t place;  // among the expressions
  std::vector<std::string> symbols;
};
struct SizeConditions {
  std::vector<SizeCondition> list;
  SharedExpressions expressions;
  std::map<std::string, InputNumber, std::less<>> symbols;  // of the expressions
};
struct Signature {
  std::string_view operation;  // that errors begin with
  std::vector<SignatureInput> inputs;
  std::map<std::string, SymbolRange, std::less<>> symbols;  // others have any size
  // The same of sizes that are functions of symbols, by their texts (to_string).
  std::map<std::string, SymbolRange, std::less<>> functions = {};
  SizeConditions conditions = {};
  bool names_bind = true;  // axes of one name have one size; else names are for readers alone
};

std::vector<ProgramInput> described_inputs(const Signature& signature);

// The integers among the inputs, which it reads; none for the others. Raises `Error` "[operation]
// ..." that names the input, the axis, the size and a valid one, or the condition that fails and
// the sizes in it.
using InputIntegers = std::vector<std::optional<std::int64_t>>;
InputIntegers check_inputs(const Signature& signature, const std::vector<Tensor>& inputs);

}  // namespace tilewright::programs
