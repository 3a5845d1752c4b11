#include "models/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "graph/functions/random/generator_state.h"
#include "graph/ir/user_call.h"
#include "models/optimizers/block_states.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Updates are computed in this dtype. Scalars are f64, which they would make of a parameter without
// axes anyway.
DType computing_dtype(const Tensor& parameter) {
  return parameter.dtype() == f64 || parameter.rank() == 0 ? f64 : f32;
}
DType state_dtype(const Tensor& parameter) { return parameter.dtype() == f64 ? f64 : f32; }
bool has_master(const Tensor& parameter, const UpdateRule& rule) {
  return rule.precision.master && parameter.dtype() != state_dtype(parameter);
}

Tensor kept_tensor(const Tensor& parameter, const Shape& shape, double initial, DType dtype) {
  return full(shape, initial, dtype).clone().to(parameter.device());
}
void require_precision(const UpdateRule& rule, std::source_location w) {
  const DType dtype = rule.precision.state.value_or(f32);
  require(dtype == i8 || (is_floating(dtype) && !is_float8(dtype)), "[", rule.optimizer,
          "] states are to be of ", dtype, " (at ", describe(w),
          "); they may be floats of 16 bits or more, or i8, codes by blocks");
}

// The tensors of a state in the dtype of a precision, of which `wide` is the one without any.
void add_state(NamedScalars& states, const StateTensor& state, const Tensor& parameter,
               const std::optional<DType>& precision, DType wide) {
  const Shape shape = state.shape.value_or(parameter.shape());
  const bool is_coded =
      precision == i8 && state.initial == 0 && element_count(shape) >= detail::least_blocked_state;
  if (!is_coded) {
    const DType dtype = precision == i8 ? wide : precision.value_or(wide);
    states.emplace(state.name, kept_tensor(parameter, shape, state.initial, dtype));
    return;
  }
  const detail::BlockCodes zero = detail::zero_state(shape, state.is_positive ? u8 : i8);
  states.emplace(state.name, zero.codes.to(parameter.device()));
  states.emplace(detail::name_of_greatest(state.name), zero.greatest.to(parameter.device()));
}

void require_setting(const UpdateRule& rule, const OptimizerSetting& setting, double value,
                     std::source_location w) {
  const bool fits = value >= setting.least && value > setting.above && value <= setting.most &&
                    (value < setting.below || std::isinf(setting.below));
  if (fits) return;
  std::string range;
  auto add = [&](const char* bound, double number) {
    if (!std::isinf(number)) range += concat(range.empty() ? "" : " and ", bound, " ", number);
  };
  add("at least",
      setting.above >= setting.least ? -std::numeric_limits<double>::infinity() : setting.least);
  add("above", setting.above);
  add("at most", setting.most);
  add("below", setting.below);
  raise_error(concat("[", rule.optimizer, "] ", setting.name, " is ", value, " (at ", describe(w),
                     "); it must be ", range.empty() ? "a number" : range));
}

}  // namespace

Optimizer::Optimizer(const std::vector<NamedParameter>& parameters, std::vector<FilteredRule> rules,
                     std::source_location w) {
  std::vector<ParameterFilter> filters;
  for (const FilteredRule& rule : rules)
    filters.insert(filters.end(), rule.filter.begin(), rule.filter.end());
  for (FilteredRule& rule : rules) {
    for (const OptimizerSetting& setting : rule.rule.settings)
      require_setting(rule.rule, setting, setting.value, w);
    require_precision(rule.rule, w);
    add_group(std::move(rule.rule));
  }
  require(!parameters.empty(), "[", name(), "] there is no parameter to train (at ", describe(w),
          "); give a module with floating parameters, or a list of them");
  std::set<std::string> names;
  for (const NamedParameter& parameter : parameters)
    require(names.insert(parameter.name).second, "[", name(), "] two parameters have the name \"",
            parameter.name, "\" (at ", describe(w), "); states are known by names");
  const std::vector<std::size_t> groups = detail::groups_of(name(), parameters, filters, w);
  for (std::size_t i = 0; i < parameters.size(); ++i) add_member(parameters[i], groups[i], w);
  rounding_ = Generator(groups_.front().rule.precision.seed);
  to(parameters.front().tensor.device());
}

void Optimizer::add_group(UpdateRule rule) {
  Group group{std::move(rule), {}, {}};
  for (const OptimizerSetting& setting : group.rule.settings)
    group.settings.emplace(setting.name, DynamicScalar(setting.value, f64));
  for (const StateScalar& scalar : group.rule.scalars)
    group.scalars.emplace(scalar.name, DynamicScalar(scalar.initial, f32));
  groups_.push_back(std::move(group));
}

void Optimizer::add_member(const NamedParameter& parameter, std::size_t group,
                           std::source_location w) {
  const Tensor& tensor = parameter.tensor;
  require(tensor.defined() && is_floating(tensor.dtype()), "[", name(), "] the parameter \"",
          parameter.name, "\" is ",
          tensor.defined() ? concat("of ", tensor.dtype()) : std::string("undefined"), " (at ",
          describe(w), "); parameters are floating tensors");
  Member member{parameter.name, &parameter.tensor, group, {}};
  const UpdateRule& rule = groups_[group].rule;
  const DType dtype = state_dtype(tensor);
  for (const StateTensor& state : rule.states(parameter.name, tensor))
    add_state(member.states, state, tensor, rule.precision.state, dtype);
  if (has_master(tensor, rule)) {
    Tensor master = kept_tensor(tensor, tensor.shape(), 0, dtype);
    master.copy_from(tensor.to(master.dtype()));
    member.states.emplace("master", master);
  }
  members_.push_back(std::move(member));
}

void Optimizer::to(const Device& device) {
  auto move = [&](const Tensor& tensor) { Tensor(tensor).move_to(device); };
  move(steps_.tensor());
  move(rounding_.state().seed);
  move(rounding_.state().offset);
  for (const Group& group : groups_)
    for (const auto* numbers : {&group.settings, &group.scalars})
      for (const auto& [name, number] : *numbers) move(number.tensor());
  for (const Member& member : members_)
    for (const auto& [name, tensor] : member.states) move(tensor);
}

std::vector<std::string> Optimizer::parameter_names() const {
  std::vector<std::string> names;
  for (const Member& member : members_) names.push_back(member.name);
  return names;
}

bool Optimizer::has_setting(std::string_view setting, std::size_t group) const {
  return group < groups_.size() && groups_[group].settings.contains(setting);
}

const DynamicScalar& Optimizer::find_setting(std::string_view setting, std::size_t group,
                                             std::source_location w) const {
  require(group < groups_.size(), "[", name(), "] group ", group, " is asked for, of ",
          groups_.size(), " (at ", describe(w), "); groups count from 0");
  const auto& settings = groups_[group].settings;
  const auto found = settings.find(setting);
  if (found != settings.end()) return found->second;
  std::string known;
  for (const auto& [name, number] : settings) known += (known.empty() ? "" : ", ") + name;
  raise_error(concat("[", name(), "] group ", group, " has no setting \"", setting, "\" (at ",
                     describe(w), "); it has ", known));
}

void Optimizer::set(std::string_view setting, double value, std::source_location w) {
  for (std::size_t group = 0; group < groups_.size(); ++group) set(setting, value, group, w);
}
void Optimizer::set(std::string_view setting, double value, std::size_t group,
                    std::source_location w) {
  DynamicScalar number = find_setting(setting, group, w);
  const UpdateRule& rule = groups_[group].rule;
  require_setting(rule, *std::ranges::find(rule.settings, setting, &OptimizerSetting::name), value,
                  w);
  number.set(value);
}
double Optimizer::value(std::string_view setting, std::size_t group, std::source_location w) const {
  return find_setting(setting, group, w).value();
}
Tensor Optimizer::setting(std::string_view setting, std::size_t group,
                          std::source_location w) const {
  return find_setting(setting, group, w).tensor();
}

void Optimizer::require_gradient(const Member& member, const Tensor& gradient,
                                 std::source_location w) const {
  const Tensor& parameter = *member.parameter;
  require(
      gradient.defined() && is_floating(gradient.dtype()) && gradient.shape() == parameter.shape(),
      "[", name(), "] the gradient of \"", member.name, "\" is ",
      gradient.defined() ? concat(gradient.dtype(), " ", gradient.shape())
                         : std::string("undefined"),
      " (at ", describe(w), "); it must be floating, of the parameter's shape ", parameter.shape());
  const bool is_same =
      has_master(parameter, groups_[member.group].rule) == member.states.contains("master");
  require(is_same, "[", name(), "] the parameter \"", member.name, "\" has become ",
          parameter.dtype(), " (at ", describe(w),
          "); convert a module before its optimizer is made");
}

std::vector<Tensor> Optimizer::ordered(const NamedTensors& gradients,
                                       std::source_location w) const {
  std::vector<Tensor> list;
  for (const Member& member : members_) {
    const auto found = gradients.find(member.name);
    require(found != gradients.end(), "[", name(), "] there is no gradient of \"", member.name,
            "\" (at ", describe(w),
            "); parameters that stay as they are should not be given to the optimizer");
    list.push_back(found->second);
  }
  return list;
}

void Optimizer::require_gradients(const std::vector<Tensor>& gradients,
                                  std::source_location w) const {
  require(gradients.size() == members_.size(), "[", name(), "] there are ", gradients.size(),
          " gradients for ", members_.size(), " parameters (at ", describe(w),
          "); give one for each, in the order of parameter_names()");
  for (std::size_t i = 0; i < members_.size(); ++i) require_gradient(members_[i], gradients[i], w);
}

void Optimizer::step(const NamedTensors& gradients, std::source_location w) {
  step(ordered(gradients, w), w);
}
void Optimizer::step(const std::vector<Tensor>& gradients, std::source_location w) {
  require_gradients(gradients, w);
  graph::of_user_call("optimizer_step", w, [&] { update_all(gradients, {}); });
}
void Optimizer::step_unless(const Tensor& skip, const NamedTensors& gradients,
                            std::source_location w) {
  step_unless(skip, ordered(gradients, w), w);
}
void Optimizer::step_unless(const Tensor& skip, const std::vector<Tensor>& gradients,
                            std::source_location w) {
  require(skip.defined() && is_boolean(skip.dtype()) && skip.count() == 1, "[", name(),
          "] the condition of a step is ",
          skip.defined() ? concat(skip.dtype(), " ", skip.shape()) : std::string("undefined"),
          " (at ", describe(w), "); it must be bool, of one element");
  require_gradients(gradients, w);
  graph::of_user_call("optimizer_step", w, [&] { update_all(gradients, skip.reshape({}, w)); });
}

void Optimizer::update_all(const std::vector<Tensor>& gradients, const Tensor& skip) {
  const StepWrites writes{skip, rounding_};
  Tensor steps = steps_.tensor();
  writes.write(steps, steps + 1.0);
  std::vector<GroupUpdate> updates;
  for (const Group& group : groups_) {
    NamedScalars values, kept;
    for (const auto& [name, number] : group.settings) values.emplace(name, number.tensor());
    for (const auto& [name, number] : group.scalars) {
      values.emplace(name, number.tensor().clone());
      kept.emplace(name, number.tensor());
    }
    updates.emplace_back(steps, std::move(values), std::move(kept), writes);
    group.rule.prepare(updates.back());
  }
  for (std::size_t i = 0; i < members_.size(); ++i)
    update(members_[i], gradients[i], updates[members_[i].group]);
}

void Optimizer::update(Member& member, const Tensor& gradient, const GroupUpdate& group) {
  Tensor parameter = *member.parameter;
  const UpdateRule& rule = groups_[member.group].rule;
  const DType dtype = computing_dtype(parameter);
  Tensor value = parameter.to(dtype), wide_gradient = gradient.to(dtype);
  const bool is_mastered = has_master(parameter, rule);
  if (is_mastered) {
    const Tensor& master = member.states.at("master");
    value = where(master.to(parameter.dtype()) == parameter, master.to(dtype), value);
  }
  if (rule.maximize) wide_gradient = -wide_gradient;
  const Tensor updated = rule.update({value, wide_gradient, group, member.states});
  const StepWrites& writes = group.writes();
  if (!is_mastered) return writes.write_stochastically(parameter, updated);
  writes.write(member.states.at("master"), updated);
  writes.write(parameter, updated);
}

}  // namespace tilewright
