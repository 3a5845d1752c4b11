// `tilewright db` on a database with a few questions, and what it prints.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"
#include "tools/console/misuse.h"
#include "tools/database/commands.h"

namespace tilewright::autotune::testing_commands {

struct Output {
  int code;
  std::string out;
};

class DatabaseCommand : public ::testing::Test {
 protected:
  DatabaseCommand() {
    TuningKey older = test_key();
    older.compiler.set("sources", "older");
    TuningKey other = test_key(2048);
    other.kernel = "matmul, \"tiled\"";
    other.kernel_hash = Hash{3, 4};
    std::int64_t day = 86'400'000;
    TuningDatabase(file("one.db"))
        .store({{test_key(), test_configuration(64), ok_observation({3e4, 3.1e4, 3.2e4})},
                {test_key(), test_configuration(32), ok_observation({1e4}, new_year_ms + 60'000)},
                {test_key(), test_configuration(16), failed_observation(Status::crashed)},
                {older, test_configuration(8), ok_observation({5e3}, new_year_ms - 400 * day)},
                {other, test_configuration(64), ok_observation({7e6})}});
  }
  std::string file(const std::string& name) const { return folder_.path() / name; }

  Output run(std::vector<std::string> words) const {
    CLI::App app;
    tools::add_db(app);
    if (std::ranges::find(words, "--db") == words.end()) {
      words.insert(words.begin() + 1, {"--db", file("one.db")});
    }
    std::reverse(words.begin(), words.end());
    testing::internal::CaptureStdout();
    int code = 0;
    try {
      app.parse(words);
    } catch (const CLI::RuntimeError& end) {
      code = end.get_exit_code();
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return {code, testing::internal::GetCapturedStdout()};
  }

  ScratchFolder folder_;
};

// The messages of `db` for invalid words.
class DatabaseMisuse : public DatabaseCommand {
 protected:
  std::string misuse_of(const std::vector<std::string>& words) {
    try {
      run(words);
    } catch (const tools::Misuse& error) {
      return error.what();
    }
    return "";
  }
};

}  // namespace tilewright::autotune::testing_commands
