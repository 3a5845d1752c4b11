#include "models/exported/input_checks.h"

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;
using Kind = SizeExpression::Kind;

bool is_users(const Input& input) { return input.kind == Input::Kind::user; }

SymbolRange range_of(const Program& program, const std::string& symbol) {
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

void check_kind(const Input& input, const Tensor& tensor) {
  require(tensor.defined(), "[exported] input \"", excerpt(input.name),
          "\" is an undefined tensor");
  require(tensor.dtype() == input.facts.dtype, "[exported] input \"", excerpt(input.name), "\" is ",
          tensor.dtype(), "; the program takes ", input.facts.dtype);
  auto rank = static_cast<int>(input.facts.sizes.size());
  require(tensor.rank() == rank, "[exported] input \"", excerpt(input.name), "\" has shape [",
          tensor.shape(), "], rank ", tensor.rank(), "; the program takes rank ", rank);
}

// Symbols that are an axis by themselves get their values.
void bind(const Program& program, const Input& input, const Tensor& tensor, SymbolValues& symbols) {
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const SizeExpression& size = input.facts.sizes[static_cast<std::size_t>(axis)];
    if (size.kind != Kind::symbol) continue;
    std::int64_t given = tensor.shape()[axis];
    SymbolRange range = range_of(program, size.name);
    require(given >= range.min && given <= range.max, "[exported] input \"", excerpt(input.name),
            "\": axis ", axis, " has size ", given, "; the program allows ", range.min, " to ",
            range.max == INT64_MAX ? std::string("any") : std::to_string(range.max));
    auto [known, is_new] = symbols.emplace(size.name, given);
    require(is_new || known->second == given, "[exported] input \"", excerpt(input.name),
            "\": axis ", axis, " has size ", given, "; the program wants ", known->second,
            ", as another input or axis has it (", excerpt(size.name), ")");
  }
}

void check_sizes(const Input& input, const Tensor& tensor, const SymbolValues& symbols) {
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const SizeExpression& size = input.facts.sizes[static_cast<std::size_t>(axis)];
    auto wanted = evaluate(size, symbols);
    std::int64_t given = tensor.shape()[axis];
    bool is_number = size.kind == Kind::integer;
    require(!wanted || *wanted == given, "[exported] input \"", excerpt(input.name), "\": axis ",
            axis, " has size ", given, "; the program takes ", wanted.value_or(0),
            is_number ? std::string(", and no other") : concat(" = ", excerpt(to_string(size))));
  }
}

}  // namespace

std::vector<ExportedInput> described_inputs(const Program& program) {
  std::vector<ExportedInput> inputs;
  for (const Input& input : program.inputs) {
    if (!is_users(input)) continue;
    ExportedInput described{input.name, input.facts.dtype, {}, {}};
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

void check_inputs(const Program& program, const std::vector<Tensor>& inputs) {
  SymbolValues symbols;
  std::size_t at = 0, count = 0;
  for (const Input& input : program.inputs) count += is_users(input);
  require(inputs.size() == count, "[exported] the program takes ", count, " inputs; ",
          inputs.size(), " are given");
  for (const Input& input : program.inputs)
    if (is_users(input)) {
      check_kind(input, inputs[at]);
      bind(program, input, inputs[at++], symbols);
    }
  at = 0;
  for (const Input& input : program.inputs)
    if (is_users(input)) check_sizes(input, inputs[at++], symbols);
}

}  // namespace tilewright::exported
