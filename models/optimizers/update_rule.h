// Update rules, in which optimizers differ.
//
// A rule is a function of tensors: from a parameter, its gradient, its state and the settings of
// its group to the new parameter. Optimizer (optimizer.h) applies it to each parameter, and does
// the rest once for all rules: groups, dtypes, states in files, messages. rules/lion.h is a short
// example; rules/nadam.h has scalars of a group too.
//
// Scalars, which are the settings of a group and what `prepare` makes of them, are tensors without
// axes, of f64 and on the device of the parameters, so that none of them is a constant of a
// compiled step.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "graph/functions/random/generator.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Decays of two moving averages; `.betas = {0.9, 0.95}`.
struct Betas {
  double first = 0.9, second = 0.999;
};

// A number of a group that can be set between steps. NaN is in no range.
struct OptimizerSetting {
  std::string name;
  double value = 0, least = 0, below = std::numeric_limits<double>::infinity();
  // Narrow the range further: above the one, up to the other.
  double above = -std::numeric_limits<double>::infinity(),
         most = std::numeric_limits<double>::infinity();
};

// A tensor that is kept for each parameter, of the parameter's shape unless another is given.
struct StateTensor {
  std::string name;
  double initial = 0;
  std::optional<Shape> shape = {};
  bool is_positive = false;  // never below 0: its 8 bits have no sign
};

// A number that is kept for each group, in f32, as PyTorch keeps it for each parameter.
struct StateScalar {
  std::string name;
  double initial = 0;
};

// In how many bits an optimizer keeps what it keeps. Numbers of 16 bits are rounded stochastically
// (round_stochastically), so that small changes add up. Draws begin at the seed, and a saved state
// has their place.
struct StatePrecision {
  // The dtype of states, as moments. None: f32, or f64 with parameters of f64. i8: codes of 8 bits
  // by blocks of 256 numbers (block_states.h), for states of 4,096 numbers or more; others are f32.
  std::optional<DType> state = {};
  // A parameter of 16 bits has a copy of itself in f32. False: it has none, and is itself rounded
  // stochastically.
  bool master = true;
  std::uint64_t seed = 0;  // that of the first group counts
};

using NamedScalars = std::map<std::string, Tensor, std::less<>>;

// How a step writes what it has computed.
struct StepWrites {
  Tensor skip;         // bool: where it is true all stays as it was; or undefined
  Generator rounding;  // of numbers of 16 bits

  // The value, rounded to the dtype of `kept`.
  void write(Tensor kept, const Tensor& value) const;
  void write_stochastically(Tensor kept, const Tensor& value) const;
};

// One step of a group.
class GroupUpdate {
 public:
  // `values`: settings and scalars of the state by name; `kept`: the latter alone.
  GroupUpdate(Tensor step, NamedScalars values, NamedScalars kept, StepWrites writes);
  const StepWrites& writes() const;
  // The number of this step, counted from 1.
  const Tensor& step() const;
  // A setting, a scalar of the state as it was before this step, or a value given by `prepare`.
  const Tensor& operator[](std::string_view name) const;
  // For `prepare`: a value for the updates of this step.
  void give(std::string name, Tensor value);
  // For `prepare`: the value of a scalar of the state in the next step.
  void store(std::string_view name, const Tensor& value);

 private:
  Tensor step_;
  NamedScalars values_, kept_;
  StepWrites writes_;
};

// One step of a parameter. Tensors are of f32, or of f64 for parameters of f64; values that are
// stored are rounded to the dtype of the state.
class ParameterUpdate {
 public:
  ParameterUpdate(Tensor parameter, Tensor gradient, const GroupUpdate& group, NamedScalars state);
  const Tensor parameter, gradient;
  const Tensor& step() const;
  const Tensor& operator[](std::string_view name) const;
  // A tensor of the state, as it is before this step, decoded where it is kept as codes.
  Tensor state(std::string_view name) const;
  // Writes it, and returns the value.
  Tensor store(std::string_view name, const Tensor& value) const;

 private:
  const GroupUpdate& group_;
  NamedScalars state_;
};

// The rule of a group, as the optimizer sees it.
struct UpdateRule {
  std::string optimizer;  // its name, for messages
  std::vector<OptimizerSetting> settings;
  std::vector<StateScalar> scalars;
  // The tensors that are kept for a parameter. Raises `Error` for one that cannot be trained so.
  std::function<std::vector<StateTensor>(std::string_view name, const Tensor& parameter)> states;
  std::function<void(GroupUpdate& group)> prepare;
  std::function<Tensor(const ParameterUpdate& at)> update;  // the new parameter
  bool maximize = false;
  StatePrecision precision = {};
  // True if states of PyTorch's optimizer of this name have a "step" for each parameter.
  bool saves_step = true;
};

namespace detail {

// An `Error` of the check gets the line of the call that gave what it looks at.
void check_at(std::source_location w, const std::function<void()>& check);

// The rule that a struct of options describes. Only `name`, `settings` and `update` must be there.
template <typename Options>
UpdateRule rule_of(const Options& options, std::source_location w) {
  UpdateRule rule;
  rule.optimizer = Options::name;
  rule.settings = options.settings();
  if constexpr (requires { options.check(); }) check_at(w, [&] { options.check(); });
  if constexpr (requires { options.scalars(); }) rule.scalars = options.scalars();
  rule.states = [options, w]([[maybe_unused]] std::string_view name,
                             [[maybe_unused]] const Tensor& parameter) {
    std::vector<StateTensor> states;
    if constexpr (requires { options.states(parameter.shape()); })
      states = options.states(parameter.shape());
    if constexpr (requires { options.check_parameter(name, parameter); })
      check_at(w, [&] { options.check_parameter(name, parameter); });
    return states;
  };
  rule.prepare = [options]([[maybe_unused]] GroupUpdate& group) {
    if constexpr (requires { options.prepare(group); }) options.prepare(group);
  };
  rule.update = [options](const ParameterUpdate& at) { return options.update(at); };
  if constexpr (requires { options.maximize; }) rule.maximize = options.maximize;
  if constexpr (requires { options.precision; }) rule.precision = options.precision;
  if constexpr (requires { Options::saves_step; }) rule.saves_step = Options::saves_step;
  return rule;
}

}  // namespace detail

}  // namespace tilewright
