#include "graph/functions/derivatives/losses.h"

#include "graph/functions/derivatives/rule_tables.h"
#include "graph/ir/location.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// By how much a loss of elements, of which it is the mean or the sum, changes with each.
double share_of(LossReduction reduction, const Tensor& elements) {
  return reduction == LossReduction::mean ? 1 / static_cast<double>(elements.count()) : 1;
}
void require_floating(const char* name, const Tensor& x, const Tensor& target, source_location w) {
  require(is_floating(x.dtype()) && is_floating(target.dtype()), "[", name, "] x is ", x.dtype(),
          ", the target ", target.dtype(), " (at ", At{w}, "); both must be floating");
}

// A loss that is a square up to a distance and a line from there on.
struct Bent {
  double bend, slope_of_square, slope_of_line;
};
Tensor bent_gradient(const Tensor& gradient, const Tensor& x, const Tensor& target,
                     LossReduction reduction, const Bent& bent) {
  const DType wide = accumulator(x.dtype());
  const Tensor distance = x.to(wide) - target.to(wide);
  const double share = share_of(reduction, distance);
  const Tensor line = where(distance < 0.0, -bent.slope_of_line, bent.slope_of_line);
  const Tensor slope = where(abs(distance) < bent.bend, distance * bent.slope_of_square, line);
  return (slope * share * gradient.to(wide)).to(x.dtype());
}

}  // namespace

Tensor mse_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                         LossReduction reduction, source_location w) {
  require_floating("mse_loss_backward", x, target, w);
  const DType wide = accumulator(x.dtype());
  const Tensor distance = x.to(wide) - target.to(wide);
  return (distance * (2 * share_of(reduction, distance)) * gradient.to(wide)).to(x.dtype());
}
Tensor smooth_l1_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                               LossReduction reduction, double beta, source_location w) {
  require_floating("smooth_l1_loss_backward", x, target, w);
  return bent_gradient(gradient, x, target, reduction, {beta, 1 / beta, 1});
}
Tensor huber_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                           LossReduction reduction, double delta, source_location w) {
  require_floating("huber_loss_backward", x, target, w);
  return bent_gradient(gradient, x, target, reduction, {delta, 1, delta});
}
Tensor binary_cross_entropy_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                                     const Tensor& weight, LossReduction reduction,
                                     source_location w) {
  require_floating("binary_cross_entropy_backward", x, target, w);
  const DType wide = accumulator(x.dtype());
  const Tensor y = x.to(wide);
  Tensor slope = (y - target.to(wide)) / maximum((1.0 - y) * y, 1e-12);
  if (weight.defined()) slope = slope * weight.to(wide);
  return (slope * share_of(reduction, x) * gradient.to(wide)).to(x.dtype());
}

Tensor nll_loss_backward(const Tensor& gradient, const Tensor& x, const Tensor& target,
                         const LikelihoodGradientOptions& options, source_location w) {
  const int axis = x.rank() == 1 ? 0 : 1;
  require(x.rank() >= 1 && target.count() * x.size(axis) == x.count(),
          "[nll_loss_backward] the target is [", target.shape(), "], for scores [", x.shape(),
          "] (at ", At{w}, "); a class for each place is wanted");
  require(options.reduction != LossReduction::mean || options.total_weight.defined(),
          "[nll_loss_backward] the total weight is undefined (at ", At{w},
          "); a mean was divided by one");
  const std::int64_t classes = x.size(axis), ignored = options.ignore_index;
  graph::require_inside(
      target, {"nll_loss_backward", graph::IndexRange::Noun::target, 0, classes, w, ignored});
  Shape of_places = x.shape(), of_classes(x.shape().size(), 1);
  of_places[axis] = 1;
  of_classes[axis] = classes;
  const Tensor named = target.to(DType::i64).reshape(of_places);
  const Tensor is_target =
      logical_and(arange(0, classes).reshape(of_classes) == named, named != ignored);
  Tensor change =
      options.reduction == LossReduction::none ? gradient.reshape(of_places) : gradient.reshape({});
  if (options.reduction == LossReduction::mean) change = change / options.total_weight.reshape({});
  if (options.weight.defined()) change = change * options.weight.reshape(of_classes);
  return where(is_target, -change, 0).to(x.dtype());
}

namespace graph::rules {

namespace {

// The softmax of each row less its target, so that no element is added to alone.
std::vector<Tensor> of_cross_entropy(const RuleCall& call) {
  const Tensor &logits = call[0], &classes = call[1], &gradient = call.cotangents[0];
  const double smoothing = call.numbers[1];
  const std::int64_t width = logits.size(1);
  const Tensor ignored = classes == static_cast<std::int64_t>(call.numbers[0]);
  const Tensor of_row = where(ignored, 0.0, gradient).unsqueeze(1);
  const Tensor is_target = classes.unsqueeze(1) == arange(0, width, 1, classes.dtype());
  Tensor target = is_target.to(logits.dtype());
  if (smoothing != 0) target = target * (1 - smoothing) + smoothing / static_cast<double>(width);
  return {(softmax(logits, 1) - target) * of_row};
}

constexpr Rule loss_rules[] = {{.name = "cross entropy of rows", .cotangents = of_cross_entropy}};

}  // namespace

std::span<const Rule> of_losses() { return loss_rules; }

}  // namespace graph::rules

}  // namespace tilewright
