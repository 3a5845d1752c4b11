// The table from PyTorch's operators to what computes them: by the name of an overload, as exported
// programs have it, a function of a call. Each family of operators is a file of rows.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

struct Operator {
  // `compute` is a lambda that takes a Call and gives a Tensor, a number, a pair or vector of
  // Tensors, or Results.
  template <typename F>
  requires(!std::is_pointer_v<F>) constexpr Operator(std::string_view name, F)
      : name(name), compute([](const Call& call) { return as_results(F{}(call)); }) {}

  std::string_view name;
  Results (*compute)(const Call& call);

 private:
  static Results as_results(Results results) { return results; }
  static Results as_results(Value value) {
    Results results;
    results.push_back(std::move(value));
    return results;
  }
  static Results as_results(std::pair<Tensor, Tensor> both) {
    return {Value(std::move(both.first)), Value(std::move(both.second))};
  }
  static Results as_results(std::vector<Tensor> tensors) {
    return {std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end())};
  }
};

// A function as such a lambda.
template <auto function>
inline constexpr auto by = [](const Call& call) { return function(call); };

// The operator of that name, "aten.add.Tensor", or none.
const Operator* find_operator(std::string_view name);
// Of all families, for tests and reports.
std::vector<std::string_view> operator_names();

// The families, each defined in the file of its name.
std::span<const Operator> arrangement_operators();
std::span<const Operator> arithmetic_operators();
std::span<const Operator> composite_operators();
std::span<const Operator> control_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> creation_operators();
std::span<const Operator> function_operators();
std::span<const Operator> indexing_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> ordering_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> product_operators();
std::span<const Operator> random_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> resampling_operators();
std::span<const Operator> scan_operators();
std::span<const Operator> scatter_operators();
std::span<const Operator> size_operators();

}  // namespace tilewright::exported
