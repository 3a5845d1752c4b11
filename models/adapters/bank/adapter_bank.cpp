#include "models/adapters/bank/adapter_bank.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "models/adapters/bank/bank_state.h"
#include "models/adapters/lora.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright {

using adapters::bank_operation;
using adapters::BankState;
using adapters::LayerBank;
using adapters::LayerUpdate;

namespace {

DType dtype_of(const Linear& layer) {
  return layer.weight.defined() && is_floating(layer.weight.dtype()) ? layer.weight.dtype() : f32;
}

std::string last_word(std::string_view path) {
  return std::string(path.substr(path.rfind('.') + 1));
}

// The linear layers of a model by their paths, those that are wanted.
void collect(const Module& module, const std::vector<std::string>& wanted,
             std::vector<std::string>& paths) {
  const bool is_wanted =
      wanted.empty() || std::ranges::find(wanted, last_word(module.path())) != wanted.end();
  if (dynamic_cast<const Linear*>(&module) != nullptr && is_wanted) paths.push_back(module.path());
  for (const Module* part : module.parts()) collect(*part, wanted, paths);
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += concat(all.empty() ? "" : ", ", name);
  return all;
}

std::vector<float> scaled(const Tensor& b, double scale, const std::vector<float>& factors) {
  const std::vector<float> values = b.to_vector<float>();
  const auto out = static_cast<std::size_t>(b.size(0)), rank = static_cast<std::size_t>(b.size(1));
  std::vector<float> rows(values.size());
  for (std::size_t i = 0; i < out; ++i)
    for (std::size_t k = 0; k < rank; ++k) {
      const double value = values[i * rank + k] * scale;
      rows[k * out + i] = static_cast<float>(factors.empty() ? value : value * factors[i]);
    }
  return rows;
}

// Reads a folder into what each layer of the bank gets of it.
class FolderUpdates : public adapters::AdapterSink {
 public:
  explicit FolderUpdates(const BankState& bank) : bank_(bank), updates(bank.layers.size()) {}

  void update(Linear& layer, const adapters::ReadUpdate& read) override {
    LayerUpdate& own = at(layer, read.path);
    own.rank = read.a.size(0);
    own.a = read.a.to_vector<float>();
    std::vector<float> factors;
    if (read.factors.defined()) factors = read.factors.to_vector<float>();
    own.b = scaled(read.b, read.scale, factors);
    for (float& factor : factors) factor -= 1;
    own.factors = std::move(factors);
  }

  void bias(const Linear& layer, const std::string& path, const Tensor& values) override {
    std::vector<float> offsets = values.to_vector<float>();
    if (layer.bias.defined()) {
      const std::vector<float> known = layer.bias.to(Device::cpu()).to(f32).to_vector<float>();
      for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= known[i];
    }
    at(layer, path).offsets = std::move(offsets);
  }

  bool takes_other_changes() const override { return false; }

  // Raises `Error` where a layer has no room once slot `freed`, which may be 0, is empty.
  void require_room(std::string_view name, std::int64_t freed) const {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const LayerBank& layer = *bank_.layers[i];
      const std::int64_t free = layer.free_rows() + layer.rows_of(freed);
      require(updates[i].rows() <= free, "[", bank_operation, "] adapter \"", json::excerpt(name),
              "\" needs ", updates[i].rows(), " ranks in \"", layer.path(), "\", of whose ",
              layer.rows(), " are ", free,
              " free: the bank is full; remove adapters, or grow() it");
      const std::int64_t most = adapters::most_blocks * adapters::block_ranks;
      require(updates[i].rank <= most, "[", bank_operation, "] adapter \"", json::excerpt(name),
              "\" has rank ", updates[i].rank, " in \"", layer.path(), "\"; up to ", most,
              " are possible");
    }
  }

 private:
  LayerUpdate& at(const Linear& layer, const std::string& path) {
    const auto number = bank_.numbers.find(&layer);
    require(number != bank_.numbers.end(), "[", bank_operation, "] \"", json::excerpt(path),
            "\" is changed by the adapter and is none of the bank's layers "
            "(AdapterBankOptions::layers)");
    return updates[number->second];
  }
  const BankState& bank_;

 public:
  std::vector<LayerUpdate> updates;  // by layer
};

}  // namespace

Adapters::Adapters(Module& model, const AdapterBankOptions& options)
    : model_(model), state_(std::make_shared<BankState>()) {
  require(options.adapters >= 1 && options.ranks >= 1, "[", bank_operation, "] a bank for ",
          options.adapters, " adapters of ", options.ranks, " ranks together; at least 1 of each");
  std::vector<std::string> paths;
  collect(model, options.layers, paths);
  require(!paths.empty(), "[", bank_operation, "] the model has no linear layer",
          options.layers.empty() ? "" : " named ", listed(options.layers),
          "; a bank needs one at least");
  const std::vector<NamedParameter> parameters = model.named_parameters();
  const Device device = parameters.empty() ? Device::cpu() : parameters[0].tensor.device();
  const std::int64_t slots = options.adapters + 1;
  state_->contents.assign(static_cast<std::size_t>(slots), 0);
  for (const std::string& path : paths) {
    auto* layer = dynamic_cast<Linear*>(model.find(path));
    check(layer != nullptr, "a layer is not found by its path");
    require(!layer->has_row_updates(), "[", bank_operation, "] \"", path,
            "\" belongs to a bank already; a model has one");
    auto bank = std::make_shared<LayerBank>(*layer, options.ranks, slots,
                                            options.dtype.value_or(dtype_of(*layer)), device);
    state_->numbers.emplace(layer, state_->layers.size());
    state_->layers.push_back(bank);
    layer->set_row_updates(bank);
  }
}

void Adapters::add(const std::string& name, const FilePath& folder, bool links_may_leave) {
  FolderUpdates read(*state_);
  adapters::read_adapter(model_, folder, links_may_leave, read);
  const std::unique_lock lock = state_->writing();
  state_->require_new(name);
  const std::int64_t slot = state_->free_slot();
  read.require_room(name, 0);
  state_->hold(slot, read.updates);
  state_->entries[name] = {slot, {}};
}

void Adapters::replace(const std::string& name, const FilePath& folder, bool links_may_leave) {
  FolderUpdates read(*state_);
  adapters::read_adapter(model_, folder, links_may_leave, read);
  const std::unique_lock lock = state_->writing();
  const std::int64_t slot = state_->entry(name).slot;
  state_->require_no_stack(name, "replaced");
  state_->require_in_no_stack(name);
  read.require_room(name, slot);
  state_->release(slot);
  state_->hold(slot, read.updates);
}

void Adapters::remove(const std::string& name) {
  const std::unique_lock lock = state_->writing();
  const std::int64_t slot = state_->entry(name).slot;
  state_->require_in_no_stack(name);
  state_->move_texts(slot, 0);
  state_->release(slot);
  state_->entries.erase(name);
}

void Adapters::swap(const std::string& name, const std::string& other) {
  const std::unique_lock lock = state_->writing();
  auto slot_of = [&](const std::string& of) { return of.empty() ? 0 : state_->entry(of).slot; };
  const std::int64_t from = slot_of(name), to = slot_of(other);
  state_->move_texts(from, to);
}

void Adapters::stack(const std::string& name,
                     const std::vector<std::pair<std::string, double>>& parts) {
  const std::unique_lock lock = state_->writing();
  state_->require_new(name);
  require(!parts.empty(), "[", bank_operation, "] the stack \"", json::excerpt(name),
          "\" has no parts; one at least is needed");
  BankState::Entry entry{state_->free_slot(), {}};
  std::vector<std::pair<std::int64_t, double>> slots;
  for (const auto& [part, weight] : parts) {
    slots.emplace_back(state_->entry(part).slot, weight);
    state_->require_no_stack(part, "the part of another");
    entry.parts.push_back(part);
  }
  for (const auto& layer : state_->layers) {
    std::int64_t blocks = 0, vectors = 0;
    for (const auto& [slot, weight] : slots) {
      const auto [some, more] = layer->size_of(slot);
      blocks += some;
      vectors += more;
    }
    require(blocks <= adapters::most_blocks && vectors <= adapters::most_vectors, "[",
            bank_operation, "] the stack \"", json::excerpt(name), "\" has ", blocks, " blocks of ",
            adapters::block_ranks, " ranks and ", vectors, " vectors in \"", layer->path(),
            "\"; up to ", adapters::most_blocks, " and ", adapters::most_vectors, " are possible");
  }
  for (const auto& layer : state_->layers) layer->stack(entry.slot, slots);
  state_->note_change(entry.slot);
  state_->entries[name] = std::move(entry);
}

void Adapters::grow(std::int64_t ranks) {
  const std::unique_lock lock = state_->writing();
  const std::int64_t known = state_->layers[0]->rows();
  require(ranks > known, "[", bank_operation, "] to grow to ", ranks, " ranks; there are ", known,
          " already");
  for (const auto& layer : state_->layers) layer->grow(ranks);
}

std::vector<std::string> Adapters::names() const {
  const std::shared_lock lock = state_->reading();
  std::vector<std::string> all;
  for (const auto& [name, entry] : state_->entries) all.push_back(name);
  return all;
}

std::int64_t Adapters::free_ranks() const {
  const std::shared_lock lock = state_->reading();
  std::int64_t least = state_->layers[0]->free_rows();
  for (const auto& layer : state_->layers) least = std::min(least, layer->free_rows());
  return least;
}

std::int64_t Adapters::bytes_held() const {
  const std::shared_lock lock = state_->reading();
  std::int64_t bytes = 0;
  for (const auto& layer : state_->layers) bytes += layer->bytes_held();
  return bytes;
}

std::unique_ptr<TextAdapters> Adapters::texts(std::int64_t count, const Device& device) const {
  return std::make_unique<TextAdapters>(state_, count, device);
}

}  // namespace tilewright
