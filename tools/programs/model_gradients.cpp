#include "tools/programs/model_gradients.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "models/files/reader.h"
#include "models/weights/safetensors.h"
#include "runtime/base/error.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

using json::excerpt;

constexpr std::string_view input_prefix = "in.", parameter_prefix = "param.",
                           cotangent_prefix = "cotangent.", direction_prefix = "direction.";

// The names that --gradients may have.
std::vector<std::string> names_of(const ProgramVariables& all) {
  std::vector<std::string> names;
  for (std::size_t i : all.inputs) names.push_back(concat(input_prefix, i));
  for (const std::string& parameter : all.parameters)
    names.push_back(concat(parameter_prefix, parameter));
  return names;
}

// Up to eight names.
std::string beginning(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::vector<std::string> shown;
  for (const std::string& name : names | std::views::take(most))
    shown.push_back(concat(excerpt(name)));
  return concat(listed(shown),
                names.size() > most ? concat(" and ", names.size() - most, " more") : "");
}

// That of the input of this number, if the name is one.
std::string dtype_text(const ProgramModule& model, std::string_view name) {
  if (!name.starts_with(input_prefix)) return "";
  for (std::size_t i = 0; i < model.inputs().size(); ++i)
    if (name.substr(input_prefix.size()) == std::to_string(i))
      return concat(" is ", model.inputs()[i].dtype);
  return "";
}

void add(ProgramVariables& to, const std::string& name) {
  if (name.starts_with(input_prefix)) {
    std::size_t number = 0;
    std::from_chars(name.data() + input_prefix.size(), name.data() + name.size(), number);
    to.inputs.push_back(number);
  } else {
    to.parameters.push_back(name.substr(parameter_prefix.size()));
  }
}

}  // namespace

ProgramVariables variables_of(ProgramModule& model, const std::string& list) {
  const ProgramVariables all = differentiable_variables(model);
  const std::vector<std::string> names = names_of(all);
  require_use(!names.empty(), "[run] --gradients: the model has no floating input and no floating ",
              "parameter; gradients are of these");
  if (list.empty()) return all;
  ProgramVariables chosen;
  std::vector<std::string> wanted;
  for (const auto part : list | std::views::split(','))
    wanted.emplace_back(part.begin(), part.end());
  for (const std::string& name : wanted) {
    const bool is_known = std::ranges::find(names, name) != names.end();
    require_use(is_known, "[run] --gradients: \"", excerpt(name), "\"", dtype_text(model, name),
                dtype_text(model, name).empty() ? " is nothing that the model has" : "",
                "; it has gradients of ", beginning(names), suggestion(name, names));
    require_use(std::ranges::count(wanted, name) == 1, "[run] --gradients: \"", excerpt(name),
                "\" is there twice; name each once");
    add(chosen, name);
  }
  return chosen;
}

std::vector<Tensor> read_cotangents(const ProgramModule& model, const std::string& path,
                                    const Device& device) {
  std::vector<Tensor> cotangents(model.outputs().size());
  if (path.empty()) return cotangents;
  Safetensors file = Safetensors::open(path);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(cotangent_prefix)) continue;
    std::size_t number = 0;
    while (number < cotangents.size() && entry.name != concat(cotangent_prefix, number)) ++number;
    require(number < cotangents.size(), "[run] ", path, ": \"", excerpt(entry.name),
            "\" is the cotangent of no output; the model has ", cotangents.size(),
            cotangents.size() == 1 ? " output" : " outputs", ", from cotangent.0 on");
    cotangents[number] = file.tensor(entry.name).to(device);
  }
  return cotangents;
}

std::vector<Tensor> read_directions(const ProgramVariables& variables, const std::string& path,
                                    const Device& device) {
  const std::vector<std::string> names = names_of(variables);
  std::vector<Tensor> directions(names.size());
  if (path.empty()) return directions;
  Safetensors file = Safetensors::open(path);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(direction_prefix)) continue;
    const auto found = std::ranges::find(names, entry.name.substr(direction_prefix.size()));
    require(found != names.end(), "[run] ", path, ": \"", excerpt(entry.name),
            "\" is the direction of nothing whose gradient is computed; that are ",
            beginning(names));
    directions[static_cast<std::size_t>(found - names.begin())] =
        file.tensor(entry.name).to(device);
  }
  return directions;
}

std::vector<NamedResult> named_outputs(const std::vector<Tensor>& outputs) {
  std::vector<NamedResult> named;
  for (const Tensor& output : outputs) named.push_back({concat("out.", named.size()), output});
  return named;
}

std::vector<NamedResult> named_gradients(const std::vector<Tensor>& all,
                                         const ProgramVariables& variables, bool has_second) {
  std::vector<std::string> names = names_of(variables);
  auto next = all.end() - static_cast<std::ptrdiff_t>(names.size() * (has_second ? 2 : 1));
  std::vector<NamedResult> named = named_outputs({all.begin(), next});
  for (const std::string& name : names) named.push_back({concat("grad.", name), *next++});
  for (const std::string& name : names)
    if (has_second) named.push_back({concat("second.", name), *next++});
  return named;
}

}  // namespace tilewright::tools
