// The tables, by version, as steps from each version to the next.
//
// tuning_keys: a question, by its id. compiler_builds: a record of a compiler. rows: a
// configuration under a question and a build (stored_row.h says what the columns are). A database
// of an older version is brought up to date when it is opened for writing, in one transaction; one
// of a newer version is left alone. tests/autotune/database/schema holds a database of each
// version.
#pragma once

#include <string>
#include <vector>

namespace tilewright::autotune {

constexpr int schema_version = 1;
// "TWTN": marks an SQLite file as a tuning database.
constexpr int application_id = 0x5457544e;

enum class SqlDialect { sqlite, postgres };

// The statements that lead from `version` to the next one; 0: from nothing.
std::vector<std::string> schema_step(int version, SqlDialect dialect);

}  // namespace tilewright::autotune
