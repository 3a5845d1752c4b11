// Where the tuning database is, and how it is opened there as well as can be.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autotune/database/sql/access.h"
#include "autotune/database/sql/sql_connection.h"

namespace tilewright::autotune {

// A file, a server, or (both empty) no place at all.
struct Location {
  std::filesystem::path file = {};
  std::string url = {};       // postgresql://...
  bool is_ours = false;       // the file in the cache folder, which has no other name
  std::string why_none = {};  // if there is no place
  // For messages: the file, or the server without user, password and options.
  std::string text() const;
};

// The location that TILEWRIGHT_TUNE_DB names, or none if it is not set. Raises `Error` as `locate`.
std::optional<Location> named_location();

// "" means the location that TILEWRIGHT_TUNE_DB names (none, if that is off), or else tuning.db in
// the cache folder. Raises `Error` for a URL that is not PostgreSQL's.
Location locate(const std::string& where);

// Makes the folder and the file if they do not exist. A file without write permission is opened for
// reading, if need be without locks, and on a network file system without a write-ahead log. The
// file in the cache folder is the user's alone (mode 0600); one that anybody could have put there
// is not written to. Raises `SqlError`. If a file that was to be written is opened for reading,
// `why_not_written` gets the reason.
using NoteFailure = std::function<void(const SqlError& error)>;
std::unique_ptr<SqlConnection> open_connection(const Location& location, Access access,
                                               const NoteFailure& why_not_written = {});

}  // namespace tilewright::autotune
