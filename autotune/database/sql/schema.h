// The tables, by version, as steps from each version to the next.
//
// tuning_keys: a question, by its id. compiler_builds: a record of a compiler. rows: a
// configuration under a question and a build (stored_row.h says what the columns are). A database
// of an older version is brought up to date when it is opened for writing, in one transaction; one
// of a newer version is left alone. tests/autotune/database/schema holds a database of each
// version.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilewright::autotune {

constexpr int schema_version = 2;
// The oldest version with the same tables as the present one, so that it can be read as it is.
constexpr int oldest_readable_version = 1;
// "TWTN": marks an SQLite file as a tuning database.
constexpr int application_id = 0x5457544e;

enum class SqlDialect { sqlite, postgres };

// The statements that lead from `version` to the next one; 0: from nothing.
std::vector<std::string> schema_step(int version, SqlDialect dialect);

// A row of sqlite_schema.
struct SchemaObject {
  std::string type, name, sql;
};
struct SchemaProblem {
  bool is_foreign = false;  // made by another program; else our own is not complete any more
  std::string text;
};
// In what an SQLite file of that version differs from one that we make. A foreign view or trigger
// under one of our names could make every statement run for ever, or change what others store.
std::optional<SchemaProblem> schema_problem(const std::vector<SchemaObject>& objects, int version);

}  // namespace tilewright::autotune
