#include "models/programs/signature.h"

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::programs {
namespace {

using json::excerpt;
using Kind = SizeExpression::Kind;

SymbolRange range_of(const Signature& program, const std::string& symbol) {
  auto found = program.symbols.find(symbol);
  return found == program.symbols.end() ? SymbolRange{0, INT64_MAX} : found->second;
}

// The first symbol in it, if there is one.
const SizeExpression* symbol_of(const SizeExpression& size) {
  if (size.kind == Kind::symbol) return &size;
  for (const SizeExpression& operand : size.operands)
    if (const SizeExpression* found = symbol_of(operand)) return found;
  return nullptr;
}

void check_kind(const Signature& program, const SignatureInput& input, const Tensor& tensor) {
  require(tensor.defined(), "[", program.operation, "] input \"", excerpt(input.name),
          "\" is an undefined tensor");
  require(tensor.dtype() == input.facts.dtype, "[", program.operation, "] input \"",
          excerpt(input.name), "\" is ", tensor.dtype(), "; the program takes ", input.facts.dtype);
  auto rank = static_cast<int>(input.facts.sizes.size());
  if (!input.has_rank) return;
  require(tensor.rank() == rank, "[", program.operation, "] input \"", excerpt(input.name),
          "\" has shape [", tensor.shape(), "], rank ", tensor.rank(), "; the program takes rank ",
          rank);
}

// Symbols that are an axis by themselves get their values.
void bind(const Signature& program, const SignatureInput& input, const Tensor& tensor,
          SymbolValues& symbols) {
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const SizeExpression& size = input.facts.sizes[static_cast<std::size_t>(axis)];
    if (size.kind != Kind::symbol) continue;
    std::int64_t given = tensor.shape()[axis];
    SymbolRange range = range_of(program, size.name);
    require(given >= range.min && given <= range.max, "[", program.operation, "] input \"",
            excerpt(input.name), "\": axis ", axis, " has size ", given, "; the program allows ",
            range.min, " to ",
            range.max == INT64_MAX ? std::string("any") : std::to_string(range.max));
    auto [known, is_new] = symbols.emplace(size.name, given);
    require(is_new || known->second == given, "[", program.operation, "] input \"",
            excerpt(input.name), "\": axis ", axis, " has size ", given, "; the program wants ",
            known->second, ", as another input or axis has it (", excerpt(size.name), ")");
  }
}

void check_sizes(const Signature& program, const SignatureInput& input, const Tensor& tensor,
                 const SymbolValues& symbols) {
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const SizeExpression& size = input.facts.sizes[static_cast<std::size_t>(axis)];
    auto wanted = evaluate(size, symbols);
    std::int64_t given = tensor.shape()[axis];
    bool is_number = size.kind == Kind::integer;
    require(!wanted || *wanted == given, "[", program.operation, "] input \"", excerpt(input.name),
            "\": axis ", axis, " has size ", given, "; the program takes ", wanted.value_or(0),
            is_number ? std::string(", and no other") : concat(" = ", excerpt(to_string(size))));
  }
}

}  // namespace

std::vector<ProgramInput> described_inputs(const Signature& program) {
  std::vector<ProgramInput> inputs;
  for (const SignatureInput& input : program.inputs) {
    ProgramInput described{input.name, input.facts.dtype, {}, {}};
    for (const SizeExpression& size : input.facts.sizes) {
      int axis = described.shape.rank();
      const SizeExpression* symbol = symbol_of(size);
      auto known = evaluate(size, {});
      described.shape.push_back(known.value_or(-1));
      if (known || symbol == nullptr) continue;
      SymbolRange range = range_of(program, symbol->name);
      described.dynamic.push_back({axis, to_string(size), range.min, range.max});
    }
    inputs.push_back(std::move(described));
  }
  return inputs;
}

void check_inputs(const Signature& program, const std::vector<Tensor>& inputs) {
  SymbolValues symbols;
  std::size_t count = program.inputs.size();
  require(inputs.size() == count, "[", program.operation, "] the program takes ", count,
          " inputs; ", inputs.size(), " are given");
  for (std::size_t i = 0; i < count; ++i) {
    check_kind(program, program.inputs[i], inputs[i]);
    if (program.inputs[i].has_rank) bind(program, program.inputs[i], inputs[i], symbols);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (program.inputs[i].has_rank) check_sizes(program, program.inputs[i], inputs[i], symbols);
}

}  // namespace tilewright::programs
