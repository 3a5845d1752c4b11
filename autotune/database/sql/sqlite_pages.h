// The contents of an SQLite file, read page by page, without its schema and without following its
// trees: for a file that SQLite itself no longer reads.
//
// Every page that looks like one with records is gone through, in the file and in the log beside it
// (-wal), whether or not a tree still names it. So the same row may come several times, in several
// versions, together with garbage, and the caller must be able to tell. Takes time linear in the
// size of the file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::autotune {

// A value as it is stored; null is std::monostate. Blobs come as text.
using SqliteCell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct SqliteRecord {
  bool has_rowid = false;  // of a table with row numbers; else of an index, or WITHOUT ROWID
  std::int64_t rowid = 0;
  std::vector<SqliteCell> cells;
};

// Raises nothing; a file that cannot be read has no records.
void each_sqlite_record(const std::filesystem::path& file,
                        const std::function<void(const SqliteRecord&)>& each);

}  // namespace tilewright::autotune
