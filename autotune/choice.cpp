#include "autotune/choice.h"

#include <algorithm>
#include <chrono>

#include "autotune/database/row/statistics.h"

namespace tilewright::autotune {

namespace {

// The fastest of many that were timed a few times is the luckiest one. Only configurations that a
// decision timed again have this many samples from one search.
bool was_confirmed(const TuningRow& row, int rounds_again) {
  return std::ranges::any_of(row.observations, [&](const Observation& o) {
    return o.status == Status::ok && std::ssize(o.samples_ns) >= rounds_again;
  });
}

}  // namespace

Configuration configuration_of(const Space& space, const Point& point) {
  Configuration configuration;
  for (std::size_t i = 0; i < point.size(); ++i)
    configuration.set(space.knobs()[i].name, std::string_view(space.knobs()[i].text(point[i])));
  return configuration;
}

std::optional<Point> point_of(const Space& space, const Configuration& configuration) {
  std::string text;
  for (const Record::Field& field : configuration.fields())
    text += (text.empty() ? "" : " ") + field.name + "=" + field.value;
  return space.parse(text);
}

Point choice_of(const Space& space, const Point& preferred, const std::vector<TuningRow>& rows,
                int rounds_again) {
  const TuningRow *of_preferred = nullptr, *best = nullptr;
  Point best_point;
  for (const TuningRow& row : rows) {
    if (!row.is_ok()) continue;
    std::optional<Point> point = point_of(space, row.configuration);
    if (!point) continue;
    if (*point == preferred) of_preferred = &row;
    if (!was_confirmed(row, rounds_again)) continue;
    if (!best || row.median_ns() < best->median_ns()) {
      best = &row;
      best_point = *point;
    }
  }
  if (!of_preferred || !best) return preferred;
  Timing challenger{best->samples_ns()}, champion{of_preferred->samples_ns()};
  double spread = std::max(spread_of_median(challenger.samples) / challenger.seconds(),
                           spread_of_median(champion.samples) / champion.seconds());
  double ratio = challenger.seconds() / champion.seconds();
  Comparison comparison{ratio, margin_of(spread * ratio)};
  return comparison.is_faster() ? best_point : preferred;
}

std::vector<TuningRow> rows_of(const TuningKey& key, const Space& space, const Point& preferred,
                               const std::vector<Finding>& findings) {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  std::int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  std::vector<TuningRow> rows;
  for (const Finding& finding : findings) {
    Observation observation;
    observation.date_ms = now - static_cast<std::int64_t>(findings.size() - 1 - rows.size());
    observation.status = finding.status;
    observation.reason = finding.reason;
    observation.clocks = finding.clocks;
    observation.is_default = finding.point == preferred;
    for (double sample : finding.samples) observation.samples_ns.push_back(sample * 1e9);
    rows.emplace_back(key, configuration_of(space, finding.point),
                      with_bounds(std::move(observation)));
  }
  return rows;
}

}  // namespace tilewright::autotune
