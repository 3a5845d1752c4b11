// Which rows of a tuning database a person means, and the words in which rows are shown.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autotune/database/tuning_database.h"

namespace tilewright::tools {

using autotune::TuningDatabase;
using autotune::TuningKey;
using autotune::TuningRow;

// A question and all that was tried of it, by any build.
struct Question {
  TuningKey key;  // without a compiler
  std::vector<TuningRow> rows;

  std::string id() const;  // the first 8 digits of the question's hash
  // The request that `tilewright tune` was given, or "": kernels of a region are named by their
  // operations.
  std::string asked_as() const;
  std::string name() const;  // "layer_norm of 768 (sum mul ...)", or the kernel's name alone
  // By the build that tried the question last and has any that is ok; null: none has.
  const TuningRow* best() const;
  const TuningRow* runner_up() const;
};

// The questions whose kernel name, or request of tuning, contains `wanted`, and those whose hash
// begins with it; all of them for "". Ordered by kernel, problem and device.
std::vector<Question> questions(TuningDatabase& database, const std::string& wanted);
// The same; raises `Misuse` if `wanted` is not empty and nothing fits.
std::vector<Question> known_questions(TuningDatabase& database, const std::string& wanted);

// The name of the measuring tool in an observation, for `tilewright tune NAME`.
std::string tool_of_tuning(const std::string& name);

// Sorts by time, then by configuration; rows that are not ok come last.
void sort_by_time(std::vector<TuningRow>& rows);

std::string device_text(const TuningKey& key);  // its name, or all of it
std::string time_text(double ns);               // "12.3 us"; "-" of 0
std::string build_text(const TuningRow& row);   // all of the compiler's record
std::string short_date(std::int64_t date_ms);   // "2026-01-31 12:00"

}  // namespace tilewright::tools
