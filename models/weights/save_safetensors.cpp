#include <algorithm>

#include "models/files/reader.h"
#include "models/weights/safetensors.h"
#include "models/weights/safetensors_header.h"
#include "runtime/base/error.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {
namespace {

constexpr std::string_view save_operation = "save_safetensors";
// The data begins at a multiple of this in the file, so that a mapped tensor may be used in place.
constexpr std::size_t data_alignment = 64;

using Item = std::pair<const std::string, Tensor>;

// Tensors with wide elements first, so that every tensor is aligned to its element size.
std::vector<const Item*> order_of(const std::map<std::string, Tensor>& tensors) {
  std::vector<const Item*> order;
  for (const Item& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return size_bytes(a->second.dtype()) > size_bytes(b->second.dtype());
  });
  return order;
}

void check_item(const Item& item) {
  const auto& [name, tensor] = item;
  require(tensor.defined() && !tensor.is_symbolic(), "[", save_operation, "] tensor \"", name,
          "\" has no data; only concrete tensors can be saved");
  require(name != "__metadata__" && name.size() <= weights::max_name_bytes &&
              name.find('\0') == name.npos,
          "[", save_operation, "] a tensor cannot be called \"", json::excerpt(name),
          "\"; names have up to ", weights::max_name_bytes, " bytes, no NUL, not __metadata__");
  require(tensor.shape().size() <= weights::max_rank, "[", save_operation, "] tensor \"", name,
          "\" has ", tensor.rank(), " axes; at most ", weights::max_rank, " can be saved");
}

std::string header_of(const std::vector<const Item*>& order,
                      const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      text += json::quote(key, save_operation) + ":" + json::quote(value, save_operation) + ",";
    text.back() = '}';
    text += ',';
  }
  std::int64_t offset = 0;
  for (const Item* item : order) {
    const auto& [name, tensor] = *item;
    std::string sizes;
    for (std::int64_t size : tensor.shape()) sizes += concat(sizes.empty() ? "" : ",", size);
    std::int64_t end = offset + tensor.count() * size_bytes(tensor.dtype());
    text +=
        concat(json::quote(name, save_operation), ":{\"dtype\":\"", storage_name(tensor.dtype()),
               "\",\"shape\":[", sizes, "],\"data_offsets\":[", offset, ",", end, "]},");
    offset = end;
  }
  if (text.size() > 1) text.pop_back();
  text += "}";
  text.append((data_alignment - (8 + text.size()) % data_alignment) % data_alignment, ' ');
  require(text.size() <= weights::max_header_bytes, "[", save_operation, "] a header of ",
          text.size(), " bytes; at most ", weights::max_header_bytes, " are allowed");
  return text;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  for (const Item& item : tensors) check_item(item);
  auto order = order_of(tensors);
  std::string header = header_of(order, metadata);
  std::uint64_t length = header.size();
  AtomicFile file(path, save_operation);
  file.write(&length, sizeof length);
  file.write(header.data(), header.size());
  for (const Item* item : order) {
    Tensor rows = item->second.clone();  // apart from what another thread may do
    file.write(rows.const_data(),
               static_cast<std::size_t>(rows.count() * size_bytes(rows.dtype())));
  }
  file.commit();
}

}  // namespace tilewright
