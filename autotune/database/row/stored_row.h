// Rows as the columns of tables, and back, trusting nothing that is read.
//
// Names of rows are made from their contents: a key's id from its question, a build's from the
// compiler's record, so that rows of two databases can be put together as they are. A row carries a
// checksum over its columns, its question, its compiler and its kernel's name: a flipped bit, a row
// that names another row's key, and an edited time are detected when it is read. Rows of the first
// version of the schema have one that leaves the name out. (Against accidents; an attacker with
// write access can also write checksums.)
#pragma once

#include <variant>

#include "autotune/database/row/tuning_row.h"

namespace tilewright::autotune {

struct StoredKey {
  std::int64_t id = 0;
  std::string kernel, kernel_hash, problem, device;  // hash as hex, records as text
};

struct StoredBuild {
  std::int64_t id = 0;
  std::string compiler;  // the record's text
};

// Status, median, spread and date follow from the observations; they are columns so that the best
// row is found by an index, and for people who look with another tool.
struct StoredRow {
  std::int64_t key = 0, build = 0;
  std::string configuration, status;
  double median_ns = 0, spread_ns = 0;
  std::int64_t date_ms = 0;
  std::string observations;  // records' texts, one a line
  std::int64_t checksum = 0;
};

std::int64_t key_id(const TuningKey& key);
std::int64_t build_id(const Record& compiler);

// The names that the rows of a key share.
struct KeyNames {
  explicit KeyNames(const TuningKey& key);
  Hash question;
  std::string compiler;  // text
  std::string kernel;    // as it is stored: of all names that were given to the question, the least
  std::int64_t key, build;
};

StoredKey stored_key(const TuningKey& key);
StoredBuild stored_build(const TuningKey& key);
// `names` are of the row's key. Observations must be bounded and in order.
StoredRow stored_row(const TuningRow& row, const KeyNames& names);

// All of the key but its compiler.
std::variant<TuningKey, std::string> read_key(const StoredKey& stored);
std::variant<Record, std::string> read_compiler(const StoredBuild& stored);
// `key` is whose row it says it is, `names` are the key's. The second of each is the error.
std::variant<TuningRow, std::string> read_row(const StoredRow& stored, const TuningKey& key,
                                              const KeyNames& names);

// Nothing, or the reason why it cannot be stored: too long, or an invalid observation.
std::optional<std::string> problem_of(const TuningRow& row);

}  // namespace tilewright::autotune
