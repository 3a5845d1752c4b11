// A disk that fails to give one page, once: SQLite's files with the n-th read of them refused.
#pragma once

#include <sqlite3.h>

#include <cstdint>

namespace tilewright::autotune {

// All of SQLite's files of this process, until it goes. One at a time.
class FaultyReads {
 public:
  // `code` is what the read gives: SQLITE_IOERR_CORRUPTFS is what SQLite makes of EIO.
  FaultyReads(std::int64_t which, int code);
  ~FaultyReads();
  FaultyReads(const FaultyReads&) = delete;
  FaultyReads& operator=(const FaultyReads&) = delete;
  bool has_failed() const;  // otherwise there were fewer reads
};

}  // namespace tilewright::autotune
