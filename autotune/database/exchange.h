// Rows on their way between databases: merged, or carried as one text file.
//
// The file is JSON, a line a row, in an order that only the contents decide, so that two exports of
// equal databases are equal and others can be compared line by line:
//
//   {"tilewright":"tuning rows","format":1}
//   {"kernel":"rows_gelu","kernel_hash":"...","problem":{...},"device":{...},"compiler":{...},
//    "configuration":{...},"observations":[{"status":"ok","date":"2026-...Z","samples_ns":[...]}]}
//   {"rows":1,"checksum":"..."}
//
// An import trusts nothing: each line is checked by itself, wrong lines are counted and left out,
// and a file that was cut or edited is reported as such. Merging is the join of rows
// (tuning_row.h): in any order, any number of times, with the same outcome. Nothing here raises an
// error.
#pragma once

#include <istream>
#include <ostream>
#include <variant>

#include "autotune/database/tuning_database.h"

namespace tilewright::autotune {

struct MergeReport {
  std::int64_t read = 0;      // good rows
  std::int64_t rejected = 0;  // rows that are wrong
  std::int64_t unkept = 0;    // good rows that the database could not take
  bool is_complete = true;    // all good rows were stored; a file had its right last line
  std::vector<std::string> messages;
};

MergeReport merge(TuningDatabase& from, TuningDatabase& into);

// Exports the rows that `wanted` accepts, all without it. Returns how many, or nothing if `to`
// could not take them.
using Wanted = std::function<bool(const TuningRow&)>;
std::optional<std::int64_t> export_rows(TuningDatabase& from, std::ostream& to,
                                        const Wanted& wanted = {});
MergeReport import_rows(std::istream& from, TuningDatabase& into);

// One row as a line of such a file, without its end; and back, or the error in it.
std::string json_of(const TuningRow& row);
std::variant<TuningRow, std::string> parse_json(const std::string& line);

// "2026-01-31T12:00:00.123Z", and back.
std::string date_text(std::int64_t date_ms);
std::optional<std::int64_t> parse_date(const std::string& text);

}  // namespace tilewright::autotune
