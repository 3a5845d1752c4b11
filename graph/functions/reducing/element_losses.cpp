#include "graph/functions/reducing/element_losses.h"

#include <cmath>
#include <numbers>

#include "graph/functions/reducing/loss_reduction.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::loss_terms;
using graph::positive_part;
using graph::reduced_loss;
using graph::Terms;

namespace {

// A loss of the difference from the target.
template <typename F>
Tensor loss_of_difference(std::string_view name, const TensorOperand& x,
                          const TensorOperand& target, LossReduction reduction, F&& formula) {
  Terms terms = loss_terms(name, {&x, &target});
  return reduced_loss(formula(terms[0] - terms[1]), reduction, terms.dtype);
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
  return loss_of_difference("smooth_l1_loss", x, target, reduction, [&](const Formula& d) {
    return choice(abs(d) < beta, 0.5 * d * d / beta, abs(d) - 0.5 * beta);
  });
}
Tensor huber_loss(const TensorOperand& x, const TensorOperand& target, LossReduction reduction,
                  double delta) {
  require(delta > 0, "[huber_loss] delta is ", delta, " (at ", At{x.where},
          "); it must be positive");
  return loss_of_difference("huber_loss", x, target, reduction, [&](const Formula& d) {
    return choice(abs(d) <= delta, 0.5 * d * d, delta * (abs(d) - 0.5 * delta));
  });
}

namespace {

// t log(t), and 0 at 0.
Formula times_own_log(const Formula& t) { return choice(t == 0, 0, t * log(t)); }

}  // namespace

Tensor kl_div(const TensorOperand& x, const TensorOperand& target,
              const DivergenceOptions& options) {
  Terms terms = loss_terms("kl_div", {&x, &target});
  const Formula &guess = terms[0], &truth = terms[1];
  Formula loss =
      options.log_target ? exp(truth) * (truth - guess) : times_own_log(truth) - truth * guess;
  switch (options.reduction) {
    case DivergenceReduction::mean: return reduced_loss(loss, LossReduction::mean, terms.dtype);
    case DivergenceReduction::sum: return reduced_loss(loss, LossReduction::sum, terms.dtype);
    case DivergenceReduction::none: return reduced_loss(loss, LossReduction::none, terms.dtype);
    case DivergenceReduction::batchmean: break;
  }
  const Shape& shape = loss.tensor().shape();
  require(shape.rank() > 0, "[kl_div] the input has no axes (at ", At{x.where},
          "); a mean over the batch needs axis 0");
  Formula total(sum({loss.tensor(), x.where}), x.where);
  return terms.result(total / static_cast<double>(shape[0]));
}

namespace {

// Times a weight that broadcasts to the loss, if there is one.
Formula weighted(std::string_view name, const Formula& loss, const Tensor& weight) {
  if (!weight.defined()) return loss;
  Tensor converted = weight.to(loss.dtype(), loss.where());
  Tensor spread = graph::broadcast_to(converted, loss.tensor().shape(), name, loss.where());
  return loss * Formula(spread, loss.where());
}

}  // namespace

Tensor binary_cross_entropy(const TensorOperand& x, const TensorOperand& target,
                            const Tensor& weight, LossReduction reduction) {
  constexpr double least = -100;
  Terms terms = loss_terms("binary_cross_entropy", {&x, &target});
  const Formula &p = terms[0], &t = terms[1];
  Formula of_one = greater(log(p), p.number(least)), of_zero = greater(log1p(-p), p.number(least));
  Formula loss = (t - 1) * of_zero - t * of_one;
  return reduced_loss(weighted("binary_cross_entropy", loss, weight), reduction, terms.dtype);
}

Tensor binary_cross_entropy_with_logits(const TensorOperand& x, const TensorOperand& target,
                                        const Tensor& weight, LossReduction reduction,
                                        const Tensor& pos_weight) {
  constexpr std::string_view name = "binary_cross_entropy_with_logits";
  Terms terms = loss_terms(name, {&x, &target});
  const Formula &logit = terms[0], &t = terms[1];
  Formula log_sigmoid = lesser(logit, logit.number(0)) - log1p(exp(-abs(logit)));
  // (pos_weight - 1) t + 1 times.
  Formula counted = log_sigmoid;
  if (pos_weight.defined()) {
    Formula more = weighted(name, t, pos_weight) - t + 1;
    counted = more * log_sigmoid;
  }
  Formula loss = (1 - t) * logit - counted;
  return reduced_loss(weighted(name, loss, weight), reduction, terms.dtype);
}

Tensor poisson_nll_loss(const TensorOperand& x, const TensorOperand& target,
                        const PoissonOptions& options) {
  Terms terms = loss_terms("poisson_nll_loss", {&x, &target});
  const Formula &rate = terms[0], &t = terms[1];
  Formula loss = options.log_input ? exp(rate) - t * rate : rate - t * log(rate + options.eps);
  if (options.full) {
    Formula stirling = t * log(t) - t + 0.5 * log(2 * std::numbers::pi * t);
    loss = loss + choice(t <= 1, 0, stirling);
  }
  return reduced_loss(loss, options.reduction, terms.dtype);
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
  Terms terms = loss_terms(name, {&x, &target, &spread});
  Formula of = greater(terms[2], terms[2].number(options.eps)), d = terms[0] - terms[1];
  Formula loss = 0.5 * (log(of) + d * d / of);
  if (options.full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduced_loss(loss, options.reduction, terms.dtype);
}

Tensor soft_margin_loss(const TensorOperand& x, const TensorOperand& target,
                        LossReduction reduction) {
  Terms terms = loss_terms("soft_margin_loss", {&x, &target});
  Formula z = -(terms[1] * terms[0]);
  Formula loss = positive_part(z) + log1p(exp(-abs(z)));
  return reduced_loss(loss, reduction, terms.dtype);
}
Tensor margin_ranking_loss(const TensorOperand& a, const TensorOperand& b,
                           const TensorOperand& target, double margin, LossReduction reduction) {
  Terms terms = loss_terms("margin_ranking_loss", {&a, &b, &target});
  Formula loss = positive_part(margin - terms[2] * (terms[0] - terms[1]));
  return reduced_loss(loss, reduction, terms.dtype);
}
Tensor hinge_embedding_loss(const TensorOperand& x, const TensorOperand& target, double margin,
                            LossReduction reduction) {
  Terms terms = loss_terms("hinge_embedding_loss", {&x, &target});
  const Formula &distance = terms[0], &t = terms[1];
  Formula apart = choice(t != 1, positive_part(margin - distance), 0);
  Formula loss = apart + choice(t != -1, distance, 0);
  return reduced_loss(loss, reduction, terms.dtype);
}

}  // namespace tilewright
