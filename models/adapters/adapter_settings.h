// The settings of adapter_config.json that decide the scale of each update.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/files/config_fields.h"
#include "models/tokenizer/text/regex.h"

namespace tilewright::adapters {

inline constexpr std::string_view adapter_operation = "load_adapter";

class AdapterSettings {
 public:
  // Raises `Error` for a kind of adapter, or a setting, that is not supported.
  explicit AdapterSettings(const ConfigFields& fields);

  std::int64_t rank(std::string_view layer) const;
  std::int64_t greatest_rank() const;          // of any layer
  double scale(std::string_view layer) const;  // alpha / rank, or alpha / sqrt(rank) of rsLoRA

 private:
  // Numbers by patterns of the layers' names; the first that fits counts.
  using Patterns = std::vector<std::pair<tokenizer::Regex, double>>;
  static Patterns patterns(const ConfigFields& fields, std::string_view name);
  static double value(const Patterns& patterns, std::string_view layer, double otherwise);
  std::int64_t rank_ = 8;
  double alpha_ = 8;
  bool by_root_ = false;
  Patterns ranks_, alphas_;
};

}  // namespace tilewright::adapters
