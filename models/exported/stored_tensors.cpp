#include "models/exported/stored_tensors.h"

#include "graph/tensor/tensor_body.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// Bytes of tensors that repeat stored elements, beyond three times the file's. The process may hold
// 256 MiB beyond these; the others are for all else.
constexpr std::int64_t most_expanded_bytes = 192 << 20;
constexpr std::uintptr_t alignment = 64;  // of memory that a tensor may see

// That the last element lies in the entry, and that there are not many more than it holds.
void check_reach(const ArchiveEntry& entry, const Placement& placement, const std::string& place) {
  std::int64_t last = placement.offset, count = 1;
  bool fits = placement.sizes.size() == placement.strides.size() && placement.offset >= 0;
  for (std::size_t i = 0; fits && i < placement.sizes.size(); ++i) {
    std::int64_t size = placement.sizes.at(i), stride = placement.strides.at(i), reach = 0;
    fits = size >= 0 && stride >= 0 && !__builtin_mul_overflow(count, size, &count);
    if (size > 0)
      fits = fits && !__builtin_mul_overflow(size - 1, stride, &reach) &&
             !__builtin_add_overflow(last, reach, &last);
  }
  auto elements = static_cast<std::int64_t>(entry.size_bytes) / size_bytes(placement.dtype);
  require(fits && (count == 0 || last < elements), "[load_exported] ", place, ": it is ",
          placement.dtype, " [", placement.sizes, "] with strides [", placement.strides,
          "] from element ", placement.offset, " on; entry \"", json::excerpt(entry.name),
          "\" has ", entry.size_bytes, " bytes");
  require(count <= elements || count <= most_expanded_bytes / size_bytes(placement.dtype),
          "[load_exported] ", place, ": it repeats ", elements, " elements to ", count);
}

}  // namespace

Tensor StoredTensors::tensor(const ArchiveEntry& entry, const Placement& placement,
                             const std::string& place) {
  check_reach(entry, placement, place);
  auto& known = known_[entry.name];  // equal weights of two names are one tensor
  if (auto found = known.find(placement); found != known.end()) return found->second;
  const std::int64_t bytes = element_count(placement.sizes) * size_bytes(placement.dtype),
                     most = 3 * static_cast<std::int64_t>(archive_.file()->size()) +
                            most_expanded_bytes;
  bytes_ += bytes;
  require(bytes_ <= most, "[load_exported] ", place, ": its ", bytes,
          " bytes and those of the tensors before it are more than ", most,
          ", three times the file's and 192 MiB; they repeat or overlap stored elements, or are "
          "deflated");
  return known.emplace(placement, placed(entry, placement)).first->second;
}

Tensor StoredTensors::placed(const ArchiveEntry& entry, const Placement& placement) const {
  if (element_count(placement.sizes) == 0) return Tensor::empty(placement.sizes, placement.dtype);
  Tensor whole = storage(entry, placement.dtype);
  if (placement.offset == 0 && is_row_major(placement.sizes, placement.strides) &&
      element_count(placement.sizes) == whole.count())
    return whole.reshape(placement.sizes);
  graph::StridedView view = whole.body()->view;
  view.shape = placement.sizes;
  view.strides = placement.strides;
  view.offset += placement.offset;
  return graph::make_tensor(placement.dtype, view, whole.body()->buffer).clone();
}

// All of the entry's elements.
Tensor StoredTensors::storage(const ArchiveEntry& entry, DType dtype) const {
  auto count = static_cast<std::int64_t>(entry.size_bytes) / size_bytes(dtype);
  std::byte* mapped = archive_.mapped(entry);
  if (reinterpret_cast<std::uintptr_t>(mapped) % alignment == 0 && mapped != nullptr)
    return Tensor::from_blob(mapped, {count}, dtype, archive_.file());
  auto bytes = static_cast<std::int64_t>(entry.size_bytes);
  Tensor whole = Tensor::empty({count}, dtype);
  if (count * size_bytes(dtype) == bytes) {
    archive_.read(entry, {static_cast<std::byte*>(whole.data()), entry.size_bytes});
    return whole;
  }
  std::vector<std::byte> content(entry.size_bytes);
  archive_.read(entry, content);
  return Tensor::from_bytes(content.data(), count * size_bytes(dtype), {count}, dtype);
}

}  // namespace tilewright::exported
