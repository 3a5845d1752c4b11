// Norms of layers, groups and batches, with what they were normalised by where a program uses it.
#include "graph/functions/reducing/norms.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace normalisation_rows {
namespace {

struct Affine {
  Tensor weight, bias;
};
Affine affine_of(const Call& call) {
  return {call.optional_tensor("weight"), call.optional_tensor("bias")};
}

// One result alone where nothing reads the others, which cost a kernel each when run at once.
bool wants_statistics(const Call& call) { return call.wants(1) || call.wants(2); }

// In the dtype of the weights, which are those of x unless x is of 16 bits.
Results with_statistics(const NormResult& all, const Tensor& x, const Tensor& weight) {
  DType dtype = weight.defined() ? weight.dtype() : x.dtype();
  return {all.output, all.mean.to(dtype), all.rstd.to(dtype)};
}

Results layer_normalised(const Call& call) {
  Tensor x = call.tensor("input");
  auto [weight, bias] = affine_of(call);
  Shape last = call.integers("normalized_shape");
  double eps = call.number("eps");
  if (!wants_statistics(call)) return {layer_norm(x, last, weight, bias, eps), Value(), Value()};
  return with_statistics(native_layer_norm(x, last, weight, bias, eps), x, weight);
}

Results group_normalised(const Call& call) {
  Tensor x = call.tensor("input");
  auto [weight, bias] = affine_of(call);
  std::int64_t groups = call.integer("group"),
               count = call.integer("N") * call.integer("C") * call.integer("HxW");
  double eps = call.number("eps");
  require(count == x.count(), "[exported] a norm of groups is of ", count,
          " elements; the tensor has ", x.count());
  if (!wants_statistics(call)) return {group_norm(x, groups, weight, bias, eps), Value(), Value()};
  return with_statistics(native_group_norm(x, groups, weight, bias, eps), x, weight);
}

// By the statistics that were learned.
Results batch_normalised(const Call& call) {
  auto [weight, bias] = affine_of(call);
  call.has("momentum");
  Tensor y = batch_norm_inference(call.tensor("input"), call.tensor("running_mean"),
                                  call.tensor("running_var"), weight, bias, call.number("eps"));
  const DType dtype = y.dtype() == f64 ? f64 : f32;
  return {y, zeros({0}, dtype), zeros({0}, dtype)};
}

// By those of this batch.
BatchNormResult trained(const Call& call) {
  auto [weight, bias] = affine_of(call);
  return batch_norm_training(call.tensor("input"), weight, bias,
                             call.optional_tensor("running_mean"),
                             call.optional_tensor("running_var"),
                             {.momentum = call.number("momentum"), .eps = call.number("eps")});
}
Results batch_trained(const Call& call) {
  if (!call.flag("training", true)) {
    Results results = batch_normalised(call);
    results.insert(results.end(), {call.tensor("running_mean"), call.tensor("running_var")});
    return results;
  }
  BatchNormResult all = trained(call);
  return {all.output, all.mean, all.rstd, all.running_mean, all.running_variance};
}
Results batch_with_update(const Call& call) {
  BatchNormResult all = trained(call);
  Tensor reserve = zeros({0}, u8);
  return {all.output, all.mean, all.rstd, reserve, all.running_mean, all.running_variance};
}
Results batch_without_statistics(const Call& call) {
  if (!call.flag("training", true)) call.refuse("training", "is false, without statistics");
  BatchNormResult all = trained(call);
  return {all.output, all.mean, all.rstd};
}

// The running statistics are written to, where a batch is learned from.
void learn(const Call& call, const BatchNormResult& all) {
  if (all.running_mean.defined()) call.tensor("running_mean").copy_from(all.running_mean);
  if (all.running_variance.defined()) call.tensor("running_var").copy_from(all.running_variance);
}
Results batch_learned(const Call& call) {
  if (!call.flag("training", true)) return batch_normalised(call);
  BatchNormResult all = trained(call);
  learn(call, all);
  return {all.output, all.mean, all.rstd};
}
Results batch_learned_with_reserve(const Call& call) {
  BatchNormResult all = trained(call);
  learn(call, all);
  return {all.output, all.mean, all.rstd, zeros({0}, u8)};
}

constexpr Operator rows[] = {
    {"aten.native_batch_norm.default", by<batch_learned>},
    {"aten._native_batch_norm_legit.default", by<batch_learned>},
    {"aten._batch_norm_with_update.default", by<batch_learned_with_reserve>},
    {"aten.native_layer_norm.default", by<layer_normalised>},
    {"aten.native_group_norm.default", by<group_normalised>},
    {"aten._native_batch_norm_legit_no_training.default", by<batch_normalised>},
    {"aten._native_batch_norm_legit_functional.default", by<batch_trained>},
    {"aten._batch_norm_with_update_functional.default", by<batch_with_update>},
    {"aten._native_batch_norm_legit.no_stats", by<batch_without_statistics>},
};

}  // namespace
}  // namespace normalisation_rows

std::span<const Operator> normalisation_operators() { return normalisation_rows::rows; }

}  // namespace tilewright::exported
