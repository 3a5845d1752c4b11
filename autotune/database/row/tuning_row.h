// A row: one configuration of one tuning problem, with all that was observed of it.
//
// The set of observations is stored; whether the configuration may be chosen, its time and its
// spread follow from them. So two databases can be merged: the join of two rows is the union of
// their observations, of which the first `most_observations` are kept in the order
//
//   those that condemn the configuration, then the newest, then by all other fields.
//
// The first N of a union under a total order is commutative, associative and idempotent, whatever
// the parts were cut to before; therefore so is the merge of databases. Since a condemning
// observation comes first, it is never pushed out, and a configuration that was once wrong stays
// so.
#pragma once

#include <string_view>

#include "autotune/database/row/key.h"

namespace tilewright::autotune {

enum class Status {
#define TILEWRIGHT_OBSERVATION_STATUS(name, condemns, meaning) name,
#include "autotune/database/row/status.def"
#undef TILEWRIGHT_OBSERVATION_STATUS
};
std::string_view name_of(Status status);
std::optional<Status> parse_status(std::string_view name);

// The findings of one tuning about a configuration at one time.
struct Observation {
  Status status = Status::ok;
  std::int64_t date_ms = 0;        // since 1970, UTC; when it was made
  std::vector<double> samples_ns;  // of ok alone; ascending
  std::string reason;              // of a failure
  std::string clocks;              // as "core=2893 throttled=no" (measure/clocks.h)
  std::string driver;              // version
  std::string tool;                // the measuring tool: a version, or a command with its arguments
  bool is_default = false;         // it is the default, which is used without tuning
  auto operator<=>(const Observation&) const = default;
};

constexpr std::size_t most_observations = 4;
constexpr std::size_t most_samples = 32;
constexpr std::size_t longest_note_bytes = 400;  // reason, clocks, driver, tool each

// As it is kept: samples in order, of more than `most_samples` that many quantiles, notes cut.
Observation with_bounds(Observation observation);
// Nothing, or the problem with it: a sample that is not a positive finite time below 1e15 ns, no
// sample at all for ok, a date outside the years 1970 to 2099, or a text that `with_bounds` would
// change.
std::optional<std::string> problem_of(const Observation& observation);

struct TuningRow {
  TuningKey key;
  Configuration configuration;
  std::vector<Observation> observations;  // at least one, in the order above

  TuningRow() = default;
  TuningRow(TuningKey key, Configuration configuration, Observation observation);

  // The status of the first observation.
  Status status() const { return observations.front().status; }
  bool is_ok() const { return status() == Status::ok; }
  // Median and spread (third quartile less the first) of the samples of all observations that are
  // ok; 0 unless the row is.
  double median_ns() const;
  double spread_ns() const;
  std::vector<double> samples_ns() const;  // ascending
  std::int64_t date_ms() const;            // of the newest observation
  bool is_default() const;                 // by any observation
  bool operator==(const TuningRow&) const = default;
};

// The join described above. Both must be bounded and in order; so is the result.
std::vector<Observation> join(const std::vector<Observation>& a, const std::vector<Observation>& b);
bool are_in_order(const std::vector<Observation>& observations);  // none twice

}  // namespace tilewright::autotune
