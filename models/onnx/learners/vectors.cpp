// Support vector machines of ai.onnx.ml (graph/functions/learners/support_vectors.h).
#include <numeric>

#include "graph/functions/learners/encoding.h"
#include "graph/functions/learners/support_vectors.h"
#include "models/files/reader.h"
#include "models/onnx/learners/scores.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace vector_rows {
namespace {

std::vector<float> floats_of(const Call& call, std::string_view name) {
  const std::vector<double> numbers = call.numbers(name, std::vector<double>());
  return {numbers.begin(), numbers.end()};
}

KernelOptions kernel_of(const Call& call) {
  const std::string kind = call.text("kernel_type", "LINEAR");
  const std::vector<double> numbers = call.numbers("kernel_params", std::vector<double>());
  require(numbers.empty() || numbers.size() == 3, "[onnx] the attribute \"kernel_params\" has ",
          numbers.size(), " numbers; three are wanted: gamma, coef0 and degree");
  KernelOptions options;
  if (!numbers.empty()) options = {options.kind, numbers[0], numbers[1], numbers[2]};
  using enum VectorKernel;
  for (const auto& [name, value] :
       {std::pair{"LINEAR", linear}, {"POLY", polynomial}, {"RBF", radial}, {"SIGMOID", sigmoid}})
    if (kind == name) {
      options.kind = value;
      return options;
    }
  call.refuse("kernel_type", "is none of LINEAR, POLY, RBF and SIGMOID");
}

// The kernel of each sample and support vector.
Tensor kernels_of(const Call& call, const Tensor& x, std::int64_t vectors) {
  const std::vector<double> numbers = call.numbers("support_vectors");
  require(x.rank() == 2 && std::ssize(numbers) == vectors * x.size(1), "[onnx] ", numbers.size(),
          " numbers of ", vectors, " support vectors, for samples [", x.shape(),
          "]; each vector has as many as there are features");
  return kernel_values(x, list_of_floats(numbers).reshape({vectors, x.size(1)}), kernel_of(call));
}
// The first offset, which is that of all results of machines without pairs.
Tensor offset_of(const Call& call, std::int64_t results) {
  const std::vector<float> offsets = floats_of(call, "rho");
  require(!offsets.empty(), "[onnx] the attribute \"rho\" has no numbers");
  return full({results}, offsets[0]);
}
// Without support vectors: the coefficients are those of features, for each result.
Tensor linear_scores(const Call& call, const Tensor& x, std::int64_t results) {
  const std::vector<double> weights = call.numbers("coefficients");
  call.has("kernel_type");
  call.has("kernel_params");
  call.has("support_vectors");
  require(x.rank() == 2 && std::ssize(weights) == results * x.size(1), "[onnx] ", weights.size(),
          " coefficients for ", results, " results of samples [", x.shape(),
          "]; one for each feature and result is wanted");
  return linear(x, list_of_floats(weights).reshape({results, x.size(1)}), offset_of(call, results));
}

Tensor regression(const Call& call) {
  const Tensor x = samples_of(call);
  const std::int64_t vectors = call.integer("n_supports", 0);
  const std::vector<float> weights = floats_of(call, "coefficients");
  call.text("post_transform", "NONE");  // which ONNX Runtime passes over here
  require(vectors == 0 || std::ssize(weights) == vectors, "[onnx] ", weights.size(),
          " coefficients of ", vectors, " support vectors; one for each is wanted");
  const Tensor scores = vectors == 0
                            ? linear_scores(call, x, 1)
                            : linear(kernels_of(call, x, vectors),
                                     constant_of(weights, {1, vectors}), offset_of(call, 1));
  return call.flag("one_class", false) ? signs_of_scores(scores) : scores;
}

Results classes(const Call& call) {
  const auto labels = labels_of(call, "classlabels_ints", "classlabels_strings");
  const Tensor x = samples_of(call);
  const Shape per_class = call.integers("vectors_per_class", Shape{});
  const auto count = std::ssize(labels);
  const std::vector<float> a = floats_of(call, "prob_a"), b = floats_of(call, "prob_b");
  const std::int64_t vectors = std::accumulate(per_class.begin(), per_class.end(), std::int64_t{0});
  if (vectors == 0) {
    const Tensor scores = linear_scores(call, x, count);
    return {greatest_labels(scores, labels), transformed(call, scores)};
  }
  require(std::ssize(per_class) == count && count >= 2, "[onnx] ", per_class.size(),
          " numbers of support vectors for ", count,
          " labels; one for each of two or more is "
          "wanted");
  const Tensor scores =
      pairwise_scores(kernels_of(call, x, vectors), {{per_class.begin(), per_class.end()},
                                                     floats_of(call, "coefficients"),
                                                     floats_of(call, "rho")});
  const Tensor label = greatest_labels(pairwise_votes(scores, count), labels);
  if (!a.empty()) return {label, transformed(call, coupled_probabilities(scores, a, b, count))};
  return {label, count == 2 ? both_scores(call, scores, false) : transformed(call, scores)};
}

constexpr Operator rows[] = {
    {"ai.onnx.ml.SVMClassifier", 1, by<classes>},
    {"ai.onnx.ml.SVMRegressor", 1, by<regression>},
};

}  // namespace
}  // namespace vector_rows

std::span<const Operator> vector_operators() { return vector_rows::rows; }

}  // namespace tilewright::onnx
