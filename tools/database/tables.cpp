#include "tools/database/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright::tools {
namespace {

using autotune::Observation;

const Column median_ns("median", "ns"), best_ns("best", "ns"), spread_percent("spread", "percent");

Cell spread_cell(const TuningRow& row) {
  if (!row.is_ok()) return "-";
  double percent = 100 * row.spread_ns() / row.median_ns();
  return {fmt::format("{:.1f}%", percent), percent};
}

Cell time_cell(double ns) { return ns == 0 ? Cell("-") : Cell(time_text(ns), ns); }

std::string configuration_text(const TuningRow* row) {
  return row == nullptr ? "-" : row->configuration.text();
}

Cell best_cell(const TuningRow* row) { return time_cell(row == nullptr ? 0 : row->median_ns()); }

Cell count_cell(std::int64_t count) { return {std::to_string(count), static_cast<double>(count)}; }

// The reason in the observation that decides.
std::string reason_of(const TuningRow& row) { return row.observations.front().reason; }

const TuningRow* find(const std::vector<TuningRow>& rows, const TuningRow& wanted) {
  auto found = std::ranges::find_if(rows, [&](const TuningRow& row) {
    return row.key == wanted.key && row.configuration == wanted.configuration;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

Table question_table(const std::vector<Question>& questions) {
  Table table({"id", "kernel", "problem", "device", "rows", "ok", best_ns, "configuration"});
  for (const Question& q : questions) {
    auto ok = std::ranges::count_if(q.rows, &TuningRow::is_ok);
    table.add({q.id(), q.name(), q.key.problem.text(), device_text(q.key),
               count_cell(std::ssize(q.rows)), count_cell(ok), best_cell(q.best()),
               configuration_text(q.best())});
  }
  return table;
}

Table row_table(const std::vector<Question>& questions) {
  Table table({"id", "kernel", "configuration", "status", median_ns, spread_percent, "samples",
               "date", detail("clocks"), detail("driver"), detail("compiler"), "reason"});
  for (const Question& q : questions) {
    std::vector<TuningRow> rows = q.rows;
    sort_by_time(rows);
    for (const TuningRow& row : rows) {
      const Observation& o = row.observations.front();
      table.add({q.id(), q.name(), row.configuration.text(), std::string(name_of(row.status())),
                 time_cell(row.median_ns()), spread_cell(row),
                 count_cell(std::ssize(row.samples_ns())), short_date(row.date_ms()), o.clocks,
                 o.driver, build_text(row), reason_of(row)});
    }
  }
  return table;
}

Table best_table(const std::vector<Question>& questions) {
  Table table({"id",
               "kernel",
               "problem",
               detail("device"),
               best_ns,
               "configuration",
               spread_percent,
               {"runner-up", "ns"},
               detail("its configuration"),
               detail("compiler")});
  for (const Question& q : questions) {
    const TuningRow* best = q.best();
    if (best == nullptr) continue;
    table.add({q.id(), q.name(), q.key.problem.text(), device_text(q.key), best_cell(best),
               configuration_text(best), spread_cell(*best), best_cell(q.runner_up()),
               configuration_text(q.runner_up()), build_text(*best)});
  }
  return table;
}

Table history_table(const std::vector<Question>& questions) {
  Table table({"date",
               "id",
               "kernel",
               "configuration",
               "status",
               median_ns,
               {"best so far", "ns"},
               detail("clocks"),
               detail("compiler"),
               detail("tool")});
  for (const Question& q : questions) {
    std::vector<std::pair<const Observation*, const TuningRow*>> seen;
    for (const TuningRow& row : q.rows)
      for (const Observation& o : row.observations) seen.emplace_back(&o, &row);
    std::ranges::sort(seen, {}, [](const auto& pair) {
      return std::tuple(pair.first->date_ms, pair.second->configuration.text());
    });
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [o, row] : seen) {
      TuningRow alone(row->key, row->configuration, *o);
      if (alone.is_ok()) best = std::min(best, alone.median_ns());
      bool has_best = best != std::numeric_limits<double>::infinity();
      table.add({short_date(o->date_ms), q.id(), q.name(), row->configuration.text(),
                 std::string(name_of(o->status)), time_cell(alone.median_ns()),
                 time_cell(has_best ? best : 0), o->clocks, build_text(*row), o->tool});
    }
  }
  return table;
}

Table miss_table(const autotune::Miss& miss) {
  Table table({"field", "wanted", "stored"});
  for (const autotune::Difference& d : miss.differences) table.add({d.field, d.wanted, d.stored});
  return table;
}

Table difference_table(const std::vector<Question>& a, const std::vector<Question>& b) {
  std::map<std::string, std::pair<const Question*, const Question*>> all;
  for (const Question& q : a) all[q.key.question().hex()].first = &q;
  for (const Question& q : b) all[q.key.question().hex()].second = &q;
  Table table({"id",
               "kernel",
               "problem",
               "only in first",
               "only in second",
               "differ",
               {"best in first", "ns"},
               {"best in second", "ns"},
               detail("configuration in first"),
               detail("configuration in second")});
  for (const auto& [hash, pair] : all) {
    static const Question none;
    const Question& first = pair.first != nullptr ? *pair.first : none;
    const Question& second = pair.second != nullptr ? *pair.second : none;
    int only_first = 0, only_second = 0, differ = 0;
    for (const TuningRow& row : first.rows) {
      const TuningRow* other = find(second.rows, row);
      only_first += other == nullptr;
      differ += other != nullptr && !(*other == row);
    }
    for (const TuningRow& row : second.rows) only_second += find(first.rows, row) == nullptr;
    if (only_first + only_second + differ == 0) continue;
    const TuningKey& key = pair.first != nullptr ? first.key : second.key;
    table.add({hash.substr(0, 8), key.kernel, key.problem.text(), count_cell(only_first),
               count_cell(only_second), count_cell(differ), best_cell(first.best()),
               best_cell(second.best()), configuration_text(first.best()),
               configuration_text(second.best())});
  }
  return table;
}

std::string rows_text(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "row" : "rows");
}

Table statistics_table(TuningDatabase& database) {
  std::map<std::string, std::int64_t> statuses, devices, builds;
  database.each_row([&](const TuningRow& row) {
    ++statuses[std::string(name_of(row.status()))];
    ++devices[device_text(row.key)];
    ++builds[build_text(row)];
  });
  autotune::DatabaseCounts counts = database.counts();
  autotune::Diagnostics diagnostics = database.diagnostics();
  Table table({"figure", "value"});
  table.add({"place", diagnostics.place});
  table.add({"rows", count_cell(counts.rows)});
  table.add({"rejected rows", count_cell(diagnostics.rejected_rows)});
  table.add({"questions", count_cell(counts.keys)});
  table.add({"compiler builds", count_cell(counts.builds)});
  auto bytes = static_cast<double>(counts.size_bytes);
  table.add({"size", {bytes_text(bytes), bytes}});
  for (const auto& [name, count] : statuses) table.add({"status " + name, count_cell(count)});
  for (const auto& [name, count] : devices) table.add({"device " + name, count_cell(count)});
  for (const auto& [name, count] : builds) table.add({"compiler " + name, count_cell(count)});
  return table;
}

}  // namespace tilewright::tools
