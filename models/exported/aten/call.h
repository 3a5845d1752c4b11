// One node of a program at the moment when it is computed: its arguments by name, with the values
// that other nodes have given them.
//
// A function of the table supports exactly the arguments that it reads: an argument that is given,
// affects the result, and was not read is an Error, so that nothing is silently ignored. Alone
// those that say where and how memory lies (device, layout, memory_format, ...) need not be asked
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/functions/complex/complex_tensor.h"
#include "graph/tensor/tensor.h"
#include "models/exported/program/program.h"

namespace tilewright::exported {

using tilewright::ComplexTensor;
using Value = std::variant<std::monostate, Tensor, std::int64_t, double, bool, ComplexTensor>;
using Results = std::vector<Value>;

// The view that a call gets of its complex arguments: a linear operator is computed of the parts,
// each as if the values were real. Beside a complex value a real one has an imaginary part of
// zeros, where it is of the same kind (a tensor to be joined, not one of indices). `truth` is
// whether one is not 0.
enum class Part : std::uint8_t { whole, real, imaginary, magnitude, truth };

class Call {
 public:
  // `values` and `is_used` are by ValueId. All must outlive this.
  Call(const Node& node, std::span<const Value> values, std::span<const bool> is_used)
      : node_(node), values_(values), is_used_(is_used) {}

  const Node& node() const { return node_; }
  // True if anything reads the node's result of that number.
  bool wants(std::size_t result) const {
    return is_used_[static_cast<std::size_t>(node_.results[result])];
  }
  bool has(std::string_view name) const;  // given, and not none
  // True if an argument is a complex tensor, number or type.
  bool takes_complex() const;

  // The same call, which sees those parts. Arguments that it asks for count for this one, too, if
  // it is given back to `take_asked`.
  Call of(Part part) const;
  void take_asked(const Call& other) const { asked_ |= other.asked_; }

  // These raise `Error` where the argument is missing, unless there is a default, and where it has
  // another kind.
  Tensor tensor(std::string_view name) const;
  Tensor optional_tensor(std::string_view name) const;          // none: undefined
  std::vector<Tensor> tensors(std::string_view name) const;     // gaps are undefined
  std::vector<Value> values(std::string_view name) const;       // a list of tensors and numbers
  TensorOperand operand(std::string_view name) const;           // a tensor or a number
  ComplexOperand complex_operand(std::string_view name) const;  // or real, or a number
  // A real argument has an imaginary part of zeros, or as a factor none.
  ComplexTensor complex_tensor(std::string_view name) const;
  ComplexTensor complex_factor(std::string_view name) const;
  std::vector<ComplexTensor> complex_factors(std::string_view name) const;
  bool is_complex(std::string_view name) const;         // a tensor, number or type
  const Value& any_value(std::string_view name) const;  // that another node has given
  Number scalar(std::string_view name) const;
  Number scalar(std::string_view name, const Number& missing) const;
  double number(std::string_view name, std::optional<double> missing = {}) const;
  std::vector<double> numbers(std::string_view name) const;  // none: no elements
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  Shape integers(std::string_view name, std::optional<Shape> missing = {}) const;
  int axis(std::string_view name, std::optional<int> missing = {}) const;
  std::vector<int> axes(std::string_view name) const;  // none, or absent: no elements
  bool flag(std::string_view name, bool missing) const;
  std::vector<bool> flags(std::string_view name) const;
  std::string text(std::string_view name, std::string_view missing) const;
  std::optional<DType> dtype(std::string_view name = "dtype") const;
  std::optional<ComplexType> complex_type(std::string_view name = "dtype") const;
  const Subgraph& graph(std::string_view name) const;

  // All tensors among the arguments, which does not count as asking for them.
  std::vector<Tensor> operands() const;
  // Raises `Error` that names the first argument that was not read.
  void refuse_unread() const;
  // Raises `Error` that names the argument and says why its value cannot be taken.
  [[noreturn]] void refuse(std::string_view name, std::string_view reason) const;

 private:
  const ArgumentValue* find(std::string_view name) const;
  const ArgumentValue& at(std::string_view name) const;
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::optional<Number> as_scalar(const ArgumentValue& argument, std::string_view name) const;
  // Undefined for an absent value; the part that this call sees.
  Tensor as_tensor(const Value& value, std::string_view name) const;

  const Node& node_;
  std::span<const Value> values_;
  std::span<const bool> is_used_;
  Part part_ = Part::whole;
  mutable std::uint64_t asked_ = 0;  // a bit an argument
};

// The number as a float dtype holds it: infinity for one beyond its range.
double in_range(double number, DType dtype);

}  // namespace tilewright::exported
