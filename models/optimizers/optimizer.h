// An optimizer: the parameters that it trains, in groups, with the state and the settings of each.
//
//   AdamW optimizer(net, {.lr = 3e-4, .weight_decay = 0.1});
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
//     optimizer.step(gradients);
//     return loss;
//   });
//
// Optimizers are functions of tensors that write parameters and states in place, so that a whole
// step of training can be one compiled function, and a step outside of one is the same operation
// by operation. Options that are numbers (rates, decays, betas, eps) are settings: tensors without
// axes on the device, which `set`, a schedule (schedules/lr_scheduler.h) or the program may change
// at any time, and nothing is compiled again. So is the number of the step. Options that are flags
// decide which operations there are, and stay as they are.
//
// Updates are computed in f32, or in f64 for parameters of f64, as PyTorch does. Parameters of 16
// bits have states of f32 and a copy of themselves in f32, "master", which the update goes on from
// as long as the parameter is that copy rounded; so rounding does not swallow small updates, and a
// parameter that was written meanwhile is taken as it is. Options with a `precision` may have
// states of 16 bits instead, and no such copy (StatePrecision in update_rule.h).
//
// A tensor that two layers share is one parameter. Gradients of other names than the parameters'
// are left alone, so that two optimizers may share the gradients of a module. Misuse raises `Error`
// with the line of the call. An optimizer is neither copied nor moved, as a Module is, and refers
// to the parameters' handles, which must outlive it. One call at a time.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "graph/functions/dynamic_scalar.h"
#include "graph/tensor/tensor.h"
#include "models/layers/gradients.h"
#include "models/layers/module.h"
#include "models/optimizers/parameter_groups.h"
#include "models/optimizers/update_rule.h"
#include "models/weights/weights.h"

namespace tilewright {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step by gradients of the parameters' names, each of its parameter's shape. Within a
  // captured function, or at once.
  void step(const NamedTensors& gradients,
            std::source_location w = std::source_location::current());
  // The same for a list, in the order of the parameters.
  void step(const std::vector<Tensor>& gradients,
            std::source_location w = std::source_location::current());

  // A step that changes nothing where `skip` (bool, one element) is true, neither parameters nor
  // states nor the number of steps. It is computed all the same, so that nothing waits for the
  // condition: GradScaler (loss_scale.h) leaves out steps by infinite gradients so.
  void step_unless(const Tensor& skip, const NamedTensors& gradients,
                   std::source_location w = std::source_location::current());
  void step_unless(const Tensor& skip, const std::vector<Tensor>& gradients,
                   std::source_location w = std::source_location::current());

  const std::string& name() const { return groups_.front().rule.optimizer; }
  std::vector<std::string> parameter_names() const;
  std::size_t group_count() const { return groups_.size(); }
  // How many steps there were: f64, without axes.
  const Tensor& steps() const { return steps_.tensor(); }

  // A setting by the name of its option ("lr", "weight_decay"; betas are "beta1" and "beta2") in
  // all groups or in one. OptimizerSetting it compiles nothing.
  void set(std::string_view setting, double value,
           std::source_location w = std::source_location::current());
  void set(std::string_view setting, double value, std::size_t group,
           std::source_location w = std::source_location::current());
  bool has_setting(std::string_view setting, std::size_t group = 0) const;
  double value(std::string_view setting, std::size_t group = 0,
               std::source_location w = std::source_location::current()) const;
  // The tensor itself, f64 without axes, for functions that compute a setting on the device.
  Tensor setting(std::string_view setting, std::size_t group = 0,
                 std::source_location w = std::source_location::current()) const;

  // State, settings and the number of steps, under PyTorch's names: "state.NAME.exp_avg" with the
  // parameter's name, as PyTorch's flattened optimizer states have them; "param_groups.0.lr"; and
  // "step". Handles that share their bytes, for save_safetensors.
  NamedTensors state() const;
  // Writes all of this in place; compiled functions go on from there. Settings may be missing, and
  // "step" if the states of all parameters agree on theirs. Where PyTorch's optimizer counts no
  // steps (SGD, Muon) and none is given, training counts as begun. Raises `Error` that lists the
  // names that are missing, unexpected or of another shape, before anything is written.
  void load(const Weights& weights, std::source_location w = std::source_location::current());

  // Moves states and settings to a device, after the parameters (`Module::to`).
  void to(const Device& device);

 protected:
  struct FilteredRule {
    std::vector<ParameterFilter> filter;  // empty for the group of all others, the first
    UpdateRule rule;
  };
  Optimizer(const std::vector<NamedParameter>& parameters, std::vector<FilteredRule> rules,
            std::source_location w);

 private:
  struct Group {
    UpdateRule rule;
    std::map<std::string, DynamicScalar, std::less<>> settings, scalars;
  };
  struct Member {
    std::string name;
    Tensor* parameter;
    std::size_t group;
    NamedScalars states;
  };
  const DynamicScalar& find_setting(std::string_view setting, std::size_t group,
                                    std::source_location w) const;
  void add_group(UpdateRule rule);
  void add_member(const NamedParameter& parameter, std::size_t group, std::source_location w);
  void require_gradient(const Member& member, const Tensor& gradient, std::source_location w) const;
  std::vector<Tensor> ordered(const NamedTensors& gradients, std::source_location w) const;
  void require_gradients(const std::vector<Tensor>& gradients, std::source_location w) const;
  void update_all(const std::vector<Tensor>& gradients, const Tensor& skip);
  void update(Member& member, const Tensor& gradient, const GroupUpdate& group);

  // A tensor of the state with the names that it has in files, more than one where parameters share
  // it.
  struct Saved {
    std::vector<std::string> names;
    Tensor tensor;
  };
  std::vector<Saved> saved_states() const, saved_scalars() const, saved_settings() const;
  bool rounds_stochastically() const;

  std::vector<Group> groups_;
  std::vector<Member> members_;
  DynamicScalar steps_{0, DType::f64};
  Generator rounding_;
};

// The optimizer of a struct of options (update_rule.h).
template <typename Options>
class OptimizerBy : public Optimizer {
 public:
  using Group = ParameterGroup<Options>;
  // All floating parameters of a module, or those of a list.
  explicit OptimizerBy(Module& module, const Options& options = {},
                       const std::vector<Group>& groups = {},
                       std::source_location w = std::source_location::current())
      : OptimizerBy(trainable_parameters(module), options, groups, w) {}
  explicit OptimizerBy(const std::vector<NamedParameter>& parameters, const Options& options = {},
                       const std::vector<Group>& groups = {},
                       std::source_location w = std::source_location::current())
      : Optimizer(parameters, rules_of(options, groups, w), w) {}

 private:
  static std::vector<FilteredRule> rules_of(const Options& options,
                                            const std::vector<Group>& groups,
                                            std::source_location w) {
    std::vector<FilteredRule> rules = {{{}, detail::rule_of(options, w)}};
    for (const Group& group : groups) {
      Options changed = options;
      group.change(changed);
      rules.push_back({{group.parameters}, detail::rule_of(changed, w)});
    }
    return rules;
  }
};

}  // namespace tilewright
