#include "models/onnx/learners/scores.h"

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/learners/encoding.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {

Tensor list_of_floats(const std::vector<double>& numbers) {
  std::vector<float> floats(numbers.begin(), numbers.end());
  return constant_of(floats, {std::ssize(floats)});
}
Tensor samples_of(const Call& call) {
  Tensor x = call.tensor(0);
  return is_floating(x.dtype()) && x.dtype() != f64 ? x : x.to(f32);
}

namespace {

ScoreTransform transform_of(const Call& call) {
  const std::string post = call.text("post_transform", "NONE");
  using enum ScoreTransform;
  for (const auto& [name, transform] : {std::pair{"NONE", none},
                                        {"SOFTMAX", softmax},
                                        {"LOGISTIC", logistic},
                                        {"SOFTMAX_ZERO", softmax_of_nonzero},
                                        {"PROBIT", probit}})
    if (post == name) return transform;
  call.refuse("post_transform", "is none of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT");
}

}  // namespace

Tensor transformed(const Call& call, const Tensor& scores) {
  return transformed_scores(scores, transform_of(call));
}

Tensor both_scores(const Call& call, const Tensor& score, bool is_share) {
  const ScoreTransform transform = transform_of(call);
  if (transform == ScoreTransform::probit)
    call.refuse("post_transform", "is PROBIT, which one score of two classes cannot have");
  return scores_of_two(score, transform, is_share);
}

std::vector<std::int64_t> labels_of(const Call& call, std::string_view integers,
                                    std::string_view texts) {
  if (call.has(texts) && !call.texts(texts).empty())
    call.refuse(texts, "has labels that are texts, which are not supported; export with integers");
  const Shape labels = call.integers(integers, Shape{});
  require(!labels.empty(), "[onnx] the attribute \"", integers, "\" has no labels");
  return {labels.begin(), labels.end()};
}
Tensor labelled(const Tensor& number, const std::vector<std::int64_t>& labels) {
  return tilewright::index(constant_of(labels, {std::ssize(labels)}), {number});
}

}  // namespace tilewright::onnx
