#include "autotune/database/sql/location.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "autotune/database/sql/postgres_connection.h"
#include "autotune/database/sql/sqlite_connection.h"

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/cache_folder.h"
#include "runtime/files/private_folder.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;

bool is_url(const std::string& where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

// True if it begins with SCHEME://, which no intended file name does.
bool has_scheme(std::string_view where) {
  auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+'; };
  std::size_t end = where.find("://");
  return end != where.npos && end > 0 && std::ranges::all_of(where.substr(0, end), is_letter);
}

Location location_of(const char* operation, const std::string& named) {
  if (is_url(named)) return {.url = named};
  require(!has_scheme(named), "[", operation, "] \"", named,
          "\" is a URL of another kind; a file or postgresql://... would be right");
  return {.file = named};
}

// Creates the file without opening it: closing it would release the locks that another connection
// of this process has on it.
void keep_from_others(const fs::path& file) {
  if (::mknod(file.c_str(), S_IFREG | 0600, 0) == 0) return;
  struct stat facts {};
  bool is_ours =
      ::lstat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
  if (is_ours && (facts.st_mode & 0077) != 0) ::chmod(file.c_str(), facts.st_mode & 0700);
}

std::unique_ptr<SqlConnection> open_file(const Location& location, Access access,
                                         const NoteFailure& why_not_written) {
  const fs::path& file = location.file;
  fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code problem;
  if (access == Access::read_write) {
    // Before a folder is made, which would otherwise be where others want it.
    auto reason = location.is_ours ? std::nullopt : open_to_anybody(file);
    if (reason)
      throw SqlError(SqlFailure::foreign, file.string() + " is not safe to write: " + *reason);
    fs::create_directories(folder, problem);
    if (location.is_ours) keep_from_others(file);
  }
  SqliteJournal journal =
      is_network_file_system(folder) ? SqliteJournal::rollback : SqliteJournal::log;
  constexpr SqliteAccess ways[] = {SqliteAccess::read_write, SqliteAccess::read,
                                   SqliteAccess::immutable};
  std::optional<SqlError> first;
  for (SqliteAccess way : ways) {
    if (way == SqliteAccess::read_write && access == Access::read) continue;
    try {
      auto connection = open_sqlite(file, way, journal);
      if (first && why_not_written) why_not_written(*first);
      return connection;
    } catch (const SqlError& error) {
      // A new file on a full disk would then look empty to a reader, which would report that
      // instead.
      if (first && first->kind == SqlFailure::full) throw *first;
      if (!first) first = error;
      bool may_be_permission = error.kind == SqlFailure::read_only ||
                               error.kind == SqlFailure::unavailable ||
                               error.kind == SqlFailure::full;
      if (!may_be_permission || way == SqliteAccess::immutable) throw;
    }
  }
  throw SqlError(SqlFailure::unavailable, "cannot open " + file.string());
}

}  // namespace

std::string Location::text() const {
  if (url.empty()) return file.string();
  std::string shown = url.substr(0, url.find('?'));
  std::size_t at = shown.find('@'), host = shown.find("//");
  return at == shown.npos ? shown : shown.substr(0, host + 2) + "..." + shown.substr(at);
}

std::optional<Location> named_location() {
  std::string named = env::tune_db();
  if (named.empty()) return {};
  if (env::is_off(named)) return Location{.why_none = "TILEWRIGHT_TUNE_DB is off"};
  return location_of("TILEWRIGHT_TUNE_DB", named);
}

Location locate(const std::string& where) {
  if (!where.empty()) return location_of("tuning database", where);
  if (auto named = named_location()) return *named;
  CacheFolder folder = find_cache_folder("tuning");
  if (folder.path.empty()) return {.why_none = folder.why_not};
  return {.file = folder.path / "tuning.db", .is_ours = true};
}

std::unique_ptr<SqlConnection> open_connection(const Location& location, Access access,
                                               const NoteFailure& why_not_written) {
  if (!location.url.empty()) return open_postgres(location.url, access);
  if (!location.file.empty()) return open_file(location, access, why_not_written);
  throw SqlError(SqlFailure::unavailable, "there is no place to keep it in: " + location.why_none);
}

}  // namespace tilewright::autotune
