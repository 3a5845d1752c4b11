// `tilewright run`: a program that PyTorch has exported, or an ONNX model, on inputs from a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "models/exported/exported_module.h"
#include "models/files/reader.h"
#include "models/onnx/onnx_module.h"
#include "models/weights/safetensors.h"
#include "runtime/cpu/system_memory.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/console/terminal_text.h"
#include "tools/measure/measure.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

struct RunArguments {
  std::string model, inputs, outputs;
  std::vector<std::string> constants;
  std::int64_t repeat = 1;
  bool json = false, mapped = false, explain = false;
  RunOptions run;
};

std::unique_ptr<ProgramModule> load(const RunArguments& a, const Constants& constants) {
  const Reading reading = a.mapped ? Reading::mapped : Reading::as_needed;
  if (!is_onnx(a.model))
    return load_exported(a.model, {.reading = reading, .constants = constants});
  auto model = load_onnx(a.model, {.reading = reading, .constants = constants});
  if (a.inputs.empty()) return model;
  // Inputs that have a default are those of the file where it has them.
  Safetensors file = Safetensors::open(a.inputs);
  Constants all = constants;
  for (const std::string& name : model->defaults())
    if (file.find(name) != nullptr) all.emplace(name, file.tensor(name));
  if (all.size() == constants.size()) return model;
  return load_onnx(a.model, {.reading = reading, .constants = all});
}

// At most eight names.
std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    shown.push_back(concat("\"", json::excerpt(names[i]), "\""));
  const std::string rest =
      names.size() > most ? concat(" and ", names.size() - most, " more") : std::string();
  return concat(listed(shown), rest);
}

// A tensor in the file is meant to be used: an unread one, such as an input that the program was
// exported without or an extra one, is an error. Expected results may lie beside them, named as by
// --outputs.
void refuse_unread(const Safetensors& file, const std::set<std::string>& read,
                   const ProgramModule& model, const std::string& path) {
  std::vector<std::string> unread, inputs;
  for (const SafetensorsEntry& entry : file.entries())
    if (!read.contains(entry.name) && !entry.name.starts_with("out.")) unread.push_back(entry.name);
  for (const ProgramInput& input : model.inputs()) inputs.push_back(input.name);
  require(
      unread.empty(), "[run] ", path, ": no input of the model is ", quoted(unread), "; it takes ",
      inputs.empty() ? "none" : concat(quoted(inputs), ", by these names or as in.0, in.1, ..."),
      " (out.0, out.1, ... are passed over)");
}

// At most eight elements.
std::string values_text(const Tensor& values) {
  constexpr std::int64_t most = 8;
  const Tensor first = values.reshape({-1}).slice(0, 0, std::min(most, values.count()));
  std::string text;
  auto add = [&](auto value) { text += concat(text.empty() ? "" : ",", value); };
  if (is_floating(values.dtype()))
    for (double value : first.to(DType::f64).to_vector<double>()) add(value);
  else
    for (std::int64_t value : first.to(DType::i64).to_vector<std::int64_t>()) add(value);
  return concat(values.dtype(), " [", values.shape(), "] ", text,
                values.count() > most ? ",.." : "");
}

// An inputs file may also have inputs that --constant holds, with the same values.
void require_equal(const Safetensors& file, const Constants& constants, const std::string& path,
                   std::set<std::string>& read) {
  for (const auto& [name, constant] : constants) {
    if (file.find(name) == nullptr) continue;
    const Tensor given = file.tensor(name);
    const bool is_equal = given.dtype() == constant.dtype() && given.shape() == constant.shape() &&
                          all(given == constant).item<bool>();
    require(is_equal, "[run] \"", json::excerpt(name), "\" is ", values_text(given), " in ", path,
            " and ", values_text(constant),
            " by --constant; leave one of them out, or give the same value");
    read.insert(name);
  }
}

// By the model's names, or else in.0, in.1, ...
std::vector<Tensor> read_inputs(const ProgramModule& model, const Constants& constants,
                                const std::string& path, const Device& device) {
  Safetensors file = Safetensors::open(path);
  std::vector<Tensor> inputs;
  std::set<std::string> read;
  require_equal(file, constants, path, read);
  if (auto* onnx = dynamic_cast<const OnnxModule*>(&model))
    read.insert(onnx->defaults().begin(), onnx->defaults().end());
  for (const ProgramInput& input : model.inputs()) {
    std::string numbered = concat("in.", inputs.size());
    const SafetensorsEntry* found = file.find(input.name);
    if (found == nullptr) found = file.find(numbered);
    require(found != nullptr, "[run] ", path, ": has no tensor \"", json::excerpt(input.name),
            "\", nor \"", numbered, "\"; the model takes ", input.dtype, " [", sizes_text(input),
            "]", integer_text(input));
    inputs.push_back(file.tensor(found->name).to(device));
    read.insert(found->name);
  }
  refuse_unread(file, read, model, path);
  return inputs;
}

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
std::vector<Tensor> timed_calls(const CompiledCall<std::vector<Tensor>>& fast,
                                const std::vector<Tensor>& inputs, std::int64_t repeat,
                                Times& times) {
  std::vector<Tensor> outputs;
  for (std::int64_t i = 0; i < repeat; ++i) {
    double start = now_s();
    outputs = fast(inputs);
    for (Tensor& output : outputs)
      if (output.device() != Device::cpu()) output = output.to(Device::cpu());
    (i == 0 ? times.first_s : times.later_s.emplace_back()) = now_s() - start;
  }
  return on_host(outputs);  // where the next call would write
}

void print_result(const RunArguments& a, const std::vector<Tensor>& outputs, Times& times,
                  const std::string& explanation) {
  std::ranges::sort(times.later_s);
  bool has_later = !times.later_s.empty();
  double median = has_later ? times.later_s[times.later_s.size() / 2] : 0;
  if (a.json) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const Tensor& output : outputs)
      shapes.push_back({{"dtype", name_of(output.dtype())},
                        {"shape", std::vector<std::int64_t>(output.shape())}});
    nlohmann::json record = {{"outputs", shapes},
                             {"load_s", times.load_s},
                             {"first_s", times.first_s},
                             {"calls", a.repeat},
                             {"peak_memory_bytes", peak_memory_bytes()}};
    if (has_later) record["median_s"] = median;
    if (a.explain) record["explanation"] = explanation;
    fmt::print("{}\n", record.dump(2));
    return;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    fmt::print("out.{}: {} [{}]\n", i, name_of(outputs[i].dtype()), to_string(outputs[i].shape()));
  fmt::print("loading {}, first call {}", duration_text(times.load_s),
             duration_text(times.first_s));
  if (has_later)
    fmt::print(", median of {} others {}", times.later_s.size(), duration_text(median));
  fmt::print(", peak memory {}\n", bytes_text(static_cast<double>(peak_memory_bytes())));
  if (a.explain) fmt::print("\n{}", explanation);
}

void run(const RunArguments& a) {
  require_file("run", a.model, what_models_are);
  require_use(!std::filesystem::is_directory(a.model), "[run] ", a.model, " is a folder; name ",
              what_models_are, ", or use tilewright generate for a Hugging ", "Face model");
  if (!a.inputs.empty()) require_file("run", a.inputs, "a safetensors file of inputs");
  Options options = a.run.compile_options();
  options.freezing = a.run.freezing.value_or(a.repeat > 1);  // nobody else has the weights
  // The exported program may compute numbers of elements from its inputs.
  options.index_checks = IndexChecks::all;
  Times times;
  double start = now_s();
  const Constants constants = constants_of(a.model, a.constants);
  auto model = load(a, constants);
  model->to(options.device);
  times.load_s = now_s() - start;
  require_use(!a.inputs.empty() || model->inputs().empty(), "[run] --inputs is missing; the model ",
              "takes ", model->inputs().size(), " tensors, which a safetensors file has");
  std::vector<Tensor> inputs;
  if (!a.inputs.empty()) inputs = read_inputs(*model, constants, a.inputs, options.device);
  for (const ProgramInput& input : model->inputs()) options.argument_names.push_back(input.name);
  auto fast = compile(*model, options);
  std::vector<Tensor> outputs = timed_calls(fast, inputs, a.repeat, times);
  if (!a.outputs.empty()) {
    std::map<std::string, Tensor> named;
    for (std::size_t i = 0; i < outputs.size(); ++i) named.emplace(concat("out.", i), outputs[i]);
    save_safetensors(a.outputs, named);
  }
  print_result(a, outputs, times, a.explain ? fast.explain() : "");
}

}  // namespace

void add_run(CLI::App& command) {
  auto a = std::make_shared<RunArguments>();
  command.add_option("MODEL", a->model, what_models_are)->required();
  command.add_option("--inputs", a->inputs,
                     "safetensors file with the inputs: in.0, in.1, ..., or the model's own names; "
                     "out.0, out.1, ... are passed over");
  command.add_option("--outputs", a->outputs, "safetensors file to write: out.0, out.1, ...");
  command.add_option("--constant", a->constants, what_constants_are);
  command.add_option("--repeat", a->repeat, "calls; all but the first are timed together")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--mapped", a->mapped, "weights are the file's own memory, and not copied");
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("--explain", a->explain,
                   "also print how the model was compiled: regions, kernels, bytes, time");
  a->run.add_to(command);
  command.callback([a] { run(*a); });
}

}  // namespace tilewright::tools
