#include "models/weights/safetensors.h"

#include <algorithm>

#include "models/files/reader.h"
#include "models/weights/convert.h"
#include "models/weights/fill.h"
#include "models/weights/safetensors_header.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view operation = "load_safetensors";

void refuse_non_finite(const MappedFile& file, const std::vector<SafetensorsEntry>& entries) {
  for (const SafetensorsEntry& entry : entries) {
    auto at = weights::find_non_finite(file.data() + entry.offset, entry.dtype,
                                       element_count(entry.shape));
    require(!at, "[", operation, "] ", file.name(), ": tensor \"", json::excerpt(entry.name),
            "\" is NaN or infinite at element ", at.value_or(0));
  }
}

}  // namespace

Safetensors Safetensors::open(const std::filesystem::path& path, SafetensorsOptions options) {
  Safetensors result;
  result.file_ = MappedFile::open(path, operation, options.reading, options.may_be_link);
  auto header = weights::parse_safetensors_header(result.file_->text(), result.file_->name());
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
  require(entry != nullptr, "[", operation, "] ", file_->name(), ": has no tensor \"", name, '"');
  return *entry;
}

Tensor Safetensors::tensor(std::string_view name) const {
  const SafetensorsEntry& entry = at(name);
  std::byte* data = file_->data() + entry.offset;
  constexpr std::uintptr_t alignment = 64;
  if (entry.size_bytes > 0 && reinterpret_cast<std::uintptr_t>(data) % alignment == 0)
    return Tensor::from_blob(data, entry.shape, entry.dtype, file_);
  Tensor copy = Tensor::empty(entry.shape, entry.dtype);
  read(name, copy);
  return copy;
}

void Safetensors::read(std::string_view name, Tensor& destination,
                       const std::function<void(std::int64_t bytes)>& on_bytes) const {
  const SafetensorsEntry& entry = at(name);
  require(destination.shape() == entry.shape, "[", operation, "] ", file_->name(), ": tensor \"",
          name, "\" has shape ", entry.shape, "; the destination has ", destination.shape());
  require(destination.is_contiguous(), "[", operation, "] ", file_->name(), ": tensor \"", name,
          "\" is read into a tensor that is not contiguous");
  require(weights::is_convertible(entry.dtype, destination.dtype()), "[", operation, "] ",
          file_->name(), ": tensor \"", name, "\" is ", entry.dtype, "; it cannot be read as ",
          destination.dtype());
  file_->check_unchanged(operation);
  weights::fill_by_reading(
      destination,
      [&](std::int64_t at, std::span<std::byte> to) {
        file_->read(entry.offset + at, to, operation);
      },
      entry.dtype, on_bytes);
}

}  // namespace tilewright
