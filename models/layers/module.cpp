#include "models/layers/module.h"

#include <algorithm>
#include <set>

#include "graph/tensor/tensor_body.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// "a, b, c and 4 more"
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += concat(i ? ", " : "", json::excerpt(names[i]));
  if (names.size() > most) text += concat(" and ", names.size() - most, " more");
  return text;
}

// Files of old versions of PyTorch lack the number of batches that norms have seen.
bool is_counter(std::string_view name) { return name.ends_with("num_batches_tracked"); }

// The lines of the message about weights that do not fit; empty where all do.
std::string differences(const std::vector<NamedParameter>& parameters, const Weights& weights,
                        const LoadOptions& options) {
  std::vector<std::string> missing, unexpected, misshapen;
  std::set<std::string_view> known;
  for (const auto& [name, tensor] : parameters) {
    known.insert(name);
    const bool is_there = weights.contains(name);
    if (!is_there && !is_counter(name)) missing.push_back(name);
    if (is_there && weights.shape(name) != tensor.shape())
      misshapen.push_back(
          concat(name, " (", weights.shape(name), ", the model has ", tensor.shape(), ")"));
  }
  for (const std::string& name : weights.names())
    if (!known.count(name) && !(options.ignore && options.ignore(name))) unexpected.push_back(name);
  std::string text;
  auto say = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += concat(text.empty() ? "" : "; ", what, ": ", list_of(names));
  };
  if (options.strict) say("no weights for", missing);
  if (options.strict) say("no parameter for", unexpected);
  say("another shape", misshapen);
  return text;
}

// Checked before anything is written: functions may have copied no parameter, and computed nothing
// from one, that they take to stay as it is.
void require_writable(const std::vector<NamedParameter>& parameters, const Weights& weights,
                      std::source_location w) {
  std::vector<std::string> frozen;
  for (const auto& [name, tensor] : parameters)
    if (weights.contains(name) && tensor.body()->buffer->is_read_only()) frozen.push_back(name);
  require(
      frozen.empty(), "[load] frozen: ", list_of(frozen),
      "; functions compiled with Options::freezing hold copies of these parameters, or what they "
      "computed from them, which would not follow (at ",
      describe(w), "); load before compiling, or compile ", "without freezing");
}

}  // namespace

void Module::require_new_name(const std::string& name) const {
  require(!name.empty(), "[module] a parameter or part needs a name");
  bool is_new = true;
  for (const auto& entry : parameters_) is_new &= entry.first != name;
  for (const auto& entry : named_buffers_) is_new &= entry.first != name;
  for (const auto& entry : parts_) is_new &= entry.first != name;
  require(is_new, "[module] the name \"", name, "\" is registered twice");
}

void Module::register_parameter(std::string name, Tensor& tensor) {
  require_new_name(name);
  require(tensor.defined(), "[module] the parameter \"", name, "\" is an undefined tensor");
  parameters_.emplace_back(std::move(name), &tensor);
}

void Module::register_module(std::string name, Module& part) {
  require_new_name(name);
  require(&part != this, "[module] \"", name, "\" is the module itself");
  part.prepend_to_path(name);
  parts_.emplace_back(std::move(name), &part);
}

void Module::prepend_to_path(const std::string& name) {
  path_ = path_.empty() ? name : concat(name, ".", path_);
  for (auto& [own, part] : parts_) part->prepend_to_path(name);
}

void Module::register_buffer(Tensor& tensor) {
  if (std::ranges::find(buffers_, &tensor) == buffers_.end()) buffers_.push_back(&tensor);
}

void Module::register_buffer(std::string name, Tensor& tensor) {
  require_new_name(name);
  require(tensor.defined(), "[module] the buffer \"", name, "\" is an undefined tensor");
  named_buffers_.emplace_back(std::move(name), &tensor);
}

void Module::collect_buffers(std::vector<Tensor*>& into) {
  for (auto& [name, buffer] : named_buffers_) into.push_back(buffer);
  into.insert(into.end(), buffers_.begin(), buffers_.end());
  for (auto& [name, part] : parts_) part->collect_buffers(into);
}

void Module::to(const Device& device) {
  auto parameters = named_parameters();
  for (NamedParameter& parameter : parameters) parameter.tensor.move_to(device);
  std::vector<Tensor*> buffers;
  collect_buffers(buffers);
  for (Tensor* buffer : buffers)
    if (buffer->defined()) buffer->move_to(device);
}

void Module::to(DType dtype, std::source_location w) {
  require(is_floating(dtype), "[to] a module is to be of ", dtype, " (at ", describe(w),
          "); a dtype of floats is wanted");
  std::vector<Tensor*> all;
  auto parameters = named_parameters();
  for (NamedParameter& parameter : parameters) all.push_back(&parameter.tensor);
  collect_buffers(all);
  for (Tensor* tensor : all)
    if (tensor->defined() && is_floating(tensor->dtype())) *tensor = tensor->to(dtype, w);
}

void Module::train(bool is_training) {
  for (auto& [name, part] : parts_) part->train(is_training);
}

void Module::quantize(const QuantizeOptions& options, std::source_location w) {
  if (quantize_weights(options, w) > 0) return;
  std::vector<std::string> names;
  for (const NamedParameter& parameter : named_parameters()) names.push_back(parameter.name);
  raise_error(concat("[quantize] the module ", path_.empty() ? "" : concat("\"", path_, "\" "),
                     "has no linear layer, whose weights would become integers; its parameters: ",
                     names.empty() ? "none" : list_of(names), " (at ", describe(w),
                     "); weights of exported programs (load_exported, load_onnx) stay as they are: "
                     "quantise a model of layers, or export one that is quantised"));
}

int Module::quantize_weights(const QuantizeOptions& options, std::source_location w) {
  int count = 0;
  for (auto& [name, part] : parts_) count += part->quantize_weights(options, w);
  return count;
}

void Module::quantize_weight(std::string_view name, Tensor& weight, const Tensor& rows,
                             QuantizedWeight& into, const QuantizeOptions& options,
                             std::source_location w) {
  std::string full_name = path_.empty() ? std::string(name) : concat(path_, ".", name);
  require(weight.defined(), "[quantize] the weights \"", full_name, "\" are quantised already (at ",
          describe(w), "); quantise a model once");
  Device device = weight.device();
  try {
    into = tilewright::quantize(rows.to(Device::cpu()), options, w);
  } catch (const Error& error) {
    raise_error(concat(error.what(), "; the weights are \"", full_name, "\""));
  }
  for (Tensor* part : {&into.values, &into.scales, &into.zeros}) {
    if (part->defined()) part->move_to(device);
    register_buffer(*part);
  }
  weight = {};
  retire_parameter(name);
}

void Module::retire_parameter(std::string_view name) {
  std::erase_if(parameters_, [&](const auto& entry) { return entry.first == name; });
}

void Module::retire_buffer(Tensor& tensor) { std::erase(buffers_, &tensor); }

PackedNames Module::pack(const Weights& weights) {
  PackedNames names;
  pack_weights(weights, names);
  return names;
}

void Module::pack_weights(const Weights& weights, PackedNames& names) {
  for (auto& [name, part] : parts_) part->pack_weights(weights, names);
}

Module* Module::find(std::string_view path) {
  for (auto& [name, part] : parts_) {
    if (path == name) return part;
    if (!path.starts_with(name) || path[name.size()] != '.') continue;
    if (Module* found = part->find(path.substr(name.size() + 1))) return found;
  }
  return nullptr;
}

std::vector<const Module*> Module::parts() const {
  std::vector<const Module*> result;
  for (const auto& [name, part] : parts_) result.push_back(part);
  return result;
}

void Module::collect(OwnTensors Module::*own, const std::string& prefix,
                     std::vector<NamedParameter>& into) {
  for (auto& [name, tensor] : this->*own) into.push_back({prefix + name, *tensor});
  for (auto& [name, part] : parts_) part->collect(own, prefix + name + ".", into);
}

std::vector<NamedParameter> Module::named_parameters() {
  std::vector<NamedParameter> parameters;
  collect(&Module::parameters_, "", parameters);
  return parameters;
}
std::vector<NamedParameter> Module::named_buffers() {
  std::vector<NamedParameter> buffers;
  collect(&Module::named_buffers_, "", buffers);
  return buffers;
}
std::vector<NamedParameter> Module::named_state() {
  std::vector<NamedParameter> all;
  collect(&Module::parameters_, "", all);
  collect(&Module::named_buffers_, "", all);
  return all;
}

std::int64_t Module::parameter_count() {
  std::int64_t count = 0;
  for (const auto& parameter : named_parameters()) count += parameter.tensor.count();
  return count;
}

std::map<std::string, Tensor> Module::state() {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : named_state()) state.emplace(name, tensor);
  return state;
}

void Module::load(const Weights& weights, const LoadOptions& options, std::source_location w) {
  auto parameters = named_state();
  std::string wrong = differences(parameters, weights, options);
  require(wrong.empty(), "[load] the weights do not fit the model: ", wrong, " (at ", describe(w),
          ")");
  require_writable(parameters, weights, w);
  LoadProgress progress{{}, 0, 0};
  for (const auto& [name, tensor] : parameters)
    if (weights.contains(name))
      progress.bytes_total += tensor.count() * size_bytes(weights.dtype(name));
  auto advance = [&](std::int64_t bytes) {
    progress.bytes_done += bytes;
    if (options.progress) options.progress(progress);
  };
  for (auto& [name, tensor] : parameters) {
    if (!weights.contains(name)) continue;
    progress.name = name;
    advance(0);
    weights.read(name, tensor, advance);
  }
}

}  // namespace tilewright
