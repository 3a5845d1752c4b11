// Losses, of elements and of classes, and the distances that some of them are made of.
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/distances.h"
#include "graph/functions/reducing/element_losses.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace loss_rows {
namespace {

LossReduction reduction_of(const Call& call) {
  switch (call.integer("reduction", 1)) {
    case 0: return LossReduction::none;
    case 1: return LossReduction::mean;
    case 2: return LossReduction::sum;
    default: call.refuse("reduction", "must be 0 (none), 1 (mean) or 2 (sum)");
  }
}

using ElementLoss = Tensor (*)(const TensorOperand&, const TensorOperand&, LossReduction);
template <ElementLoss loss>
constexpr auto of_elements =
    [](const Call& c) { return loss(c.tensor("self"), c.tensor("target"), reduction_of(c)); };

ClassLossOptions class_options(const Call& call) {
  return {.weight = call.optional_tensor("weight"),
          .ignore_index = call.integer("ignore_index", -100),
          .reduction = reduction_of(call)};
}
Tensor likelihood_loss(const Call& call) {
  return nll_loss(call.tensor("self"), call.tensor("target"), class_options(call));
}
std::pair<Tensor, Tensor> likelihood_with_total(const Call& call) {
  return nll_loss_forward(call.tensor("self"), call.tensor("target"), class_options(call));
}
Tensor entropy_loss(const Call& call) {
  ClassLossOptions of_classes = class_options(call);
  CrossEntropyOptions options;
  options.ignore_index = of_classes.ignore_index;
  options.label_smoothing = call.number("label_smoothing", 0);
  options.reduction = of_classes.reduction;
  return cross_entropy(call.tensor("self"), call.tensor("target"), of_classes.weight, options);
}

// The entropy of a linear layer's result, as PyTorch computes it in pieces of the batch. How large
// these are, and what its own backward pass keeps, says nothing here.
Tensor entropy_of_linear(const Call& call, LossReduction reduction) {
  for (const char* name :
       {"batch_chunk_size", "acc_policy", "acc_dtype", "allow_retain_graph", "compute_input_grad",
        "compute_linear_weight_grad", "compute_linear_bias_grad"})
    call.has(name);
  CrossEntropyOptions options;
  options.ignore_index = call.integer("ignore_index");
  options.label_smoothing = call.number("label_smoothing", 0);
  options.reduction = reduction;
  const Tensor scores = linear(call.tensor("input"), call.tensor("linear_weight"),
                               call.optional_tensor("linear_bias"));
  return cross_entropy(scores, call.tensor("target"), call.optional_tensor("weight"), options);
}
Results entropy_in_pieces(const Call& call) {
  for (std::size_t result : {1, 2, 3})
    if (call.wants(result)) call.refuse("compute_input_grad", "is true, and its result is read");
  const std::string reduction = call.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum")
    call.refuse("reduction", "must be \"mean\" or \"sum\"");
  return {entropy_of_linear(call, reduction == "sum" ? LossReduction::sum : LossReduction::mean),
          Value(), Value(), Value()};
}

Tensor divergence(const Call& call) {
  DivergenceOptions options{.log_target = call.flag("log_target", false)};
  switch (reduction_of(call)) {
    case LossReduction::none: options.reduction = DivergenceReduction::none; break;
    case LossReduction::mean: options.reduction = DivergenceReduction::mean; break;
    case LossReduction::sum: options.reduction = DivergenceReduction::sum; break;
  }
  return kl_div(call.tensor("self"), call.tensor("target"), options);
}

constexpr Operator rows[] = {
    {"aten.l1_loss.default", of_elements<l1_loss>},
    {"aten.mse_loss.default", of_elements<mse_loss>},
    {"aten.soft_margin_loss.default", of_elements<soft_margin_loss>},
    {"aten.smooth_l1_loss.default",
     [](const Call& c) {
       return smooth_l1_loss(c.tensor("self"), c.tensor("target"), reduction_of(c),
                             c.number("beta", 1));
     }},
    {"aten.huber_loss.default",
     [](const Call& c) {
       return huber_loss(c.tensor("self"), c.tensor("target"), reduction_of(c),
                         c.number("delta", 1));
     }},
    {"aten.kl_div.default", by<divergence>},
    {"aten.binary_cross_entropy.default",
     [](const Call& c) {
       return binary_cross_entropy(c.tensor("self"), c.tensor("target"),
                                   c.optional_tensor("weight"), reduction_of(c));
     }},
    {"aten.binary_cross_entropy_with_logits.default",
     [](const Call& c) {
       return binary_cross_entropy_with_logits(c.tensor("self"), c.tensor("target"),
                                               c.optional_tensor("weight"), reduction_of(c),
                                               c.optional_tensor("pos_weight"));
     }},
    {"aten.poisson_nll_loss.default",
     [](const Call& c) {
       return poisson_nll_loss(c.tensor("input"), c.tensor("target"),
                               {.log_input = c.flag("log_input", true),
                                .full = c.flag("full", false),
                                .eps = c.number("eps", 1e-8),
                                .reduction = reduction_of(c)});
     }},
    {"aten.margin_ranking_loss.default",
     [](const Call& c) {
       return margin_ranking_loss(c.tensor("input1"), c.tensor("input2"), c.tensor("target"),
                                  c.number("margin", 0), reduction_of(c));
     }},
    {"aten.hinge_embedding_loss.default",
     [](const Call& c) {
       return hinge_embedding_loss(c.tensor("self"), c.tensor("target"), c.number("margin", 1),
                                   reduction_of(c));
     }},
    {"aten.cosine_embedding_loss.default",
     [](const Call& c) {
       return cosine_embedding_loss(c.tensor("input1"), c.tensor("input2"), c.tensor("target"),
                                    c.number("margin", 0), reduction_of(c));
     }},
    {"aten.triplet_margin_loss.default",
     [](const Call& c) {
       return triplet_margin_loss(c.tensor("anchor"), c.tensor("positive"), c.tensor("negative"),
                                  {.margin = c.number("margin", 1),
                                   .order = c.number("p", 2),
                                   .eps = c.number("eps", 1e-6),
                                   .swap = c.flag("swap", false),
                                   .reduction = reduction_of(c)});
     }},
    {"aten.nll_loss.default", by<likelihood_loss>},
    {"aten.nll_loss2d.default", by<likelihood_loss>},
    {"aten.nll_loss_nd.default", by<likelihood_loss>},
    {"aten.nll_loss_forward.default", by<likelihood_with_total>},
    {"aten.nll_loss2d_forward.default", by<likelihood_with_total>},
    {"aten.cross_entropy_loss.default", by<entropy_loss>},
    {"torch_nn._linear_cross_entropy_batch_chunked.default", by<entropy_in_pieces>},
    {"torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default",
     [](const Call& c) { return entropy_of_linear(c, LossReduction::none); }},
    {"aten.multi_margin_loss.default",
     [](const Call& c) {
       return multi_margin_loss(c.tensor("self"), c.tensor("target"),
                                {.order = c.number("p", 1),
                                 .margin = c.number("margin", 1),
                                 .weight = c.optional_tensor("weight"),
                                 .reduction = reduction_of(c)});
     }},
    {"aten.multilabel_margin_loss.default",
     [](const Call& c) {
       return multilabel_margin_loss(c.tensor("self"), c.tensor("target"), reduction_of(c));
     }},
    {"aten.cosine_similarity.default",
     [](const Call& c) {
       return cosine_similarity(c.tensor("x1"), c.tensor("x2"), c.axis("dim", 1),
                                c.number("eps", 1e-8));
     }},
    {"aten.pairwise_distance.default",
     [](const Call& c) {
       return pairwise_distance(c.tensor("x1"), c.tensor("x2"), c.number("p", 2),
                                c.number("eps", 1e-6), c.flag("keepdim", false));
     }},
};

}  // namespace
}  // namespace loss_rows

std::span<const Operator> loss_operators() { return loss_rows::rows; }

}  // namespace tilewright::exported
