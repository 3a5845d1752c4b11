// Losses of scores for classes, under the names of torch.nn.functional.
//
// Scores are floating, [N, C] with C classes, or [C] of one sample, whose target is [] or [1], and
// where it says so [N, C, ..]; targets are i32, i64 or u8, one for each place. Those of 16 bits are
// computed in f32, and the result is rounded once. A target outside the classes is an `Error`; in a
// compiled function as Options::index_checks says, else it counts as ignored. Safe to call from
// several threads.
#pragma once

#include <utility>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct ClassLossOptions {
  Tensor weight = {};                             // [C], of each target's class
  std::int64_t ignore_index = -100;               // places with this target count nothing
  LossReduction reduction = LossReduction::mean;  // a mean is over the weights of the targets
};
// Minus the score of each target, which is a logarithm; scores [N, C, ..], targets [N, ..].
Tensor nll_loss(const TensorOperand& scores, const Tensor& targets,
                const ClassLossOptions& options = {});
// With what a mean divides by, the sum of the weights of the targets, without axes, as the loss'
// derivative wants it; 0 where nothing is reduced. PyTorch's nll_loss_forward.
std::pair<Tensor, Tensor> nll_loss_forward(const TensorOperand& scores, const Tensor& targets,
                                           const ClassLossOptions& options = {});

// The cross entropy of scores [N, C, ..], of which log_softmax is taken over the classes, with
// targets [N, ..], or with floating ones of the scores' shape, which are probabilities; beside
// those no index is ignored, and a mean is over the places. The weight [C] may be undefined. (That
// of tensor.h keeps no probabilities in memory for scores [N, C]; of others it is this one.)
Tensor cross_entropy(const TensorOperand& scores, const Tensor& targets, const Tensor& weight,
                     const CrossEntropyOptions& options = {});

struct MarginOptions {
  double order = 1, margin = 1;
  Tensor weight = {};  // [C], of each target's class
  LossReduction reduction = LossReduction::mean;
};
// The mean over classes (scores without axes have one) of max(0, margin - the target's score + the
// class's)^order, but for the target's own.
Tensor multi_margin_loss(const TensorOperand& scores, const Tensor& targets,
                         const MarginOptions& options = {});
// Targets [N, C] are classes up to the first -1. The sum, over pairs of a target and a class that
// is not a target, of max(0, 1 - the target's score + the class's), by C.
Tensor multilabel_margin_loss(const TensorOperand& scores, const Tensor& targets,
                              LossReduction reduction = LossReduction::mean);
// Targets [N, C] are floating, 0 or 1: the mean over classes of the cross entropy of each with the
// sigmoid of its score, times a weight [C].
Tensor multilabel_soft_margin_loss(const TensorOperand& scores, const Tensor& targets,
                                   const Tensor& weight = {},
                                   LossReduction reduction = LossReduction::mean);

}  // namespace tilewright
