// The subcommands that show: list, show, best, history, why-miss, diff, stats.
#include <fmt/format.h>

#include <algorithm>

#include "tools/console/misuse.h"
#include "tools/database/arguments.h"

namespace tilewright::tools {
namespace {

using autotune::Access;

int show(const DatabaseArguments& a, Table (*table)(const std::vector<Question>&)) {
  TuningDatabase database = a.open(Access::read);
  a.print(table(known_questions(database, a.wanted)));
  return end_of_reading(database);
}

// Uses the given value, or else the existing one.
void replace(autotune::Record& part, const std::string& given, const char* what) {
  if (given.empty()) return;
  std::optional<autotune::Record> record = autotune::Record::read(given);
  require_use(record.has_value(), "[db] --", what, " is \"", given,
              "\"; name=value name=value would be right, with %20 for a space");
  part = *record;
}

}  // namespace

int list_questions(const DatabaseArguments& a) { return show(a, question_table); }
int show_rows(const DatabaseArguments& a) { return show(a, row_table); }
int show_best(const DatabaseArguments& a) { return show(a, best_table); }
int show_history(const DatabaseArguments& a) { return show(a, history_table); }

int explain_miss(const DatabaseArguments& a) {
  TuningDatabase database = a.open(Access::read);
  TuningKey key;
  key.kernel = a.wanted;
  std::vector<Question> known = questions(database, a.wanted);
  auto meant = std::ranges::find_if(known, [&](const Question& q) {
    return q.key.kernel == a.wanted || q.asked_as() == a.wanted ||
           q.key.question().hex().starts_with(a.wanted);
  });
  if (meant == known.end() && known.size() == 1) meant = known.begin();
  if (meant != known.end()) {
    key = meant->key;
    if (!meant->rows.empty()) key.compiler = meant->rows.back().key.compiler;
  }
  if (!a.hash.empty()) {
    std::optional<Hash> hash = Hash::parse(a.hash);
    require_use(hash.has_value(), "[db] --hash is \"", a.hash,
                "\"; 32 hexadecimal digits are right");
    key.kernel_hash = *hash;
  }
  replace(key.problem, a.problem, "problem");
  replace(key.device, a.device, "device");
  replace(key.compiler, a.compiler, "compiler");
  autotune::Miss miss = database.why_miss(key);
  if (a.format == "table") fmt::print("{}\n", miss.text());
  if (a.format != "table" || !miss.differences.empty()) a.print(miss_table(miss));
  return end_of_reading(database);
}

int compare_databases(const DatabaseArguments& a) {
  require_use(a.files.size() == 1, "[db] diff takes one other database, not ", a.files.size());
  DatabaseArguments other = a;
  other.where = a.files[0];
  TuningDatabase first = a.open(Access::read), second = other.open(Access::read);
  a.print(difference_table(questions(first, a.wanted), questions(second, a.wanted)));
  return end_of_reading(first) | end_of_reading(second);
}

int show_statistics(const DatabaseArguments& a) {
  TuningDatabase database = a.open(Access::read);
  a.print(statistics_table(database));
  return end_of_reading(database);
}

}  // namespace tilewright::tools
