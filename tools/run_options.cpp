#include "runtime/base/error.h"
#include "runtime/parallel.h"
#include "tools/command.h"

namespace tilewright::tools {

void RunOptions::add_to(CLI::App& command) {
  command
      .add_option("--mode", mode,
                  "default, reduce-overhead, max-autotune or max-autotune-no-cudagraphs")
      ->capture_default_str();
  command
      .add_option("--backend", backend,
                  "eager (one kernel an operation), aot_eager (captured, not fused) or tilewright")
      ->capture_default_str();
  command.add_option("--device", device, "where to run: cpu")->capture_default_str();
  command.add_option("--threads", threads, "threads to use (default: all processors)");
}

Options RunOptions::compile_options() const {
  require(device == "cpu", "[tilewright] unknown device \"", device, "\"; this build knows: cpu");
  require(threads >= 0, "[tilewright] --threads is ", threads, "; it must be positive");
  if (threads > 0) set_thread_count(threads);
  Options options;
  options.mode = parse_mode(mode);
  options.backend = parse_backend(backend);
  return options;
}

}  // namespace tilewright::tools
