// The subcommands that carry rows and keep them in order: export, import, merge, prune, verify.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>

#include "autotune/database/exchange.h"
#include "runtime/base/error.h"
#include "runtime/base/thread_end.h"
#include "runtime/files/atomic_file.h"
#include "tools/console/misuse.h"
#include "tools/database/arguments.h"

namespace tilewright::tools {
namespace {

using autotune::Access;
using autotune::MergeReport;

// Files that cannot be read or rows that are wrong are named and passed over: 1 says so.
int print_report(const std::string& from, const MergeReport& report) {
  std::string what_else;
  if (report.rejected > 0)
    what_else += ", " + rows_text(static_cast<std::size_t>(report.rejected)) + " left out";
  if (report.unkept > 0)
    what_else += fmt::format(", {} of them not kept", report.unkept);
  else if (!report.is_complete)
    what_else += ", not complete";
  fmt::print("{}: {}{}\n", from, rows_text(static_cast<std::size_t>(report.read)), what_else);
  for (const std::string& message : report.messages) fmt::print(stderr, "  {}\n", message);
  return report.is_complete && report.rejected == 0 ? 0 : 1;
}

std::string hash_of(const TuningKey& key) { return key.question().hex(); }

// Output goes to a file that appears whole. The file's error waits until it is asked for: a stream
// would put a nameless one of its own in its place.
class AtomicStream final : public std::streambuf {
 public:
  explicit AtomicStream(AtomicFile& file) : file_(file) { setp(bytes_, bytes_ + sizeof bytes_); }
  void raise_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  int sync() override {
    if (failure_) return -1;
    try {
      file_.write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    } catch (const ForcedUnwind&) {
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      return -1;
    }
    setp(bytes_, bytes_ + sizeof bytes_);
    return 0;
  }
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    return c == traits_type::eof() ? 0 : sputc(static_cast<char>(c));
  }
  AtomicFile& file_;
  std::exception_ptr failure_;
  char bytes_[1 << 16];
};

std::int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// The compilers of a question's rows, the one that tried it last first.
std::vector<std::string> builds_of(const Question& question) {
  std::map<std::string, std::int64_t> newest;
  for (const TuningRow& row : question.rows) {
    std::int64_t& date = newest[build_text(row)];
    date = std::max(date, row.date_ms());
  }
  std::vector<std::string> builds;
  for (const auto& [build, date] : newest) builds.push_back(build);
  std::ranges::stable_sort(builds, std::greater(), [&](const auto& b) { return newest[b]; });
  return builds;
}

}  // namespace

int export_database(const DatabaseArguments& a) {
  TuningDatabase database = a.open(Access::read);
  std::set<std::string> hashes;
  if (!a.wanted.empty())
    for (const Question& q : known_questions(database, a.wanted)) hashes.insert(hash_of(q.key));
  auto wanted = [&](const TuningRow& row) {
    return a.wanted.empty() || hashes.contains(hash_of(row.key));
  };
  a.require_out_is_another("db export");
  // The last good export stays until this one is whole.
  AtomicFile file(a.out, "db");
  AtomicStream bytes(file);
  std::ostream out(&bytes);
  std::optional<std::int64_t> rows = export_rows(database, out, wanted);
  bytes.raise_failure();
  require(rows.has_value(), "[db] could not read all rows, and left ", a.out,
          " as it was; `tilewright db verify` says what is wrong");
  file.commit();
  fmt::print("{}: {}\n", a.out, rows_text(static_cast<std::size_t>(*rows)));
  return 0;
}

int import_files(const DatabaseArguments& a) {
  for (const std::string& name : a.files) require_file("db", name, "files that `export` wrote");
  TuningDatabase database = a.open_silently(Access::read_write);
  int code = 0;
  for (const std::string& name : a.files) {
    // Pipes and devices may never end, or never begin.
    std::error_code error;
    bool is_special =
        std::filesystem::exists(name, error) && !std::filesystem::is_regular_file(name, error);
    require(!is_special, "[db] cannot read ", name, ": it is not a regular file");
    std::ifstream file(name, std::ios::binary);
    require(file.is_open(), "[db] cannot read ", name);
    code |= print_report(name, import_rows(file, database));
  }
  return code;
}

int merge_databases(const DatabaseArguments& a) {
  TuningDatabase database = a.open_silently(Access::read_write);
  int code = 0;
  for (const std::string& name : a.files) {
    DatabaseArguments other = a;
    other.where = name;
    TuningDatabase from = other.open_silently(Access::read);
    code |= print_report(name, merge(from, database));
  }
  return code;
}

std::string reasons_of(const autotune::Diagnostics& diagnostics) {
  std::string text;
  for (const std::string& message : diagnostics.messages)
    text += concat(text.empty() ? "" : "; ", message);
  return text.empty() ? "it may only be read" : text;
}

int prune_rows(const DatabaseArguments& a) {
  bool is_named = a.older_than_days >= 0 || a.keep_builds >= 0 || a.failed || !a.wanted.empty();
  require_use(is_named,
              "[db] prune has no selection of rows to remove; give WHICH, --older-than, "
              "--keep-builds or --failed");
  a.require_database();  // a mistyped name makes none
  TuningDatabase database = a.open(Access::read_write);
  constexpr std::int64_t day_ms = 86'400'000;
  std::vector<TuningRow> going;
  for (const Question& question : known_questions(database, a.wanted)) {
    std::vector<std::string> builds = builds_of(question);
    auto kept = std::min<std::size_t>(builds.size(), static_cast<std::size_t>(a.keep_builds));
    std::set<std::string> last(builds.begin(), builds.begin() + static_cast<long>(kept));
    for (const TuningRow& row : question.rows) {
      bool is_old = a.older_than_days < 0 || row.date_ms() < now_ms() - a.older_than_days * day_ms;
      bool is_superseded = a.keep_builds < 0 || !last.contains(build_text(row));
      if (is_old && is_superseded && (!a.failed || !row.is_ok())) going.push_back(row);
    }
  }
  require(database.remove(going), "[db] the rows could not be removed from ",
          database.diagnostics().place, ": ", reasons_of(database.diagnostics()));
  database.clean();
  fmt::print("{} removed\n", rows_text(going.size()));
  return 0;
}

int verify_database(const DatabaseArguments& a) {
  TuningDatabase database = a.open(a.repair ? Access::read_write : Access::read);
  std::vector<std::string> problems = database.problems();
  std::size_t rows = 0;
  bool is_whole = database.each_row([&](const TuningRow&) { ++rows; });
  if (a.repair) fmt::print("{} removed\n", rows_text(static_cast<std::size_t>(database.clean())));
  autotune::Diagnostics diagnostics = database.diagnostics();
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  for (const std::string& message : diagnostics.messages) fmt::print("{}\n", message);
  fmt::print("{}: {} {} right, {} {} not\n", diagnostics.place, rows_text(rows),
             rows == 1 ? "is" : "are", diagnostics.rejected_rows,
             diagnostics.rejected_rows == 1 ? "is" : "are");
  return is_whole && problems.empty() && diagnostics.rejected_rows == 0 ? 0 : 1;
}

}  // namespace tilewright::tools
