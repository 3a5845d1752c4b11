#include "models/training/weight_average.h"

#include <algorithm>
#include <set>

#include "graph/ir/user_call.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

void require_decay(double decay, std::source_location w) {
  require(decay >= 0 && decay <= 1, "[average] decay is ", decay, " (at ", describe(w),
          "); it must be between 0 and 1");
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += concat(i > 0 ? ", " : "", names[i]);
  return names.size() > most ? concat(text, " and ", names.size() - most, " more") : text;
}

}  // namespace

AveragedWeights::AveragedWeights(Module& module, const AverageOptions& options,
                                 std::source_location w)
    : use_buffers_(options.use_buffers), updates_(full({}, 0, i64).clone()) {
  if (options.decay) set_decay(*options.decay, w);
  add(module.named_parameters(), false);
  add(module.named_buffers(), true);
  require(!entries_.empty(), "[average] the module has no parameters (at ", describe(w),
          "); register them before their averages are made");
  to(entries_.front().source->device());
}

void AveragedWeights::add(const std::vector<NamedParameter>& tensors, bool are_buffers) {
  for (const NamedParameter& tensor : tensors) {
    if (!tensor.tensor.defined()) continue;
    const auto known = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.source->body() == tensor.tensor.body(); });
    if (known != entries_.end())
      known->names.push_back(tensor.name);
    else
      entries_.push_back({{tensor.name}, &tensor.tensor, tensor.tensor.clone(), are_buffers});
  }
}

void AveragedWeights::set_decay(double decay, std::source_location w) {
  require_decay(decay, w);
  if (decay_)
    decay_->set(decay);
  else
    decay_.emplace(decay, f64);
}

void AveragedWeights::to(const Device& device) {
  updates_.move_to(device);
  if (decay_) Tensor(decay_->tensor()).move_to(device);
  for (Entry& entry : entries_) entry.average.move_to(device);
}

// The average behind the first update. PyTorch's lerp comes to the weight itself from either side.
Tensor AveragedWeights::averaged(const Entry& entry) const {
  const DType dtype = entry.average.dtype() == f64 ? f64 : f32;
  const Tensor before = entry.average.to(dtype), weight = entry.source->to(dtype);
  if (!decay_) return before + (weight - before) / (updates_.to(f64) + 1.0).to(dtype);
  const Tensor decay = decay_->tensor().to(dtype), share = (1.0 - decay_->tensor()).to(dtype);
  if (!is_floating(entry.average.dtype())) return before * decay + weight * share;
  return where(share < 0.5, before + share * (weight - before), weight - (weight - before) * decay);
}

// `skip`: bool, where all stays as it is; or undefined.
void AveragedWeights::take_in(const Tensor& skip) {
  auto write = [&](Tensor kept, const Tensor& value) {
    kept.copy_from(skip.defined() ? where(skip, kept, value) : value);
  };
  const Tensor is_first = updates_ == 0;
  for (const Entry& entry : entries_) {
    if (entry.is_buffer && !use_buffers_) {
      write(entry.average, *entry.source);
      continue;
    }
    const Tensor next = averaged(entry).to(entry.average.dtype());
    write(entry.average, where(is_first, *entry.source, next));
  }
  write(updates_, updates_ + 1);
}

void AveragedWeights::update(std::source_location w) {
  graph::of_user_call("average_update", w, [&] { take_in({}); });
}
void AveragedWeights::update_unless(const Tensor& skip, std::source_location w) {
  require(skip.defined() && is_boolean(skip.dtype()) && skip.count() == 1,
          "[average] the condition of an update is ",
          skip.defined() ? concat(skip.dtype(), " ", skip.shape()) : std::string("undefined"),
          " (at ", describe(w), "); it must be bool, of one element");
  graph::of_user_call("average_update", w, [&] { take_in(skip.reshape({}, w)); });
}

void AveragedWeights::exchange(std::source_location w) {
  graph::of_user_call("average_exchange", w, [&] {
    for (Entry& entry : entries_) {
      const Tensor weight = entry.source->clone();
      entry.source->copy_from(entry.average);
      entry.average.copy_from(weight);
    }
  });
}

Tensor AveragedWeights::average(std::string_view name, std::source_location w) const {
  for (const Entry& entry : entries_)
    if (std::ranges::find(entry.names, name) != entry.names.end()) return entry.average;
  raise_error(concat("[average] the module has no tensor \"", name, "\" (at ", describe(w),
                     "); names are those of Module::state()"));
}

NamedTensors AveragedWeights::state() const {
  NamedTensors all = {{"n_averaged", updates_}};
  for (const Entry& entry : entries_)
    for (const std::string& name : entry.names) all.emplace("module." + name, entry.average);
  return all;
}

void AveragedWeights::load(const Weights& weights, std::source_location w) {
  std::vector<std::string> missing, unexpected, misshapen;
  NamedTensors own = state();
  for (const auto& [name, tensor] : own)
    if (!weights.contains(name))
      missing.push_back(name);
    else if (weights.shape(name) != tensor.shape())
      misshapen.push_back(name);
  for (const std::string& name : weights.names())
    if (!own.contains(name)) unexpected.push_back(name);
  require(missing.empty() && unexpected.empty() && misshapen.empty(),
          "[average] the state does not fit (at ", describe(w), "): missing: ", list_of(missing),
          "; unexpected: ", list_of(unexpected), "; of another shape: ", list_of(misshapen),
          "; names are those of state()");
  for (auto& [name, tensor] : own) weights.read(name, tensor);
}

}  // namespace tilewright
