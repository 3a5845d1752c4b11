#include "tests/autotune/landscape.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "autotune/database/row/statistics.h"
#include "autotune/search/strategies.h"
#include "runtime/base/error.h"
#include "tests/source_folder.h"

namespace tilewright::autotune {

Problem Landscape::problem() const {
  Problem problem{&space, preferred, {}, {}, {}};
  if (!estimates.empty())
    problem.estimate = [this](const Point& point) { return estimates.at(point); };
  if (!features.empty())
    problem.features = [this](const Point& point) { return features.at(point); };
  // As tuning does (graph/tune/tune_region.cpp).
  if (!estimates.empty()) problem.seeds = {untried_choice(problem)};
  return problem;
}

Landscape Landscape::without_advice() const {
  Landscape result = *this;
  std::vector<std::pair<double, Point>> ranked;
  for (const auto& [point, time] : seconds) ranked.push_back({time, point});
  std::ranges::sort(ranked);
  result.preferred = ranked[ranked.size() / 2].second;
  result.estimates.clear();
  result.features.clear();
  return result;
}

double Landscape::best() const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [point, time] : seconds) least = std::min(least, time);
  return least;
}

Landscape product_landscape(std::uint64_t seed) {
  Landscape result;
  result.name = "product " + std::to_string(seed);
  Random random(seed);
  std::normal_distribution<double> normal(0, 1);
  double rows = 512 + static_cast<double>(random() % 2048),
         cache = 64e3 + static_cast<double>(random() % 900'000);
  double tail_weight = 0.5 + 0.1 * static_cast<double>(random() % 10);
  result.space.choose("rows", {4, 8, 16, 32, 64, 128, 256})
      .choose("columns", {16, 32, 64, 128, 256, 512})
      .choose("depth", {32, 64, 128, 256, 512})
      .choose("unroll", {1, 2, 4})
      .rule("fits", [](const Setting& s) { return s["rows"] * s["columns"] <= 32 << 10; });
  std::map<std::pair<int, int>, double> rugged;
  for (const Point& point : result.space.legal_points(100'000)) {
    Setting at(result.space, point);
    auto m = static_cast<double>(at["rows"]), n = static_cast<double>(at["columns"]);
    auto k = static_cast<double>(at["depth"]), u = static_cast<double>(at["unroll"]);
    double bytes = 4 * (m * k + k * n + m * n);
    double reuse = 1 / m + 1 / n;
    double over = std::max(0.0, std::log2(bytes / cache));
    double estimate = 1 + 10 * reuse;  // knows nothing of caches
    double tail = std::ceil(rows / m) * m / rows - 1;
    double loop = 16 / (k * u) + (u == 4 && n >= 256 ? 0.3 : 0);
    auto [bump, is_new] = rugged.try_emplace({point[0], point[1]}, 0);
    if (is_new) bump->second = 0.08 * std::abs(normal(random));
    double time = 1 + 30 * reuse + 0.3 * over + tail_weight * tail + loop + 0.15 * over * over +
                  bump->second + 0.02 * std::abs(normal(random));
    bool fails = m * n >= 32 << 10 && u == 4;
    result.seconds[point] = fails ? std::numeric_limits<double>::infinity() : time;
    result.estimates[point] = estimate;
  }
  result.preferred = result.space.parse("rows=64 columns=64 depth=64 unroll=1").value();
  return result;
}

namespace {

Landscape landscape_of(const nlohmann::json& kernel) {
  Landscape result;
  result.name = kernel.at("kernel");
  for (const auto& knob : kernel.at("knobs"))
    result.space.choose(knob.at("name"), knob.at("values").get<std::vector<std::int64_t>>());
  std::set<std::vector<std::int64_t>> legal;
  for (const auto& json : kernel.at("points")) {
    Point point = json.at("at");
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < point.size(); ++i)
      values.push_back(result.space.knobs()[i].values[static_cast<std::size_t>(point[i])]);
    legal.insert(values);
    result.estimates[point] = json.at("estimate");
    result.features[point] = json.at("features").get<std::vector<double>>();
    result.seconds[point] = json.contains("shares")
                                ? median(json.at("shares").get<std::vector<double>>())
                                : std::numeric_limits<double>::infinity();
  }
  std::vector<std::string> names;
  for (const Knob& knob : result.space.knobs()) names.push_back(knob.name);
  result.space.rule("was measured", [=](const Setting& setting) {
    std::vector<std::int64_t> values;
    for (const std::string& name : names) values.push_back(setting[name]);
    return legal.contains(values);
  });
  result.preferred = kernel.at("default").get<Point>();
  return result;
}

}  // namespace

std::vector<Landscape> measured_landscapes() {
  std::ifstream file(source_folder() / "tests/autotune/data/landscapes.json");
  require(file.good(), "tests/autotune/data/landscapes.json cannot be read");
  std::vector<Landscape> result;
  nlohmann::json all = nlohmann::json::parse(file);
  for (const auto& kernel : all.at("kernels")) result.push_back(landscape_of(kernel));
  return result;
}

double quality_after(const Landscape& landscape, std::string_view strategy, double trials,
                     std::uint64_t seed) {
  Problem problem = landscape.problem();
  std::unique_ptr<Strategy> searcher = make_strategy(strategy, problem, seed);
  MeasureBatch measure = [&](const std::vector<Proposal>& batch) {
    std::vector<double> result;
    for (const Proposal& proposal : batch) result.push_back(landscape.seconds.at(proposal.point));
    return result;
  };
  return landscape.quality(search(problem, *searcher, measure, {trials}).best);
}

double trials_to_reach(const Landscape& landscape, std::string_view strategy, double share,
                       std::uint64_t seed) {
  Problem problem = landscape.problem();
  std::unique_ptr<Strategy> searcher = make_strategy(strategy, problem, seed);
  auto size = static_cast<double>(landscape.seconds.size());
  double effort = 0, reached = size;
  MeasureBatch measure = [&](const std::vector<Proposal>& batch) {
    std::vector<double> result;
    for (const Proposal& proposal : batch) {
      result.push_back(landscape.seconds.at(proposal.point));
      effort += proposal.effort;
      if (proposal.effort == 1 && landscape.quality(proposal.point) >= share)
        reached = std::min(reached, effort);
    }
    return result;
  };
  // No further than there: a clock that is late once it is reached.
  search(problem, *searcher, measure, {size, 0.5}, {}, [&] { return reached < size ? 1.0 : 0.0; });
  return reached;
}

}  // namespace tilewright::autotune
