// The subcommands of `tilewright`, and their shared parts: the options that choose how a model
// runs, and how results are shown. A subcommand is a file of its own that parses its arguments,
// calls the library and prints; its function stands in the table of tilewright.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {

struct Command {
  const char* name;
  const char* what;
  void (*add)(CLI::App& command);  // declares options and sets the callback
};

// --mode, --backend, --matmul-precision, --first-code, --device, --tune-seconds,
// --tune-in-background, --freezing, --write-plan, --locked, --threads, as several commands take
// them.
struct RunOptions {
  std::string mode = "default";
  std::string backend = "tilewright";
  std::string matmul_precision = "highest";
  bool batch_invariant = false;
  std::string first_code = "automatic";
  std::string device;  // as `chosen_device` takes it
  std::string write_plan, locked_plan;
  double tune_seconds = Options{.device = Device::cpu()}.tune_seconds;
  bool tune_in_background = false;
  std::optional<bool> freezing;              // not given: as the command wants
  int threads = 0;                           // 0: all
  std::vector<CLI::Option*> compiling = {};  // of the command: all but --threads

  void add_to(CLI::App& command);
  // The first of them that was given and is about how a model is compiled, "--mode"; "": none. The
  // number of threads is not.
  std::string given() const;
  // Applies the thread count; raises `Misuse` for unknown names.
  Options compile_options() const;
};

// Declares --device.
void add_device_option(CLI::App& command, std::string& device, const char* what);
// Lets the option be given several times, each time with one value: what follows may be positional.
inline void given_again(CLI::Option* option) {
  option->expected(1)->take_all()->allow_extra_args(false);
}
// The device that the option names (raises `Misuse` if it is invalid), or else the one of the
// setting (raises `Error`). Settings are read when a command runs, not when its options are
// declared, so that a bad one does not make `--help` fail.
Device chosen_device(const std::string& option);
// Raises `Error` for a setting of the environment that cannot be, also if nothing would ever ask
// for it here: silently passed over, it would do nothing.
void check_settings();

void add_generate(CLI::App& command);
void add_embed(CLI::App& command);
void add_quantize(CLI::App& command);
void add_run(CLI::App& command);
void add_inspect(CLI::App& command);
void add_bench(CLI::App& command);
void add_explain(CLI::App& command);
void add_package(CLI::App& command);
void add_opt(CLI::App& command);
void add_tune(CLI::App& command);
void add_ptx(CLI::App& command);
void add_kernel(CLI::App& command);
void add_cache(CLI::App& command);
void add_demo(CLI::App& command);

// The benches, each a subcommand of `bench`.
void add_bench_regional(CLI::App& command);
void add_bench_gradients(CLI::App& command);
void add_bench_ptxas(CLI::App& command);
void add_bench_modes(CLI::App& command);
void add_bench_clients(CLI::App& command);
void add_bench_llm(CLI::App& command);

}  // namespace tilewright::tools
