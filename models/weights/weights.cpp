#include "models/weights/weights.h"

#include "models/files/reader.h"
#include "models/weights/convert.h"
#include "models/weights/fill.h"
#include "models/weights/shard_index.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view operation = "load_weights";

}  // namespace

Weights Weights::open(const std::filesystem::path& folder, WeightsOptions options) {
  auto single = folder / "model.safetensors", index_path = folder / "model.safetensors.index.json";
  std::error_code ignored;
  auto open_file = [&](const std::filesystem::path& path) {
    require(!options.refuse_hard_links || std::filesystem::hard_link_count(path, ignored) == 1, "[",
            operation, "] ", path.string(), ": has ",
            std::filesystem::hard_link_count(path, ignored),
            " names (hard links); copy it, or clear refuse_hard_links");
    return Safetensors::open(path, options.files);
  };
  auto open_shard = [&](const std::filesystem::path& path) {
    if (!options.links_may_leave) options.files.may_be_link = false;
    return open_file(path);
  };
  if (std::filesystem::exists(single, ignored)) return of(open_file(single));
  require(std::filesystem::exists(index_path, ignored), "[", operation, "] ", folder.string(),
          ": holds neither model.safetensors nor model.safetensors.index.json");
  auto text = MappedFile::open(index_path, operation);
  auto index = weights::parse_shard_index(text->text(), text->name());
  Weights result;
  for (const auto& [name, count] : index.files) {
    auto path = weights::shard_path(folder, name, options.links_may_leave);
    auto file = std::make_shared<const Safetensors>(open_shard(path));
    for (const SafetensorsEntry& entry : file->entries()) {
      auto placed = index.file_of.find(entry.name);
      require(placed != index.file_of.end() && placed->second == name, "[", operation, "] ",
              path.string(), ": holds tensor \"", json::excerpt(entry.name), "\", which the index ",
              placed == index.file_of.end() ? "does not name" : "places in another file");
    }
    require(file->entries().size() == count, "[", operation, "] ", path.string(), ": holds ",
            file->entries().size(), " tensors; the index places ", count, " there");
    result.add(std::move(file));
  }
  return result;
}

Weights Weights::of(const Safetensors& file) {
  Weights result;
  result.add(std::make_shared<const Safetensors>(file));
  return result;
}

Weights Weights::of(const std::map<std::string, Tensor>& tensors) {
  Weights result;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.defined() && !tensor.is_symbolic(), "[", operation, "] tensor \"", name,
            "\" has no data; only concrete tensors can be loaded from");
    result.items_.emplace(name, Item{tensor.dtype(), tensor.shape(), nullptr, tensor, {}});
  }
  return result;
}

Weights Weights::with_prefix(std::string_view prefix) const {
  Weights result;
  for (const auto& [name, item] : items_) result.items_.emplace(std::string(prefix) + name, item);
  return result;
}

void Weights::add(std::shared_ptr<const Safetensors> file) {
  for (const SafetensorsEntry& entry : file->entries())
    items_.emplace(entry.name, Item{entry.dtype, entry.shape, file, {}, entry.name});
}

const Weights::Item& Weights::at(std::string_view name) const {
  auto item = items_.find(name);
  require(item != items_.end(), "[", operation, "] there is no tensor \"", name, '"');
  return item->second;
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, item] : items_) names.push_back(name);
  return names;
}

const Shape& Weights::shape(std::string_view name) const { return at(name).shape; }
DType Weights::dtype(std::string_view name) const { return at(name).dtype; }

void Weights::read(std::string_view name, Tensor& destination,
                   const std::function<void(std::int64_t bytes)>& on_bytes) const {
  const Item& item = at(name);
  if (item.file) return item.file->read(item.name_in_file, destination, on_bytes);
  require(destination.shape() == item.shape && destination.is_contiguous() &&
              weights::is_convertible(item.dtype, destination.dtype()),
          "[", operation, "] tensor \"", name, "\" is ", item.dtype, " ", item.shape,
          "; it cannot be read into a tensor of ", destination.dtype(), " ", destination.shape());
  Tensor rows = item.tensor.to(Device::cpu()).contiguous();
  weights::fill(destination, rows.const_data(), item.dtype, on_bytes);
}

}  // namespace tilewright
