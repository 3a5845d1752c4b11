// Numbers of PyTorch that optimizers, clipping and schedules are compared with: a folder that
// tools/training_cases.py writes, with a file for each path or, packed, one for all.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/layers/gradients.h"
#include "models/weights/safetensors.h"

namespace tilewright::tools {

class PathReference {
 public:
  explicit PathReference(std::filesystem::path folder);
  const nlohmann::json& index() const { return index_; }
  std::vector<std::string> names() const;
  // All tensors of a path: "loss", "path.w", "state.0.exp_avg", ..
  NamedTensors tensors(const std::string& path) const;
  Tensor problem(const std::string& name) const { return problem_.tensor(name); }

 private:
  std::filesystem::path folder_;
  nlohmann::json index_;
  Safetensors problem_;
};

nlohmann::json read_json(const std::filesystem::path& path);
// A number, or "inf", "-inf" or "nan".
double number_of(const nlohmann::json& value);
std::vector<double> numbers_of(const nlohmann::json& list);

}  // namespace tilewright::tools
