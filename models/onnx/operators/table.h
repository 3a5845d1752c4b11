// The table from ONNX's operators to what computes them: by name, and the operator set since which
// it has this meaning, a function of a call. Each family of operators is a file of rows.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

struct Operator {
  // `compute` is a lambda that takes a Call and gives a Tensor or Value, or a pair, vector of
  // these, or Results.
  template <typename F>
  requires(!std::is_pointer_v<F>) constexpr Operator(std::string_view name, std::int64_t since, F)
      : name(name), since(since), compute([](const Call& call) { return as_results(F{}(call)); }) {}

  std::string_view name;
  std::int64_t since;
  Results (*compute)(const Call& call);

 private:
  static Results as_results(Results results) { return results; }
  static Results as_results(Value value) {
    Results results;
    results.push_back(std::move(value));
    return results;
  }
  static Results as_results(Tensor tensor) { return as_results(Value(std::move(tensor))); }
  static Results as_results(Known known) { return as_results(Value(std::move(known))); }
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

// What the operator of that name means in that operator set, or nothing.
const Operator* find_operator(std::string_view name, std::int64_t opset);
// Of all families, for tests and reports.
std::vector<std::string_view> operator_names();

// What the node computes of numbers that the host knows, where it is one of the operators by which
// programs compute sizes; else nothing.
std::optional<Results> folded(const Call& call);

// The families, each defined in the file of its name, those of attention in models/onnx/attention,
// those of control flow and sequences in models/onnx/control, those of ai.onnx.ml in
// models/onnx/learners, those of com.microsoft, which are ONNX Runtime's own, in
// models/onnx/runtime.
std::span<const Operator> activation_operators();
std::span<const Operator> arithmetic_operators();
std::span<const Operator> arrangement_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> control_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> creation_operators();
std::span<const Operator> encoder_operators();
std::span<const Operator> function_operators();
std::span<const Operator> indexing_operators();
std::span<const Operator> learner_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> product_operators();
std::span<const Operator> quantisation_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> runtime_attention_operators();
std::span<const Operator> runtime_fused_operators();
std::span<const Operator> runtime_packed_operators();
std::span<const Operator> runtime_quantised_operators();
std::span<const Operator> resizing_operators();
std::span<const Operator> sampling_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> vector_operators();

}  // namespace tilewright::onnx
