#include "tools/database/selection.h"

#include <algorithm>

#include "autotune/database/exchange.h"
#include "tools/console/misuse.h"
#include "tools/console/table.h"

namespace tilewright::tools {
namespace {

// The rows that `best` and `runner_up` are of, fastest first.
std::vector<const TuningRow*> ranked(const Question& question) {
  std::map<std::string, std::int64_t> newest;
  for (const TuningRow& row : question.rows)
    if (row.is_ok()) {
      std::int64_t& date = newest[row.key.compiler.text()];
      date = std::max(date, row.date_ms());
    }
  auto last = std::ranges::max_element(newest, {}, [](const auto& build) { return build.second; });
  std::vector<const TuningRow*> rows;
  for (const TuningRow& row : question.rows)
    if (row.is_ok() && row.key.compiler.text() == last->first) rows.push_back(&row);
  std::ranges::sort(rows, {}, [](const TuningRow* row) {
    return std::pair(row->median_ns(), row->configuration.text());
  });
  return rows;
}

constexpr std::string_view tuning_of = "tilewright tune: ";

}  // namespace

std::string tool_of_tuning(const std::string& name) { return std::string(tuning_of) + name; }

std::string Question::asked_as() const {
  for (const TuningRow& row : rows)
    for (const autotune::Observation& o : row.observations)
      if (o.tool.starts_with(tuning_of)) return o.tool.substr(tuning_of.size());
  return "";
}

std::string Question::name() const {
  std::string asked = asked_as();
  return asked.empty() ? key.kernel : asked + " (" + key.kernel + ")";
}

std::string Question::id() const { return key.question().hex().substr(0, 8); }

const TuningRow* Question::best() const {
  std::vector<const TuningRow*> rows = ranked(*this);
  return rows.empty() ? nullptr : rows[0];
}

const TuningRow* Question::runner_up() const {
  std::vector<const TuningRow*> rows = ranked(*this);
  return rows.size() < 2 ? nullptr : rows[1];
}

std::vector<Question> questions(TuningDatabase& database, const std::string& wanted) {
  std::vector<Question> found;
  database.each_key([&](const TuningKey& key) { found.push_back({key, {}}); });
  std::ranges::sort(found, {}, [](const Question& q) {
    return std::tuple(q.key.kernel, q.key.problem, q.key.device, q.key.kernel_hash);
  });
  std::erase_if(found, [&](Question& q) {
    bool is_named = q.key.kernel.find(wanted) != std::string::npos ||
                    q.key.question().hex().starts_with(wanted);
    q.rows = database.rows_of_question(q.key);
    return !is_named && q.asked_as().find(wanted) == std::string::npos;
  });
  return found;
}

std::vector<Question> known_questions(TuningDatabase& database, const std::string& wanted) {
  std::vector<Question> found = questions(database, wanted);
  if (!found.empty() || wanted.empty()) return found;
  std::vector<std::string> names;
  std::size_t count = 0;
  for (const Question& q : questions(database, "")) {
    names.insert(names.end(), {q.key.kernel, q.asked_as()});
    ++count;
  }
  throw Misuse(concat("[db] nothing is stored of \"", wanted,
                      "\", neither a kernel's name nor an id", suggestion(wanted, names),
                      "; `tilewright db list` shows the ", count,
                      count == 1 ? " question" : " questions", " that something is stored of"));
}

void sort_by_time(std::vector<TuningRow>& rows) {
  std::ranges::sort(rows, {}, [](const TuningRow& row) {
    return std::tuple(!row.is_ok(), row.median_ns(), row.configuration.text(),
                      row.key.compiler.text());
  });
}

std::string device_text(const TuningKey& key) {
  const std::string* name = key.device.find("name");
  return name != nullptr ? *name : key.device.text();
}

std::string time_text(double ns) { return ns == 0 ? "-" : duration_text(ns * 1e-9); }

std::string build_text(const TuningRow& row) { return row.key.compiler.text(); }

std::string short_date(std::int64_t date_ms) {
  std::string text = autotune::date_text(date_ms).substr(0, 16);
  text[10] = ' ';
  return text;
}

}  // namespace tilewright::tools
