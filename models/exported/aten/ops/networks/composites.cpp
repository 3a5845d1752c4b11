// Layers of networks under the names of torch.nn.functional, as programs have them that were
// exported without run_decompositions().
#include "graph/functions/attending/general_attention.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/shaping/axes.h"
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

Tensor mask_of(const Call& call) {
  return call.optional_tensor(call.has("attn_bias") ? "attn_bias" : "attn_mask");
}

GeneralAttentionOptions options_of(const Call& call) {
  GeneralAttentionOptions options{.mask = mask_of(call)};
  if (call.flag("is_causal", false)) options.first_place = 0;
  if (call.has("scale")) options.scale = call.number("scale");
  return options;
}
Tensor attended(const Call& call) {
  if (call.number("dropout_p", 0) != 0) call.refuse("dropout_p", "is not 0, which is for training");
  call.flag("enable_gqa", false);  // which the heads say
  const GeneralAttentionOptions options = options_of(call);
  if (options.first_place && options.mask.defined())
    call.refuse("is_causal", "is true, with a mask");
  return general_attention(call.tensor("query"), call.tensor("key"), call.tensor("value"), options);
}
// Of each query the logarithm of the sum of its exponentials, f32 [N, heads, queries].
Tensor log_sums(const Call& call) {
  return attention_logsumexp(call.tensor("query"), call.tensor("key"), options_of(call));
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
  return flatten(call.tensor("self"), call.axis("start_dim", 0), call.axis("end_dim", -1));
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
Tensor instance_normalised(const Call& call) {
  call.flag("cudnn_enabled", true);
  return instance_norm(call.tensor("input"), call.optional_tensor("running_mean"),
                       call.optional_tensor("running_var"), call.optional_tensor("weight"),
                       call.optional_tensor("bias"), call.flag("use_input_stats", true),
                       {.momentum = call.number("momentum", 0.1), .eps = call.number("eps", 1e-5)});
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
