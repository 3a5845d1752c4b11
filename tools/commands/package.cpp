// `tilewright package`: a program that PyTorch has exported, or an ONNX model, compiled to a file
// that runs without compiling: by `tilewright run`, load_package() in C++, or
// include/tilewright/c_api.h.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "models/files/reader.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/programs/model_inputs.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

struct PackageArguments {
  std::string model, output;
  std::vector<std::string> inputs, constants;
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

// Inputs of zeros, of a model whose sizes are fixed.
std::vector<Tensor> zero_inputs(const ProgramModule& model) {
  std::vector<Tensor> inputs;
  for (const ProgramInput& input : model.inputs()) {
    require_use(input.dynamic.empty() && !input.integer, "[package] the sizes of input \"",
                input.name, "\" may differ: [", sizes_text(input), "]", integer_text(input),
                "; name safetensors files with inputs of each size by --inputs");
    inputs.push_back(zeros(input.shape, input.dtype));
  }
  return inputs;
}

// "model.twp: 1.2 MB, made in 3 s"; a pipe or /dev/null has no size.
void tell_made(const std::string& output, double seconds) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(output, error);
  const std::string size = error ? "" : bytes_text(static_cast<double>(bytes)) + ", ";
  fmt::print("{}: {}made in {}\n", output, size, duration_text(seconds));
}

void require_out_is_another(const PackageArguments& a) {
  require_use(!a.output.empty(), "[package] the name of the package is empty; name a file by -o");
  std::vector<std::string> sources = a.inputs;
  sources.push_back(a.model);
  for (const std::string& source : sources) {
    std::error_code error;
    require_use(!std::filesystem::equivalent(a.output, source, error), "[package] ", a.output,
                " is read to make the package, and would be lost; name another file by -o");
  }
}

void package(const PackageArguments& a) {
  require_file("package", a.model, what_models_are);
  require_out_is_another(a);
  require_use(!std::filesystem::is_directory(a.model), "[package] ", a.model, " is a folder; name ",
              what_models_are);
  Options options = a.run.compile_options();
  require_use(options.device == Device::cpu(), "[package] the device is ", options.device.text(),
              "; packages hold code of the host: --device cpu");
  options.freezing = a.run.freezing.value_or(true);  // nobody else has the weights
  options.index_checks = IndexChecks::all;           // as `run` has them
  const double start = now_s();
  const Constants constants = constants_of(a.model, a.constants);
  const std::string first = a.inputs.empty() ? "" : a.inputs.front();
  auto model = load_program(a.model, first, constants, Reading::as_needed);
  for (const ProgramInput& input : model->inputs()) options.argument_names.push_back(input.name);
  options.max_signatures = std::max<int>(options.max_signatures, static_cast<int>(a.inputs.size()));
  auto fast = compile(*model, options);
  for (const std::string& inputs : a.inputs)
    fast(read_inputs(*model, constants, inputs, options.device));
  if (a.inputs.empty()) fast(zero_inputs(*model));
  try {
    fast.save_package(a.output, model->outputs());
  } catch (const Error& error) {
    const std::string advice = advice_for(*model, fast);
    if (advice.empty()) throw;
    raise_error(error.what() + advice);
  }
  tell_made(a.output, now_s() - start);
}

}  // namespace

void add_package(CLI::App& command) {
  auto a = std::make_shared<PackageArguments>();
  command.add_option("MODEL", a->model, what_models_are)->required();
  command.add_option("-o,--output", a->output, "the package to write (.twp)")->required();
  command.add_option(
      "--inputs", a->inputs,
      "safetensors files with example inputs, as `run` takes them: the package gets a "
      "function for the sizes of each; not needed where all sizes are fixed");
  command.add_option("--constant", a->constants, what_constants_are);
  a->run.add_to(command);
  command.callback([a] { package(*a); });
}

}  // namespace tilewright::tools
