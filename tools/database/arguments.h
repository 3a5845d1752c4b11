// The arguments of the subcommands of `tilewright db`, and each subcommand: a function that opens
// the database, prints, and says whether all is well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/database/tables.h"

namespace tilewright::tools {

struct DatabaseArguments {
  std::string where;             // --db
  std::string format = "table";  // --format
  std::string wanted;            // kernel or id
  std::vector<std::string> files;
  std::string out;
  std::string hash, problem, device, compiler;  // of a key
  std::int64_t older_than_days = -1, keep_builds = -1;
  bool failed = false, repair = false, is_wide = false;

  // Raises `Misuse` where a file is named that there is not.
  void require_database() const;
  // Raise `Misuse` where there is no place for a database. `open` reports errors on stderr; without
  // it, the caller's report has them.
  TuningDatabase open(autotune::Access access) const;
  TuningDatabase open_silently(autotune::Access access) const;
  // Raises `Error` where the output would replace the database.
  void require_out_is_another(std::string_view operation) const;
  void print(const Table& table) const;
};

// The exit status of a command that has shown its findings: 1, with a line on stderr, where the
// database did not give all that it was asked for, or rows of it are wrong.
int end_of_reading(const TuningDatabase& database);

// Each returns the exit status of the process: 0, or 1 if something is not well. Raise `Misuse` for
// a missing file or kernel.
int list_questions(const DatabaseArguments& a);
int show_rows(const DatabaseArguments& a);
int show_best(const DatabaseArguments& a);
int show_history(const DatabaseArguments& a);
int explain_miss(const DatabaseArguments& a);
int compare_databases(const DatabaseArguments& a);
int export_database(const DatabaseArguments& a);
int import_files(const DatabaseArguments& a);
int merge_databases(const DatabaseArguments& a);
int prune_rows(const DatabaseArguments& a);
int verify_database(const DatabaseArguments& a);
int show_statistics(const DatabaseArguments& a);
int write_report(const DatabaseArguments& a);

}  // namespace tilewright::tools
