#include "models/weights/fill.h"

#include <algorithm>
#include <vector>

#include "models/weights/convert.h"

namespace tilewright::weights {
namespace {

constexpr std::int64_t elements_of_piece = 4 << 20;

}  // namespace

void fill(Tensor& destination, const void* source, DType type,
          const std::function<void(std::int64_t bytes)>& on_bytes) {
  DType own = destination.dtype();
  DeviceMemory* memory = destination.device().memory();
  auto* to = static_cast<std::byte*>(destination.data());
  auto* from = static_cast<const std::byte*>(source);
  std::vector<std::byte> converted;
  for (std::int64_t rest = destination.count(), piece = 0; rest > 0; rest -= piece) {
    piece = std::min(rest, elements_of_piece);
    std::int64_t bytes = piece * size_bytes(own);
    if (memory == nullptr) {
      convert(from, type, to, own, piece);
    } else if (type == own) {
      memory->copy_from_host(to, from, bytes);
    } else {
      converted.resize(static_cast<std::size_t>(bytes));
      convert(from, type, converted.data(), own, piece);
      memory->copy_from_host(to, converted.data(), bytes);
    }
    to += bytes;
    from += piece * size_bytes(type);
    if (on_bytes) on_bytes(piece * size_bytes(type));
  }
}

void fill_by_reading(Tensor& destination, const ReadBytes& read, DType type,
                     const std::function<void(std::int64_t bytes)>& on_bytes) {
  DType own = destination.dtype();
  DeviceMemory* memory = destination.device().memory();
  bool is_direct = memory == nullptr && type == own;
  auto* to = static_cast<std::byte*>(destination.data());
  std::vector<std::byte> bytes, converted;
  std::int64_t at = 0;
  for (std::int64_t rest = destination.count(), piece = 0; rest > 0; rest -= piece) {
    piece = std::min(rest, elements_of_piece);
    std::int64_t size = piece * size_bytes(type), own_size = piece * size_bytes(own);
    if (!is_direct) bytes.resize(static_cast<std::size_t>(size));
    std::span<std::byte> into =
        is_direct ? std::span(to, static_cast<std::size_t>(size)) : std::span(bytes);
    read(at, into);
    if (memory != nullptr && type == own) {
      memory->copy_from_host(to, into.data(), own_size);
    } else if (memory != nullptr) {
      converted.resize(static_cast<std::size_t>(own_size));
      convert(into.data(), type, converted.data(), own, piece);
      memory->copy_from_host(to, converted.data(), own_size);
    } else if (!is_direct) {
      convert(into.data(), type, to, own, piece);
    }
    at += size;
    to += own_size;
    if (on_bytes) on_bytes(size);
  }
}

}  // namespace tilewright::weights
