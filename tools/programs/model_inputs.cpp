#include "tools/programs/model_inputs.h"

#include <algorithm>
#include <set>

#include "models/exported/exported_module.h"
#include "models/files/reader.h"
#include "models/onnx/onnx_module.h"
#include "models/weights/safetensors.h"
#include "tools/console/misuse.h"
#include "tools/console/terminal_text.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

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
// --outputs, the cotangents of outputs and directions.
void refuse_unread(const Safetensors& file, const std::set<std::string>& read,
                   const std::vector<std::string>& inputs, const std::string& path) {
  std::vector<std::string> unread;
  for (const SafetensorsEntry& entry : file.entries())
    if (!read.contains(entry.name) && !entry.name.starts_with("out.") &&
        !entry.name.starts_with("cotangent.") && !entry.name.starts_with("direction."))
      unread.push_back(entry.name);
  require(
      unread.empty(), "[run] ", path, ": no input of the model is ", quoted(unread), "; it takes ",
      inputs.empty() ? "none" : concat(quoted(inputs), ", by these names or as in.0, in.1, ..."),
      " (out.0, .., cotangent.0, .. without --gradients, and directions are passed over)");
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

}  // namespace

std::unique_ptr<ProgramModule> load_program(const std::string& path, const std::string& inputs,
                                            const Constants& constants, Reading reading) {
  if (!is_onnx(path)) return load_exported(path, {.reading = reading, .constants = constants});
  auto model = load_onnx(path, {.reading = reading, .constants = constants});
  if (inputs.empty()) return model;
  // Inputs that have a default are those of the file where it has them.
  Safetensors file = Safetensors::open(inputs);
  Constants all = constants;
  for (const std::string& name : model->defaults())
    if (file.find(name) != nullptr) all.emplace(name, file.tensor(name));
  if (all.size() == constants.size()) return model;
  return load_onnx(path, {.reading = reading, .constants = all});
}

std::vector<Tensor> read_inputs(const ProgramModule& model, const Constants& constants,
                                const std::string& path, const Device& device) {
  Safetensors file = Safetensors::open(path);
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
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
    names.push_back(input.name);
  }
  refuse_unread(file, read, names, path);
  return inputs;
}

// Random numbers are drawn from the first one on, unless the file says otherwise.
std::vector<Tensor> read_inputs(const PackageSignature& signature, const std::string& path) {
  Safetensors file = Safetensors::open(path);
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  std::set<std::string> read;
  for (const PackageTensor& input : signature.inputs) {
    const std::string numbered = concat("in.", inputs.size());
    const SafetensorsEntry* found = file.find(input.name);
    if (found == nullptr) found = file.find(numbered);
    if (found == nullptr && input.name.starts_with(random_offset)) {
      inputs.push_back(zeros(input.shape, input.dtype));
      continue;
    }
    require(found != nullptr, "[run] ", path, ": has no tensor \"", json::excerpt(input.name),
            "\", nor \"", numbered, "\"; the package takes ", input.dtype, " [", input.shape, "]");
    inputs.push_back(file.tensor(found->name));
    read.insert(found->name);
    names.push_back(input.name);
  }
  refuse_unread(file, read, names, path);
  return inputs;
}

}  // namespace tilewright::tools
