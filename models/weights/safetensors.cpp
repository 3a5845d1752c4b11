#include "models/weights/safetensors.h"

#include <algorithm>

#include "graph/ir/user_call.h"
#include "models/files/reader.h"
#include "models/weights/convert.h"
#include "models/weights/fill.h"
#include "models/weights/safetensors_header.h"
#include "runtime/base/error.h"

namespace tilewright {

using weights::safetensors_operation;

namespace {

constexpr std::int64_t elements_of_look = 1 << 20;

void refuse_non_finite(const ForeignFile& file, const std::vector<SafetensorsEntry>& entries) {
  std::vector<std::byte> bytes;
  for (const SafetensorsEntry& entry : entries) {
    std::int64_t count = element_count(entry.shape), size = size_bytes(entry.dtype), piece = 0;
    for (std::int64_t done = 0; done < count; done += piece) {
      piece = std::min(count - done, elements_of_look);
      bytes.resize(static_cast<std::size_t>(piece * size));
      file.read(static_cast<std::size_t>(entry.offset + done * size), bytes, safetensors_operation);
      auto at = weights::find_non_finite(bytes.data(), entry.dtype, piece);
      require(!at, "[", safetensors_operation, "] ", file.name(), ": tensor \"",
              json::excerpt(entry.name), "\" is NaN or infinite at element ",
              done + at.value_or(0));
    }
  }
}

weights::SafetensorsHeader read_header(const ForeignFile& file) {
  constexpr std::size_t look = 64;
  std::string text(std::min(file.size(), look), '\0');
  auto read = [&](std::size_t offset) {
    file.read(offset, std::as_writable_bytes(std::span(text)), safetensors_operation);
  };
  read(0);
  text.resize(weights::safetensors_header_bytes(text, file.size(), file.name()));
  read(8);
  return weights::parse_safetensors_header(text, file.size(), file.name());
}

}  // namespace

Safetensors Safetensors::open(const FilePath& path, SafetensorsOptions options,
                              std::source_location w) {
  return graph::of_user_call(safetensors_operation, w, [&] {
    return of(ForeignFile::open(path, safetensors_operation), options);
  });
}

Safetensors Safetensors::of(std::shared_ptr<ForeignFile> file, SafetensorsOptions options) {
  Safetensors result;
  result.file_ = std::move(file);
  result.file_->hold(options.reading, safetensors_operation);
  auto header = read_header(*result.file_);
  result.entries_ = std::move(header.entries);
  result.metadata_ = std::move(header.metadata);
  if (options.scan_non_finite) refuse_non_finite(*result.file_, result.entries_);
  return result;
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const auto& entry, auto wanted) { return entry.name < wanted; });
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

const SafetensorsEntry& Safetensors::at(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  require(entry != nullptr, "[", safetensors_operation, "] ", file_->name(), ": has no tensor \"",
          json::excerpt(name), '"');
  return *entry;
}

Tensor Safetensors::tensor(std::string_view name) const {
  const SafetensorsEntry& entry = at(name);
  constexpr std::uintptr_t alignment = 64;
  std::byte* data = file_->data() == nullptr ? nullptr : file_->data() + entry.offset;
  bool is_shared = data != nullptr && reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  if (entry.size_bytes > 0 && is_shared)
    return Tensor::from_blob(data, entry.shape, entry.dtype, file_);
  Tensor copy = Tensor::empty(entry.shape, entry.dtype);
  read(name, copy);
  return copy;
}

void Safetensors::read(std::string_view name, Tensor& destination,
                       const std::function<void(std::int64_t bytes)>& on_bytes) const {
  const SafetensorsEntry& entry = at(name);
  require(destination.shape() == entry.shape, "[", safetensors_operation, "] ", file_->name(),
          ": tensor \"", json::excerpt(name), "\" has shape ", entry.shape,
          "; the destination has ", destination.shape());
  require(destination.is_contiguous(), "[", safetensors_operation, "] ", file_->name(),
          ": tensor \"", json::excerpt(name), "\" is read into a tensor that is not contiguous");
  require(weights::is_convertible(entry.dtype, destination.dtype()), "[", safetensors_operation,
          "] ", file_->name(), ": tensor \"", json::excerpt(name), "\" is ", entry.dtype,
          "; it cannot be read as ", destination.dtype());
  weights::fill_by_reading(
      destination,
      [&](std::int64_t at, std::span<std::byte> to) {
        file_->read(static_cast<std::size_t>(entry.offset + at), to, safetensors_operation);
      },
      entry.dtype, on_bytes);
}

}  // namespace tilewright
