// `tilewright package`: a program that PyTorch has exported, or an ONNX model, compiled to a file
// that runs without compiling: by `tilewright run`, load_package() in C++, or
// include/tilewright/c_api.h. A package may have code for several instruction sets, each of which
// is compiled by a process of its own, since one compiles for one; packages that other machines
// made are merged.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "dsl/target/target.h"
#include "graph/compile/c_library/c_library.h"
#include "models/files/reader.h"
#include "runtime/cpu/instruction_sets.h"
#include "tools/console/command.h"
#include "tools/console/own_process.h"
#include "tools/console/table.h"
#include "tools/console/temporary_folder.h"
#include "tools/measure/measure.h"
#include "tools/programs/model_inputs.h"
#include "tools/programs/model_programs.h"
#include "tools/programs/size_lists.h"

namespace tilewright::tools {
namespace {

struct PackageArguments {
  std::vector<std::string> models;  // one, or packages
  std::string output;
  std::vector<std::string> inputs, sizes, constants;
  std::vector<std::string> instruction_sets;
  RunOptions run;
};

// How to keep a graph whole that breaks where the value of an input is read; "": it does not, or no
// input is one value.
std::string advice_for(const ProgramModule& model, const CompiledFunction& fast) {
  const std::vector<PlanReport> plans = fast.report();
  if (std::ranges::all_of(plans, [](const PlanReport& plan) { return plan.graph_break.empty(); }))
    return "";
  std::vector<std::string> options;
  for (const ProgramInput& input : model.inputs())
    if (!is_floating(input.dtype) && input.dynamic.empty() && element_count(input.shape) == 1)
      options.push_back(concat("--constant ", json::excerpt(input.name), "=VALUE"));
  if (options.empty()) return "";
  return "; where an input always has the same value, say which: " + listed(options);
}

// The calls that the package has functions for: those of the files, and zeros of all sizes that are
// listed or fixed.
std::vector<std::vector<Tensor>> calls_of(const PackageArguments& a, const ProgramModule& model,
                                          const Constants& constants,
                                          const std::vector<SizeList>& lists) {
  std::vector<std::vector<Tensor>> calls;
  for (const std::string& file : a.inputs)
    calls.push_back(read_inputs(model, constants, file, Device::cpu()));
  if (a.inputs.empty() || !lists.empty())
    std::ranges::move(inputs_of_sizes(model.inputs(), lists), std::back_inserter(calls));
  return calls;
}

// Each size has the plan that it would have alone, but those of a range, which may be many.
void set_sizes(Options& options, const std::vector<SizeList>& lists, int calls) {
  const bool has_range = std::ranges::any_of(lists, &SizeList::has_range);
  options.dynamic = has_range ? Dynamic::always : Dynamic::never;
  options.max_signatures = std::max(options.max_signatures, calls);
  options.max_sizes = std::max(options.max_sizes, calls);
}

bool is_c_source(const std::string& output) { return output.ends_with(".c"); }

// "model.twp: 1.2 MB, made in 3 s"; a pipe or /dev/null has no size.
void tell_made(const std::string& output, double seconds) {
  const std::filesystem::path path = output;
  const std::string name = path.stem();
  const std::string beside =
      is_c_source(output) ? concat(", ", name, ".h, lib", name, ".a") : std::string();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(
      beside.empty() ? path : path.parent_path() / concat("lib", name, ".a"), error);
  const std::string size = error ? "" : bytes_text(static_cast<double>(bytes)) + ", ";
  std::error_code unknown;
  const bool is_stdout = std::filesystem::equivalent(output, "/dev/stdout", unknown);
  fmt::print(is_stdout || error ? stderr : stdout, "{}{}: {}made in {}\n", output, beside, size,
             duration_text(seconds));
}

void require_out_is_another(const PackageArguments& a) {
  require_use(!a.output.empty(), "[package] the name of the package is empty; name a file by -o");
  std::vector<std::string> sources = a.inputs;
  sources.push_back(a.models.front());
  for (const std::string& source : sources) {
    std::error_code error;
    require_use(!std::filesystem::equivalent(a.output, source, error), "[package] ", a.output,
                " is read to make the package, and would be lost; name another file by -o");
  }
}

// The one that the code is for, or "" for this process's.
std::string foreign_set(const PackageArguments& a) {
  const bool is_one = a.instruction_sets.size() == 1 && is_foreign(a.instruction_sets.front());
  return is_one ? a.instruction_sets.front() : "";
}

// Writes the package for this process's instruction set.
void compile_package(const PackageArguments& a, const std::string& output) {
  const std::string& file = a.models.front();
  Options options = a.run.compile_options();
  require_use(options.device == Device::cpu(), "[package] the device is ", options.device.text(),
              "; packages hold code of the host: --device cpu");
  options.freezing = a.run.freezing.value_or(true);  // nobody else has the weights
  options.index_checks = IndexChecks::all;           // as `run` has them
  options.first_code = FirstCode::full;              // which the package holds
  const Constants constants = constants_of(file, a.constants);
  const std::string first = a.inputs.empty() ? "" : a.inputs.front();
  auto model = load_program(file, first, constants, Reading::as_needed);
  for (const ProgramInput& input : model->inputs()) options.argument_names.push_back(input.name);
  const std::vector<SizeList> lists = parse_size_lists(a.sizes, model->inputs());
  const auto calls = calls_of(a, *model, constants, lists);
  set_sizes(options, lists, static_cast<int>(calls.size()));
  auto fast = compile(*model, options);
  for (const std::vector<Tensor>& inputs : calls) fast(inputs);
  try {
    fast.save_package(output, model->outputs(), foreign_set(a));
  } catch (const Error& error) {
    const std::string advice = advice_for(*model, fast);
    if (advice.empty()) throw;
    raise_error(error.what() + advice);
  }
}

void require_instruction_sets(const std::vector<std::string>& names) {
  const std::vector<std::string_view> here = dsl::host_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    require_use(!dsl::target_named(name).is_gpu(), "[package] ", name,
                " is a GPU; packages hold code of the host");
    require_use(is_foreign(name) || std::ranges::find(here, name) != here.end(), "[package] --cpu ",
                name, ": this processor supports ", here.front(),
                " at the most; make a package on one that has it, and merge both: `tilewright "
                "package ONE.twp OTHER.twp -o BOTH.twp`");
    require_use(std::find(names.begin(), names.begin() + i, name) == names.begin() + i,
                "[package] --cpu ", name, " is given twice");
  }
}

// Beside the output, which may be large, but for pipes and devices.
std::filesystem::path beginning_of_parts(const std::string& output) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(output, error);
  const bool is_file = !std::filesystem::exists(status) || is_regular_file(status);
  return is_file ? std::filesystem::path(output + ".parts-")
                 : std::filesystem::temp_directory_path() / "tilewright-package-";
}

// One package, or a C library, of packages that were made.
void write_output(const std::vector<FilePath>& packages, const PackageArguments& a) {
  if (!is_c_source(a.output)) return merge_packages(packages, a.output);
  PackageLoadOptions options;
  if (!a.instruction_sets.empty()) options.instruction_set = a.instruction_sets.front();
  write_c_library(packages.front(), a.output, options);
}

// Removes folders of parts that processes left behind which were killed, as the files of
// AtomicFile go: those that are an hour old.
void remove_old_parts(const std::filesystem::path& beginning) {
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  const std::filesystem::path folder = beginning.has_parent_path() ? beginning.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->path().filename().string().starts_with(beginning.filename().string()) &&
        at->is_directory(ignored) && at->last_write_time(ignored) < old)
      std::filesystem::remove_all(at->path(), ignored);
  }
}

// Packages that only the output is made of.
void compile_parts(const CLI::App& command, const PackageArguments& a) {
  const std::filesystem::path beginning = beginning_of_parts(a.output);
  remove_old_parts(beginning);
  const TemporaryFolder folder("package", beginning);
  std::vector<FilePath> parts;
  const std::vector<std::string> arguments = given_arguments(command, {"--cpu", "--output"});
  for (const std::string& name : a.instruction_sets) {
    parts.emplace_back(folder.path() / (name + ".twp"));
    std::vector<std::string> words = arguments;
    words.insert(words.begin() + 1, concat("--output=", parts.back().string()));
    if (is_foreign(name)) words.insert(words.begin() + 1, concat("--cpu=", name));
    const int status = run_as_process("package", words,
                                      concat("TILEWRIGHT_CPU=", is_foreign(name) ? "sse" : name));
    if (status != 0) throw CLI::RuntimeError(status);  // it has printed why
  }
  if (parts.empty()) {
    parts.emplace_back(folder.path() / "model.twp");
    compile_package(a, parts.front().string());
  }
  write_output(parts, a);
}

void require_packages(const PackageArguments& a) {
  for (const std::string& file : a.models)
    require_use(is_package(file), "[package] ", file,
                " is no package; name one model, or packages "
                "(.twp) of one model for different processors");
  const std::string given = a.run.given();
  require_use(a.inputs.empty() && a.sizes.empty() && a.constants.empty() &&
                  (a.instruction_sets.empty() || is_c_source(a.output)) && given.empty(),
              "[package] ", a.models.front(), " is a package; ",
              given.empty() ? "--inputs, --sizes, --constant, --cpu" : given,
              given.empty() ? " are" : " is", " for models, which are compiled");
}

void package(const CLI::App& command, const PackageArguments& a) {
  const std::string& first = a.models.front();
  for (const std::string& file : a.models) require_file("package", file, what_models_are);
  const bool is_c = is_c_source(a.output);
  const bool are_packages = a.models.size() > 1 || is_package(first);
  require_use(!is_c || std::max(a.instruction_sets.size(), a.models.size()) <= 1, "[package] ",
              a.output, " holds code for one instruction set, of one model or package");
  require_use(
      a.instruction_sets.size() <= 1 || (a.run.write_plan.empty() && a.run.locked_plan.empty()),
      "[package] --write-plan and --locked are for one instruction set; give --cpu one");
  const double start = now_s();
  if (are_packages) {
    require_packages(a);
    write_output({a.models.begin(), a.models.end()}, a);
  } else {
    require_out_is_another(a);
    require_use(!std::filesystem::is_directory(first), "[package] ", first, " is a folder; name ",
                what_models_are);
    as_misuse([&] { require_instruction_sets(a.instruction_sets); });
    const bool is_own = a.instruction_sets.empty() ||
                        (!foreign_set(a).empty() && dsl::host_target() == dsl::target_named("sse"));
    if (is_c || !is_own)
      compile_parts(command, a);
    else
      compile_package(a, a.output);
  }
  tell_made(a.output, now_s() - start);
}

}  // namespace

void add_package(CLI::App& command) {
  auto a = std::make_shared<PackageArguments>();
  command
      .add_option("MODEL", a->models,
                  concat(what_models_are,
                         "; or packages of one model for different processors, "
                         "which become one"))
      ->required();
  command
      .add_option("-o,--output", a->output,
                  "the package to write (.twp), or a C source file (.c): then NAME.c, NAME.h and "
                  "libNAME.a, which "
                  "need nothing of Tilewright")
      ->required();
  command.add_option(
      "--inputs", a->inputs,
      "safetensors files with example inputs, as `run` takes them: the package gets a "
      "function for the sizes of each; not needed where all sizes are fixed");
  command.add_option("--sizes", a->sizes, what_size_lists_are);
  command.add_option("--constant", a->constants, what_constants_are);
  given_again(
      command
          .add_option("--cpu", a->instruction_sets,
                      "instruction sets that the package is to have code for, with commas "
                      "between them: avx512_bf16, avx512, avx2, sse, neon (64-bit Arm, for C "
                      "libraries); the best that a "
                      "processor has is run there")
          ->delimiter(','));
  a->run.add_to(command);
  command.callback([a, &command] { package(command, *a); });
}

}  // namespace tilewright::tools
