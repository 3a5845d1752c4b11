#include "tools/database/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/files/atomic_file.h"
#include "tools/console/table.h"
#include "tools/database/arguments.h"
#include "tools/database/svg.h"

namespace tilewright::tools {
namespace {

using autotune::Observation;

constexpr std::size_t most_questions = 100;
constexpr std::size_t most_points = 400;

// Nothing but its own styles may be loaded, whatever should get into the text.
constexpr const char* page_head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Tilewright: what tuning measured</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem;
       color: #1d2733; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-top: 1px solid #d5dbe1;
     padding-top: 1rem } h3 { font-size: 1rem; font-weight: 600; margin-bottom: .3rem }
table { border-collapse: collapse; font-size: 13px } th { text-align: left; color: #5a6876 }
td, th { padding: .2rem .9rem .2rem 0; vertical-align: top } td.number { text-align: right }
code { font-size: 12.5px } .plots { display: flex; flex-wrap: wrap; gap: 8px }
svg { font: 11px system-ui, sans-serif } svg text { fill: #44525f } svg .title { font-size: 12.5px;
      font-weight: 600; fill: #1d2733 }
.grid { stroke: #e6eaee } .axis { stroke: #9aa6b1 } .steps { fill: none; stroke: #0b7a53;
        stroke-width: 1.5 }
.ok { fill: #5b8fd0; fill-opacity: .55 } .best { fill: #0b7a53 } .default { fill: #d0632b }
.older { fill: #b9c2cb }
.key span { display: inline-block; width: .75em; height: .75em; border-radius: 50%;
            margin: 0 .35em 0 1.1em } .key .ok { background: #5b8fd0 } .key .best { background:
            #0b7a53 } .key .default { background: #d0632b } .key .older { background: #b9c2cb }
</style></head><body>
)";

// By the build that has the best; null: it is not known, or failed.
const TuningRow* default_of(const Question& question) {
  const TuningRow* best = question.best();
  for (const TuningRow& row : question.rows)
    if (best != nullptr && row.is_ok() && row.is_default() &&
        row.key.compiler == best->key.compiler)
      return &row;
  return nullptr;
}

std::string gain_text(const Question& question) {
  const TuningRow* by_default = default_of(question);
  return by_default == nullptr ? "-"
                               : ratio_text(by_default->median_ns() / question.best()->median_ns());
}

const char* style_of(const TuningRow& row, const Question& question) {
  const TuningRow* best = question.best();
  if (&row == best) return "best";
  if (row.is_default()) return "default";
  return row.key.compiler == best->key.compiler ? "ok" : "older";
}

std::string note_of(const TuningRow& row) {
  return fmt::format("{}: {}, spread {}", time_text(row.median_ns()), row.configuration.text(),
                     time_text(row.spread_ns()));
}

Plot cloud(const Question& question) {
  Plot plot{"Configurations, the fastest first", "rank"};
  std::vector<const TuningRow*> rows;
  for (const TuningRow& row : question.rows)
    if (row.is_ok()) rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [](const TuningRow* row) { return row->median_ns(); });
  for (std::size_t i = 0; i < std::min(rows.size(), most_points); ++i)
    plot.points.push_back({static_cast<double>(i + 1), rows[i]->median_ns(),
                           style_of(*rows[i], question), note_of(*rows[i])});
  return plot;
}

Plot progress(const Question& question) {
  Plot plot{"Trials in their order, and the best so far", "trial"};
  std::vector<std::pair<const Observation*, const TuningRow*>> seen;
  for (const TuningRow& row : question.rows)
    for (const Observation& o : row.observations)
      if (o.status == autotune::Status::ok) seen.emplace_back(&o, &row);
  std::ranges::stable_sort(seen, {}, [](const auto& pair) { return pair.first->date_ms; });
  for (std::size_t i = 0; i < std::min(seen.size(), most_points); ++i) {
    TuningRow alone(seen[i].second->key, seen[i].second->configuration, *seen[i].first);
    PlotPoint point{static_cast<double>(i + 1), alone.median_ns(),
                    style_of(*seen[i].second, question), note_of(alone)};
    bool is_better = plot.steps.empty() || point.time_ns < plot.steps.back().time_ns;
    if (is_better && seen[i].second->is_ok()) plot.steps.push_back(point);
    plot.points.push_back(std::move(point));
  }
  return plot;
}

std::string row_of_table(const Question& q) {
  auto failed =
      q.rows.size() - static_cast<std::size_t>(std::ranges::count_if(q.rows, &TuningRow::is_ok));
  const TuningRow* best = q.best();
  const TuningRow* by_default = default_of(q);
  return fmt::format(
      "<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td><td><code>{}</code></td></tr>\n",
      escaped(q.key.problem.text()), escaped(device_text(q.key)), q.rows.size(), failed,
      best == nullptr ? "-" : time_text(best->median_ns()),
      by_default == nullptr ? "-" : time_text(by_default->median_ns()), gain_text(q),
      best == nullptr ? "-" : escaped(best->configuration.text()));
}

// Devices that ran the same problem of the same kernel.
std::string devices_svg(const std::vector<const Question*>& questions) {
  std::map<std::string, std::vector<const Question*>> same;
  for (const Question* q : questions)
    if (q->best() != nullptr) same[q->key.kernel_hash.hex() + q->key.problem.text()].push_back(q);
  std::string text;
  for (const auto& [problem, on] : same) {
    if (on.size() < 2) continue;
    std::vector<Bar> bars;
    for (const Question* q : on) {
      const TuningRow* by_default = default_of(*q);
      bars.push_back({device_text(q->key), q->best()->median_ns(),
                      by_default == nullptr ? 0 : by_default->median_ns()});
    }
    text += bars_svg("Devices: " + on[0]->key.problem.text(), bars);
  }
  return text;
}

std::string kernel_section(const std::string& kernel,
                           const std::vector<const Question*>& questions) {
  std::string text = fmt::format("<h2>{}</h2>\n", escaped(kernel));
  text +=
      "<table><tr><th>problem</th><th>device</th><th>tried</th><th>failed</th><th>best</th>"
      "<th>default</th><th>gain</th><th>configuration</th></tr>\n";
  for (const Question* q : questions) text += row_of_table(*q);
  text += "</table>\n";
  if (std::string devices = devices_svg(questions); !devices.empty())
    text += "<div class=\"plots\">" + devices + "</div>\n";
  for (const Question* q : questions) {
    std::string plots = cloud(*q).svg() + progress(*q).svg();
    if (plots.empty()) continue;
    text += fmt::format("<h3>{} on {}</h3>\n<div class=\"plots\">{}</div>\n",
                        escaped(q->key.problem.text()), escaped(device_text(q->key)), plots);
  }
  return text;
}

}  // namespace

std::string html_report(const std::vector<Question>& questions, const std::string& place) {
  std::vector<const Question*> chosen;
  std::size_t rows = 0;
  for (const Question& q : questions) {
    chosen.push_back(&q);
    rows += q.rows.size();
  }
  std::ranges::stable_sort(chosen, std::greater(),
                           [](const Question* q) { return q->rows.size(); });
  if (chosen.size() > most_questions) chosen.resize(most_questions);
  std::map<std::string, std::vector<const Question*>> kernels;
  for (const Question& q : questions)
    if (std::ranges::find(chosen, &q) != chosen.end()) kernels[q.name()].push_back(&q);

  std::string text = page_head;
  text += fmt::format("<h1>What tuning measured</h1>\n<p>{} rows of {} questions in {}.", rows,
                      questions.size(), escaped(place));
  if (chosen.size() < questions.size())
    text += fmt::format(" Shown are the {} questions with the most rows.", chosen.size());
  text +=
      "</p>\n<p class=\"key\"><span class=\"best\"></span>best<span "
      "class=\"default\"></span>default"
      "<span class=\"ok\"></span>other configurations<span class=\"older\"></span>measured by "
      "another build of the compiler</p>\n";
  for (const auto& [kernel, of_kernel] : kernels) text += kernel_section(kernel, of_kernel);
  return text + "</body></html>\n";
}

int write_report(const DatabaseArguments& a) {
  TuningDatabase database = a.open(autotune::Access::read);
  std::vector<Question> all = known_questions(database, a.wanted);
  a.require_out_is_another("db report");
  AtomicFile file(a.out, "db report");
  std::string page = html_report(all, database.diagnostics().place);
  file.write(page.data(), page.size());
  file.commit();
  fmt::print("{}: {} questions\n", a.out, all.size());
  return end_of_reading(database);
}

}  // namespace tilewright::tools
