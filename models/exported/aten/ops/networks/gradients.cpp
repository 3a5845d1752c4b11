// Derivatives, as programs of training steps have them: from the gradient of a result to those of
// operands (graph/functions/derivatives).
#include <array>

#include "graph/functions/derivatives/activations.h"
#include "graph/functions/derivatives/attention.h"
#include "graph/functions/derivatives/convolution.h"
#include "graph/functions/derivatives/indexing.h"
#include "graph/functions/derivatives/losses.h"
#include "graph/functions/derivatives/norms.h"
#include "graph/functions/derivatives/pooling.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace gradient_rows {
namespace {

Tensor gradient_of(const Call& call) { return call.tensor("grad_output"); }

// Which gradients a program asks for by flags. The others are no results, as programs name none
// for them, or none where they do.
WantedGradients wanted(const Call& call) {
  const std::vector<bool> mask = call.flags("output_mask");
  if (mask.size() != 3)
    call.refuse("output_mask", concat("has ", mask.size(), " flags; 3 are wanted"));
  return {mask[0], mask[1], mask[2]};
}
Results results_of(const Call& call, const OperandGradients& gradients) {
  const std::vector<bool> mask = call.flags("output_mask");
  const bool names_all = call.node().results.size() == mask.size();
  Results results;
  for (const Tensor& each : {gradients.x, gradients.weight, gradients.bias})
    if (each.defined())
      results.emplace_back(each);
    else if (names_all)
      results.emplace_back();
  return results;
}

Tensor gelu_gradient(const Call& call) {
  const std::string form = call.text("approximate", "none");
  if (form != "none" && form != "tanh") call.refuse("approximate", "is neither none nor tanh");
  return gelu_backward(gradient_of(call), call.tensor("self"),
                       form == "tanh" ? GeluForm::tanh : GeluForm::erf);
}
Tensor elu_gradient(const Call& call) {
  return elu_backward(gradient_of(call), call.tensor("self_or_result"),
                      {.alpha = call.number("alpha"),
                       .scale = call.number("scale"),
                       .input_scale = call.number("input_scale"),
                       .of_result = call.flag("is_result", false)});
}

Results layer_norm_gradients(const Call& call) {
  return results_of(call,
                    layer_norm_backward(call.tensor("grad_out"),
                                        {.x = call.tensor("input"),
                                         .normalized_shape = call.integers("normalized_shape"),
                                         .mean = call.tensor("mean"),
                                         .rstd = call.tensor("rstd"),
                                         .weight = call.optional_tensor("weight"),
                                         .bias = call.optional_tensor("bias")},
                                        wanted(call)));
}
Results group_norm_gradients(const Call& call) {
  const Tensor x = call.tensor("input");
  const std::int64_t batch = call.integer("N"), channels = call.integer("C"),
                     places = call.integer("HxW"), groups = call.integer("group");
  if (groups < 1 || channels % groups != 0 || batch * channels * places != x.count())
    call.refuse("group", concat("is ", groups, ", of ", batch, " times ", channels, " channels of ",
                                places, " elements, for a tensor [", x.shape(), "]"));
  OperandGradients gradients =
      group_norm_backward(call.tensor("grad_out").reshape({batch, channels, places}),
                          {.x = x.reshape({batch, channels, places}),
                           .mean = call.tensor("mean"),
                           .rstd = call.tensor("rstd"),
                           .weight = call.optional_tensor("weight"),
                           .groups = groups},
                          wanted(call));
  if (gradients.x.defined()) gradients.x = gradients.x.reshape(x.shape());
  return results_of(call, gradients);
}
// In training by the statistics of the batch, else by those that were learned.
Results batch_norm_gradients(const Call& call) {
  BatchNormOperands operands{.x = call.tensor("input"),
                             .mean = {},
                             .weight = call.optional_tensor("weight"),
                             .eps = call.number("eps"),
                             .training = call.flag("train", false)};
  for (const char* name : {"running_mean", "running_var", "save_mean", "save_invstd"})
    (void)call.has(name);
  operands.mean = call.tensor(operands.training ? "save_mean" : "running_mean");
  if (operands.training)
    operands.rstd = call.tensor("save_invstd");
  else
    operands.variance = call.tensor("running_var");
  return results_of(call, batch_norm_backward(call.tensor("grad_out"), operands, wanted(call)));
}

Results attention_gradients(const Call& call) {
  AttentionOperands operands{.query = call.tensor("query"),
                             .key = call.tensor("key"),
                             .value = call.tensor("value"),
                             .output = call.tensor("out"),
                             .logsumexp = call.tensor("logsumexp"),
                             .mask = call.optional_tensor("attn_mask"),
                             .causal = call.flag("is_causal", false)};
  if (call.number("dropout_p", 0) != 0) call.refuse("dropout_p", "is not 0");
  if (call.has("scale")) operands.scale = call.number("scale");
  const AttentionGradients all = attention_backward(call.tensor("grad_out"), operands);
  return {all.query, all.key, all.value};
}

LossReduction reduction_of(const Call& call) {
  const std::int64_t reduction = call.integer("reduction", 1);
  if (reduction < 0 || reduction > 2)
    call.refuse("reduction", "must be 0 (none), 1 (mean) or 2 (sum)");
  return std::array{LossReduction::none, LossReduction::mean,
                    LossReduction::sum}[static_cast<std::size_t>(reduction)];
}
Tensor likelihood_gradient(const Call& call) {
  return nll_loss_backward(gradient_of(call), call.tensor("self"), call.tensor("target"),
                           {.weight = call.optional_tensor("weight"),
                            .total_weight = call.tensor("total_weight"),
                            .ignore_index = call.integer("ignore_index", -100),
                            .reduction = reduction_of(call)});
}

Tensor lookup_gradient(const Call& call) {
  const std::int64_t padding = call.integer("padding_idx", -1);
  return embedding_dense_backward(
      gradient_of(call), call.tensor("indices"), call.integer("num_weights"),
      {.padding_row = padding < 0 ? std::nullopt : std::optional(padding),
       .scale_by_frequency = call.flag("scale_grad_by_freq", false)});
}
std::optional<std::int64_t> bound(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.integer(name)) : std::nullopt;
}
Tensor slice_gradient(const Call& call) {
  return slice_backward(gradient_of(call), call.integers("input_sizes"),
                        {.axis = call.axis("dim"),
                         .start = bound(call, "start"),
                         .end = bound(call, "end"),
                         .step = call.integer("step")});
}

Results convolution_gradients(const Call& call) {
  const Tensor weight = call.tensor("weight");
  const int rank = std::max(weight.rank() - 2, 1);
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  not_negative(call, "output_padding", rank);  // which the sizes of the gradient say
  call.has("bias_sizes");
  return results_of(
      call, convolution_backward(gradient_of(call), call.tensor("input"), weight,
                                 {.stride = positive(call, "stride", rank, ones_of_rank),
                                  .padding = not_negative(call, "padding", rank),
                                  .dilation = positive(call, "dilation", rank, ones_of_rank),
                                  .groups = call.integer("groups", 1),
                                  .transposed = call.flag("transposed", false)},
                                 wanted(call)));
}
Tensor means_gradient(const Call& call) {
  call.has("ceil_mode");  // which the sizes of the gradient say
  AveragePoolOptions options{.stride = call.integers("stride", Shape{}),
                             .padding = call.integers("padding", Shape{}),
                             .count_include_pad = call.flag("count_include_pad", true)};
  if (call.has("divisor_override")) options.divisor_override = call.integer("divisor_override");
  return avg_pool2d_backward(gradient_of(call), call.tensor("self"), call.integers("kernel_size"),
                             options);
}
Tensor maxima_gradient(const Call& call) {
  return max_pool2d_with_indices_backward(gradient_of(call), call.tensor("self"),
                                          call.tensor("indices"), call.integers("kernel_size"),
                                          {.stride = call.integers("stride", Shape{}),
                                           .padding = call.integers("padding", Shape{}),
                                           .dilation = call.integers("dilation", Shape{}),
                                           .ceil_mode = call.flag("ceil_mode", false)});
}

// A function of the gradient and of the operand, or of the result.
template <Tensor (*function)(const Tensor&, const Tensor&, std::source_location)>
constexpr auto of_operand = [](const Call& c) {
  return function(gradient_of(c), c.tensor("self"), std::source_location::current());
};
template <Tensor (*function)(const Tensor&, const Tensor&, std::source_location)>
constexpr auto of_result = [](const Call& c) {
  return function(gradient_of(c), c.tensor("output"), std::source_location::current());
};
template <Tensor (*function)(const Tensor&, const Tensor&, int, std::optional<DType>,
                             std::source_location)>
constexpr auto along_axis = [](const Call& c) {
  return function(gradient_of(c), c.tensor("output"), c.axis("dim"), c.dtype("input_dtype"),
                  std::source_location::current());
};

constexpr Operator rows[] = {
    {"aten.threshold_backward.default",
     [](const Call& c) {
       return threshold_backward(gradient_of(c), c.tensor("self"), c.operand("threshold"));
     }},
    {"aten.hardtanh_backward.default",
     [](const Call& c) {
       return hardtanh_backward(gradient_of(c), c.tensor("self"), c.operand("min_val"),
                                c.operand("max_val"));
     }},
    {"aten.leaky_relu_backward.default",
     [](const Call& c) {
       c.has("self_is_result");
       return leaky_relu_backward(gradient_of(c), c.tensor("self"), c.number("negative_slope"));
     }},
    {"aten.hardsigmoid_backward.default", of_operand<hardsigmoid_backward>},
    {"aten.hardswish_backward.default", of_operand<hardswish_backward>},
    {"aten.sigmoid_backward.default", of_result<sigmoid_backward>},
    {"aten.tanh_backward.default", of_result<tanh_backward>},
    {"aten.silu_backward.default", of_operand<silu_backward>},
    {"aten.log_sigmoid_backward.default",
     [](const Call& c) {
       c.has("buffer");
       return logsigmoid_backward(gradient_of(c), c.tensor("self"));
     }},
    {"aten.gelu_backward.default", by<gelu_gradient>},
    {"aten.elu_backward.default", by<elu_gradient>},
    {"aten.softplus_backward.default",
     [](const Call& c) {
       return softplus_backward(gradient_of(c), c.tensor("self"), c.number("beta"),
                                c.number("threshold"));
     }},
    {"aten._prelu_kernel_backward.default",
     [](const Call& c) {
       return prelu_backward(gradient_of(c), c.tensor("self"), c.tensor("weight"));
     }},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", by<attention_gradients>},
    {"aten._softmax_backward_data.default", along_axis<softmax_backward>},
    {"aten._log_softmax_backward_data.default", along_axis<log_softmax_backward>},
    {"aten.native_dropout_backward.default",
     [](const Call& c) {
       return dropout_backward(gradient_of(c), c.tensor("mask"), c.number("scale"));
     }},
    {"aten.native_layer_norm_backward.default", by<layer_norm_gradients>},
    {"aten.native_group_norm_backward.default", by<group_norm_gradients>},
    {"aten.native_batch_norm_backward.default", by<batch_norm_gradients>},
    {"aten.mse_loss_backward.default",
     [](const Call& c) {
       return mse_loss_backward(gradient_of(c), c.tensor("self"), c.tensor("target"),
                                reduction_of(c));
     }},
    {"aten.smooth_l1_loss_backward.default",
     [](const Call& c) {
       return smooth_l1_loss_backward(gradient_of(c), c.tensor("self"), c.tensor("target"),
                                      reduction_of(c), c.number("beta"));
     }},
    {"aten.huber_loss_backward.default",
     [](const Call& c) {
       return huber_loss_backward(gradient_of(c), c.tensor("self"), c.tensor("target"),
                                  reduction_of(c), c.number("delta"));
     }},
    {"aten.binary_cross_entropy_backward.default",
     [](const Call& c) {
       return binary_cross_entropy_backward(gradient_of(c), c.tensor("self"), c.tensor("target"),
                                            c.optional_tensor("weight"), reduction_of(c));
     }},
    {"aten.nll_loss_backward.default", by<likelihood_gradient>},
    {"aten.nll_loss2d_backward.default", by<likelihood_gradient>},
    {"aten.embedding_dense_backward.default", by<lookup_gradient>},
    {"aten.slice_backward.default", by<slice_gradient>},
    {"aten.select_backward.default",
     [](const Call& c) {
       return select_backward(gradient_of(c), c.integers("input_sizes"), c.axis("dim"),
                              c.integer("index"));
     }},
    {"aten._adaptive_avg_pool2d_backward.default",
     [](const Call& c) { return adaptive_avg_pool2d_backward(gradient_of(c), c.tensor("self")); }},
    {"aten.avg_pool2d_backward.default", by<means_gradient>},
    {"aten.max_pool2d_with_indices_backward.default", by<maxima_gradient>},
    {"aten.convolution_backward.default", by<convolution_gradients>},
};

}  // namespace
}  // namespace gradient_rows

std::span<const Operator> gradient_operators() { return gradient_rows::rows; }

}  // namespace tilewright::exported
