// Losses, composed of other operations. Their own part is checking operands.
#include <sstream>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/ruled_functions.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using graph::At;
using std::source_location;

void require_fitting(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options, source_location w) {
  require(is_floating(logits.dtype()), "[cross_entropy] logits are ", logits.dtype(), " (at ",
          At{w}, "); they must be of a floating type");
  require(targets.shape() == Shape{logits.size(0)}, "[cross_entropy] targets are ", targets.shape(),
          ", logits are ", logits.shape(), " (at ", At{w}, "); there must be one target a row, [",
          logits.size(0), "]");
  require(targets.dtype() == DType::i32 || targets.dtype() == DType::i64,
          "[cross_entropy] targets are ", targets.dtype(), " (at ", At{w},
          "); they must be i32, i64 or u8");
  require(options.label_smoothing >= 0 && options.label_smoothing <= 1,
          "[cross_entropy] label_smoothing is ", options.label_smoothing, " (at ", At{w},
          "); it must be in [0, 1]");
}

void require_classes(const Tensor& targets, std::int64_t classes, std::int64_t ignored,
                     source_location w) {
  graph::require_inside(targets,
                        {"cross_entropy", graph::IndexRange::Noun::target, 0, classes, w, ignored});
}

// [rows], 0 of those that are ignored. By rows: one program goes through a row: its highest logit
// and the sum of exponentials, and reads the one logit that the target names. Probabilities are
// never in memory.
Tensor losses_of_rows(const Tensor& given, const Tensor& classes,
                      const CrossEntropyOptions& options, source_location w) {
  const std::int64_t rows = given.size(0), width = given.size(1);
  Tensor x = given.to(given.dtype() == DType::f64 ? DType::f64 : DType::f32, w);
  Tensor top = amax({x, w}, {1}, true);
  Tensor total = sum({exp({x - top, w}), w}, {1}, true);
  Tensor normaliser = (top + tilewright::log({total, w})).reshape({rows}, w);

  Tensor counts = classes != options.ignore_index;
  DType narrow = rows * width <= INT32_MAX ? DType::i32 : DType::i64;
  Tensor is_class = (TensorOperand{classes, w} >= 0) & (TensorOperand{classes, w} < width);
  Tensor index =
      where({is_class, w}, classes.to(narrow, w) + arange(0, rows * width, width, narrow, w), -1);
  Tensor named = graph::elements_at(given, index, w);
  Tensor loss = normaliser - named.to(x.dtype(), w);
  if (options.label_smoothing != 0)
    loss = loss * (1 - options.label_smoothing) +
           (normaliser - mean({x, w}, {1})) * options.label_smoothing;
  return where({counts, w}, loss, 0.0);
}

}  // namespace

Tensor cross_entropy(const TensorOperand& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  if (const graph::AutocastCall cast("cross_entropy_loss", logits.where); cast.is_listed())
    return cross_entropy(cast(logits), cast(targets), options);
  source_location w = logits.where;
  const Tensor& given = graph::tensor_of(logits, "cross_entropy");
  Tensor classes = graph::tensor_of({targets, w}, "cross_entropy");
  if (classes.dtype() == DType::u8) classes = classes.to(DType::i64, w);
  const bool are_probabilities = is_floating(classes.dtype()) && classes.shape() == given.shape();
  if (given.rank() != 2 || are_probabilities)
    return cross_entropy(logits, targets, Tensor(), options);
  require_fitting(given, classes, options, w);
  std::int64_t rows = given.size(0), width = given.size(1);
  require_classes(classes, width, options.ignore_index, w);

  Tensor loss = graph::with_rule(
      "cross entropy of rows", {given, classes}, {options.ignore_index, options.label_smoothing},
      [&](std::span<const Tensor> of) { return losses_of_rows(of[0], of[1], options, w); }, w);
  if (options.reduction != LossReduction::none) loss = sum({loss, w});
  if (options.reduction == LossReduction::mean) {
    // The rows to ignore get a comparison of their own, so that `counts` stays in the program of
    // each row.
    Tensor ignored = classes == options.ignore_index;
    loss = loss / (static_cast<double>(rows) - sum({ignored.to(loss.dtype(), w), w}));
  }
  return loss.to(given.dtype(), w);
}

}  // namespace tilewright
