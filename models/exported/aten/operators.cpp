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

// True if a result lies in an operand's memory, as it does where nothing was to be done.
bool is_of_one(const std::vector<Tensor>& operands, const Tensor& result) {
  return std::ranges::any_of(operands,
                             [&](const Tensor& x) { return graph::are_of_one_memory(result, x); });
}

// The result in the target, in the target's dtype.
Value written(const Call& call, const std::string& name, const Value& result) {
  if (call.is_complex(name)) {
    ComplexTensor both = call.complex_tensor(name);
    auto* value = std::get_if<ComplexTensor>(&result);
    require(value != nullptr && value->shape() == both.shape(), "[exported] ", call.node().target,
            " writes to a complex tensor [", both.shape(),
            "] a value that is real or has another shape");
    both.copy_from(*value);
    return both;
  }
  Tensor target = call.tensor(name);
  auto* value = std::get_if<Tensor>(&result);
  require(value != nullptr && value->shape() == target.shape(), "[exported] ", call.node().target,
          " writes to a tensor [", target.shape(), "] a value of another shape",
          value == nullptr ? std::string() : concat(", [", value->shape(), "]"));
  target.copy_from(value->to(target.dtype()));
  return target;
}

// For an `out` tensor without elements, PyTorch allocates one of the shape that it needs.
bool is_room_to_be_made(const Call& call, const std::string& name, const Value& result) {
  auto* value = std::get_if<Tensor>(&result);
  if (value == nullptr || !value->defined() || call.is_complex(name)) return false;
  const Tensor target = call.tensor(name);
  return target.count() == 0 && target.shape() != value->shape();
}

Results written_to_last(const Call& call, const Results& results) {
  const std::vector<Argument>& arguments = call.node().arguments;
  require(arguments.size() > results.size(), "[exported] ", call.node().target,
          " writes to tensors that are given, and has ", arguments.size(), " arguments");
  Results all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& name = arguments[arguments.size() - results.size() + i].name;
    if (is_room_to_be_made(call, name, results[i]))
      all.push_back(std::get<Tensor>(results[i]).to(call.tensor(name).dtype()).clone());
    else
      all.push_back(written(call, name, results[i]));
  }
  return all;
}

Results written_to_first(const Call& call, const Results& results) {
  require(!call.node().arguments.empty() && results.size() == 1, "[exported] ", call.node().target,
          " writes in place, and has no argument or not one result");
  return {written(call, call.node().arguments.front().name, results[0])};
}

}  // namespace

Results NamedOperator::real_results(const Call& call) const {
  require(row_ != nullptr, "[exported] ", call.node().target,
          " is of complex tensors, and is given real ones");
  return row_->compute(call);
}

Results NamedOperator::of_part(const Call& call, Part part) const {
  const Call seen = call.of(part);
  Results results = row_->compute(seen);
  call.take_asked(seen);
  return results;
}

Results NamedOperator::complex_results(const Call& call) const {
  using enum ComplexMeaning::How;
  switch (complex_.how) {
    case none:
      raise_error(concat("[exported] ", call.node().target,
                         " is given complex numbers, for which it is not supported"));
    case same: return row_->compute(call);
    case row: return complex_.row->compute(call);
    case of_magnitudes: return of_part(call, Part::magnitude);
    case of_truth: return of_part(call, Part::truth);
    case of_real_parts: return of_part(call, Part::real);
    case of_parts:
    case of_real_part_without_imaginary: break;
  }
  Results results = of_part(call, Part::real);
  const Results imaginary =
      complex_.how == of_parts ? of_part(call, Part::imaginary) : Results(results.size());
  check(results.size() == imaginary.size(), "parts have different results");
  for (std::size_t i = 0; i < results.size(); ++i)
    if (auto* real = std::get_if<Tensor>(&results[i]); real != nullptr && real->defined()) {
      auto* other = std::get_if<Tensor>(&imaginary[i]);
      results[i] =
          ComplexTensor(*real, other != nullptr ? *other : zeros(real->shape(), real->dtype()));
    }
  return results;
}

Results NamedOperator::compute(const Call& call, bool program_writes) const {
  Results results = call.takes_complex() ? complex_results(call) : real_results(call);
  if (written_ == Written::first) return written_to_first(call, results);
  if (written_ == Written::last) return written_to_last(call, results);
  if (!must_own_ || !program_writes) return results;
  const std::vector<Tensor> operands = call.operands();
  for (Value& result : results) {
    if (auto* both = std::get_if<ComplexTensor>(&result)) *both = both->clone();
    if (auto* tensor = std::get_if<Tensor>(&result); tensor != nullptr && tensor->defined())
      if ((row_ != nullptr && is_creation(*row_)) || is_of_one(operands, *tensor))
        *tensor = tensor->clone();
  }
  return results;
}

std::vector<ValueId> NamedOperator::written_by(const Node& node) const {
  if (written_ == Written::nothing || node.arguments.size() < node.results.size()) return {};
  const std::size_t start =
      written_ == Written::first ? 0 : node.arguments.size() - node.results.size();
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.results.size(); ++i)
    if (auto* named = std::get_if<TensorName>(&node.arguments[start + i].value))
      values.push_back(named->id);
  return values;
}

std::optional<NamedOperator> find_operator(std::string_view name) {
  for (const OperatorName& each : names_of(name)) {
    const Operator* row = row_of(each.row);
    const NamedOperator op(row, complex_meaning(each.row, row != nullptr), each.written,
                           each.must_own);
    if (op.is_known()) return op;
  }
  return std::nullopt;
}

std::vector<std::span<const Operator>> operator_families() {
  return {arrangement_operators(),
          arithmetic_operators(),
          complex_creation_operators(),
          composite_operators(),
          control_operators(),
          convolution_operators(),
          creation_operators(),
          fourier_operators(),
          function_operators(),
          gradient_operators(),
          histogram_operators(),
          indexing_operators(),
          joining_operators(),
          linear_algebra_operators(),
          loss_operators(),
          matrix_norm_operators(),
          normalisation_operators(),
          ordering_operators(),
          pooling_operators(),
          product_operators(),
          quantile_operators(),
          quantisation_operators(),
          random_operators(),
          recurrent_operators(),
          reduction_operators(),
          reinterpretation_operators(),
          resampling_operators(),
          run_operators(),
          scan_operators(),
          scatter_operators(),
          short_time_operators(),
          signal_window_operators(),
          size_operators(),
          special_operators(),
          spectrum_operators(),
          vision_operators()};
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  return names;
}

}  // namespace tilewright::exported
