// Rows for tests: keys that differ where asked, observations with few words.
#pragma once

#include "autotune/database/row/tuning_row.h"

namespace tilewright::autotune {

// 2026-01-01.
constexpr std::int64_t new_year_ms = 1'767'225'600'000;

TuningKey test_key(std::int64_t rows = 1024);
Configuration test_configuration(std::int64_t rows, std::int64_t columns = 64);
Observation ok_observation(std::vector<double> samples_ns, std::int64_t date_ms = new_year_ms);
Observation failed_observation(Status status, std::int64_t date_ms = new_year_ms);
// Any observation, bounded; few different ones, so that equal and nearly equal ones occur.
Observation random_observation(std::uint64_t& state);
std::uint64_t next_random(std::uint64_t& state);

}  // namespace tilewright::autotune
