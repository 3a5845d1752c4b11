#include "tools/database/arguments.h"

#include <fmt/format.h>

#include <filesystem>

#include "autotune/database/sql/location.h"
#include "runtime/base/error.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {

constexpr std::size_t page_width = 100;

// Without one nothing could be read or kept.
static void require_place(const autotune::Location& location) {
  require_use(!location.file.empty() || !location.url.empty(),
              "[db] there is no database: ", location.why_none,
              "; --db or TILEWRIGHT_TUNE_DB names one");
}

void DatabaseArguments::require_database() const {
  autotune::Location location = as_misuse([&] { return autotune::locate(where); });
  require_place(location);
  bool is_missing = !location.file.empty() && !std::filesystem::exists(location.file);
  require_use(!is_missing, "[db] there is no database \"", location.text(), "\"; ",
              location.is_ours ? "nothing was tuned yet: `tilewright tune WORD --keep` makes it"
                               : "--db or TILEWRIGHT_TUNE_DB names one");
}

TuningDatabase DatabaseArguments::open_silently(autotune::Access access) const {
  if (access == autotune::Access::read)
    require_database();
  else
    require_place(as_misuse([&] { return autotune::locate(where); }));
  return TuningDatabase(where, access);
}

TuningDatabase DatabaseArguments::open(autotune::Access access) const {
  TuningDatabase database = open_silently(access);
  for (const std::string& message : database.diagnostics().messages)
    fmt::print(stderr, "tilewright: {}\n", message);
  return database;
}

void DatabaseArguments::print(const Table& table) const {
  fmt::print("{}", table.as(format, is_wide ? 0 : page_width));
}

int end_of_reading(const TuningDatabase& database) {
  autotune::Diagnostics found = database.diagnostics();
  if (found.unanswered == 0 && found.rejected_rows == 0) return 0;
  fmt::print(stderr,
             "tilewright: [db] not all of {} could be read{}{}; rows are missing in the output, "
             "and `tilewright db verify` says more\n",
             found.place, found.messages.empty() ? "" : ": ",
             found.messages.empty() ? "" : found.messages.back());
  return 1;
}

void DatabaseArguments::require_out_is_another(std::string_view operation) const {
  autotune::Location location = autotune::locate(where);
  std::error_code error;
  bool is_same = !location.file.empty() && std::filesystem::equivalent(out, location.file, error);
  require(!is_same, "[", operation, "] ", out,
          " is the database itself, which would be lost; name another file");
}

}  // namespace tilewright::tools
