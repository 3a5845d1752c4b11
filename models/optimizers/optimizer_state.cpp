// The state of an optimizer as named tensors.
#include <algorithm>
#include <set>

#include "graph/functions/random/generator_state.h"
#include "models/optimizers/optimizer.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

std::string list_of_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += concat(i > 0 ? ", " : "", names[i]);
  if (names.size() > most) text += concat(" and ", names.size() - most, " more");
  return text;
}

// The number that all of these names that are there stand for.
std::optional<double> shared_number(std::string_view optimizer, const Weights& weights,
                                    const std::vector<std::string>& names, std::source_location w) {
  std::optional<double> number;
  std::string first;
  for (const std::string& name : names) {
    if (!weights.contains(name)) continue;
    Tensor read = full(weights.shape(name), 0, f64).clone();
    weights.read(name, read);
    const auto value = read.item<double>();
    require(!number || *number == value, "[", optimizer, "] ", first, " is ", number.value_or(0),
            " and ", name, " is ", value, " (at ", describe(w),
            "); all parameters of a group take their steps together here");
    if (!number) first = name;
    number = value;
  }
  return number;
}

}  // namespace

// First the number of steps, then the scalars of the groups.
std::vector<Optimizer::Saved> Optimizer::saved_scalars() const {
  std::vector<Saved> all = {{{"step"}, steps_.tensor()}};
  for (const Member& member : members_)
    if (groups_[member.group].rule.saves_step)
      all.front().names.push_back(concat("state.", member.name, ".step"));
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& [name, number] : groups_[g].scalars) {
      Saved saved{{}, number.tensor()};
      for (const Member& member : members_)
        if (member.group == g) saved.names.push_back(concat("state.", member.name, ".", name));
      if (!saved.names.empty()) all.push_back(std::move(saved));
    }
  return all;
}

std::vector<Optimizer::Saved> Optimizer::saved_states() const {
  std::vector<Saved> all;
  for (const Member& member : members_)
    for (const auto& [name, tensor] : member.states)
      all.push_back({{concat("state.", member.name, ".", name)}, tensor});
  return all;
}

std::vector<Optimizer::Saved> Optimizer::saved_settings() const {
  std::vector<Saved> all;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& [name, number] : groups_[g].settings)
      all.push_back({{concat("param_groups.", g, ".", name)}, number.tensor()});
  if (rounds_stochastically()) {
    all.push_back({{"rounding.seed"}, rounding_.state().seed});
    all.push_back({{"rounding.offset"}, rounding_.state().offset});
  }
  return all;
}

bool Optimizer::rounds_stochastically() const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    const StatePrecision& precision = groups_[member.group].rule.precision;
    return (precision.state && is_float16(*precision.state)) ||
           (!precision.master && is_float16(member.parameter->dtype()));
  });
}

NamedTensors Optimizer::state() const {
  NamedTensors all;
  for (const auto& list : {saved_scalars(), saved_states(), saved_settings()})
    for (const Saved& saved : list)
      for (const std::string& name : saved.names) all.emplace(name, saved.tensor);
  return all;
}

void Optimizer::load(const Weights& weights, std::source_location w) {
  const std::vector<Saved> scalars = saved_scalars(), states = saved_states(),
                           settings = saved_settings();
  std::vector<std::string> missing, misshapen, unexpected;
  std::set<std::string> known;
  for (const auto* list : {&scalars, &states, &settings})
    for (const Saved& saved : *list)
      for (const std::string& name : saved.names) {
        known.insert(name);
        if (!weights.contains(name)) continue;
        const Shape& shape = weights.shape(name);
        const bool fits =
            list == &scalars ? element_count(shape) == 1 : shape == saved.tensor.shape();
        if (!fits)
          misshapen.push_back(concat(name, " (", shape, ", here ", saved.tensor.shape(), ")"));
      }
  for (const Saved& saved : states)
    if (!weights.contains(saved.names.front())) missing.push_back(saved.names.front());
  // Scalars of parameters are there once, or for each; the step may be unknown where nothing in
  // PyTorch counts it.
  for (const Saved& saved : scalars)
    if (saved.names != std::vector<std::string>{"step"} &&
        std::ranges::none_of(saved.names,
                             [&](const std::string& name) { return weights.contains(name); }))
      missing.push_back(saved.names.back());
  for (const std::string& name : weights.names())
    if (!known.contains(name)) unexpected.push_back(name);
  std::string wrong;
  for (const auto& [what, names] :
       {std::pair("missing", missing), {"unexpected", unexpected}, {"of another shape", misshapen}})
    if (!names.empty())
      wrong += concat(wrong.empty() ? "" : "; ", what, ": ", list_of_names(names));
  require(wrong.empty(), "[", name(), "] the state does not fit the optimizer: ", wrong, " (at ",
          describe(w), "); names are those of state()");

  std::vector<double> numbers;
  for (const Saved& saved : scalars)
    numbers.push_back(shared_number(name(), weights, saved.names, w).value_or(1));
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    Tensor scalar = scalars[i].tensor;
    scalar.copy_from(full({}, numbers[i], scalar.dtype()));
  }
  for (const auto* list : {&states, &settings})
    for (const Saved& saved : *list)
      if (Tensor tensor = saved.tensor; weights.contains(saved.names.front()))
        weights.read(saved.names.front(), tensor);
}

}  // namespace tilewright
