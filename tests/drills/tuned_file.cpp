#include "tests/drills/tuned_file.h"

#include <algorithm>
#include <fstream>

#include "autotune/database/exchange.h"
#include "runtime/base/error.h"
#include "tests/autotune/database/rows.h"

namespace tilewright::drills {

namespace fs = std::filesystem;
using autotune::TuningDatabase;
using autotune::TuningRow;

Rows batch_of_rows(int batch, int keys) {
  Rows rows;
  for (int key = 0; key < keys; ++key)
    for (int i = 1; i <= 5; ++i) {
      double ns = 100 + 10 * batch + i;
      rows.emplace_back(autotune::test_key(1'000 * (batch + 1) + key),
                        autotune::test_configuration(i),
                        autotune::ok_observation({ns, ns + 0.125, ns + 3}));
    }
  return rows;
}

void make_database(const fs::path& file, const Rows& rows) {
  TuningDatabase database(file);
  check(database.store(rows), "a drill's database cannot be made");
}

void write_export(const fs::path& file, const Rows& rows) {
  fs::path from = file;
  from += ".from";
  make_database(from, rows);
  {
    TuningDatabase database(from);
    std::ofstream out(file, std::ios::binary);
    check(autotune::export_rows(database, out).has_value(), "a drill's export cannot be written");
  }
  fs::remove(from);
}

Lines lines_of(const Rows& rows) {
  Lines lines;
  for (const TuningRow& row : rows) lines.insert(autotune::json_of(row));
  return lines;
}

Lines lines_in(const fs::path& file) {
  Lines lines;
  TuningDatabase database(file, autotune::Access::read);
  bool is_whole =
      database.each_row([&](const TuningRow& row) { lines.insert(autotune::json_of(row)); });
  if (!is_whole) lines.insert("(the database could not be read to its end)");
  return lines;
}

bool includes_all(const Lines& all, const Lines& part) { return std::ranges::includes(all, part); }

int count_moved_away(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    count += entry.path().filename().string().find(".corrupt-") != std::string::npos;
  return count;
}

}  // namespace tilewright::drills
