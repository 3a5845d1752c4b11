#include "models/optimizers/lbfgs/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/tensor/capture.h"
#include "graph/tensor/user/functions.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// A change of a curvature below this says nothing, as in PyTorch.
constexpr double least_curvature = 1e-10;
constexpr std::int64_t most_times = std::int64_t{1} << 40;  // that an option may say

double greatest_of(const Tensor& vector) { return amax(abs(vector)).item<double>(); }

std::vector<NamedParameter> required(const std::vector<NamedParameter>& parameters,
                                     std::source_location w) {
  require(!parameters.empty(), "[LBFGS] there is no parameter to train (at ", describe(w),
          "); give a module with floating parameters, or a list of them");
  std::set<std::string> names;
  for (const NamedParameter& parameter : parameters) {
    require(names.insert(parameter.name).second, "[LBFGS] two parameters have the name \"",
            parameter.name, "\" (at ", describe(w), "); gradients are known by names");
    require(parameter.tensor.defined() && is_floating(parameter.tensor.dtype()),
            "[LBFGS] the parameter \"", parameter.name, "\" is ",
            parameter.tensor.defined() ? concat("of ", parameter.tensor.dtype())
                                       : std::string("undefined"),
            " (at ", describe(w), "); parameters are floating tensors");
  }
  return parameters;
}

}  // namespace

void Lbfgs::require_options(const LbfgsOptions& o, std::source_location w) {
  auto require_number = [&](const char* name, auto value, bool fits, const char* right) {
    require(fits, "[LBFGS] ", name, " is ", value, " (at ", describe(w), "); it must be ", right);
  };
  require_number("lr", o.lr, o.lr >= 0 && std::isfinite(o.lr), "at least 0");
  auto require_count = [&](const char* name, std::int64_t value) {
    require_number(name, value, value > 0 && value <= most_times, "from 1 to 2^40");
  };
  require_count("max_iter", o.max_iter);
  require_count("max_eval", o.max_eval.value_or(1));
  require_count("history_size", o.history_size);
  require_number("tolerance_grad", o.tolerance_grad, o.tolerance_grad >= 0, "at least 0");
  require_number("tolerance_change", o.tolerance_change, o.tolerance_change >= 0, "at least 0");
}

Lbfgs::Lbfgs(const std::vector<NamedParameter>& parameters, const LbfgsOptions& options,
             std::source_location w)
    : parameters_(required(parameters, w)),
      options_(options),
      dot_(compile([](const Tensor& a, const Tensor& b) { return sum(a * b); })),
      share_(compile([](const Tensor& steps, const Tensor& q, const Tensor& factor) {
        return sum(steps * q) * factor;
      })),
      without_(compile([](const Tensor& q, const Tensor& gradients, const Tensor& share) {
        return q - gradients * share;
      })),
      with_(compile(
          [](const Tensor& r, const Tensor& steps, const Tensor& gradients, const Tensor& factor,
             const Tensor& share) { return r + steps * (share - sum(gradients * r) * factor); })) {
  require_options(options_, w);
  for (const NamedParameter& parameter : parameters_) {
    if (parameter.tensor.dtype() == f64) dtype_ = f64;
    size_ += parameter.tensor.count();
    forms_.push_back({parameter.tensor.shape(), parameter.tensor.dtype()});
  }
  require(size_ > 0, "[LBFGS] the parameters have no elements (at ", describe(w), ")");
}

double Lbfgs::dot(const Tensor& a, const Tensor& b) const { return dot_(a, b).item<double>(); }

Tensor Lbfgs::joined(const NamedTensors& gradients, std::source_location w) const {
  std::vector<Tensor> parts;
  for (const NamedParameter& parameter : parameters_) {
    const auto found = gradients.find(parameter.name);
    require(found != gradients.end(), "[LBFGS] there is no gradient of \"", parameter.name,
            "\" (at ", describe(w), "); evaluate gives one for each parameter");
    const Tensor& gradient = found->second;
    require(gradient.defined() && gradient.shape() == parameter.tensor.shape() &&
                is_floating(gradient.dtype()),
            "[LBFGS] the gradient of \"", parameter.name, "\" is ",
            gradient.defined() ? concat(gradient.dtype(), " ", gradient.shape())
                               : std::string("undefined"),
            " (at ", describe(w), "); it must be floating, of the parameter's shape ",
            parameter.tensor.shape());
    parts.push_back(gradient.reshape({-1}).to(dtype_));
  }
  return parts.size() == 1 ? parts[0].clone() : cat(parts, 0);
}

void Lbfgs::require_parameters(std::source_location w) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    require(
        tensor.defined() && tensor.shape() == forms_[i].shape && tensor.dtype() == forms_[i].dtype,
        "[LBFGS] the parameter \"", name, "\" is ",
        tensor.defined() ? concat(tensor.dtype(), " ", tensor.shape()) : "undefined", " (at ",
        describe(w), "); when the optimizer was made it was ", forms_[i].dtype, " ",
        forms_[i].shape);
  }
}

Lbfgs::Evaluated Lbfgs::evaluated(const Calls& calls) {
  auto [loss, gradients] = calls.evaluate();
  ++evaluations_;
  require(loss.defined() && loss.count() == 1, "[LBFGS] the loss is ",
          loss.defined() ? concat("of shape ", loss.shape()) : std::string("undefined"), " (at ",
          describe(calls.where), "); it must have one element");
  return {loss, loss.to(f64).item<double>(), joined(gradients, calls.where)};
}

std::vector<Tensor> Lbfgs::copied() const {
  std::vector<Tensor> copies;
  for (const NamedParameter& parameter : parameters_) copies.push_back(parameter.tensor.clone());
  return copies;
}

void Lbfgs::write(const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) parameters_[i].tensor.copy_from(values[i]);
}

// Writes the parameters: from these on, so far along the direction.
void Lbfgs::go(const std::vector<Tensor>& from, double step) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t end = begin + from[i].count();
    const Tensor part = memory_.direction.slice(0, begin, end).reshape(from[i].shape());
    parameters_[i].tensor.copy_from((from[i].to(dtype_) + part * step).to(from[i].dtype()));
    begin = end;
  }
}

// Adds the change of the last iteration, which shows the curvature along its direction.
void Lbfgs::remember(const Tensor& gradient) {
  const Tensor change = gradient - memory_.gradient, parameters = memory_.direction * memory_.step;
  const double curvature = dot(change, parameters);
  if (!(curvature > least_curvature)) return;
  if (std::ssize(memory_.changes) == options_.history_size) memory_.changes.pop_front();
  const Tensor product = full({}, curvature, dtype_).to(gradient.device());
  memory_.changes.push_back({change, parameters, 1.0 / product});
  memory_.diagonal = product / dot_(change, change);
}

// The gradient times the estimate of the inverse Hessian, by the two loops of L-BFGS.
Tensor Lbfgs::next_direction(const Tensor& gradient) {
  std::vector<Tensor> shares(memory_.changes.size());
  Tensor direction = -gradient;
  for (std::size_t i = memory_.changes.size(); i-- > 0;) {
    const Change& change = memory_.changes[i];
    shares[i] = share_(change.parameters, direction, change.factor);
    direction = without_(direction, change.gradient, shares[i]);
  }
  direction = direction * memory_.diagonal;
  for (std::size_t i = 0; i < memory_.changes.size(); ++i) {
    const Change& change = memory_.changes[i];
    direction = with_(direction, change.parameters, change.gradient, change.factor, shares[i]);
  }
  return direction;
}

// The direction of an iteration, and the step along it that is tried first.
void Lbfgs::choose_direction(const Tensor& gradient) {
  double scale = 1;
  if (memory_.iterations++ == 0) {
    memory_.direction = -gradient;
    memory_.diagonal = full({}, 1, dtype_).to(gradient.device());
    scale = std::min(1.0, 1 / sum(abs(gradient)).item<double>());
  } else {
    remember(gradient);
    memory_.direction = next_direction(gradient);
  }
  memory_.gradient = gradient;
  memory_.step = scale * options_.lr;
}

// Goes along the direction, and writes the parameters and the step that was taken.
detail::LinePoint Lbfgs::arrived(const Calls& calls, bool is_last, const detail::LinePoint& start,
                                 const std::vector<Tensor>& from) {
  auto point = [&](double step) {
    go(from, step);
    Evaluated at = evaluated(calls);
    const double slope = dot(at.gradient, memory_.direction);
    return detail::LinePoint{step, at.loss, slope, std::move(at.gradient)};
  };
  if (options_.line_search == LineSearchOf::none) {
    if (!is_last) return point(memory_.step);
    go(from, memory_.step);
    return start;
  }
  const detail::LineSearch search{.start = start,
                                  .first_step = memory_.step,
                                  .greatest = greatest_of(memory_.direction),
                                  .least_change = options_.tolerance_change,
                                  .most = calls.end - evaluations_,
                                  .loss_dtype = calls.loss_dtype,
                                  .evaluate = point};
  detail::LinePoint found = search.run();
  memory_.step = found.step;
  go(from, found.step);
  return found;
}

bool Lbfgs::iterate(const Calls& calls, bool is_last, detail::LinePoint& at) {
  const Memory before = memory_;
  const std::vector<Tensor> from = copied();
  try {
    choose_direction(at.gradient);
    memory_.loss = at.loss;
    at.step = 0;
    at.slope = dot(at.gradient, memory_.direction);
    if (!(at.slope <= -options_.tolerance_change)) return false;
    at = arrived(calls, is_last, at, from);
  } catch (...) {
    write(from);
    memory_ = before;
    throw;
  }
  const double greatest = greatest_of(at.gradient);
  return !is_last && evaluations_ < calls.end && std::isfinite(greatest) &&
         greatest > options_.tolerance_grad &&
         greatest_of(memory_.direction) * std::abs(memory_.step) > options_.tolerance_change &&
         std::abs(at.loss - memory_.loss) >= options_.tolerance_change;
}

Tensor Lbfgs::step_by(const Evaluation& evaluate, std::source_location w) {
  require(!graph::is_capturing(), "[LBFGS] a step is taken in a function that is captured (at ",
          describe(w), "); compile what evaluates the loss, and call step outside of it");
  require_parameters(w);
  const std::int64_t quarter = options_.max_iter / 4, rest = options_.max_iter % 4;
  const std::int64_t most = options_.max_eval.value_or(quarter * 5 + rest * 5 / 4);
  Calls calls{evaluate, w, evaluations_ + most, f64};
  Evaluated first = evaluated(calls);
  calls.loss_dtype = first.tensor.dtype();
  const Tensor loss_before = first.tensor.clone();
  detail::LinePoint at{0, first.loss, 0, std::move(first.gradient)};
  const double greatest = greatest_of(at.gradient);
  require(std::isfinite(at.loss) && std::isfinite(greatest), "[LBFGS] the loss is ", at.loss,
          ", and the greatest element of its gradient ", greatest, " (at ", describe(w),
          "); a step needs finite ones, and changed nothing");
  if (greatest <= options_.tolerance_grad) return loss_before;
  for (std::int64_t i = 1; iterate(calls, i == options_.max_iter, at);) ++i;
  return loss_before;
}

void Lbfgs::set_lr(double lr, std::source_location w) {
  LbfgsOptions changed = options_;
  changed.lr = lr;
  require_options(changed, w);
  options_ = changed;
}

}  // namespace tilewright
