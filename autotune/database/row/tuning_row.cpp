#include "autotune/database/row/tuning_row.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autotune/database/row/statistics.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

struct StatusFacts {
  std::string_view name;
  bool condemns;
};
constexpr std::array statuses = {
#define TILEWRIGHT_OBSERVATION_STATUS(name, condemns, meaning) StatusFacts{#name, condemns},
#include "autotune/database/row/status.def"
#undef TILEWRIGHT_OBSERVATION_STATUS
};

bool condemns(const Observation& o) {
  return statuses[static_cast<std::size_t>(o.status)].condemns;
}

constexpr std::int64_t end_of_2099_ms = 4'102'444'800'000;
constexpr double longest_time_ns = 1e15;

bool precedes(const Observation& a, const Observation& b) {
  if (condemns(a) != condemns(b)) return condemns(a);
  if (a.date_ms != b.date_ms) return a.date_ms > b.date_ms;
  return a < b;
}

bool is_time(double ns) { return std::isfinite(ns) && ns > 0 && ns < longest_time_ns; }

}  // namespace

std::string_view name_of(Status status) { return statuses[static_cast<std::size_t>(status)].name; }

std::optional<Status> parse_status(std::string_view name) {
  for (std::size_t i = 0; i < statuses.size(); ++i)
    if (statuses[i].name == name) return static_cast<Status>(i);
  return {};
}

Observation with_bounds(Observation o) {
  std::ranges::sort(o.samples_ns);
  if (o.samples_ns.size() > most_samples) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < most_samples; ++i)
      kept.push_back(o.samples_ns[i * (o.samples_ns.size() - 1) / (most_samples - 1)]);
    o.samples_ns = std::move(kept);
  }
  for (std::string* note : {&o.reason, &o.clocks, &o.driver, &o.tool})
    if (note->size() > longest_note_bytes) note->resize(longest_note_bytes);
  return o;
}

std::optional<std::string> problem_of(const Observation& o) {
  if (o.date_ms < 0 || o.date_ms >= end_of_2099_ms)
    return concat("the date, ", o.date_ms, " ms, is not between 1970 and 2099");
  if (o.status == Status::ok && o.samples_ns.empty()) return "it is ok and has no sample";
  if (o.status != Status::ok && !o.samples_ns.empty()) return "it failed and has samples";
  for (double ns : o.samples_ns)
    if (!is_time(ns)) return concat("a sample is ", ns, " ns");
  if (o.samples_ns.size() > most_samples) return concat("it has ", o.samples_ns.size(), " samples");
  if (!std::ranges::is_sorted(o.samples_ns)) return "its samples are not in order";
  for (const std::string* note : {&o.reason, &o.clocks, &o.driver, &o.tool})
    if (note->size() > longest_note_bytes) return concat("a note has ", note->size(), " bytes");
  return {};
}

TuningRow::TuningRow(TuningKey k, Configuration c, Observation o)
    : key(std::move(k)), configuration(std::move(c)), observations{with_bounds(std::move(o))} {}

std::vector<double> TuningRow::samples_ns() const {
  std::vector<double> samples;
  for (const Observation& o : observations)
    if (o.status == Status::ok)
      samples.insert(samples.end(), o.samples_ns.begin(), o.samples_ns.end());
  std::ranges::sort(samples);
  return samples;
}

double TuningRow::median_ns() const { return is_ok() ? median(samples_ns()) : 0; }

double TuningRow::spread_ns() const { return is_ok() ? interquartile_range(samples_ns()) : 0; }

std::int64_t TuningRow::date_ms() const {
  std::int64_t newest = 0;
  for (const Observation& o : observations) newest = std::max(newest, o.date_ms);
  return newest;
}

bool TuningRow::is_default() const {
  return std::ranges::any_of(observations, &Observation::is_default);
}

std::vector<Observation> join(const std::vector<Observation>& a,
                              const std::vector<Observation>& b) {
  std::vector<Observation> joined;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(joined), precedes);
  if (joined.size() > most_observations) joined.resize(most_observations);
  return joined;
}

bool are_in_order(const std::vector<Observation>& observations) {
  auto not_before = [](const Observation& a, const Observation& b) { return !precedes(a, b); };
  return std::ranges::adjacent_find(observations, not_before) == observations.end();
}

}  // namespace tilewright::autotune
