#include "tools/training/reference.h"

#include <fstream>
#include <limits>

#include "runtime/base/error.h"

namespace tilewright::tools {

using nlohmann::json;

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  require(in.good(), "[training_cases] cannot read ", path.string(),
          "; tools/training_cases.py writes such a folder");
  return json::parse(in);
}

double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  require(text == "inf" || text == "-inf", "[training_cases] \"", text, "\" is no number");
  return (text == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
}
std::vector<double> numbers_of(const json& list) {
  std::vector<double> numbers;
  for (const json& value : list) numbers.push_back(number_of(value));
  return numbers;
}

PathReference::PathReference(std::filesystem::path folder)
    : folder_(std::move(folder)),
      index_(read_json(folder_ / "index.json")),
      problem_(Safetensors::open(folder_ / "problem.safetensors")) {}

std::vector<std::string> PathReference::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : index_.items()) names.push_back(name);
  return names;
}

NamedTensors PathReference::tensors(const std::string& path) const {
  const std::filesystem::path own = folder_ / (path + ".safetensors");
  const bool has_own = std::filesystem::exists(own);
  const Safetensors file = Safetensors::open(has_own ? own : folder_ / "paths.safetensors");
  const std::string prefix = has_own ? "" : path + "/";
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file.entries())
    if (entry.name.starts_with(prefix))
      tensors.emplace(entry.name.substr(prefix.size()), file.tensor(entry.name));
  return tensors;
}

}  // namespace tilewright::tools
