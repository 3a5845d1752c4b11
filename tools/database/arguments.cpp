#include "tools/database/arguments.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/base/error.h"

namespace tilewright::tools {

TuningDatabase DatabaseArguments::open(autotune::Access access) const {
  TuningDatabase database(where, access);
  for (const std::string& message : database.diagnostics().messages)
    fmt::print(stderr, "tilewright: {}\n", message);
  return database;
}

void DatabaseArguments::print(const Table& table) const { fmt::print("{}", table.as(format)); }

}  // namespace tilewright::tools
