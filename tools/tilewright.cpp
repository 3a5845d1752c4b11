// The one command line program: a table of subcommands. It ends with 0, with 2 where it was asked
// for what cannot be (misuse.h), and with 1 where what it was asked for failed.
#include <cstdio>
#include <exception>

#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tools/console/command.h"
#include "tools/console/misuse.h"
#include "tools/database/commands.h"

namespace tilewright::tools {
namespace {

constexpr Command commands[] = {
    {"generate", "Continue a text with a model from a Hugging Face folder", add_generate},
    {"bench", "Measure this machine and what the compiler makes of it", add_bench},
    {"explain", "Show what a model is compiled to: regions, kernels, bytes, time", add_explain},
    {"opt", "Run passes over tile IR text and print the result", add_opt},
    {"tune", "Find the fastest block sizes of kernels by the clock", add_tune},
    {"ptx", "Show what tile IR text becomes on a GPU", add_ptx},
    {"db", "Look at, carry and keep what tuning measured", add_db},
    {"demo", "Show regional compilation and a small Llama, eager against compiled", add_demo},
};

}  // namespace
}  // namespace tilewright::tools

int main(int argc, char** argv) {
  CLI::App app{
      "Tilewright compiles tensor programs written in C++.\n"
      "Start with `tilewright demo`; `tilewright COMMAND --help` explains each command."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "tilewright 0.1.0");
  for (const auto& command : tilewright::tools::commands)
    command.add(*app.add_subcommand(command.name, command.what));
  using namespace tilewright::tools;
  try {
    check_subcommands(app, {argv + 1, argv + argc});
    as_misuse(tilewright::graph::check_skipped_names);
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : misuse_status;
  } catch (const Misuse& error) {
    std::fprintf(stderr, "tilewright: %s\n", error.what());
    return misuse_status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tilewright: %s\n", error.what());
    return 1;
  }
  return 0;
}
