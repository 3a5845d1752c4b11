#include <algorithm>
#include <filesystem>

#include "models/files/reader.h"
#include "models/weights/safetensors.h"
#include "models/weights/safetensors_writer.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

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

void check_tensor(const NewTensor& tensor) {
  const std::string& name = tensor.name;
  require(name != "__metadata__" && name.size() <= weights::max_name_bytes &&
              name.find('\0') == name.npos,
          "[", save_operation, "] a tensor cannot be called \"", json::excerpt(name),
          "\"; names have up to ", weights::max_name_bytes, " bytes, no NUL, not __metadata__");
  require(tensor.shape.size() <= weights::max_rank, "[", save_operation, "] tensor \"", name,
          "\" has ", tensor.shape.rank(), " axes; at most ", weights::max_rank, " can be saved");
}

std::string header_of(const std::vector<NewTensor>& tensors,
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
  for (const NewTensor& tensor : tensors) {
    std::string sizes;
    for (std::int64_t size : tensor.shape) sizes += concat(sizes.empty() ? "" : ",", size);
    std::int64_t end = offset + tensor.size_bytes();
    text += concat(json::quote(tensor.name, save_operation), ":{\"dtype\":\"",
                   storage_name(tensor.dtype), "\",\"shape\":[", sizes, "],\"data_offsets\":[",
                   offset, ",", end, "]},");
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

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<NewTensor>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path, save_operation) {
  for (const NewTensor& tensor : tensors) {
    check_tensor(tensor);
    rest_ += tensor.size_bytes();
  }
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  file_.write(&length, sizeof length);
  file_.write(header.data(), header.size());
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  rest_ -= std::ssize(bytes);
  check(rest_ >= 0, "a safetensors file gets more bytes than its tensors have");
  file_.write(bytes.data(), bytes.size());
}

void SafetensorsWriter::commit() {
  check(rest_ == 0, "a safetensors file gets fewer bytes than its tensors have");
  file_.commit();
}

void save_safetensors(const FilePath& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  for (const auto& [name, tensor] : tensors)
    require(tensor.defined() && !tensor.is_symbolic(), "[", save_operation, "] tensor \"", name,
            "\" has no data; only concrete tensors can be saved");
  const auto order = order_of(tensors);
  std::vector<NewTensor> list;
  for (const Item* item : order)
    list.push_back({item->first, item->second.dtype(), item->second.shape()});
  for (const NewTensor& tensor : list) check_tensor(tensor);
  SafetensorsWriter file(path, list, metadata);
  for (const Item* item : order) {
    Tensor rows = item->second.clone();  // apart from what another thread may do
    file.write({static_cast<const std::byte*>(rows.const_data()),
                static_cast<std::size_t>(rows.count() * size_bytes(rows.dtype()))});
  }
  file.commit();
}

}  // namespace tilewright
