#include "autotune/database/sql/sqlite_connection.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "autotune/database/sql/patience.h"
#include "autotune/database/sql/schema.h"
#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

constexpr int longest_value_bytes = 1 << 20;
// Steps of SQLite's virtual machine that a statement may take in any file, and in addition for each
// byte of a long file. A row of a table takes a hundred or two hundred steps, and some hundred
// bytes. Without a limit, a file in which one page is the child of a thousand others, and each of
// these of as many, would be read for ever.
constexpr std::int64_t steps_of_any = 20'000'000, steps_a_byte = 8, steps_between_looks = 100'000;

// A greater schema number was not written by any newer version of the library.
constexpr std::int64_t most_versions_ever = 4095;

constexpr std::array statement_texts = {
#define TILEWRIGHT_SQL(name, text) text,
#include "autotune/database/sql/statements.def"
#undef TILEWRIGHT_SQL
};

SqlFailure kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return SqlFailure::busy;
    case SQLITE_FULL: return SqlFailure::full;
    case SQLITE_READONLY:
    case SQLITE_PERM: return SqlFailure::read_only;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_INTERRUPT: return SqlFailure::damaged;
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_SHORT_READ) return SqlFailure::damaged;
      // A file may also be as long as the process may make it.
      return code == SQLITE_IOERR_WRITE ? SqlFailure::full : SqlFailure::unavailable;
    default: return SqlFailure::unavailable;
  }
}

// True if integrity_check reports that an index and its table disagree, where both are trees.
bool is_of_entries(std::string_view problem) {
  return problem.find(" missing from index ") != problem.npos ||
         problem.find("wrong # of entries in index ") != problem.npos ||
         problem.find("non-unique entry in index ") != problem.npos;
}

// The disk as SQLite sees it, under a name of this connection's own. Beside the waits that a busy
// handler is asked for there are others: while the index of the log is half written by a process
// that does not go on, a statement looks at it a hundred times and sleeps ten seconds in between.
class PatientDisk {
 public:
  explicit PatientDisk(Patience& patience)
      : patience_(patience), name_(concat("tilewright-", this)) {
    static_cast<sqlite3_vfs&>(vfs_) = *sqlite3_vfs_find(nullptr);
    vfs_.pNext = nullptr;
    vfs_.zName = name_.c_str();
    vfs_.xSleep = sleep;
    vfs_.disk = this;
    sqlite3_vfs_register(&vfs_, 0);
  }
  ~PatientDisk() { sqlite3_vfs_unregister(&vfs_); }
  PatientDisk(const PatientDisk&) = delete;
  PatientDisk& operator=(const PatientDisk&) = delete;
  const char* name() const { return name_.c_str(); }

 private:
  struct Vfs : sqlite3_vfs {
    PatientDisk* disk = nullptr;
  };
  static int sleep(sqlite3_vfs* vfs, int microseconds) {
    std::chrono::microseconds wish(microseconds);
    static_cast<Vfs*>(vfs)->disk->patience_.sleep(wish);
    return microseconds;
  }

  Patience& patience_;
  std::string name_;
  Vfs vfs_;
};

class SqliteRow final : public SqlRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) const override {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteConnection final : public SqlConnection {
 public:
  SqliteConnection(const std::filesystem::path& path, SqliteAccess access, SqliteJournal journal)
      : path_(path.string()), access_(access) {
    require_regular_files();
    bool writes = access == SqliteAccess::read_write;
    std::string name = path.empty() ? ":memory:" : uri(access);
    int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    int code = sqlite3_open_v2(name.c_str(), &database_,
                               flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, disk_.name());
    try {
      if (code != SQLITE_OK) fail(code, "cannot open");
      prepare_file(journal);
      bring_up_to_date();
    } catch (...) {
      close();
      throw;
    }
  }
  ~SqliteConnection() override { close(); }

  std::int64_t run(Statement which, std::span<const SqlValue> parameters,
                   const EachRow& each) override {
    if (sqlite3_get_autocommit(database_) != 0) require_in_place();
    begin_statement();
    sqlite3_stmt* statement = prepared(which);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      bind(statement, static_cast<int>(i) + 1, parameters[i]);
    SqliteRow row(statement);
    int code;
    try {
      while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        if (each) each(row);
    } catch (...) {
      sqlite3_reset(statement);
      throw;
    }
    if (code != SQLITE_DONE) {
      code = sqlite3_extended_errcode(database_);
      std::string text = sqlite3_errmsg(database_);
      sqlite3_reset(statement);
      fail(code, "cannot use", text);
    }
    std::int64_t changed = sqlite3_changes64(database_);
    sqlite3_reset(statement);
    patience_.give_back();
    return changed;
  }

  void begin() override {
    require_in_place();
    execute("BEGIN IMMEDIATE");
  }
  void commit() override { execute("COMMIT"); }
  void roll_back() noexcept override {
    // After some failures SQLite has done it by itself.
    if (sqlite3_get_autocommit(database_) == 0)
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }

  std::vector<std::string> problems() override {
    std::vector<std::string> found;
    query("PRAGMA integrity_check(20)", [&](const SqlRow& row) {
      if (row.text(0) != "ok") found.emplace_back(row.text(0));
    });
    return found;
  }

  // VACUUM copies to a database of its own, which counts as one more.
  void compact() override {
    struct OneMore {
      sqlite3* database;
      explicit OneMore(sqlite3* d) : database(d) {
        sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 1);
      }
      ~OneMore() { sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0); }
    };
    {
      OneMore allowed(database_);
      execute("VACUUM");
    }
    query("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  // REINDEX gives the pages of the old trees free: of a tree that leads astray, pages of others, in
  // which the next statement writes.
  void mend_indexes() override {
    std::vector<std::string> found = problems();
    for (const std::string& problem : found)
      if (!is_of_entries(problem)) throw SqlError(SqlFailure::damaged, problem);
    if (!found.empty()) execute("REINDEX");
  }

  std::int64_t size_bytes() override {
    return number("PRAGMA page_count") * number("PRAGMA page_size");
  }

  bool is_writable() override {
    return access_ == SqliteAccess::read_write && sqlite3_db_readonly(database_, "main") == 0;
  }

  std::string description() override {
    std::string journal;
    query("PRAGMA journal_mode", [&](const SqlRow& row) { journal = row.text(0); });
    return concat("SQLite ", sqlite3_libversion(), ", journal ", journal,
                  is_writable() ? "" : ", read only", ", ", path_.empty() ? "in memory" : path_);
  }

 private:
  std::string uri(SqliteAccess access) const {
    std::string text = "file:";
    for (char c : path_)
      if (c == '%' || c == '?' || c == '#')
        text += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
      else
        text += c;
    return access == SqliteAccess::immutable ? text + "?immutable=1" : text;
  }

  void prepare_file(SqliteJournal journal) {
    sqlite3_extended_result_codes(database_, 1);
    sqlite3_busy_handler(database_, wait_for_others, this);
    sqlite3_progress_handler(database_, steps_between_looks, has_taken_too_long, this);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, longest_value_bytes);
    sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
    execute("PRAGMA trusted_schema=OFF");
    execute("PRAGMA cache_size=-16000");  // kB, when they are needed
    execute("PRAGMA cell_size_check=ON");
    if (!path_.empty()) refuse_what_is_not_ours();
    if (access_ != SqliteAccess::read_write || path_.empty()) return;
    set_journal(journal);
    execute("PRAGMA synchronous=FULL");
    // A larger log lets a merge write at once without disturbing the pages that readers use.
    execute("PRAGMA wal_autocheckpoint=4000");
    struct stat facts {};
    if (::stat(path_.c_str(), &facts) == 0) inode_ = facts.st_ino;
  }

  // While others use the file in another mode, it stays in that.
  void set_journal(SqliteJournal journal) {
    try {
      query(journal == SqliteJournal::log ? "PRAGMA journal_mode=WAL"
                                          : "PRAGMA journal_mode=DELETE");
    } catch (const SqlError& error) {
      if (error.kind != SqlFailure::busy) throw;
    }
  }

  // At one moment: another process may be making the tables and setting our mark.
  void refuse_what_is_not_ours() {
    execute("BEGIN");
    std::int64_t mark = number("PRAGMA application_id"), version = number("PRAGMA user_version");
    std::vector<SchemaObject> objects;
    query("SELECT type, name, sql FROM sqlite_schema", [&](const SqlRow& row) {
      objects.push_back(
          {std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2))});
    });
    execute("COMMIT");
    if (objects.empty() && mark == 0 && version == 0) return;
    if (mark != application_id) {
      bool has_our_tables = !schema_problem(objects, schema_version);
      throw SqlError(has_our_tables ? SqlFailure::damaged : SqlFailure::foreign,
                     path_ + (has_our_tables ? " has our tables, and the mark of another program"
                                             : " is a database of another program"));
    }
    // Such a number is no version. A file with it and our tables is damaged, not newer.
    bool is_no_version = version > most_versions_ever && !schema_problem(objects, schema_version);
    if (is_no_version)
      throw SqlError(SqlFailure::damaged,
                     concat(path_, " has our tables, and schema ", version, ", which none is"));
    if (version > schema_version)
      throw SqlError(SqlFailure::foreign,
                     concat(path_, " has schema ", version, ", of a newer version of Tilewright; ",
                            "this one knows up to ", schema_version));
    if (version < oldest_readable_version)
      throw SqlError(SqlFailure::damaged, concat(path_, " has tables, and schema ", version));
    if (auto problem = schema_problem(objects, static_cast<int>(version)))
      throw SqlError(problem->is_foreign ? SqlFailure::foreign : SqlFailure::damaged,
                     concat(path_, " is not as tuning databases are made: ", problem->text));
  }

  // Something other than a regular file could block the process, or never end. A file with a second
  // name would be written elsewhere too, and its log, which has the name by which it was opened,
  // would not be found by the other.
  void require_regular_files() const {
    if (path_.empty()) return;
    for (const char* end : {"", "-wal", "-journal", "-shm"}) {
      struct stat facts {};
      if (::stat((path_ + end).c_str(), &facts) != 0) continue;
      if (!S_ISREG(facts.st_mode))
        throw SqlError(SqlFailure::unavailable, path_ + end + " is not a regular file");
      if (facts.st_nlink > 1)
        throw SqlError(SqlFailure::unavailable,
                       concat(path_, end, " has ", facts.st_nlink,
                              " names (hard links); a copy with one name can be used"));
    }
  }

  static int wait_for_others(void* self, int times) {
    std::chrono::milliseconds wish(std::min(1 + 2 * times, 25));
    return static_cast<SqliteConnection*>(self)->patience_.sleep(wish) ? 1 : 0;
  }

  static int has_taken_too_long(void* self) {
    auto* connection = static_cast<SqliteConnection*>(self);
    connection->steps_ += steps_between_looks;
    if (connection->steps_ <= steps_of_any) return 0;
    struct stat facts {};
    bool has_size = ::stat(connection->path_.c_str(), &facts) == 0;
    bool is_too_long = has_size && connection->steps_ > steps_of_any + steps_a_byte * facts.st_size;
    return is_too_long ? 1 : 0;
  }

  void begin_statement() {
    steps_ = 0;
    patience_ = {};
  }

  void bring_up_to_date() {
    std::int64_t version = number("PRAGMA user_version");
    if (version == schema_version) return;
    if (access_ != SqliteAccess::read_write && version >= oldest_readable_version) return;
    if (access_ != SqliteAccess::read_write)
      throw SqlError(SqlFailure::read_only,
                     concat(path_, " has schema ", version, " and cannot be brought to ",
                            schema_version, ", since it may not be written"));
    Transaction transaction(*this);
    // Another process may have done it meanwhile.
    for (std::int64_t at = number("PRAGMA user_version"); at < schema_version; ++at)
      for (const std::string& step : schema_step(static_cast<int>(at), SqlDialect::sqlite))
        execute(step);
    execute(concat("PRAGMA user_version=", schema_version));
    execute(concat("PRAGMA application_id=", application_id));
    transaction.commit();
  }

  // If another file has been put in its place, or none is left, what is written here would be lost.
  void require_in_place() const {
    if (inode_ == 0) return;
    struct stat facts {};
    if (::stat(path_.c_str(), &facts) != 0 || facts.st_ino != inode_)
      throw SqlError(SqlFailure::lost, path_ + " was replaced");
  }

  sqlite3_stmt* prepared(Statement which) {
    sqlite3_stmt*& statement = statements_[static_cast<std::size_t>(which)];
    if (statement == nullptr) {
      std::string text = text_of(which);
      std::ranges::replace(text, '$', '?');  // ?4 is the fourth wherever it stands, $4 is a name
      int code = sqlite3_prepare_v3(database_, text.c_str(), -1, SQLITE_PREPARE_PERSISTENT,
                                    &statement, nullptr);
      if (code != SQLITE_OK) fail_to_prepare(code);
    }
    return statement;
  }

  // In a database with our mark and our version the tables are there, unless it is damaged.
  [[noreturn]] void fail_to_prepare(int code) {
    std::string text = sqlite3_errmsg(database_);
    if (code == SQLITE_ERROR) throw SqlError(SqlFailure::damaged, path_ + ": " + shown(text, 200));
    fail(sqlite3_extended_errcode(database_), "cannot use", text);
  }

  void bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
    int code;
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      code = sqlite3_bind_int64(statement, index, *integer);
    else if (const auto* real = std::get_if<double>(&value))
      code = sqlite3_bind_double(statement, index, *real);
    else
      code = bind_text(statement, index, std::get<std::string_view>(value));
    if (code != SQLITE_OK) fail(code, "cannot use");
  }

  static int bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
    // The caller's text outlives the step.
    return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }

  void execute(const std::string& text) { query(text); }

  void query(const std::string& text, const EachRow& each = {}) {
    begin_statement();
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(database_, text.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_OK) {
      SqliteRow row(statement);
      while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        if (each) each(row);
    }
    bool failed = code != SQLITE_OK && code != SQLITE_DONE;
    if (failed) code = sqlite3_extended_errcode(database_);
    std::string message = failed ? sqlite3_errmsg(database_) : "";
    sqlite3_finalize(statement);
    if (failed) fail(code, "cannot use", message);
    patience_.give_back();
  }

  std::int64_t number(const std::string& text) {
    std::int64_t value = 0;
    query(text, [&](const SqlRow& row) { value = row.integer(0); });
    return value;
  }

  [[noreturn]] void fail(int code, const char* action, const std::string& text = {}) {
    std::string message = text.empty() && database_ != nullptr ? sqlite3_errmsg(database_) : text;
    if (code == SQLITE_INTERRUPT) message = "a statement takes more steps than its size explains";
    throw SqlError(kind_of(code),
                   concat(action, " ", path_, ": ", shown(message, 200), " (", code, ")"));
  }

  void close() noexcept {
    for (sqlite3_stmt*& statement : statements_) sqlite3_finalize(statement);
    sqlite3_close_v2(database_);
    database_ = nullptr;
  }

  std::string path_;
  SqliteAccess access_;
  sqlite3* database_ = nullptr;
  std::array<sqlite3_stmt*, statement_texts.size()> statements_{};
  ino_t inode_ = 0;
  std::int64_t steps_ = 0;  // of the statement that runs
  Patience patience_;       // likewise
  PatientDisk disk_{patience_};
};

}  // namespace

const char* text_of(Statement statement) {
  return statement_texts[static_cast<std::size_t>(statement)];
}

std::unique_ptr<SqlConnection> open_sqlite(const std::filesystem::path& path, SqliteAccess access,
                                           SqliteJournal journal) {
  return std::make_unique<SqliteConnection>(path, access, journal);
}

bool is_network_file_system_type(std::uint64_t type) {
  constexpr std::uint64_t over_a_network[] = {
      0x6969,      // NFS
      0x517b,      // SMB
      0xfe534d42,  // SMB 2
      0xff534d42,  // CIFS
      0x01021997,  // 9P
      0x65735546,  // FUSE
      0x00c36400,  // Ceph
      0x5346414f,  // AFS
      0x0bd00bd0,  // Lustre
      0x47504653,  // GPFS
      0x73757245,  // Coda
      0x7461636f,  // OCFS2
      0x01161970,  // GFS2
      0x786f4256,  // shared folders of VirtualBox
      0xbacbacbc,  // and of VMware
  };
  for (std::uint64_t other : over_a_network)
    if (type == other) return true;
  return false;
}

bool is_network_file_system(const std::filesystem::path& folder) {
  struct statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 &&
         is_network_file_system_type(static_cast<std::uint32_t>(facts.f_type));
}

}  // namespace tilewright::autotune
