#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "autotune/database/sql/location.h"
#include "autotune/policy.h"
#include "dsl/language/check_setting.h"
#include "dsl/target/target.h"
#include "graph/tune/plan_lock.h"
#include "runtime/base/env.h"
#include "runtime/cpu/parallel.h"
#include "tools/console/command.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

// "reduce-overhead" of reduce_overhead, as C++ spells the mode.
std::string option_spelling(std::string name) {
  std::ranges::replace(name, '_', '-');
  if (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace

std::string RunOptions::given() const {
  const auto found =
      std::ranges::find_if(compiling, [](auto* option) { return option->count() > 0; });
  return found == compiling.end() ? "" : (*found)->get_name();
}

void RunOptions::add_to(CLI::App& command) {
  const std::size_t others = command.get_options().size();
  command
      .add_option("--mode", mode,
                  "default, reduce-overhead, max-autotune or max-autotune-no-cudagraphs")
      ->capture_default_str();
  command
      .add_option("--backend", backend,
                  "eager (one kernel an operation), aot_eager (captured, not fused) or tilewright")
      ->capture_default_str();
  command
      .add_option("--matmul-precision", matmul_precision,
                  "of f32: highest, or high: GPUs multiply it as tf32, hosts may transform "
                  "the rows of convolutions (Winograd)")
      ->capture_default_str();
  command
      .add_option("--first-code", first_code,
                  "that the host's first calls run: quick, a third of the time to generate, until "
                  "full code takes over in the background; full; or automatic, quick from 8 "
                  "kernels on")
      ->capture_default_str();
  add_device_option(command, device,
                    "where to run: cpu, cuda:0, or emulated:sm_80, emulated:sm_90a, ...: a GPU's "
                    "code run on the host, thousands of times slower");
  command
      .add_option("--tune-seconds", tune_seconds, "of max-autotune: to search, for each signature")
      ->capture_default_str();
  command.add_flag("--tune-in-background", tune_in_background,
                   "search for block sizes while the model runs");
  // By callbacks: a flag of an optional is set where it is not given, too.
  CLI::Option* is_frozen = command.add_flag_callback(
      "--freezing", [this] { freezing = true; },
      "weights are not written any more: values that depend on them alone are computed once, at "
      "the "
      "first call, and on the host those of convolutions and of products with many rows are packed "
      "then, for as much memory again; the default of package, and of run where it calls a "
      "model several times");
  command
      .add_flag_callback(
          "--no-freezing", [this] { freezing = false; },
          "weights are read at each call, as they are then")
      ->excludes(is_frozen);
  command.add_flag("--batch-invariant", batch_invariant,
                   "on hosts up to 16 rows, as of texts that are decoded together, each have the "
                   "bits that they have alone; products of few rows may be slower");
  command.add_option("--write-plan", write_plan,
                     "write every choice (block sizes, fusion, precision) to this file");
  command.add_option("--locked", locked_plan,
                     "keep to the choices in this file: bit for bit the same results");
  compiling = command.get_options();
  compiling.erase(compiling.begin(), compiling.begin() + static_cast<std::ptrdiff_t>(others));
  add_threads_option(command, threads);
}

void add_device_option(CLI::App& command, std::string& device, const char* what) {
  command.add_option("--device", device, what)->default_str("TILEWRIGHT_DEVICE, or cpu");
}

Device chosen_device(const std::string& option) {
  if (option.empty()) return default_device();
  return as_misuse([&] { return Device::parse(option); });
}

void check_settings() {
  env::sync();
  env::threads();
  dsl::host_target();
  dsl::check_setting();
  default_device();
  autotune::tune_policy();
  autotune::named_location();
}

Options RunOptions::compile_options() const {
  if (threads > 0) set_thread_count(threads);
  Options options{.device = chosen_device(device)};
  as_misuse([&] {
    options.mode = parse_mode(option_spelling(mode));
    options.backend = parse_backend(backend);
    options.matmul_precision = parse_matmul_precision(matmul_precision);
    options.first_code = parse_first_code(first_code);
  });
  require_use(tune_seconds > 0 && std::isfinite(tune_seconds), "[compile] --tune-seconds is ",
              tune_seconds, "; seconds above 0 are wanted");
  require_use(write_plan.empty() || locked_plan.empty(),
              "[compile] --write-plan and --locked are both given; a plan is written or kept to");
  if (!locked_plan.empty()) {
    require_file("compile", locked_plan, "a plan that --write-plan has written");
    graph::PlanLock::read(locked_plan);  // before anything is printed
  }
  options.tune_seconds = tune_seconds;
  options.tune_in_background = tune_in_background;
  options.freezing = freezing.value_or(false);
  options.batch_invariant = batch_invariant;
  options.write_plan = write_plan;
  options.locked_plan = locked_plan;
  if (options.device.is_emulated())
    fmt::print(stderr, "{}: the emulator is slow, its times say nothing\n", options.device.text());
  return options;
}

}  // namespace tilewright::tools
