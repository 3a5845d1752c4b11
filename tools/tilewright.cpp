// The one command line program: a table of subcommands. It ends with 0, with 2 where it was asked
// for what cannot be (misuse.h), and with 1 where what it was asked for failed.
#include <exception>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tools/console/command.h"
#include "tools/console/misuse.h"
#include "tools/console/process.h"
#include "tools/database/commands.h"

namespace tilewright::tools {
namespace {

constexpr Command commands[] = {
    {"generate", "Continue a text with a model from a Hugging Face folder", add_generate},
    {"embed", "Make vectors of texts with an encoder or a folder of sentence-transformers",
     add_embed},
    {"quantize", "Write a copy of a model's folder in fewer bits", add_quantize},
    {"run", "Run a program that PyTorch has exported (.pt2) an ONNX model or a package", add_run},
    {"inspect", "Show what such a program takes, gives and is made of", add_inspect},
    {"bench", "Measure this machine and what the compiler makes of it", add_bench},
    {"explain", "Show what a model is compiled to: regions, kernels, bytes, time", add_explain},
    {"package", "Compile such a program to a file that runs without compiling", add_package},
    {"opt", "Run passes over tile programs or a graph, given as text", add_opt},
    {"tune", "Find the fastest block sizes of kernels by the clock", add_tune},
    {"ptx", "Show what tile IR text becomes on a GPU", add_ptx},
    {"kernel", "Run and debug tile IR text", add_kernel},
    {"db", "Look at, carry and keep what tuning measured", add_db},
    {"cache", "Look at, carry and keep the compiled code that is kept on disk", add_cache},
    {"demo", "Show regional compilation and a small Llama, eager against compiled", add_demo},
};

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "tilewright 0.1.0");
  for (const Command& command : commands)
    command.add(*app.add_subcommand(command.name, command.what));
  refuse_cut_numbers(app);
  // After --help has been answered, and before any command runs.
  app.parse_complete_callback([] {
    as_misuse(graph::check_pass_names);
    as_misuse(check_settings);
  });
}

int run(int argc, char** argv) {
  CLI::App app{
      "Tilewright compiles tensor programs written in C++.\n"
      "Start with `tilewright demo`; `tilewright COMMAND --help` explains each command."};
  add_commands(app);
  try {
    check_subcommands(app, {argv + 1, argv + argc});
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    int code = app.exit(error, out, err);
    std::cout << out.str();
    print_error(err.str().c_str());
    return code == 0 ? 0 : misuse_status;
  }
  return 0;
}

// Nothing that a command or its environment does wrong ends the process otherwise.
int status_of(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Misuse& error) {
    say(error.what());
    return misuse_status;
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    return 1;
  } catch (const std::system_error& error) {
    say(concat("while running `tilewright ", argc > 1 ? argv[1] : "", "`: ", error.what()).c_str());
    return 1;
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tilewright::tools

int main(int argc, char** argv) {
  using namespace tilewright::tools;
  prepare_process(argc > 1 ? argv[1] : "--help");
  return finished_output(has_stack() ? status_of(argc, argv) : 1);
}
