#include "autotune/database/exchange.h"

#include <future>
#include <utility>

#include "autotune/database/row/stored_row.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

constexpr std::size_t rows_at_once = 20'000;
constexpr std::size_t longest_line = 1 << 20;
constexpr std::size_t most_messages = 10;
constexpr std::string_view first_line = R"({"tilewright":"tuning rows","format":1})";

std::string last_line(std::int64_t rows, const Hasher& lines) {
  return concat(R"({"rows":)", rows, R"(,"checksum":")", lines.finish().hex(), "\"}");
}

// Gathers rows, which are much faster stored together. While some are stored the next are read.
class Batch {
 public:
  Batch(TuningDatabase& into, MergeReport& report) : into_(into), report_(report) {}
  void add(TuningRow row) {
    rows_.push_back(std::move(row));
    ++report_.read;
    if (rows_.size() >= rows_at_once) store();
  }
  // Stores all that is left, and waits for it.
  void finish() {
    store();
    wait();
  }

 private:
  void store() {
    wait();
    if (rows_.empty()) return;
    // If no thread can be started, `wait` stores them. The function holds no rows: it is moved from
    // by the attempt to start one, and what then runs would have none.
    stored_ = std::exchange(rows_, {});
    unanswered_ = into_.diagnostics().unanswered;
    is_stored_ = std::async(std::launch::async | std::launch::deferred,
                            [this] { return into_.store(stored_); });
    rows_.reserve(rows_at_once);
  }
  void wait() {
    if (!is_stored_.valid() || is_stored_.get()) return;
    report_.is_complete = false;
    if (into_.diagnostics().unanswered > unanswered_) report_.unkept += std::ssize(stored_);
  }

  TuningDatabase& into_;
  MergeReport& report_;
  std::vector<TuningRow> rows_;
  std::vector<TuningRow> stored_;  // while `is_stored_` is pending
  std::int64_t unanswered_ = 0;    // by the database, before they are stored
  std::future<bool> is_stored_;    // last: its end waits for the task that uses the others
};

void add_message(MergeReport& report, const std::string& message) {
  if (report.messages.size() < most_messages) report.messages.push_back(message);
}

void add_messages_of(const TuningDatabase& database, MergeReport& report) {
  for (const std::string& message : database.diagnostics().messages) add_message(report, message);
}

// False at the end of the file. A line that is longer than any row can be is cut, and so becomes
// invalid.
bool read_line(std::istream& from, std::string& line) {
  line.clear();
  for (int c = from.get(); c != std::istream::traits_type::eof(); c = from.get()) {
    if (c == '\n') return true;
    if (line.size() < longest_line) line += static_cast<char>(c);
  }
  return !line.empty();
}

}  // namespace

MergeReport merge(TuningDatabase& from, TuningDatabase& into) {
  MergeReport report;
  std::int64_t rejected = from.diagnostics().rejected_rows;
  std::int64_t unanswered = from.diagnostics().unanswered;
  std::vector<std::string> problems = from.problems();
  // One that cannot be read says why by itself.
  bool is_read = from.diagnostics().unanswered == unanswered;
  if (!is_read) problems.clear();
  report.is_complete = is_read;
  // Rows on a lost page are in no table: only the damaged structure shows that there were some.
  for (const std::string& problem : problems) {
    report.is_complete = false;
    add_message(report, "the database is damaged, and rows may be missing: " + shown(problem, 200));
  }
  Batch batch(into, report);
  if (!from.each_row([&](const TuningRow& row) { batch.add(row); })) report.is_complete = false;
  batch.finish();
  report.rejected = from.diagnostics().rejected_rows - rejected;
  add_messages_of(from, report);
  add_messages_of(into, report);
  return report;
}

std::optional<std::int64_t> export_rows(TuningDatabase& from, std::ostream& to,
                                        const Wanted& wanted) {
  Hasher lines;
  std::int64_t rows = 0;
  to << first_line << '\n';
  bool is_read = from.each_row([&](const TuningRow& row) {
    if (wanted && !wanted(row)) return;
    std::string line = json_of(row);
    lines.add(line);
    ++rows;
    to << line << '\n';
  });
  if (is_read) to << last_line(rows, lines) << '\n';
  to.flush();
  if (!is_read || !to) return {};
  return rows;
}

MergeReport import_rows(std::istream& from, TuningDatabase& into) {
  MergeReport report;
  Batch batch(into, report);
  Hasher lines;
  std::int64_t number = 0, rows = 0;
  bool has_end = false;
  auto reject = [&](const std::string& why) {
    ++report.rejected;
    add_message(report, concat("line ", number, ": ", why));
  };
  for (std::string line; read_line(from, line);) {
    ++number;
    if (number == 1) {
      if (line == first_line) continue;
      add_message(report, "the first line is not that of tuning rows");
      report.is_complete = false;
    }
    if (line.empty()) continue;
    if (line == last_line(rows, lines)) {
      has_end = true;
      continue;
    }
    lines.add(line);
    ++rows;
    auto row = parse_json(line);
    if (auto* problem = std::get_if<std::string>(&row))
      reject(*problem);
    else
      batch.add(std::move(std::get<TuningRow>(row)));
  }
  batch.finish();
  if (!has_end) {
    report.is_complete = false;
    add_message(report, "the last line is missing or does not fit: the file was cut or edited");
  }
  add_messages_of(into, report);
  return report;
}

}  // namespace tilewright::autotune
