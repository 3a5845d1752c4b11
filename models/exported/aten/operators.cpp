#include "models/exported/aten/operators.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "graph/tensor/tensor_copy.h"
#include "models/exported/aten/names.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using Table = std::unordered_map<std::string_view, const Operator*>;

const Table& table() {
  static const Table table = [] {
    Table rows;
    for (auto family : operator_families())
      for (const Operator& row : family) rows.emplace(row.name, &row);
    return rows;
  }();
  return table;
}

const Operator* row_of(const std::string& name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

bool is_creation(const Operator& row) {
  return std::ranges::any_of(creation_operators(),
                             [&](const Operator& each) { return each.name == row.name; });
}

// Whether a result lies in an operand's memory, as it does where nothing was to be done.
bool is_of_one(const std::vector<Tensor>& operands, const Tensor& result) {
  return std::ranges::any_of(operands,
                             [&](const Tensor& x) { return graph::are_of_one_memory(result, x); });
}

// Of the result's shape and the target's dtype.
Tensor written(const Call& call, const Results& results) {
  require(!call.node().arguments.empty() && results.size() == 1, "[exported] ", call.node().target,
          " writes in place, and has no argument or not one result");
  const std::string& name = call.node().arguments.front().name;
  Tensor target = call.tensor(name);
  auto* value = std::get_if<Tensor>(&results[0]);
  require(value != nullptr && value->shape() == target.shape(), "[exported] ", call.node().target,
          " writes to a tensor [", target.shape(), "] what has another shape",
          value == nullptr ? std::string() : concat(", [", value->shape(), "]"));
  target.copy_from(value->to(target.dtype()));
  return target;
}

}  // namespace

Results NamedOperator::compute(const Call& call, bool program_writes) const {
  Results results = row_->compute(call);
  if (writes_first_) return {written(call, results)};
  if (!must_own_ || !program_writes) return results;
  const std::vector<Tensor> operands = call.operands();
  for (Value& result : results)
    if (auto* tensor = std::get_if<Tensor>(&result); tensor != nullptr && tensor->defined())
      if (is_creation(*row_) || is_of_one(operands, *tensor)) *tensor = tensor->clone();
  return results;
}

std::optional<NamedOperator> find_operator(std::string_view name) {
  for (const OperatorName& each : names_of(name))
    if (const Operator* row = row_of(each.row))
      return NamedOperator(*row, each.writes_first, each.must_own);
  return std::nullopt;
}

std::vector<std::span<const Operator>> operator_families() {
  return {arrangement_operators(),   arithmetic_operators(),
          composite_operators(),     control_operators(),
          convolution_operators(),   creation_operators(),
          function_operators(),      indexing_operators(),
          joining_operators(),       linear_algebra_operators(),
          loss_operators(),          normalisation_operators(),
          ordering_operators(),      pooling_operators(),
          product_operators(),       quantile_operators(),
          quantisation_operators(),  random_operators(),
          recurrent_operators(),     reduction_operators(),
          resampling_operators(),    run_operators(),
          scan_operators(),          scatter_operators(),
          signal_window_operators(), size_operators(),
          special_operators(),       vision_operators()};
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  return names;
}

}  // namespace tilewright::exported
