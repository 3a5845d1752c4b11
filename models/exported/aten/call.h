// One node of a program at the moment when it is computed: its arguments by name, with the values
// that other nodes have given them.
//
// What a function of the table asks for is what it supports: an argument that is given, says
// something, and was not asked for is an Error, so that nothing is passed over in silence. Alone
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

#include "graph/tensor/tensor.h"
#include "models/exported/program/program.h"

namespace tilewright::exported {

using Value = std::variant<std::monostate, Tensor, std::int64_t, double, bool>;
using Results = std::vector<Value>;

class Call {
 public:
  // `values` and `is_used` are by ValueId. All must outlive this.
  Call(const Node& node, std::span<const Value> values, std::span<const bool> is_used)
      : node_(node), values_(values), is_used_(is_used) {}

  const Node& node() const { return node_; }
  // Whether anything reads the node's result of that number.
  bool wants(std::size_t result) const {
    return is_used_[static_cast<std::size_t>(node_.results[result])];
  }
  bool has(std::string_view name) const;  // given, and not none

  // These raise `Error` where the argument is missing, unless there is a default, and where it has
  // another kind.
  Tensor tensor(std::string_view name) const;
  Tensor optional_tensor(std::string_view name) const;       // none: undefined
  std::vector<Tensor> tensors(std::string_view name) const;  // gaps are undefined
  TensorOperand operand(std::string_view name) const;        // a tensor or a number
  Number scalar(std::string_view name) const;
  Number scalar(std::string_view name, const Number& missing) const;
  double number(std::string_view name, std::optional<double> missing = {}) const;
  std::vector<double> numbers(std::string_view name) const;  // none: no elements
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  Shape integers(std::string_view name, std::optional<Shape> missing = {}) const;
  int axis(std::string_view name, std::optional<int> missing = {}) const;
  std::vector<int> axes(std::string_view name) const;  // none, or absent: no elements
  bool flag(std::string_view name, bool missing) const;
  std::string text(std::string_view name, std::string_view missing) const;
  std::optional<DType> dtype(std::string_view name = "dtype") const;
  const Subgraph& graph(std::string_view name) const;

  // All tensors among the arguments, which does not count as asking for them.
  std::vector<Tensor> operands() const;
  // Raises `Error` that names the first argument that nobody asked for.
  void refuse_unread() const;
  // Raises `Error` that names the argument and says why its value cannot be taken.
  [[noreturn]] void refuse(std::string_view name, std::string_view reason) const;

 private:
  const ArgumentValue* find(std::string_view name) const;
  const ArgumentValue& at(std::string_view name) const;
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::optional<Number> as_scalar(const ArgumentValue& argument) const;

  const Node& node_;
  std::span<const Value> values_;
  std::span<const bool> is_used_;
  mutable std::uint64_t asked_ = 0;  // a bit an argument
};

}  // namespace tilewright::exported
