#include "graph/functions/reducing/element_losses.h"

#include <cmath>
#include <numbers>

#include "graph/functions/pointwise/ruled_formula.h"
#include "graph/functions/reducing/loss_reduction.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::computed_loss;
using graph::Formula;
using graph::loss_terms;
using graph::positive_part;
using graph::Terms;

namespace {

// As in PyTorch, which broadcasts no target here: [N] beside [N, 1] would be a loss of N x N pairs.
void require_same_shape(std::string_view name, const TensorOperand& x,
                        const TensorOperand& target) {
  if (target.is_number) return;
  const Shape& given = graph::tensor_of(x, name).shape();
  const Shape& wanted = graph::tensor_of(target, name).shape();
  require(given == wanted, "[", name, "] the input is ", given, ", the target ", wanted, " (at ",
          At{x.where}, "); they must have one shape: reshape or expand one of them");
}

// A loss of the difference from the target.
template <typename F>
Tensor loss_of_difference(std::string_view name, const TensorOperand& x,
                          const TensorOperand& target, LossReduction reduction, F&& formula,
                          const std::vector<Number>& settings = {}) {
  return computed_loss(
      name, loss_terms(name, {&x, &target}), [&](const Terms& t) { return formula(t[0] - t[1]); },
      reduction, settings);
}

}  // namespace

Tensor mse_loss(const TensorOperand& x, const TensorOperand& target, LossReduction reduction) {
  return loss_of_difference("mse_loss", x, target, reduction,
                            [](const Formula& d) { return d * d; });
}
Tensor l1_loss(const TensorOperand& x, const TensorOperand& target, LossReduction reduction) {
  return loss_of_difference("l1_loss", x, target, reduction,
                            [](const Formula& d) { return abs(d); });
}
Tensor smooth_l1_loss(const TensorOperand& x, const TensorOperand& target, LossReduction reduction,
                      double beta) {
  require(beta >= 0, "[smooth_l1_loss] beta is ", beta, " (at ", At{x.where},
          "); it must not be negative");
  if (beta == 0) return l1_loss(x, target, reduction);
  return loss_of_difference("smooth_l1_loss", x, target, reduction,
                            [&](const Formula& d) {
                              return choice(abs(d) < beta, 0.5 * d * d / beta, abs(d) - 0.5 * beta);
                            },
                            {beta});
}
Tensor huber_loss(const TensorOperand& x, const TensorOperand& target, LossReduction reduction,
                  double delta) {
  require(delta > 0, "[huber_loss] delta is ", delta, " (at ", At{x.where},
          "); it must be positive");
  return loss_of_difference("huber_loss", x, target, reduction,
                            [&](const Formula& d) {
                              return choice(abs(d) <= delta, 0.5 * d * d,
                                            delta * (abs(d) - 0.5 * delta));
                            },
                            {delta});
}

namespace {

// t log(t), and 0 at 0.
Formula times_own_log(const Formula& t) {
  return -with_rule("entr", t, {},
                    [](const Formula& of) { return choice(of == 0, 0, -(of * log(of))); });
}

}  // namespace

Tensor kl_div(const TensorOperand& x, const TensorOperand& target,
              const DivergenceOptions& options) {
  Terms terms = loss_terms("kl_div", {&x, &target});
  auto formula = [&](const Terms& t) {
    const Formula &guess = t[0], &truth = t[1];
    return options.log_target ? exp(truth) * (truth - guess) : times_own_log(truth) - truth * guess;
  };
  auto reduced = [&](LossReduction reduction) {
    return computed_loss("kl_div", terms, formula, reduction, {options.log_target});
  };
  switch (options.reduction) {
    case DivergenceReduction::mean: return reduced(LossReduction::mean);
    case DivergenceReduction::sum: return reduced(LossReduction::sum);
    case DivergenceReduction::none: return reduced(LossReduction::none);
    case DivergenceReduction::batchmean: break;
  }
  const Shape& shape = terms[0].tensor().shape();
  require(shape.rank() > 0, "[kl_div] the input has no axes (at ", At{x.where},
          "); a mean over the batch needs axis 0");
  const auto count = static_cast<double>(shape[0]);
  auto of_batch = [&](const Terms& t) {
    return Formula(sum({formula(t).tensor(), t[0].where()}), t[0].where()) / count;
  };
  return graph::computed("kl_div batchmean", terms, of_batch, {options.log_target});
}

namespace {

// The operands of a loss with weights beside, which broadcast to it and may be undefined; these are
// the last terms.
Terms with_weights(std::string_view name, const TensorOperand& x, const TensorOperand& target,
                   std::initializer_list<const Tensor*> weights) {
  Terms terms = loss_terms(name, {&x, &target});
  const Shape& shape = terms[0].tensor().shape();
  for (const Tensor* weight : weights) {
    if (!weight->defined()) continue;
    Tensor converted = weight->to(terms[0].dtype(), x.where);
    terms.terms.emplace_back(graph::broadcast_to(converted, shape, name, x.where), x.where);
  }
  return terms;
}

}  // namespace

Tensor binary_cross_entropy(const TensorOperand& x, const TensorOperand& target,
                            const Tensor& weight, LossReduction reduction) {
  require_same_shape("binary_cross_entropy", x, target);
  constexpr double least = -100;
  auto of_element = [](const Formula& p, const Formula& t) {
    Formula of_one = greater(log(p), p.number(least));
    Formula of_zero = greater(log1p(-p), p.number(least));
    return (t - 1) * of_zero - t * of_one;
  };
  auto formula = [&](const Terms& terms) {
    Formula loss = with_rule("cross entropy of two", terms[0], terms[1], of_element);
    return terms.terms.size() > 2 ? loss * terms[2] : loss;
  };
  return computed_loss("binary_cross_entropy",
                       with_weights("binary_cross_entropy", x, target, {&weight}), formula,
                       reduction);
}

Tensor binary_cross_entropy_with_logits(const TensorOperand& x, const TensorOperand& target,
                                        const Tensor& weight, LossReduction reduction,
                                        const Tensor& pos_weight) {
  constexpr std::string_view name = "binary_cross_entropy_with_logits";
  require_same_shape(name, x, target);
  const bool has_weight = weight.defined(), counts = pos_weight.defined();
  auto formula = [&](const Terms& terms) {
    const Formula &logit = terms[0], &t = terms[1];
    Formula log_sigmoid = graph::log_of_sigmoid(logit);
    if (counts) log_sigmoid = (terms[2] * t - t + 1) * log_sigmoid;
    Formula loss = (1 - t) * logit - log_sigmoid;
    return has_weight ? loss * terms.terms.back() : loss;
  };
  return computed_loss(name, with_weights(name, x, target, {&pos_weight, &weight}), formula,
                       reduction, {has_weight, counts});
}

Tensor poisson_nll_loss(const TensorOperand& x, const TensorOperand& target,
                        const PoissonOptions& options) {
  auto formula = [&](const Terms& terms) {
    const Formula &rate = terms[0], &t = terms[1];
    Formula loss = options.log_input ? exp(rate) - t * rate : rate - t * log(rate + options.eps);
    if (!options.full) return loss;
    Formula stirling = t * log(t) - t + 0.5 * log(2 * std::numbers::pi * t);
    return loss + choice(t <= 1, 0, stirling);
  };
  return computed_loss("poisson_nll_loss", loss_terms("poisson_nll_loss", {&x, &target}), formula,
                       options.reduction, {options.log_input, options.full, options.eps});
}

Tensor gaussian_nll_loss(const TensorOperand& x, const TensorOperand& target,
                         const Tensor& variance, const GaussianOptions& options) {
  constexpr std::string_view name = "gaussian_nll_loss";
  TensorOperand spread(variance, x.where);
  const Shape& shape = graph::tensor_of(x, name).shape();
  const Shape given = graph::tensor_of(spread, name).shape();
  if (given.rank() + 1 == shape.rank() && std::equal(given.begin(), given.end(), shape.begin())) {
    Shape sizes = given;
    sizes.push_back(1);
    spread.tensor = graph::reshape_operand(variance, sizes, x.where);
  }
  auto formula = [&](const Terms& terms) {
    Formula of = with_rule("straight through", terms[2], {}, [&](const Formula& given) {
      return greater(given, given.number(options.eps));
    });
    Formula d = terms[0] - terms[1];
    Formula loss = 0.5 * (log(of) + d * d / of);
    return options.full ? loss + 0.5 * std::log(2 * std::numbers::pi) : loss;
  };
  return computed_loss(name, loss_terms(name, {&x, &target, &spread}), formula, options.reduction,
                       {options.full, options.eps});
}

Tensor soft_margin_loss(const TensorOperand& x, const TensorOperand& target,
                        LossReduction reduction) {
  auto formula = [](const Terms& t) { return -graph::log_of_sigmoid(t[1] * t[0]); };
  const Terms terms = loss_terms("soft_margin_loss", {&x, &target});
  if (!target.is_number)
    require(terms[0].tensor().shape() == x.tensor.shape(), "[soft_margin_loss] the input is ",
            x.tensor.shape(), ", the target ", target.tensor.shape(), " (at ", At{x.where},
            "); the target must have the input's shape, or one that expands to it");
  return computed_loss("soft_margin_loss", terms, formula, reduction);
}
Tensor margin_ranking_loss(const TensorOperand& a, const TensorOperand& b,
                           const TensorOperand& target, double margin, LossReduction reduction) {
  for (const TensorOperand* other : {&b, &target}) {
    if (other->is_number) continue;
    require(other->tensor.rank() == a.tensor.rank(), "[margin_ranking_loss] an operand of shape ",
            other->tensor.shape(), " is beside the input ", a.tensor.shape(), " (at ", At{a.where},
            "); all must have the same number of axes");
  }
  auto formula = [&](const Terms& t) { return positive_part(margin - t[2] * (t[0] - t[1])); };
  return computed_loss("margin_ranking_loss", loss_terms("margin_ranking_loss", {&a, &b, &target}),
                       formula, reduction, {margin});
}
Tensor hinge_embedding_loss(const TensorOperand& x, const TensorOperand& target, double margin,
                            LossReduction reduction) {
  auto formula = [&](const Terms& t) {
    Formula apart = choice(t[1] != 1, positive_part(margin - t[0]), 0);
    return apart + choice(t[1] != -1, t[0], 0);
  };
  return computed_loss("hinge_embedding_loss", loss_terms("hinge_embedding_loss", {&x, &target}),
                       formula, reduction, {margin});
}

}  // namespace tilewright
