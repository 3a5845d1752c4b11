#include "autotune/database/schema.h"

#include "runtime/base/error.h"

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
};

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::string> schema_step(int version, SqlDialect dialect) {
  static_assert(schema_version == 1);
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

}  // namespace tilewright::autotune
