#include "autotune/database/salvage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "autotune/database/sql/patience.h"
#include "autotune/database/sql/sqlite_connection.h"
#include "autotune/database/sql/sqlite_pages.h"
#include "autotune/database/store.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t rows_at_once = 1000;
constexpr std::size_t most_versions = 4;
constexpr std::size_t most_damaged_kept = 4;
constexpr std::string_view corrupt_mark = ".corrupt-";

// Held until the process ends at the latest, whatever becomes of it.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    Patience patience;
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (patience.sleep(std::chrono::milliseconds(20))) continue;
      ::close(descriptor_);
      throw SqlError(SqlFailure::unavailable, "another process has been mending " + path);
    }
    patience.give_back();
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

std::int64_t integer(const SqliteCell& cell) {
  const auto* value = std::get_if<std::int64_t>(&cell);
  return value == nullptr ? 0 : *value;
}
// SQLite stores a whole real as an integer.
double real(const SqliteCell& cell) {
  const auto* value = std::get_if<double>(&cell);
  return value == nullptr ? static_cast<double>(integer(cell)) : *value;
}
std::string text(const SqliteCell& cell) {
  const auto* value = std::get_if<std::string>(&cell);
  return value == nullptr ? "" : *value;
}

struct Names {
  // In several versions, which differ in the kernel's name.
  std::unordered_map<std::int64_t, std::vector<TuningKey>> keys;
  std::unordered_map<std::int64_t, Record> compilers;
};

Names names_in(const fs::path& file) {
  Names names;
  each_sqlite_record(file, [&](const SqliteRecord& record) {
    const auto& c = record.cells;
    if (record.has_rowid && c.size() == 5) {
      auto key = read_key({record.rowid, text(c[1]), text(c[2]), text(c[3]), text(c[4])});
      auto* good = std::get_if<TuningKey>(&key);
      if (good == nullptr) return;
      std::vector<TuningKey>& known = names.keys[record.rowid];
      bool is_new = std::ranges::find(known, good->kernel, &TuningKey::kernel) == known.end();
      if (is_new && known.size() < most_versions) known.push_back(std::move(*good));
    } else if (record.has_rowid && c.size() == 2) {
      auto compiler = read_compiler({record.rowid, text(c[1])});
      if (auto* good = std::get_if<Record>(&compiler))
        names.compilers[record.rowid] = std::move(*good);
    }
  });
  return names;
}

std::optional<TuningRow> row_of(const SqliteRecord& record, const Names& names) {
  const auto& c = record.cells;
  if (record.has_rowid || c.size() != 9) return {};
  StoredRow stored{integer(c[0]), integer(c[1]), text(c[2]), text(c[3]),   real(c[4]),
                   real(c[5]),    integer(c[6]), text(c[7]), integer(c[8])};
  auto key = names.keys.find(stored.key);
  auto compiler = names.compilers.find(stored.build);
  if (key == names.keys.end() || compiler == names.compilers.end()) return {};
  for (TuningKey full : key->second) {
    full.compiler = compiler->second;
    auto row = read_row(stored, full, KeyNames(full));
    if (auto* good = std::get_if<TuningRow>(&row)) return std::move(*good);
  }
  return {};
}

std::int64_t copy_rows(const fs::path& from, const Names& names, Store& into) {
  std::vector<TuningRow> some;
  each_sqlite_record(from, [&](const SqliteRecord& record) {
    if (std::optional<TuningRow> row = row_of(record, names)) some.push_back(std::move(*row));
    if (some.size() >= rows_at_once) into.put(std::exchange(some, {}));
  });
  into.put(std::move(some));
  return into.counts().rows;
}

// True if it is a file of SQLite, or one of zeros, as a file system leaves it after it lost
// unwritten data.
bool looks_like_a_database(const fs::path& file) {
  char first[16] = {};
  std::ifstream(file, std::ios::binary).read(first, sizeof first);
  std::string_view bytes(first, sizeof first);
  return bytes.starts_with("SQLite format 3") || bytes.find_first_not_of('\0') == bytes.npos;
}

std::string time_text() {
  std::time_t now = std::time(nullptr);
  char text[32];
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

// True if the name is one that a damaged file gets here: its own, the mark, a time and a number.
bool is_name_of_damaged(std::string_view name, std::string_view own) {
  if (!name.starts_with(own)) return false;
  name.remove_prefix(own.size());
  if (!name.starts_with(corrupt_mark)) return false;
  name.remove_prefix(corrupt_mark.size());
  constexpr std::string_view time = "00000000T000000Z-";
  auto is_digit = [](unsigned char c) { return c >= '0' && c <= '9'; };
  if (name.size() <= time.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (i < time.size() && time[i] != '0' ? name[i] != time[i] : !is_digit(name[i])) return false;
  return true;
}

// Removes old damaged files, so that a disk with a permanent defect does not fill up. Names are in
// the order of time.
void remove_oldest_damaged(const fs::path& file) {
  std::error_code problem;
  std::vector<fs::path> damaged;
  fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem))
    if (is_name_of_damaged(at->path().filename().string(), file.filename().string()))
      damaged.push_back(at->path());
  std::ranges::sort(damaged);
  for (std::size_t i = 0; i + most_damaged_kept < damaged.size(); ++i)
    for (const char* end : {"", "-wal"}) fs::remove(damaged[i].string() + end, problem);
}

}  // namespace

SalvageReport replace_damaged(const fs::path& file, std::uint64_t inode, bool is_ours) {
  SalvageReport report;
  // Before a lock is put beside it. While another process mends it, it is one or is not there.
  if (!is_ours && !looks_like_a_database(file) && names_in(file).keys.empty())
    throw SqlError(SqlFailure::foreign, file.string() + " is not a tuning database");
  FileLock lock(file.string() + ".lock");
  struct stat facts {};
  bool is_there = ::stat(file.c_str(), &facts) == 0;
  if (!is_there || facts.st_ino != inode) {
    report.was_replaced_already = true;
    return report;
  }
  Names names = names_in(file);
  report.moved_to = concat(file.string(), corrupt_mark, time_text(), "-", facts.st_ino);
  fs::path fresh = concat(file.string(), ".salvaged-", ::getpid());
  std::error_code problem;
  fs::remove(fresh, problem);
  try {
    // With a rollback journal, so that there is only one file; it changes to a write-ahead log when
    // it is opened.
    Store store(open_sqlite(fresh, SqliteAccess::read_write, SqliteJournal::rollback));
    report.rows = copy_rows(file, names, store);
  } catch (const SqlError& error) {
    // For example, there is no room for a copy. The damaged file still has to go.
    fs::remove(fresh, problem);
    report.rows = 0;
  }
  auto move = [&](const char* end) {
    fs::rename(file.string() + end, report.moved_to.string() + end, problem);
  };
  ::chmod(fresh.c_str(), facts.st_mode & 0777);
  move("");
  if (problem)
    throw SqlError(SqlFailure::unavailable,
                   concat("cannot move ", file.string(), ": ", problem.message()));
  move("-wal");
  fs::remove(file.string() + "-shm", problem);
  fs::rename(fresh, file, problem);
  remove_oldest_damaged(file);
  return report;
}

}  // namespace tilewright::autotune
