// `tilewright bench`: the benches, one subcommand each.
#include "tools/command.h"

namespace tilewright::tools {

void add_bench(CLI::App& command) {
  command.require_subcommand(1);
  add_bench_regional(*command.add_subcommand(
      "regional", "The 64-layer model of regional compilation: compile time and latency by mode"));
  add_bench_rows(*command.add_subcommand(
      "rows", "Row kernels (softmax, norms, gelu) against a measured copy of the same bytes"));
  add_bench_ptxas(*command.add_subcommand(
      "ptxas", "Kernels of every GPU: registers, spills and instructions, as ptxas sees them"));
}

}  // namespace tilewright::tools
