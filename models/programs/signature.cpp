#include "models/programs/signature.h"

#include "graph/tensor/recording/graph_break.h"
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

std::string text_of(const SymbolRange& range) {
  auto bound = [](std::int64_t value, std::int64_t none) {
    return value == none ? std::string("any") : std::to_string(value);
  };
  return concat(bound(range.min, INT64_MIN), " to ", bound(range.max, INT64_MAX));
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

// Where a size comes from: an axis of an input, or the integer that it is.
struct Source {
  const SignatureInput& input;
  int axis;
  friend std::ostream& operator<<(std::ostream& out, const Source& source) {
    out << "input \"" << excerpt(source.input.name) << '"';
    return source.input.integer ? out << " is " : out << ": axis " << source.axis << " has size ";
  }
};

// A symbol that stands by itself gets its value.
void bind(const Signature& program, const Source& source, const SizeExpression& size,
          std::int64_t given, SymbolValues& symbols) {
  if (size.kind != Kind::symbol) return;
  SymbolRange range = range_of(program, size.name);
  require(given >= range.min && given <= range.max, "[", program.operation, "] ", source, given,
          "; the program allows ", text_of(range));
  auto [known, is_new] = symbols.emplace(size.name, given);
  require(is_new || known->second == given, "[", program.operation, "] ", source, given,
          "; the program wants ", known->second, ", as another input or axis has it (",
          excerpt(size.name), ")");
}

void check_size(const Signature& program, const Source& source, const SizeExpression& size,
                std::int64_t given, const SymbolValues& symbols) {
  auto wanted = evaluate(size, symbols);
  bool is_number = size.kind == Kind::integer;
  require(!wanted || *wanted == given, "[", program.operation, "] ", source, given,
          "; the program takes ", wanted.value_or(0),
          is_number ? std::string(", and no other") : concat(" = ", excerpt(to_string(size))));
}

// Calls visit(source, size, what is given) for each size of the inputs.
template <typename Visit>
void for_each_size(const Signature& program, const std::vector<Tensor>& inputs,
                   const InputIntegers& integers, const Visit& visit) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SignatureInput& input = program.inputs[i];
    if (integers[i]) visit(Source{input, 0}, *input.integer, *integers[i]);
    if (!input.has_rank) continue;
    for (int axis = 0; axis < inputs[i].rank(); ++axis)
      visit(Source{input, axis}, input.facts.sizes[static_cast<std::size_t>(axis)],
            inputs[i].shape()[axis]);
  }
}

std::string name_of_integer(const void* input, std::string_view) {
  return concat("input \"", excerpt(static_cast<const SignatureInput*>(input)->name),
                "\", an integer of the program");
}

}  // namespace

std::vector<ProgramInput> described_inputs(const Signature& program) {
  std::vector<ProgramInput> inputs;
  for (const SignatureInput& input : program.inputs) {
    ProgramInput described{input.name, input.facts.dtype, {}, {}};
    if (input.integer) {
      const SizeExpression* symbol = symbol_of(*input.integer);
      const std::int64_t fixed = evaluate(*input.integer, {}).value_or(0);
      const SymbolRange range =
          symbol == nullptr ? SymbolRange{fixed, fixed} : range_of(program, symbol->name);
      described.integer = {to_string(*input.integer), range.min, range.max};
    }
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

InputIntegers check_inputs(const Signature& program, const std::vector<Tensor>& inputs) {
  std::size_t count = program.inputs.size();
  require(inputs.size() == count, "[", program.operation, "] the program takes ", count,
          " inputs; ", inputs.size(), " are given");
  InputIntegers integers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const SignatureInput& input = program.inputs[i];
    check_kind(program, input, inputs[i]);
    graph::ForeignNode reading(&input, name_of_integer);
    if (input.integer) integers[i] = inputs[i].item<std::int64_t>();
  }
  SymbolValues symbols;
  for_each_size(program, inputs, integers,
                [&](const Source& source, const SizeExpression& size, std::int64_t given) {
                  bind(program, source, size, given, symbols);
                });
  for_each_size(program, inputs, integers,
                [&](const Source& source, const SizeExpression& size, std::int64_t given) {
                  check_size(program, source, size, given, symbols);
                });
  return integers;
}

}  // namespace tilewright::programs
