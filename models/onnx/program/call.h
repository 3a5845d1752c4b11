// One node of a program at the moment when it is computed: its inputs by place, with the values
// that other nodes have given them, and its attributes by name. An execution has those values, of a
// whole run of the program.
//
// A function of the table supports exactly the inputs and attributes that it reads: one that is
// given and was not read is an Error, so that nothing is silently ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/onnx/program/program.h"

namespace tilewright::onnx {

using Results = std::vector<Value>;

struct Execution {
  const Program& program;
  std::span<Value> values;        // by ValueId
  std::span<const bool> is_used;  // likewise: whether anything reads it
};

class Call {
 public:
  // Both must outlive this.
  Call(const Node& node, Execution& execution) : node_(node), execution_(execution) {}

  const Node& node() const { return node_; }
  Execution& execution() const { return execution_; }
  std::int64_t opset() const { return node_.opset; }
  // True if anything reads the result of that number.
  bool wants(std::size_t result) const;

  // Inputs by place. Those that read numbers take them from the host's, or else read the tensor,
  // which breaks the graph inside compile(). They raise `Error` where the input is missing or has
  // another kind.
  std::size_t count() const { return node_.inputs.size(); }
  bool has(std::size_t input) const;
  const Value& value(std::size_t input) const;
  const Known* known(std::size_t input) const { return value(input).known(); }
  Tensor tensor(std::size_t input) const { return value(input).tensor(); }
  Tensor optional_tensor(std::size_t input) const;  // undefined where it is left out
  std::vector<Tensor> tensors() const;              // all
  std::vector<Value> values_from(std::size_t input) const;
  DType dtype(std::size_t input) const { return value(input).dtype(); }
  const Shape& shape(std::size_t input) const { return value(input).shape(); }
  int rank(std::size_t input) const { return shape(input).rank(); }
  std::vector<Number> elements(std::size_t input) const;
  Shape integers(std::size_t input) const;
  std::vector<int> axes(std::size_t input) const;
  std::vector<double> numbers(std::size_t input) const;
  Number scalar(std::size_t input) const;  // of a tensor with one element

  // Attributes by name, raising `Error` where one is missing, unless there is a default, and where
  // it has another kind.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  int axis(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  bool flag(std::string_view name, bool missing) const;
  double number(std::string_view name, std::optional<double> missing = {}) const;
  std::string text(std::string_view name, std::optional<std::string_view> missing = {}) const;
  Shape integers(std::string_view name, const std::optional<Shape>& missing = {}) const;
  std::vector<int> axes(std::string_view name) const;  // absent: no elements
  std::vector<double> numbers(std::string_view name, std::optional<std::vector<double>> = {}) const;
  std::vector<std::string> texts(std::string_view name) const;  // absent: no elements
  Value constant(std::string_view name) const;
  DType dtype(std::string_view name, std::optional<DType> missing = {}) const;
  const Graph& graph(std::string_view name) const;

  // An axis that the attribute names, within the rank.
  int axis_within(std::string_view name, std::optional<std::int64_t> missing, int rank) const;
  int within(std::int64_t axis, int rank) const;

  // Raises `Error` that names the first input or attribute that was not read.
  void refuse_unread() const;
  // Raises `Error` that names the attribute and says why its value cannot be taken.
  [[noreturn]] void refuse(std::string_view name, std::string_view reason) const;

 private:
  const AttributeValue* find(std::string_view name) const;
  template <typename T>
  const T& as(std::string_view name, std::string_view kind) const;

  const Node& node_;
  Execution& execution_;
  mutable std::uint64_t asked_inputs_ = 0, asked_attributes_ = 0;  // a bit each
};

}  // namespace tilewright::onnx
