// `tilewright run`: a program that PyTorch has exported, an ONNX model, or a package, on inputs
// from a file; with --gradients also the gradients of a program's inputs and parameters.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "dsl/launch/compile.h"
#include "graph/compile/packages/package.h"
#include "models/files/reader.h"
#include "models/weights/safetensors.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/system_memory.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/programs/model_gradients.h"
#include "tools/programs/model_inputs.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

struct RunArguments {
  std::string model, inputs, outputs;
  std::vector<std::string> constants;
  std::int64_t repeat = 1;
  bool json = false, mapped = false, explain = false, wants_gradients = false, wants_second = false;
  std::string gradients;  // which ones; empty: all
  RunOptions run;
};

struct Times {
  double load_s = 0, first_s = 0;
  std::vector<double> later_s;
};

std::vector<Tensor> on_host(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> copies;
  for (const Tensor& output : outputs) copies.push_back(output.to(Device::cpu()).clone());
  return copies;
}

// A call is over on the host when it returns, on a GPU when its outputs have been read.
using Calls = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> timed_calls(const Calls& fast, const std::vector<Tensor>& inputs,
                                std::int64_t repeat, Times& times) {
  std::vector<Tensor> outputs;
  for (std::int64_t i = 0; i < repeat; ++i) {
    double start = now_s();
    outputs = fast(inputs);
    for (Tensor& output : outputs)
      if (output.device() != Device::cpu()) output = output.to(Device::cpu());
    (i == 0 ? times.first_s : times.later_s.emplace_back()) = now_s() - start;
    if (i == 0 && repeat > 1) finish_compiling();
  }
  return on_host(outputs);  // where the next call would write
}

// The kernel that took longest, without those that an earlier process has kept.
nlohmann::json longest_compile() {
  const dsl::CompileStatistics all = dsl::compile_statistics();
  return {{"kernel", all.longest}, {"processor_s", all.longest_processor_seconds}};
}

void print_result(const RunArguments& a, const std::vector<NamedResult>& results, Times& times,
                  const std::string& explanation) {
  std::ranges::sort(times.later_s);
  bool has_later = !times.later_s.empty();
  double median = has_later ? times.later_s[times.later_s.size() / 2] : 0;
  if (a.json) {
    nlohmann::json record = {{"outputs", nlohmann::json::array()},
                             {"load_s", times.load_s},
                             {"first_s", times.first_s},
                             {"calls", a.repeat},
                             {"longest_compile", longest_compile()},
                             {"peak_memory_bytes", peak_memory_bytes()}};
    for (const auto& [name, tensor] : results) {
      nlohmann::json described = {{"dtype", name_of(tensor.dtype())},
                                  {"shape", std::vector<std::int64_t>(tensor.shape())}};
      if (name.starts_with("out."))
        record["outputs"].push_back(described);
      else
        record["gradients"][name] = described;
    }
    if (has_later) record["median_s"] = median;
    if (a.explain) record["explanation"] = explanation;
    fmt::print("{}\n", record.dump(2));
    return;
  }
  for (const auto& [name, tensor] : results)
    fmt::print("{}: {} [{}]\n", concat(json::excerpt(name)), name_of(tensor.dtype()),
               to_string(tensor.shape()));
  fmt::print("loading {}, first call {}", duration_text(times.load_s),
             duration_text(times.first_s));
  if (has_later)
    fmt::print(", median of {} others {}", times.later_s.size(), duration_text(median));
  fmt::print(", peak memory {}\n", bytes_text(static_cast<double>(peak_memory_bytes())));
  if (a.explain) fmt::print("\n{}", explanation);
}

void save_results(const std::string& path, const std::vector<NamedResult>& results) {
  if (path.empty()) return;
  std::map<std::string, Tensor> named;
  for (const auto& [name, tensor] : results) named.emplace(name, tensor);
  save_safetensors(path, named);
}

// Everything about how it runs was decided when it was made.
void run_package(const RunArguments& a) {
  require_use(a.constants.empty() && !a.mapped && !a.explain && !a.wants_gradients, "[run] ",
              a.model,
              " is a package; --constant, --mapped, --explain and --gradients are for models");
  const std::string given = a.run.given();
  require_use(given.empty(), "[run] ", a.model, " is a package; ", given,
              " is for models, which are compiled: give it to `tilewright package`");
  if (a.run.threads > 0) set_thread_count(a.run.threads);
  Times times;
  const double start = now_s();
  const Package package = load_package(a.model);
  times.load_s = now_s() - start;
  const PackageSignature first = package.signatures().front();
  require_use(!a.inputs.empty() || first.inputs.empty(), "[run] --inputs is missing; the package ",
              "takes ", first.inputs.size(), " tensors, which a safetensors file has");
  std::vector<Tensor> inputs;
  if (!a.inputs.empty()) inputs = read_inputs(first, a.inputs);
  auto call = [&](const std::vector<Tensor>& all) { return package.run(all); };
  const auto outputs = named_outputs(timed_calls(call, inputs, a.repeat, times));
  save_results(a.outputs, outputs);
  print_result(a, outputs, times, "");
}

// Tensors that are given beside the inputs, of which some may be missing, as further arguments.
class FurtherArguments {
 public:
  FurtherArguments(std::vector<Tensor> tensors, std::string_view prefix, std::vector<Tensor>& given,
                   std::vector<std::string>& names)
      : tensors_(std::move(tensors)) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].defined()) continue;
      given.push_back(tensors_[i]);
      names.push_back(concat(prefix, i));
    }
  }
  // Those of a call, from the next argument on.
  std::vector<Tensor> of(std::vector<Tensor>::const_iterator& next) const {
    std::vector<Tensor> all = tensors_;
    for (Tensor& each : all)
      if (each.defined()) each = *next++;
    return all;
  }

 private:
  std::vector<Tensor> tensors_;
};

void append(std::vector<Tensor>& results, const ProgramGradients& found,
            const ProgramVariables& variables) {
  for (std::size_t i : variables.inputs) results.push_back(found.inputs.at(i));
  for (const std::string& name : variables.parameters) results.push_back(found.parameters.at(name));
}

// The outputs, then the gradients, for the inputs and the cotangents that are given.
std::vector<NamedResult> timed_gradients(const RunArguments& a, ProgramModule& model,
                                         std::vector<Tensor> given, Options options, Times& times,
                                         std::string& explanation) {
  const ProgramVariables variables = variables_of(model, a.gradients);
  const FurtherArguments cotangents(read_cotangents(model, a.inputs, options.device), "cotangent.",
                                    given, options.argument_names);
  const FurtherArguments directions(
      a.wants_second ? read_directions(variables, a.inputs, options.device) : std::vector<Tensor>(),
      "direction ", given, options.argument_names);
  auto fast = compile(
      [&](const std::vector<Tensor>& all) {
        auto next = all.begin() + static_cast<std::ptrdiff_t>(model.inputs().size());
        const std::vector<Tensor> inputs(all.begin(), next), by_output = cotangents.of(next),
                                                             along = directions.of(next);
        ProgramGradients found = program_gradients(model, inputs, by_output, variables);
        std::vector<Tensor> results = std::move(found.outputs);
        append(results, found, variables);
        if (a.wants_second)
          append(results, program_second_gradients(model, inputs, by_output, variables, along),
                 variables);
        return results;
      },
      options);
  const std::vector<Tensor> results = timed_calls(fast, given, a.repeat, times);
  if (a.explain) explanation = fast.explain();
  return named_gradients(results, variables, a.wants_second);
}

void run(const RunArguments& a) {
  require_file("run", a.model, what_can_be_run);
  if (is_package(a.model)) return run_package(a);
  require_use(!std::filesystem::is_directory(a.model), "[run] ", a.model, " is a folder; name ",
              what_can_be_run, ", or use tilewright generate for a Hugging ", "Face model");
  if (!a.inputs.empty()) require_file("run", a.inputs, "a safetensors file of inputs");
  Options options = a.run.compile_options();
  options.freezing = a.run.freezing.value_or(a.repeat > 1);  // nobody else has the weights
  // The exported program may compute numbers of elements from its inputs.
  options.index_checks = IndexChecks::all;
  Times times;
  double start = now_s();
  const Constants constants = constants_of(a.model, a.constants);
  const Reading reading = a.mapped ? Reading::mapped : Reading::as_needed;
  auto model = load_program(a.model, a.inputs, constants, reading);
  model->to(options.device);
  times.load_s = now_s() - start;
  require_use(!a.inputs.empty() || model->inputs().empty(), "[run] --inputs is missing; the model ",
              "takes ", model->inputs().size(), " tensors, which a safetensors file has");
  std::vector<Tensor> inputs;
  if (!a.inputs.empty()) inputs = read_inputs(*model, constants, a.inputs, options.device);
  for (const ProgramInput& input : model->inputs()) options.argument_names.push_back(input.name);
  std::vector<NamedResult> results;
  std::string explanation;
  if (a.wants_gradients) {
    results = timed_gradients(a, *model, inputs, options, times, explanation);
  } else {
    auto fast = compile(*model, options);
    results = named_outputs(timed_calls(fast, inputs, a.repeat, times));
    if (a.explain) explanation = fast.explain();
  }
  save_results(a.outputs, results);
  print_result(a, results, times, explanation);
}

}  // namespace

void add_run(CLI::App& command) {
  auto a = std::make_shared<RunArguments>();
  command.add_option("MODEL", a->model, what_can_be_run)->required();
  command.add_option("--inputs", a->inputs,
                     "safetensors file with the inputs: in.0, in.1, ..., or the model's own names; "
                     "out.0, out.1, ... are passed over");
  command.add_option(
      "--outputs", a->outputs,
      "safetensors file to write: out.0, out.1, ..., and with --gradients grad.in.0, "
      "..., grad.param.NAME, ..., with --second also second.in.0, ...");
  CLI::Option* gradients = command.add_option(
      "--gradients", a->gradients,
      "also compute gradients, of these inputs and parameters: in.0,param.NAME,..., or of all that "
      "are floating; from cotangent.0, cotangent.1, ... in the file of inputs, the gradients of "
      "the outputs, or 1 for each element of a floating output that has none there");
  gradients->expected(0, 1)->type_name("NAME,..");
  command
      .add_flag("--second", a->wants_second,
                "with --gradients: also the gradients of the sum of all gradients times "
                "direction.in.0, ..., direction.param.NAME, ... in the file of inputs, or 1")
      ->needs(gradients);
  command.add_option("--constant", a->constants, what_constants_are);
  command.add_option("--repeat", a->repeat, "calls; all but the first are timed together")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--mapped", a->mapped, "weights are the file's own memory, and not copied");
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("--explain", a->explain,
                   "also print how the model was compiled: regions, kernels, bytes, time");
  a->run.add_to(command);
  command.callback([a, gradients] {
    a->wants_gradients = gradients->count() > 0;
    run(*a);
  });
}

}  // namespace tilewright::tools
