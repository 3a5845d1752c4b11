// Which passes ran, for tests of pipelines.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/passes/pipeline.h"

namespace tilewright::dsl {

inline std::vector<std::string_view> names_of(const std::vector<PassTime>& times) {
  std::vector<std::string_view> names;
  for (const PassTime& time : times) names.push_back(time.name);
  return names;
}

}  // namespace tilewright::dsl
