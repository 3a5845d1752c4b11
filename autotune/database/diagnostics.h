// What a database tells of itself: where it is, what went wrong with it, and how much it holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::autotune {

struct Diagnostics {
  std::string place;                  // "SQLite 3.40.1, journal wal, /home/..."
  bool keeps = false;                 // what is stored outlives the process
  std::int64_t rejected_rows = 0;     // wrong when they were read
  std::int64_t failures = 0;          // of the database, whatever was done about them
  std::int64_t unanswered = 0;        // calls for which it gave nothing, however often it was asked
  std::vector<std::string> messages;  // the first of each kind, 20 at the most
};

struct DatabaseCounts {
  std::int64_t rows = 0, keys = 0, builds = 0, size_bytes = 0;
};

}  // namespace tilewright::autotune
