#include "autotune/database/sql/schema.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

// {id}: SQLite's own number of a row. {text}: compared byte by byte, whatever the language of the
// database. {clustered}: the rows lie in the order of the primary key.
const std::vector<std::vector<std::string>> steps = {
    {"CREATE TABLE tuning_keys (id {id} PRIMARY KEY, kernel {text} NOT NULL, "
     "kernel_hash {text} NOT NULL, problem {text} NOT NULL, device {text} NOT NULL)",
     "CREATE INDEX keys_by_hash ON tuning_keys (kernel_hash)",
     "CREATE INDEX keys_by_name ON tuning_keys (kernel)",
     "CREATE TABLE compiler_builds (id {id} PRIMARY KEY, compiler {text} NOT NULL)",
     "CREATE TABLE tuning_rows (key BIGINT NOT NULL, build BIGINT NOT NULL, "
     "configuration {text} NOT NULL, status {text} NOT NULL, median_ns DOUBLE PRECISION NOT NULL, "
     "spread_ns DOUBLE PRECISION NOT NULL, date_ms BIGINT NOT NULL, observations {text} NOT NULL, "
     "checksum BIGINT NOT NULL, PRIMARY KEY (key, build, configuration)) {clustered}",
     "CREATE INDEX best_rows ON tuning_rows (key, build, median_ns, configuration) "
     "WHERE status = 'ok'"},
    // 2: the checksums of rows are over the kernel's name too; the tables are the same.
    {},
};

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::string> schema_step(int version, SqlDialect dialect) {
  static_assert(schema_version == 2);
  check(version >= 0 && version < static_cast<int>(steps.size()), "a version has its step");
  bool is_sqlite = dialect == SqlDialect::sqlite;
  std::vector<std::string> texts = steps[static_cast<std::size_t>(version)];
  for (std::string& text : texts) {
    replace(text, "{id}", is_sqlite ? "INTEGER" : "BIGINT");
    replace(text, "{text}", is_sqlite ? "TEXT" : "TEXT COLLATE \"C\"");
    replace(text, " {clustered}", is_sqlite ? " WITHOUT ROWID" : "");
  }
  return texts;
}

std::optional<SchemaProblem> schema_problem(const std::vector<SchemaObject>& objects, int version) {
  std::vector<std::string> ours;
  for (int step = 0; step < version; ++step)
    for (std::string& text : schema_step(step, SqlDialect::sqlite)) ours.push_back(std::move(text));
  std::optional<SchemaProblem> other;
  for (const SchemaObject& object : objects) {
    std::string what = concat("it has the ", shown(object.type), " \"", shown(object.name), "\"");
    if (object.type != "table" && object.type != "index") return SchemaProblem{true, what};
    // Objects that SQLite adds by itself: indexes of primary keys, and statistics after ANALYZE.
    bool is_internal = object.name.starts_with("sqlite_autoindex_") && object.sql.empty();
    if (is_internal || object.sql == "CREATE TABLE sqlite_stat1(tbl,idx,stat)") continue;
    if (std::erase(ours, object.sql) == 0) other = SchemaProblem{true, what};
  }
  if (!ours.empty()) return SchemaProblem{false, concat("it lacks: ", shown(ours[0], 60))};
  return other;
}

}  // namespace tilewright::autotune
