#include "models/programs/signature.h"

#include <cstdlib>

#include "graph/tensor/recording/graph_break.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::programs {
namespace {

using json::excerpt;
using Kind = SizeExpression::Kind;

constexpr std::int64_t most_coefficient = std::int64_t{1} << 40;

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

void require_within(const Signature& program, const Source& source, std::int64_t given,
                    const SymbolRange& range) {
  require(given >= range.min && given <= range.max, "[", program.operation, "] ", source, given,
          "; the program allows ", text_of(range));
}

// A symbol that stands by itself gets its value.
void bind(const Signature& program, const Source& source, const SizeExpression& size,
          std::int64_t given, SymbolValues& symbols) {
  if (size.kind != Kind::symbol) return;
  require_within(program, source, given, range_of(program, size.name));
  if (!program.names_bind) return;
  auto [known, is_new] = symbols.emplace(size.name, given);
  const std::int64_t wanted = known->second.as_integer();
  require(is_new || wanted == given, "[", program.operation, "] ", source, given,
          "; the program wants ", wanted, ", as another input or axis has it (", excerpt(size.name),
          ")");
}

// A symbol that does not stand by itself anywhere gets its value from the first size that is a
// linear function of it alone. It may be a fraction, as for PyTorch.
void solve(const SizeExpression& size, std::int64_t given, SymbolValues& symbols) {
  const SizeExpression* symbol = size.kind == Kind::function ? symbol_of(size) : nullptr;
  if (symbol == nullptr || symbols.contains(symbol->name)) return;
  std::int64_t values[3];
  for (int i = 0; i < 3; ++i) {
    const auto value = evaluate(size, {{symbol->name, i}});
    if (!value || std::abs(*value) > most_coefficient) return;
    values[i] = *value;
  }
  const std::int64_t slope = values[1] - values[0];
  std::int64_t above = 0;
  if (slope == 0 || values[2] - values[1] != slope ||
      __builtin_sub_overflow(given, values[0], &above))
    return;
  const bool is_whole = above % slope == 0;
  symbols.emplace(symbol->name,
                  is_whole ? Number(above / slope)
                           : Number(static_cast<double>(above) / static_cast<double>(slope)));
}

void check_size(const Signature& program, const Source& source, const SizeExpression& size,
                std::int64_t given, const SymbolValues& symbols) {
  if (size.kind == Kind::function && !program.functions.empty())
    if (auto found = program.functions.find(to_string(size)); found != program.functions.end())
      require_within(program, source, given, found->second);
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

std::int64_t number_of_input(const InputNumber& from, const std::vector<Tensor>& inputs,
                             const InputIntegers& integers) {
  if (from.kind == InputNumber::Kind::constant) return from.value;
  if (from.kind == InputNumber::Kind::integer) return integers[from.input].value_or(0);
  const Shape& shape = inputs[from.input].shape();
  if (from.kind == InputNumber::Kind::size) return shape[from.axis];
  return row_major_strides(shape)[from.axis];
}

void check_conditions(const Signature& program, const std::vector<Tensor>& inputs,
                      const InputIntegers& integers) {
  if (program.conditions.list.empty()) return;
  SymbolValues symbols;
  for (const auto& [name, from] : program.conditions.symbols)
    symbols.emplace(name, number_of_input(from, inputs, integers));
  const auto values = program.conditions.expressions.values(symbols);
  std::size_t number = 0;
  for (const SizeCondition& condition : program.conditions.list) {
    const std::optional<Number>& value = values[condition.place];
    ++number;
    if (value && value->as_double() != 0) continue;
    std::string given;
    for (const std::string& name : condition.symbols)
      given += concat(given.empty() ? " where " : ", ", excerpt(name), " is ",
                      symbols.at(name).as_integer());
    raise_error(concat("[", program.operation, "] guard ", number, " of the program ",
                       value ? "fails: " : "has no value: ", excerpt(condition.text), given,
                       "; the program was exported for sizes for which it holds"));
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
                [&](const Source&, const SizeExpression& size, std::int64_t given) {
                  solve(size, given, symbols);
                });
  for_each_size(program, inputs, integers,
                [&](const Source& source, const SizeExpression& size, std::int64_t given) {
                  check_size(program, source, size, given, symbols);
                });
  check_conditions(program, inputs, integers);
  return integers;
}

}  // namespace tilewright::programs
