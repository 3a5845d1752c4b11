#include "models/weights/weights.h"

#include <algorithm>
#include <filesystem>

#include "graph/ir/user_call.h"
#include "models/files/model_file.h"
#include "models/files/reader.h"
#include "models/weights/convert.h"
#include "models/weights/fill.h"
#include "models/weights/shard_index.h"
#include "runtime/base/error.h"

namespace tilewright {

using weights::weights_operation;

Weights Weights::open(const FilePath& folder, WeightsOptions options, std::source_location w) {
  return graph::of_user_call(weights_operation, w, [&]() -> Weights {
    constexpr const char* single = "model.safetensors";
    constexpr const char* index_name = "model.safetensors.index.json";
    ModelFileOptions files{options.links_may_leave, options.refuse_hard_links};
    auto open_file = [&](const std::string& name) {
      return Safetensors::of(open_model_file(folder, name, weights_operation, files),
                             options.files);
    };
    std::error_code ignored;
    if (std::filesystem::exists(folder / single, ignored)) return of(open_file(single));
    require(std::filesystem::exists(folder / index_name, ignored), "[", weights_operation, "] ",
            folder.string(), ": holds neither ", single, " nor ", index_name);
    auto index_file = open_model_file(folder, index_name, weights_operation, files);
    auto index = weights::parse_shard_index(
        index_file->text(weights::max_index_bytes, weights_operation), index_file->name());
    Weights result;
    for (const auto& [name, count] : index.files) {
      auto file = std::make_shared<const Safetensors>(open_file(name));
      std::string path = (folder / concat(json::excerpt(name))).string();
      for (const SafetensorsEntry& entry : file->entries()) {
        auto placed = index.file_of.find(entry.name);
        require(placed != index.file_of.end() && placed->second == name, "[", weights_operation,
                "] ", path, ": holds tensor \"", json::excerpt(entry.name), "\", which the index ",
                placed == index.file_of.end() ? "does not name" : "places in another file");
      }
      require(file->entries().size() == count, "[", weights_operation, "] ", path, ": holds ",
              file->entries().size(), " tensors; the index places ", count, " there");
      result.add(std::move(file));
    }
    return result;
  });
}

Weights Weights::of(const Safetensors& file) {
  Weights result;
  result.add(std::make_shared<const Safetensors>(file));
  return result;
}

Weights Weights::of(const std::map<std::string, Tensor>& tensors) {
  Weights result;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.defined() && !tensor.is_symbolic(), "[", weights_operation, "] tensor \"",
            json::excerpt(name), "\" has no data; only concrete tensors can be loaded from");
    result.tensors_.emplace(name, tensor);
  }
  return result;
}

Weights Weights::with_prefix(std::string_view prefix) const {
  Weights result = *this;
  result.prefix_.insert(0, prefix);
  return result;
}

void Weights::derive(std::string name, DerivedTensor tensor) {
  require(!contains(prefix_ + name), "[", weights_operation, "] tensor \"", json::excerpt(name),
          "\" is there, and is computed from others, too; one of both is needed");
  derived_.emplace(std::move(name), std::move(tensor));
}

void Weights::hide(std::string_view name) {
  if (auto derived = derived_.find(name); derived != derived_.end())
    derived_.erase(derived);
  else
    hidden_.emplace(name);
}

void Weights::add(std::shared_ptr<const Safetensors> file) {
  auto number = static_cast<std::uint32_t>(files_.size());
  auto middle = std::ssize(places_);
  places_.reserve(places_.size() + file->entries().size());
  for (std::uint32_t i = 0; i < file->entries().size(); ++i) places_.push_back({number, i});
  files_.push_back(std::move(file));
  std::ranges::inplace_merge(
      places_, places_.begin() + middle, {},
      [&](EntryIndex place) -> const std::string& { return entry(place).name; });
}

std::optional<Weights::Item> Weights::find(std::string_view name) const {
  if (!name.starts_with(prefix_)) return std::nullopt;
  name.remove_prefix(prefix_.size());
  if (auto derived = derived_.find(name); derived != derived_.end())
    return Item{.derived = &derived->second};
  if (hidden_.contains(name)) return std::nullopt;
  if (auto tensor = tensors_.find(name); tensor != tensors_.end())
    return Item{.tensor = &tensor->second};
  auto place = std::ranges::lower_bound(
      places_, name, {}, [&](EntryIndex at) -> std::string_view { return entry(at).name; });
  if (place == places_.end() || entry(*place).name != name) return std::nullopt;
  return Item{.entry = &entry(*place), .file = files_[place->file].get()};
}

Weights::Item Weights::at(std::string_view name) const {
  std::optional<Item> item = find(name);
  require(item.has_value(), "[", weights_operation, "] there is no tensor \"", json::excerpt(name),
          '"');
  return *item;
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size() + places_.size());
  for (const auto& [name, tensor] : derived_) names.push_back(prefix_ + name);
  auto add = [&](const std::string& name) {
    if (!hidden_.contains(name)) names.push_back(prefix_ + name);
  };
  for (const auto& [name, tensor] : tensors_) add(name);
  for (EntryIndex place : places_) add(entry(place).name);
  return names;
}

const Shape& Weights::shape(std::string_view name) const {
  Item item = at(name);
  if (item.derived != nullptr) return item.derived->shape;
  return item.entry != nullptr ? item.entry->shape : item.tensor->shape();
}
DType Weights::dtype(std::string_view name) const {
  Item item = at(name);
  if (item.derived != nullptr) return item.derived->dtype;
  return item.entry != nullptr ? item.entry->dtype : item.tensor->dtype();
}

void Weights::read(std::string_view name, Tensor& destination,
                   const std::function<void(std::int64_t bytes)>& on_bytes) const {
  Item item = at(name);
  if (item.file != nullptr) return item.file->read(item.entry->name, destination, on_bytes);
  const Tensor made = item.derived != nullptr ? item.derived->make() : Tensor();
  const Tensor& tensor = item.derived != nullptr ? made : *item.tensor;
  require(destination.shape() == tensor.shape() && destination.is_contiguous() &&
              weights::is_convertible(tensor.dtype(), destination.dtype()),
          "[", weights_operation, "] tensor \"", json::excerpt(name), "\" is ", tensor.dtype(), " ",
          tensor.shape(), "; it cannot be read into a tensor of ", destination.dtype(), " ",
          destination.shape());
  Tensor rows = tensor.to(Device::cpu()).contiguous();
  weights::fill(destination, rows.const_data(), tensor.dtype(), on_bytes);
}

Tensor Weights::tensor(std::string_view name) const {
  Item item = at(name);
  if (item.derived != nullptr) return item.derived->make();
  Tensor result = Tensor::empty(shape(name), dtype(name));
  read(name, result);
  return result;
}

std::optional<quant::Format> Weights::format(std::string_view name) const {
  Item item = at(name);
  return item.derived != nullptr ? item.derived->format : std::nullopt;
}

std::optional<quant::GroupedCodes> Weights::codes(std::string_view name) const {
  Item item = at(name);
  if (item.derived == nullptr || !item.derived->codes) return std::nullopt;
  return item.derived->codes();
}

}  // namespace tilewright
