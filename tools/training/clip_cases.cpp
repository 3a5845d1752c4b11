#include "tools/training/clip_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "models/optimizers/clipping.h"
#include "tools/training/reference.h"

namespace tilewright::tools {
namespace {

double relative_distance(const std::vector<double>& actual, const std::vector<double>& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size()) return infinity;
  double most = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i], b = expected[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double apart = std::abs(a - b) / std::abs(b);
    most = std::max(most, std::isfinite(apart) ? apart : infinity);
  }
  return most;
}

}  // namespace

double compared_clipping(const nlohmann::json& entry) {
  if (entry.contains("error")) return 0;
  std::vector<Tensor> gradients;
  for (const nlohmann::json& values : entry.at("gradients"))
    gradients.push_back(Tensor::from(numbers_of(values)));
  const double limit = entry.at("limit");
  const bool is_norm = entry.at("kind") == "norm";
  auto clip = compile([&](const std::vector<Tensor>& all) {
    if (!is_norm) return clip_by_value(all, limit);
    auto [clipped, norm] = clip_by_global_norm(all, limit, number_of(entry.at("order")));
    clipped.push_back(norm);
    return clipped;
  });
  const std::vector<Tensor> results = clip(gradients);
  double most = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    most = std::max(most, relative_distance(results.at(i).to_vector<double>(),
                                            numbers_of(entry.at("clipped").at(i))));
  if (is_norm)
    most = std::max(
        most, relative_distance(results.back().to_vector<double>(), {number_of(entry.at("norm"))}));
  return most;
}

}  // namespace tilewright::tools
