#include "graph/functions/reducing/class_losses.h"

#include <functional>
#include <optional>

#include "graph/functions/named/named_function.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/places.h"
#include "graph/functions/pointwise/ruled_formula.h"
#include "graph/functions/reducing/loss_reduction.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::FunctionCall;
using graph::Terms;
using std::source_location;

namespace {

// Scores with classes as axis 1 and the class of each place.
struct ClassScores {
  std::string_view name;
  Formula scores;
  Tensor targets;
  DType dtype;
  source_location where;

  std::int64_t classes() const { return scores.tensor().size(1); }
  Shape places() const {
    Shape sizes = scores.tensor().shape();
    sizes.erase(sizes.begin() + 1);
    return sizes;
  }
  Formula reshaped(const Tensor& x, const Shape& sizes) const {
    return {graph::reshape_operand(x, sizes, where), where};
  }
  Formula like_scores(const Tensor& x) const {
    return {graph::broadcast_to(x, scores.tensor().shape(), name, where), where};
  }
  // The number of each class, beside the scores.
  Formula numbers() const {
    Shape sizes(scores.tensor().shape().size(), 1);
    sizes[1] = classes();
    Tensor all = arange(0, classes(), 1, targets.dtype(), where);
    return like_scores(reshaped(all, sizes).tensor());
  }
  // True if a class is the target of the place.
  Formula is_target() const {
    Shape sizes = scores.tensor().shape();
    sizes[1] = 1;
    return numbers() == like_scores(reshaped(targets, sizes).tensor());
  }
  // The one of x where `chosen`, over the classes.
  Formula named(const Formula& chosen, const Formula& x) const {
    return {sum({choice(chosen, x, 0).tensor(), where}, {1}), where};
  }
  // The class of each place; -1 where it is ignored, or none of the classes.
  Formula counted_classes(std::int64_t ignored) const {
    const Formula given(targets, where);
    const Formula counts = (given >= 0) & (given < given.number(classes()));
    return choice(counts & (given != given.number(ignored)), given, -1);
  }
  // The elements of x, taken row-major, with these numbers, in the dtype of the scores; 0 for -1.
  Formula elements_at(const Formula& numbers, const Tensor& x) const {
    const Shape& sizes = numbers.tensor().shape();
    if (numbers.tensor().count() == 0 || x.count() == 0)
      return {graph::constant(scores.dtype(), sizes, 0, where), where};
    const Tensor table = graph::reshape_operand(x, {x.count(), 1}, where);
    const Tensor flat = reshaped(numbers.tensor(), {numbers.tensor().count()}).tensor();
    const Tensor found = graph::apply(graph::Op::embedding, {table, flat}, {}, where);
    return reshaped(found.to(scores.dtype(), where), sizes);
  }
  // The element of x, which is as the scores were given, for each class that is counted; else 0.
  Formula scores_at(const Formula& counted, const Tensor& x) const {
    const Shape sizes = places();
    const DType dtype = x.count() <= INT32_MAX ? DType::i32 : DType::i64;
    Formula number = graph::places_along(sizes, 0, where, dtype);
    number = number * number.number(classes()) + counted.to(dtype);
    for (int axis = 1; axis < sizes.rank(); ++axis)
      number = number * number.number(sizes[axis]) + graph::places_along(sizes, axis, where, dtype);
    return elements_at(choice(counted < 0, -1, number), x);
  }
  // Nothing where there is no weight; 0 for classes that are not counted.
  std::optional<Formula> weights_at(const Formula& counted, const Tensor& weight) const {
    if (!weight.defined()) return std::nullopt;
    require_weight(weight);
    return elements_at(counted, weight);
  }
  void require_weight(const Tensor& weight) const {
    require(weight.shape() == Shape{classes()}, "[", name, "] the weight is ", weight.shape(),
            ", the scores ", scores.tensor().shape(), " (at ", At{where}, "); it must be ",
            Shape{classes()});
  }
  Formula weights(const Tensor& weight) const {
    if (!weight.defined()) return scores.number(1);
    require_weight(weight);
    Shape sizes(scores.tensor().shape().size(), 1);
    sizes[1] = classes();
    return like_scores(reshaped(weight.to(scores.dtype(), where), sizes).tensor());
  }
};

ClassScores site_of(std::string_view name, const TensorOperand& scores, const Tensor& targets,
                    bool takes_one_score = false) {
  source_location w = scores.where;
  Terms terms = graph::loss_terms(name, {&scores});
  Tensor classes = graph::tensor_of({targets, w}, name), x = terms[0].tensor();
  if (classes.dtype() == DType::u8) classes = classes.to(DType::i64, w);
  require(classes.dtype() == DType::i32 || classes.dtype() == DType::i64, "[", name,
          "] targets are ", classes.dtype(), " (at ", At{w}, "); they must be i32, i64 or u8");
  require(x.rank() > 0 || takes_one_score, "[", name, "] the scores have no axes (at ", At{w},
          "); they must be [C] or [N, C]");
  if (x.rank() <= 1) {
    x = graph::reshape_operand(x, {1, x.count()}, w);
    if (classes.rank() == 0) classes = graph::reshape_operand(classes, {1}, w);
  }
  return {name, {x, w}, classes, terms.dtype, w};
}

void require_places(const ClassScores& site) {
  require(site.targets.shape() == site.places(), "[", site.name, "] targets are ",
          site.targets.shape(), ", scores are ", site.scores.tensor().shape(), " (at ",
          At{site.where}, "); there must be a target for each place, ", site.places());
}

void require_classes(const ClassScores& site, std::optional<std::int64_t> ignored) {
  graph::require_inside(site.targets, {std::string(site.name), graph::IndexRange::Noun::target, 0,
                                       site.classes(), site.where, ignored});
}

// A loss of scores, targets and a weight, which may be undefined, as one operation.
using LossFunction =
    std::function<Tensor(const TensorOperand& scores, const Tensor& targets, const Tensor& weight)>;
Tensor loss_at_once(std::string_view name, const TensorOperand& scores, const Tensor& targets,
                    const Tensor& weight, const std::vector<Number>& settings,
                    const LossFunction& loss) {
  const Tensor operands[] = {scores.tensor, targets, weight};
  source_location w = scores.where;
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {loss({t[0], w}, t[1], t[2])};
  };
  return graph::apply_function(name, operands, settings, function, w).front();
}

Formula sum_of_all(const Formula& x) { return {sum({x.tensor(), x.where()}), x.where()}; }
Formula sum_of_classes(const Formula& x) { return {sum({x.tensor(), x.where()}, {1}), x.where()}; }

// A loss of each sample, without an axis where one sample was given.
Tensor of_samples(const Formula& loss, int rank_of_scores, LossReduction reduction, DType dtype) {
  Formula each = loss;
  if (rank_of_scores <= 1) each = {each.tensor().reshape({}, loss.where()), loss.where()};
  return graph::reduced_loss(each, reduction, dtype);
}

LossReduction reduction_of(const FunctionCall& call) {
  return static_cast<LossReduction>(call.settings.integer("reduction"));
}

std::vector<Tensor> nll_loss_body(const FunctionCall& call) {
  const ClassScores site = site_of("nll_loss", {call[0], call.where}, call[1]);
  const LossReduction reduction = reduction_of(call);
  const Formula classes = site.counted_classes(call.settings.integer("ignore_index"));
  const std::optional<Formula> weights = site.weights_at(classes, call[2]);
  Formula loss = -site.scores_at(classes, call[0]);
  if (weights) loss = loss * *weights;
  if (reduction != LossReduction::mean)
    return {of_samples(loss, call[0].rank(), reduction, site.dtype)};
  Formula divisor = weights ? *weights : choice(classes >= 0, loss.number(1), 0);
  return {(sum_of_all(loss) / sum_of_all(divisor)).to(site.dtype).tensor()};
}

}  // namespace

namespace graph::named {
extern const NamedFunction nll_loss_function;
const NamedFunction nll_loss_function("nll_loss", nll_loss_body);
}  // namespace graph::named

Tensor nll_loss(const TensorOperand& scores, const Tensor& targets,
                const ClassLossOptions& options) {
  if (const graph::AutocastCall cast("nll_loss", scores.where); cast.is_listed())
    return nll_loss(cast(scores), targets, options);
  const auto& [class_weight, ignored, reduction] = options;
  ClassScores checked = site_of("nll_loss", scores, targets);
  require_places(checked);
  require_classes(checked, ignored);
  return graph::named::nll_loss_function(
      {scores.tensor, graph::tensor_of({targets, scores.where}, "nll_loss"), class_weight},
      {{"ignore_index", ignored}, {"reduction", static_cast<std::int64_t>(reduction)}},
      scores.where)[0];
}

std::pair<Tensor, Tensor> nll_loss_forward(const TensorOperand& scores, const Tensor& targets,
                                           const ClassLossOptions& options) {
  const Tensor loss = nll_loss(scores, targets, options);
  const DType dtype = scores.tensor.dtype(), wide = accumulator(dtype);
  if (options.reduction == LossReduction::none) return {loss, zeros({}, dtype)};
  const Tensor named = targets.to(DType::i64), counts = named != options.ignore_index;
  Tensor each = counts.to(wide);
  if (options.weight.defined()) {
    const Tensor table = options.weight.reshape({options.weight.count(), 1});
    const Tensor weights = embedding(where(counts, named, 0), table).reshape(named.shape());
    each = each * weights.to(wide);
  }
  return {loss, sum(each).to(dtype)};
}

namespace {

// (1 - s) of the target's part and s of the mean of all classes.
Formula smoothed(const Formula& own, const Formula& of_all, double share, std::int64_t classes) {
  if (share == 0) return own;
  return own * (1 - share) + of_all * (share / static_cast<double>(classes));
}

Tensor entropy_of_probabilities(const ClassScores& site, const Tensor& targets, const Formula& each,
                                int rank, const CrossEntropyOptions& options) {
  Formula truth = site.reshaped(targets, site.scores.tensor().shape()).to(each.dtype());
  Formula shares = smoothed(truth, truth.number(1), options.label_smoothing, site.classes());
  return of_samples(-sum_of_classes(each * shares), rank, options.reduction, site.dtype);
}
Tensor entropy_of_classes(const ClassScores& site, const Formula& each, const Tensor& weight,
                          int rank, const CrossEntropyOptions& options) {
  const auto ignored = static_cast<double>(options.ignore_index);
  Formula chosen = site.is_target() & (site.numbers() != ignored);
  Formula counts(site.targets != TensorOperand(options.ignore_index, site.where), site.where);
  Formula all = choice(counts, sum_of_classes(each), 0);
  Formula loss = -smoothed(site.named(chosen, each), all, options.label_smoothing, site.classes());
  if (options.reduction != LossReduction::mean)
    return of_samples(loss, rank, options.reduction, site.dtype);
  Formula divisor = site.named(chosen, site.weights(weight));
  return (sum_of_all(loss) / sum_of_all(divisor)).to(site.dtype).tensor();
}

// With probabilities the targets of the site are not looked at.
ClassScores entropy_site(const TensorOperand& scores, const Tensor& targets) {
  bool are_classes = !is_floating(targets.dtype());
  return site_of("cross_entropy", scores,
                 are_classes ? targets : zeros({}, DType::i64, scores.where));
}

std::vector<Tensor> cross_entropy_body(const FunctionCall& call) {
  CrossEntropyOptions options;
  options.label_smoothing = call.settings.number("label_smoothing");
  options.ignore_index = call.settings.integer("ignore_index");
  options.reduction = reduction_of(call);
  const Tensor &targets = call[1], &weight = call[2];
  const ClassScores site = entropy_site({call[0], call.where}, targets);
  const Formula log_p(log_softmax({site.scores.tensor(), call.where}, 1), call.where);
  const Formula each = log_p * site.weights(weight);
  const int rank = call[0].rank();
  return {is_floating(targets.dtype())
              ? entropy_of_probabilities(site, targets, each, rank, options)
              : entropy_of_classes(site, each, weight, rank, options)};
}

}  // namespace

namespace graph::named {
extern const NamedFunction cross_entropy_function;
const NamedFunction cross_entropy_function("cross_entropy", cross_entropy_body);
}  // namespace graph::named

Tensor cross_entropy(const TensorOperand& scores, const Tensor& targets, const Tensor& weight,
                     const CrossEntropyOptions& options) {
  if (const graph::AutocastCall cast("cross_entropy_loss", scores.where); cast.is_listed())
    return cross_entropy(cast(scores), cast(targets), cast(weight), options);
  source_location w = scores.where;
  const double share = options.label_smoothing;
  require(share >= 0 && share <= 1, "[cross_entropy] label_smoothing is ", share, " (at ", At{w},
          "); it must be in [0, 1]");
  const Tensor given = graph::tensor_of({targets, w}, "cross_entropy");
  const bool are_classes = !is_floating(given.dtype());
  ClassScores checked = entropy_site(scores, given);
  if (are_classes) {
    require_places(checked);
    require_classes(checked, options.ignore_index);
  }
  require(are_classes || given.shape() == scores.tensor.shape(), "[cross_entropy] targets are ",
          given.shape(), ", scores are ", scores.tensor.shape(), " (at ", At{w},
          "); probabilities must have the shape of the scores");
  return graph::named::cross_entropy_function(
      {scores.tensor, given, weight},
      {{"label_smoothing", share},
       {"ignore_index", options.ignore_index},
       {"reduction", static_cast<std::int64_t>(options.reduction)}},
      w)[0];
}

Tensor multi_margin_loss(const TensorOperand& scores, const Tensor& targets,
                         const MarginOptions& options) {
  if (const graph::AutocastCall cast("multi_margin_loss", scores.where); cast.is_listed())
    return multi_margin_loss(cast(scores), targets, options);
  ClassScores checked = site_of("multi_margin_loss", scores, targets, true);
  require(checked.scores.tensor().rank() == 2, "[multi_margin_loss] scores are ",
          checked.scores.tensor().shape(), " (at ", At{checked.where},
          "); they must be [C] or [N, C]");
  require_places(checked);
  require_classes(checked, std::nullopt);
  const auto& [order, margin, class_weight, reduction] = options;
  auto loss_of = [&](const TensorOperand& x, const Tensor& t, const Tensor& weight) {
    ClassScores site = site_of("multi_margin_loss", x, t, true);
    const std::int64_t samples = site.scores.tensor().size(0);
    Formula chosen = site.is_target();
    auto beside = [&](const Formula& x) {
      return site.like_scores(site.reshaped(x.tensor(), {samples, 1}).tensor());
    };
    Formula own = beside(site.named(chosen, site.scores));
    Formula over = graph::positive_part(margin - own + site.scores);
    Formula power(pow({over.tensor(), site.where}, order), site.where);
    if (weight.defined()) power = power * beside(site.named(chosen, site.weights(weight)));
    Formula loss(mean({choice(chosen, 0, power).tensor(), site.where}, {1}), site.where);
    return of_samples(loss, x.tensor.rank(), reduction, site.dtype);
  };
  return loss_at_once("multi_margin_loss", scores, targets, class_weight,
                      {order, margin, static_cast<int>(reduction)}, loss_of);
}

namespace {

ClassScores labels_site(const TensorOperand& scores, const Tensor& targets) {
  ClassScores site = site_of("multilabel_margin_loss", scores, targets, true);
  source_location w = site.where;
  const Shape shape = site.scores.tensor().shape();
  if (scores.tensor.rank() <= 1 && site.targets.count() == shape[1])
    site.targets = graph::reshape_operand(site.targets, shape, w);
  require(shape.rank() == 2 && site.targets.shape() == shape,
          "[multilabel_margin_loss] scores are ", shape, ", targets ", site.targets.shape(),
          " (at ", At{w}, "); both must be [N, C], or [C]");
  return site;
}

// A table for each sample, of its targets and its classes.
Tensor labels_loss(const TensorOperand& scores, const Tensor& targets, LossReduction reduction) {
  ClassScores site = labels_site(scores, targets);
  source_location w = site.where;
  const Shape shape = site.scores.tensor().shape();
  const std::int64_t samples = shape[0], classes = shape[1];
  if (classes == 0)
    return of_samples({zeros({samples}, site.scores.dtype(), w), w}, scores.tensor.rank(),
                      reduction, site.dtype);
  auto spread = [&](const Formula& x, const Shape& sizes) {
    Tensor aligned = site.reshaped(x.tensor(), sizes).tensor();
    return Formula(graph::broadcast_to(aligned, {samples, classes, classes}, site.name, w), w);
  };
  const Shape by_target = {samples, classes, 1}, by_class = {samples, 1, classes};
  Formula given(site.targets, w), number = site.numbers();
  Formula ends = choice(given == -1, number, static_cast<double>(classes));
  Formula end(amin({ends.tensor(), w}, {1}, true), w);
  Formula counts = number < site.like_scores(end.tensor());
  Formula is_pair =
      (spread(given, by_target) == spread(number, by_class)) & spread(counts, by_target);
  Formula score = spread(site.scores, by_class);
  Formula own(sum({choice(is_pair, score, 0).tensor(), w}, {2}), w);
  Formula is_target(any({is_pair.tensor(), w}, {1}), w);
  Formula over = graph::positive_part(1 - spread(own, by_target) + score);
  Formula is_counted = spread(counts, by_target) & !spread(is_target, by_class);
  Formula total(sum({choice(is_counted, over, 0).tensor(), w}, {1, 2}), w);
  return of_samples(total / static_cast<double>(classes), scores.tensor.rank(), reduction,
                    site.dtype);
}

}  // namespace

Tensor multilabel_margin_loss(const TensorOperand& scores, const Tensor& targets,
                              LossReduction reduction) {
  if (const graph::AutocastCall cast("multilabel_margin_loss", scores.where); cast.is_listed())
    return multilabel_margin_loss(cast(scores), targets, reduction);
  require_classes(labels_site(scores, targets), -1);
  auto loss_of = [&](const TensorOperand& x, const Tensor& t, const Tensor&) {
    return labels_loss(x, t, reduction);
  };
  return loss_at_once("multilabel_margin_loss", scores, targets, {}, {static_cast<int>(reduction)},
                      loss_of);
}

Tensor multilabel_soft_margin_loss(const TensorOperand& scores, const Tensor& targets,
                                   const Tensor& weight, LossReduction reduction) {
  constexpr std::string_view name = "multilabel_soft_margin_loss";
  TensorOperand truth(targets, scores.where);
  Terms terms = graph::loss_terms(name, {&scores, &truth});
  const Formula x = terms[0];
  require(x.tensor().rank() > 0, "[", name, "] the scores have no axes (at ", At{scores.where},
          "); they must be [C] or [N, C]");
  if (weight.defined()) {
    Tensor converted = weight.to(x.dtype(), scores.where);
    terms.terms.emplace_back(graph::broadcast_to(converted, x.tensor().shape(), name, scores.where),
                             scores.where);
  }
  auto formula = [](const Terms& all) {
    const Formula &logit = all[0], &t = all[1];
    // log(1 - sigmoid(x)) is log(sigmoid(x)) - x.
    Formula loss = (1 - t) * logit - graph::log_of_sigmoid(logit);
    if (all.terms.size() > 2) loss = loss * all[2];
    return Formula(mean({loss.tensor(), loss.where()}, {-1}), loss.where());
  };
  return graph::computed_loss(name, terms, formula, reduction);
}

}  // namespace tilewright
