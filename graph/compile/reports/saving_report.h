// The values of a function that are kept for the gradients in its compiled graph, and those that
// are computed again for them (Options::saved_share). As data, and as text for explain().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/compile/reports/derivative_report.h"

namespace tilewright {

struct SavingReport {
  std::vector<SavedValue> saved;  // values that gradients read, the largest first
  std::vector<SavedValue> again;  // values that are computed a second time, the largest first
  std::int64_t saved_bytes = 0;
  std::int64_t bytes_of_all = 0;  // of the values that would be kept if none was computed again
};

namespace graph {
// Empty where nothing is computed again.
std::string text_of(const SavingReport& report);
}  // namespace graph

}  // namespace tilewright
