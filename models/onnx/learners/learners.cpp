// Models of the domain ai.onnx.ml: linear ones and forests, and what prepares their samples. Labels
// are integers; those that are texts have no dtype here.
#include <algorithm>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/learners/encoding.h"
#include "graph/functions/learners/forest.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "models/onnx/learners/forest.h"
#include "models/onnx/learners/scores.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace learner_rows {
namespace {

// For one number, or one for each feature.
Tensor for_features(const Call& call, std::string_view name, double missing, const Tensor& x) {
  const std::vector<double> numbers = call.numbers(name, std::vector<double>{missing});
  require(numbers.size() == 1 || std::ssize(numbers) == x.size(-1), "[onnx] the attribute \"", name,
          "\" has ", numbers.size(), " numbers; one is wanted, or ", x.size(-1));
  return list_of_floats(numbers);
}
Tensor scaled(const Call& call) {
  const Tensor x = samples_of(call);
  return scaled_features(x, for_features(call, "offset", 0, x), for_features(call, "scale", 1, x));
}
RowNorm row_norm(const Call& call) {
  const std::string name = call.text("norm", "MAX");
  for (const auto& [given, norm] :
       {std::pair{"MAX", RowNorm::greatest}, {"L1", RowNorm::l1}, {"L2", RowNorm::l2}})
    if (name == given) return norm;
  call.refuse("norm", "is not one of MAX, L1 and L2");
}

Tensor features_of(const Call& call) {
  const Tensor x = call.tensor(0), places = call.tensor(1).to(i64).reshape({-1});
  require(x.rank() > 0, "[onnx] x is a scalar; it must have an axis of features");
  std::vector<Tensor> indices(static_cast<std::size_t>(x.rank()));
  indices.back() = places;
  Tensor found = tilewright::index(x, indices);
  return x.rank() == 1 ? found.reshape({1, found.count()}) : found;
}

// x w^T + b, with a row of w for each result.
Tensor linear_scores(const Call& call, std::int64_t results) {
  const Tensor x = samples_of(call);
  const std::vector<double> weights = call.numbers("coefficients"),
                            biases = call.numbers("intercepts", std::vector<double>());
  require(x.rank() == 2 && std::ssize(weights) == results * x.size(1) &&
              (biases.empty() || std::ssize(biases) == results),
          "[onnx] ", weights.size(), " coefficients and ", biases.size(), " intercepts for ",
          results, " results of samples [", x.shape(),
          "]; one for each feature and result is "
          "wanted, and one for each result");
  const Tensor w = list_of_floats(weights).reshape({results, x.size(1)});
  return linear(x, w, biases.empty() ? Tensor() : list_of_floats(biases));
}
Tensor linear_regression(const Call& call) {
  return transformed(call, linear_scores(call, call.integer("targets", 1)));
}
Results linear_classes(const Call& call) {
  const auto labels = labels_of(call, "classlabels_ints", "classlabels_strings");
  call.integer("multi_class", 0);
  const auto intercepts = std::ssize(call.numbers("intercepts", std::vector<double>()));
  if (labels.size() == 2 && intercepts == 1) {
    const Tensor score = linear_scores(call, 1), is_second = gt(score, 0.0).to(i64);
    return {labelled(is_second.reshape({score.size(0)}), labels), both_scores(call, score, true)};
  }
  const Tensor scores = linear_scores(call, std::ssize(labels));
  return {greatest_labels(scores, labels), transformed(call, scores)};
}

Tensor with_base(const Call& call, const Tensor& scores) {
  const std::vector<double> base = call.numbers("base_values", std::vector<double>());
  if (base.empty()) return scores;
  require(base.size() == 1 || std::ssize(base) == scores.size(-1), "[onnx] ", base.size(),
          " base values for ", scores.size(-1), " results");
  return add(scores, list_of_floats(base));
}
TreeJoining tree_joining(const Call& call) {
  const std::string name = call.text("aggregate_function", "SUM");
  for (const auto& [given, joining] : {std::pair{"SUM", TreeJoining::sum},
                                       {"AVERAGE", TreeJoining::mean},
                                       {"MIN", TreeJoining::least},
                                       {"MAX", TreeJoining::greatest}})
    if (name == given) return joining;
  call.refuse("aggregate_function", "is not one of SUM, AVERAGE, MIN and MAX");
}
Tensor forest_regression(const Call& call) {
  const Tensor weights = forest_weights(call, "target", call.integer("n_targets", 1));
  return transformed(call, with_base(call, joined_trees(weights, tree_joining(call))));
}
Tensor forest_scores(const Call& call, std::int64_t classes) {
  return joined_trees(forest_weights(call, "class", classes), TreeJoining::sum);
}
// If the leaves of two classes weigh only one of them, that weight decides: a share, which is above
// a half, or a score, which is above 0. That of the first class stands for the second one.
Results two_classes(const Call& call, const std::vector<std::int64_t>& labels, bool is_of_first) {
  const std::string post = call.text("post_transform", "NONE");
  const std::vector<double> weights = call.numbers("class_weights");
  const bool are_shares = std::ranges::all_of(weights, [](double weight) { return weight >= 0; });
  const Tensor all = forest_scores(call, 2);
  auto labels_by = [&](const Tensor& score) {
    const Tensor is_second = gt(score, are_shares ? 0.5 : 0.0).to(i64);
    return labelled(is_second.reshape({score.size(0)}), labels);
  };
  if (!is_of_first) {
    if (call.has("base_values") && !call.numbers("base_values").empty())
      call.refuse("base_values", "is not supported where leaves weigh the second of two classes");
    return {labels_by(all.slice(1, 1, 2)), transformed(call, all)};
  }
  if (post != "NONE" && post != "LOGISTIC")
    call.refuse("post_transform", "is not one of NONE and LOGISTIC, for one score of two classes");
  const Tensor score = with_base(call, all.slice(1, 0, 1)), second = transformed(call, score);
  const bool is_share = are_shares || post == "LOGISTIC";
  const Tensor first = is_share ? rsub(second, 1.0) : -TensorOperand(second);
  return {labels_by(score), cat({first, second}, 1)};
}
Results forest_classes(const Call& call) {
  const auto labels = labels_of(call, "classlabels_int64s", "classlabels_strings");
  const Shape ids = call.integers("class_ids");
  const bool weighs_one =
      !ids.empty() && std::ranges::all_of(ids, [&](std::int64_t id) { return id == ids[0]; });
  if (labels.size() == 2 && weighs_one) return two_classes(call, labels, ids[0] == 0);
  const Tensor scores = with_base(call, forest_scores(call, std::ssize(labels)));
  return {greatest_labels(scores, labels), transformed(call, scores)};
}

constexpr Operator rows[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, by<features_of>},
    {"ai.onnx.ml.Binarizer", 1,
     [](const Call& c) { return binarized(c.tensor(0), c.number("threshold", 0)); }},
    {"ai.onnx.ml.LinearClassifier", 1, by<linear_classes>},
    {"ai.onnx.ml.LinearRegressor", 1, by<linear_regression>},
    {"ai.onnx.ml.Normalizer", 1,
     [](const Call& c) { return normalized_rows(samples_of(c), row_norm(c)); }},
    {"ai.onnx.ml.Scaler", 1, by<scaled>},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, by<forest_classes>},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, by<forest_regression>},
};

}  // namespace
}  // namespace learner_rows

std::span<const Operator> learner_operators() { return learner_rows::rows; }

}  // namespace tilewright::onnx
