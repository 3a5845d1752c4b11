// `tilewright tune`: which block sizes are fastest for named kernels, found while one watches.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "autotune/database/row/statistics.h"
#include "autotune/policy.h"
#include "autotune/search/strategies.h"
#include "graph/tune/region_estimate.h"
#include "graph/tune/region_tuner.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "tools/commands/landscapes.h"
#include "tools/commands/tune_check.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/database/selection.h"
#include "tools/programs/named_kernels.h"

namespace tilewright::tools {
namespace {

struct TuneArguments {
  std::vector<std::string> kernels;
  graph::TuneSettings settings;
  std::string device, store;
  int threads = 0;
  double within = 0;  // of the best that the file holds; 0: all
  bool json = false, keep = false, check = false;
  CheckSettings checking;
};

// The least time of all configurations that did not fail.
double best_seconds(const autotune::Tuning& tuning) {
  double best = tuning.preferred_seconds;
  for (const autotune::Finding& one : tuning.measured)
    if (one.status == autotune::Status::ok && !one.samples.empty())
      best = std::min(best, autotune::median(one.samples));
  return best;
}

nlohmann::json as_json(const std::string& name, const graph::RegionTuning& tuning,
                       const graph::RegionEstimate& estimate) {
  nlohmann::json knobs = nlohmann::json::array(), rows = nlohmann::json::array();
  for (const autotune::Knob& knob : tuning.space.space.knobs())
    knobs.push_back({{"name", knob.name}, {"values", knob.values}});
  for (const autotune::Finding& one : tuning.measured) {
    graph::BlockSizes blocks = tuning.space.blocks_of(one.point);
    nlohmann::json row = {{"point", one.point},
                          {"estimate", estimate.seconds(blocks)},
                          {"features", estimate.features(blocks)}};
    if (one.status == autotune::Status::ok)
      row["seconds"] = one.least;
    else
      row["failure"] = one.reason;
    rows.push_back(std::move(row));
  }
  return {{"kernel", name},
          {"knobs", knobs},
          {"default", tuning.space.preferred},
          {"default_seconds", tuning.preferred_seconds},
          {"chosen", tuning.chosen},
          {"chosen_text", tuning.space.space.text(tuning.chosen)},
          {"chosen_seconds", tuning.chosen_seconds},
          {"ratio", tuning.verdict.first.ratio},
          {"margin", tuning.verdict.first.margin},
          {"ended", autotune::name_of(tuning.ended)},
          {"trials", rows}};
}

// Stores what later compilations and `--check` find, replacing earlier measurements. `name` is the
// kernel that was asked for, by which `db` finds the rows. Returns whether they are on the disk,
// and if not, why.
bool keep(const std::string& name, const autotune::TuningKey& key,
          const graph::RegionTuning& tuning) {
  autotune::TuningDatabase& database = autotune::shared_tuning_database();
  auto rows = autotune::rows_of(key, tuning.space.space, tuning.space.preferred, tuning.measured);
  for (autotune::TuningRow& row : rows)
    for (autotune::Observation& o : row.observations) {
      o.tool = tool_of_tuning(name);
      o = autotune::with_bounds(std::move(o));
    }
  autotune::Replacement done = database.replace(key, rows);
  if (!done.is_kept)
    fmt::print(stderr, "tilewright: [tune] nothing of {} is kept: {}\n", name, done.why_not);
  return done.is_kept;
}

// On a terminal one line that is overwritten for each configuration; else a line now and then, to
// show that the command has not hung.
class Progress {
 public:
  explicit Progress(const std::string& name) : name_(name) {}

  void operator()(const autotune::Tuning& so_far, const autotune::Finding&) {
    double now = autotune::steady_seconds();
    if (!is_live_ && now - last_ < quiet_seconds) return;
    last_ = now;
    double best = best_seconds(so_far);
    say(fmt::format("{}: {} measured in {:.0f} s, default {}, best {} ({})", name_,
                    so_far.measured.size(), now - begin_, duration_text(so_far.preferred_seconds),
                    duration_text(best), ratio_text(so_far.preferred_seconds / best)));
  }
  void end() const {
    if (is_live_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  static constexpr double quiet_seconds = 2;

  void say(const std::string& text) const {
    std::fputs((is_live_ ? "\r" + text + "\x1b[K" : text + "\n").c_str(), stderr);
  }

  const std::string& name_;
  bool is_live_ = isatty(STDERR_FILENO) != 0;
  double begin_ = autotune::steady_seconds(), last_ = begin_;
};

// Returns whether everything that was to be stored is stored.
bool tune_kernel(const NamedKernel& kernel, const TuneArguments& a, const Device& device,
                 std::optional<Landscapes>& landscapes, nlohmann::json& results, Table& table) {
  bool is_kept = true;
  Progress progress(kernel.name);
  int regions = 0, regions_left = 0;
  each_region(kernel, device, [&](const auto&, const auto&) { ++regions_left; });
  double until = autotune::steady_seconds() + a.settings.budget.seconds;
  each_region(kernel, device, [&](const auto& list, const auto& region) {
    std::string name = kernel.name;
    if (regions++ > 0) name += concat(", region ", regions);
    autotune::History known;
    if (landscapes) {
      landscapes->bring_up_to_date(name, graph::region_space(list, region, device.target()));
      if (a.within > 0) known = landscapes->far_from_best(name, a.within);
    }
    double begin = autotune::steady_seconds();
    graph::TuneSettings settings = a.settings;
    settings.budget.seconds = std::max(0.0, until - begin) / regions_left--;
    graph::RegionTuning tuning = graph::tune_region(list, region, device, settings, {},
                                                    std::ref(progress), std::move(known));
    double spent = autotune::steady_seconds() - begin;
    progress.end();
    if (tuning.measured.empty()) {
      if (tuning.ended == autotune::Ended::seconds)
        fmt::print(stderr,
                   "tilewright: [tune] nothing of {} is measured{}: {:.3g} s were over before the "
                   "first configuration was timed; --seconds allows it more\n",
                   name, a.keep ? ", and nothing is kept" : "", a.settings.budget.seconds);
      is_kept &= tuning.ended != autotune::Ended::seconds || !a.keep;
      return;
    }
    if (a.keep) is_kept &= keep(name, graph::tuning_key(list, region, device), tuning);
    graph::RegionEstimate estimate(list, region, device.target());
    results.push_back(as_json(name, tuning, estimate));
    results.back()["seconds_spent"] = spent;
    if (landscapes) {
      landscapes->add(name, tuning, estimate);
      landscapes->write(autotune::record_of(device).text());
    }
    bool is_default = tuning.chosen == tuning.space.preferred;
    table.add({name, std::to_string(tuning.measured.size()), duration_text(spent),
               tuning.space.space.text(tuning.space.preferred),
               duration_text(tuning.preferred_seconds),
               is_default ? "the default" : tuning.space.space.text(tuning.chosen),
               is_default ? "" : ratio_text(tuning.preferred_seconds / tuning.chosen_seconds)});
  });
  return is_kept;
}

void run(const TuneArguments& a) {
  if (a.threads > 0) set_thread_count(a.threads);
  Device device = chosen_device(a.device);
  std::vector<NamedKernel> kernels = model_kernels(a.kernels);
  if (!a.kernels.empty())
    for (NamedKernel& kernel : named_kernels(a.kernels)) kernels.push_back(std::move(kernel));
  require_use(!kernels.empty(), "[tune] no kernel has \"", a.kernels.empty() ? "" : a.kernels[0],
              "\" in its name; `tilewright tune --list` names them");
  if (a.check) {
    CheckSettings settings = a.checking;
    settings.json = a.json;
    settings.command = "tilewright tune --check";
    for (const std::string& word : a.kernels) settings.command += " \"" + word + "\"";
    if (a.json) settings.command += " --json";
    if (!check_choices(kernels, device, settings)) throw CLI::RuntimeError(1);
    return;
  }
  nlohmann::json results = nlohmann::json::array();
  Table table({"kernel", "trials", "spent", "default", "time", "chosen", "faster"});
  std::optional<Landscapes> landscapes;
  if (!a.store.empty()) landscapes.emplace(a.store);
  bool is_kept = true;
  for (const NamedKernel& kernel : kernels)
    is_kept &= tune_kernel(kernel, a, device, landscapes, results, table);
  if (a.json)
    fmt::print("{}\n", results.dump());
  else
    fmt::print("{}", table.text());
  if (!is_kept) throw CLI::RuntimeError(1);
}

void list_kernels() {
  for (const NamedKernel& kernel : model_kernels({})) fmt::print("{}\n", kernel.name);
  for (const NamedKernel& kernel : named_kernels({})) fmt::print("{}\n", kernel.name);
}

std::string about_block_sizes() {
  std::string text = "Parameters of a kernel's blocks that are tuned (others follow from these):\n";
  for (const graph::BlockSize& size : graph::all_block_sizes())
    if (!size.tuned.empty())
      text += fmt::format("  {:<9} of {}: {}\n", size.name, size.tuned, size.meaning);
  return text;
}

}  // namespace

void add_tune(CLI::App& command) {
  auto a = std::make_shared<TuneArguments>();
  auto list = std::make_shared<bool>(false);
  command.add_option("kernels", a->kernels,
                     "Words in the names of kernels; without, those of GPT-2 and Llama 3.2");
  command.add_flag("--list", *list, "Name the kernels");
  command.add_option("--strategy", a->settings.strategy, "How configurations are looked for")
      ->check(CLI::IsMember(autotune::strategy_names()))
      ->capture_default_str();
  command.add_option("--trials", a->settings.budget.trials, "Configurations a kernel, at most")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--seconds", a->settings.budget.seconds, "Time a kernel, at most")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--sample-seconds", a->settings.sample_seconds, "Time a sample, at least")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--rounds", a->settings.rounds, "Samples a configuration, at most")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--seed", a->settings.seed, "Seed of the search")->capture_default_str();
  add_device_option(command, a->device, "Where");
  add_threads_option(command, a->threads);
  command.add_flag("--keep", a->keep,
                   "Keep the measurements in the tuning database, where compiling finds them");
  command
      .add_flag("--check", a->check,
                "Time the tuning database's choice against the default; fails if one is slower")
      ->excludes("--keep");
  command.add_option("--check-rounds", a->checking.rounds, "Samples of both in a check")
      ->check(above_zero())
      ->capture_default_str();
  auto* store = command.add_option(
      "--store", a->store, "Also join the measurements with those that this file of JSON holds");
  command
      .add_option("--within", a->within,
                  "Measure only points that take at most so many times the best in the file")
      ->check(CLI::Range(1.0, 1e9))
      ->needs(store);
  command.add_flag("--json", a->json, "Print JSON");
  command.footer(about_block_sizes());
  command.callback([a, list] { *list ? list_kernels() : run(*a); });
}

}  // namespace tilewright::tools
