// A database of many keys as the bytes of one file, and how much of it is still right.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/rows.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::testing_damage {

namespace fs = std::filesystem;
using ::testing::Contains;

constexpr std::int64_t keys = 40, configurations = 12;

inline std::vector<TuningRow> rows_of(std::int64_t key) {
  std::vector<TuningRow> rows;
  for (std::int64_t i = 1; i <= configurations; ++i) {
    rows.push_back({test_key(key), test_configuration(i), ok_observation({100.0 + key + i, 300})});
    // Long enough that a row in five goes on on another page.
    if (i % 5 == 0)
      for (int j = 1; j < 4; ++j) {
        Observation more = ok_observation(std::vector<double>(32, 200.125 + j), new_year_ms + j);
        rows.back().observations = join(rows.back().observations, {more});
      }
  }
  return rows;
}

// As bytes, in one file.
inline const std::string& whole_file() {
  static const std::string bytes = [] {
    ScratchFolder folder;
    fs::path file = folder.path() / "tuning.db";
    {
      Store store(open_sqlite(file, SqliteAccess::read_write, SqliteJournal::rollback));
      for (std::int64_t key = 1; key <= keys; ++key) store.put(rows_of(key));
    }
    return read_file(file);
  }();
  return bytes;
}

// How many rows there still are; every one is as it was stored.
inline std::int64_t rows_that_are_right(TuningDatabase& database) {
  std::int64_t count = 0;
  for (std::int64_t key = 1; key <= keys; ++key) {
    std::vector<TuningRow> stored = rows_of(key);
    for (const TuningRow& row : database.rows(test_key(key))) {
      EXPECT_THAT(stored, Contains(row));
      ++count;
    }
    Lookup found = database.lookup(test_key(key));
    if (found.best) {
      EXPECT_THAT(stored, Contains(*found.best));
    }
  }
  return count;
}

inline std::vector<fs::path> files_moved_aside(const fs::path& folder) {
  std::vector<fs::path> moved;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().find(".corrupt-") != std::string::npos) moved.push_back(entry.path());
  return moved;
}

}  // namespace tilewright::autotune::testing_damage
