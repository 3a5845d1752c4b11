// An SQLite file under a test's hands, past everything that the library does to protect it.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace tilewright::autotune {

// Runs statements; results as they are printed by sqlite3's shell: values by |, a row a line.
inline std::string run_sql(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  std::string printed;
  char* problem = nullptr;
  auto print = [](void* to, int columns, char** values, char**) {
    for (int i = 0; i < columns; ++i)
      *static_cast<std::string*>(to) += concat(i == 0 ? "" : "|", values[i] ? values[i] : "");
    *static_cast<std::string*>(to) += "\n";
    return 0;
  };
  sqlite3_open(file.c_str(), &database);
  if (sqlite3_exec(database, sql.c_str(), print, &printed, &problem) != SQLITE_OK)
    printed += concat("error: ", problem, "\n");
  sqlite3_free(problem);
  sqlite3_close(database);
  return printed;
}

// Holds the lock for writing while it lives, as a process does that does not go on.
class HeldLock {
 public:
  explicit HeldLock(const std::filesystem::path& file) {
    is_held_ = sqlite3_open(file.c_str(), &database_) == SQLITE_OK &&
               sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  ~HeldLock() { sqlite3_close(database_); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  sqlite3* database_ = nullptr;
  bool is_held_ = false;
};

}  // namespace tilewright::autotune
