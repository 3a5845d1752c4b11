// Losses of scores for classes.
#include "graph/functions/reducing/class_losses.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace loss_rows {
namespace {

Tensor loss(const Call& call, const Tensor& scores) {
  ClassLossOptions options{.weight = call.optional_tensor(2),
                           .ignore_index = call.integer("ignore_index", INT64_MIN)};
  std::string reduction = call.text("reduction", "mean");
  if (reduction == "sum") options.reduction = LossReduction::sum;
  if (reduction == "none") options.reduction = LossReduction::none;
  if (reduction != "sum" && reduction != "none" && reduction != "mean")
    call.refuse("reduction", "is none of mean, sum and none");
  return nll_loss(scores, call.tensor(1), options);
}

std::vector<Tensor> softmax_loss(const Call& call) {
  Tensor logarithms = log_softmax(call.tensor(0), 1);
  return {loss(call, logarithms), logarithms};
}

constexpr Operator rows[] = {
    {"NegativeLogLikelihoodLoss", 12, [](const Call& c) { return loss(c, c.tensor(0)); }},
    {"SoftmaxCrossEntropyLoss", 12, by<softmax_loss>},
};

}  // namespace
}  // namespace loss_rows

std::span<const Operator> loss_operators() { return loss_rows::rows; }

}  // namespace tilewright::onnx
