// Layers of networks under the names of torch.nn.functional, as programs have them that were
// exported without run_decompositions().
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace composite_rows {
namespace {

// A tensor that is such already is the result itself, unless a copy is asked for.
Tensor converted(const Call& call, DType dtype) {
  Tensor x = call.tensor("self");
  const bool copies = call.flag("copy", false);
  return copies && x.dtype() == dtype ? x.clone() : x.to(dtype);
}
Tensor with_dtype(const Call& call) {
  return converted(call, call.dtype().value_or(call.tensor("self").dtype()));
}
Tensor as_other(const Call& call) { return converted(call, call.tensor("other").dtype()); }

template <Tensor (*function)(const TensorOperand&, int)>
constexpr auto along_axis = [](const Call& c) { return function(with_dtype(c), c.axis("dim")); };

// The mask is added to the scores, or says which of them count.
Tensor masked(const Tensor& scores, const Tensor& mask) {
  if (!is_boolean(mask.dtype())) return scores + mask;
  return where(mask, scores, -std::numeric_limits<double>::infinity());
}

// Each head of keys or values as often as there are queries of it.
Tensor for_each_query(const Tensor& x, std::int64_t heads) {
  const std::int64_t own = x.size(-3);
  if (own == heads) return x;
  require(own > 0 && heads % own == 0, "[exported] ", heads, " heads of queries share ", own,
          " heads of keys; the one must be a multiple of the other");
  Shape spread = x.shape(), sizes = x.shape();
  spread.insert(spread.end() - 2, heads / own);
  sizes[x.rank() - 3] = heads;
  return x.unsqueeze(-3).expand(spread).reshape(sizes);
}

Tensor mask_of(const Call& call) {
  return call.optional_tensor(call.has("attn_bias") ? "attn_bias" : "attn_mask");
}

Tensor attended(const Call& call) {
  Tensor q = call.tensor("query"), k = call.tensor("key"), v = call.tensor("value"),
         mask = mask_of(call);
  if (call.number("dropout_p", 0) != 0) call.refuse("dropout_p", "is not 0, which is for training");
  bool is_causal = call.flag("is_causal", false), is_grouped = call.flag("enable_gqa", false);
  std::optional<double> scale;
  if (call.has("scale")) scale = call.number("scale");
  if (is_causal && mask.defined()) call.refuse("is_causal", "is true, with a mask");
  bool has_form = q.rank() == 4 && k.rank() == 4 && k.shape() == v.shape() &&
                  q.size(0) == k.size(0) && q.size(3) == k.size(3);
  if (has_form && (is_grouped || q.size(1) == k.size(1)))
    return scaled_dot_product_attention(q, k, v,
                                        {.causal = is_causal, .scale = scale, .mask = mask});
  if (is_grouped) {
    k = for_each_query(k, q.size(-3));
    v = for_each_query(v, q.size(-3));
  }
  if (is_causal) mask = arange(0, q.size(-2)).unsqueeze(1) >= arange(0, k.size(-2));
  double factor = scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  // Of 16 bits too in f32, until they are multiplied again.
  const DType wide = size_bytes(q.dtype()) == 2 ? f32 : q.dtype();
  Tensor scores = matmul(q, k.transpose(-2, -1), wide) * factor;
  if (!mask.defined()) return matmul(softmax(scores, -1).to(v.dtype()), v);
  // A row that sees nothing is 0.
  scores = masked(scores, mask);
  Tensor sees_nothing = amax(scores, {-1}, true) == -std::numeric_limits<double>::infinity();
  return matmul(where(sees_nothing, 0.0, softmax(scores, -1)).to(v.dtype()), v);
}

// Of each query the logarithm of the sum of its exponentials, f32 [N, heads, queries].
Tensor log_sums(const Call& call) {
  Tensor q = call.tensor("query"), k = call.tensor("key"), mask = mask_of(call);
  const double factor =
      call.has("scale") ? call.number("scale") : 1 / std::sqrt(static_cast<double>(q.size(-1)));
  Tensor scores = matmul(q, k.transpose(-2, -1), f32) * factor;
  if (call.flag("is_causal", false))
    scores = masked(scores, arange(0, q.size(-2)).unsqueeze(1) >= arange(0, k.size(-2)));
  if (mask.defined()) scores = masked(scores, mask);
  return logsumexp(scores, {-1});
}

// As devices have it: beside the result what training wants, of which the first is there.
template <std::size_t results>
Results attended_on_device(const Call& call) {
  (void)call.has("compute_log_sumexp");
  if (call.flag("return_debug_mask", false))
    call.refuse("return_debug_mask", "is true; the mask of a device's kernel is not there");
  Results all(results);
  all[0] = attended(call);
  if (call.wants(1)) all[1] = log_sums(call);
  return all;
}

Tensor flattened(const Call& call) {
  Tensor x = call.tensor("self");
  int rank = std::max(x.rank(), 1), first = call.axis("start_dim", 0),
      last = call.axis("end_dim", -1);
  auto start = normalise_axis(first, rank), end = normalise_axis(last, rank);
  require(start && end && *start <= *end, "[exported] axes ", first, " to ", last, " of [",
          x.shape(), "] cannot be flattened");
  if (x.rank() == 0) return x.reshape({1});
  Shape sizes(x.shape().begin(), x.shape().begin() + *start);
  std::int64_t together = 1;
  for (int axis = *start; axis <= *end; ++axis) together *= x.shape()[axis];
  sizes.push_back(together);
  sizes.insert(sizes.end(), x.shape().begin() + *end + 1, x.shape().end());
  return x.reshape(sizes);
}

Tensor layer_normalised(const Call& call) {
  call.flag("cudnn_enable", true);
  return layer_norm(call.tensor("input"), call.integers("normalized_shape"),
                    call.optional_tensor("weight"), call.optional_tensor("bias"),
                    call.number("eps", 1e-5));
}
Tensor group_normalised(const Call& call) {
  call.flag("cudnn_enabled", true);
  return group_norm(call.tensor("input"), call.integer("num_groups"),
                    call.optional_tensor("weight"), call.optional_tensor("bias"),
                    call.number("eps", 1e-5));
}
// In training by the statistics of this batch, which change those that were learned.
Tensor batch_normalised(const Call& call) {
  call.flag("cudnn_enabled", true);
  return batch_norm(call.tensor("input"), call.optional_tensor("running_mean"),
                    call.optional_tensor("running_var"), call.optional_tensor("weight"),
                    call.optional_tensor("bias"), call.flag("training", false),
                    {.momentum = call.number("momentum", 0.1), .eps = call.number("eps", 1e-5)});
}
// What was learned moves on to the mean, over the batch, of each instance's statistics.
void learn_instances(const Tensor& x, Tensor mean, Tensor variance, double momentum) {
  std::vector<int> axes;
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  auto [variances, means] = var_mean(x, axes, 1);
  auto move = [&](Tensor& learned, const Tensor& seen) {
    learned.copy_from(
        (learned * (1 - momentum) + tilewright::mean(seen, {0}) * momentum).to(learned.dtype()));
  };
  move(mean, means);
  move(variance, variances);
}
Tensor instance_normalised(const Call& call) {
  call.flag("cudnn_enabled", true);
  const double momentum = call.number("momentum", 0.1);
  Tensor x = call.tensor("input"), weight = call.optional_tensor("weight"),
         bias = call.optional_tensor("bias");
  const double eps = call.number("eps", 1e-5);
  Tensor mean = call.optional_tensor("running_mean"),
         variance = call.optional_tensor("running_var");
  if (!call.flag("use_input_stats", true))
    return batch_norm_inference(x, mean, variance, weight, bias, eps);
  Tensor y = instance_norm(x, weight, bias, eps);
  if (mean.defined() && variance.defined()) learn_instances(x, mean, variance, momentum);
  return y;
}
Tensor rms_normalised(const Call& call) {
  std::optional<double> eps;
  if (call.has("eps")) eps = call.number("eps");
  return rms_norm(call.tensor("input"), call.integers("normalized_shape"),
                  call.optional_tensor("weight"), eps);
}

constexpr Operator rows[] = {
    {"aten.linear.default",
     [](const Call& c) {
       return linear(c.tensor("input"), c.tensor("weight"), c.optional_tensor("bias"));
     }},
    {"aten.matmul.default",
     [](const Call& c) { return matmul(c.tensor("self"), c.tensor("other")); }},
    {"aten.scaled_dot_product_attention.default", by<attended>},
    {"aten.layer_norm.default", by<layer_normalised>},
    {"aten.group_norm.default", by<group_normalised>},
    {"aten.batch_norm.default", by<batch_normalised>},
    {"aten.rms_norm.default", by<rms_normalised>},
    {"aten.instance_norm.default", by<instance_normalised>},
    {"aten._scaled_dot_product_cudnn_attention.default", by<attended_on_device<9>>},
    {"aten._scaled_dot_product_efficient_attention.default", by<attended_on_device<4>>},
    {"aten._scaled_dot_product_flash_attention.default", by<attended_on_device<9>>},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", by<attended_on_device<2>>},
    {"aten._scaled_dot_product_fused_attention_overrideable.default", by<attended_on_device<9>>},
    {"aten.softmax.int", along_axis<softmax>},
    {"aten.log_softmax.int", along_axis<log_softmax>},
    {"aten.flatten.using_ints", by<flattened>},
    {"aten.contiguous.default", [](const Call& c) { return c.tensor("self").contiguous(); }},
    {"aten.to.dtype", by<with_dtype>},
    {"aten.to.dtype_layout", by<with_dtype>},
    {"aten.to.device", by<with_dtype>},
    {"aten.to.prim_Device", by<with_dtype>},
    {"aten.to.prim_dtype", by<with_dtype>},
    {"aten.to.other", by<as_other>},
    {"aten.type_as.default", by<as_other>},
    {"aten.masked_fill.Scalar",
     [](const Call& c) {
       return masked_fill(c.tensor("self"), c.tensor("mask"), c.operand("value"));
     }},
    {"aten.masked_fill.Tensor",
     [](const Call& c) {
       return masked_fill(c.tensor("self"), c.tensor("mask"), c.tensor("value"));
     }},
    {"aten.index_fill.int_Tensor",
     [](const Call& c) {
       return index_fill(c.tensor("self"), c.axis("dim"), c.tensor("index"), c.tensor("value"));
     }},
    {"aten.take_along_dim.default",
     [](const Call& c) {
       std::optional<int> axis;
       if (c.has("dim")) axis = c.axis("dim");
       return take_along_dim(c.tensor("self"), c.tensor("indices"), axis);
     }},
    {"aten.one_hot.default",
     [](const Call& c) { return one_hot(c.tensor("self"), c.integer("num_classes", -1)); }},
    {"aten.fliplr.default", [](const Call& c) { return fliplr(c.tensor("self")); }},
    {"aten.flipud.default", [](const Call& c) { return flipud(c.tensor("self")); }},
    {"aten.hardsigmoid.default", [](const Call& c) { return hardsigmoid(c.tensor("self")); }},
    {"aten.hardswish.default", [](const Call& c) { return hardswish(c.tensor("self")); }},
    {"aten.mish.default", [](const Call& c) { return mish(c.tensor("self")); }},
    {"aten.softplus.default",
     [](const Call& c) {
       return softplus(c.tensor("self"), c.number("beta", 1), c.number("threshold", 20));
     }},
};

}  // namespace
}  // namespace composite_rows

std::span<const Operator> composite_operators() { return composite_rows::rows; }

}  // namespace tilewright::exported
