// Rates of schedules over 300 steps, compared with PyTorch's. The scheduler's step is a compiled
// function.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tilewright::tools {

struct RateComparison {
  double rates = 0, momentum = 0;  // the largest distances, relative to the greatest of all steps
  std::size_t plans = 0;
  bool is_right() const { return rates <= 1e-12 && momentum <= 1e-12 && plans == 1; }
};

// An entry of schedules.json.
RateComparison compared_rates(const nlohmann::json& entry);

}  // namespace tilewright::tools
