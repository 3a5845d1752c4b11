// The fake driver's tensor maps: what cuTensorMapEncodeTiled refuses, and the map as the emulator
// reads it.
#include <cstring>

#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

using dsl::emulator::TensorMap;

int element_bytes(TensorMapType type) {
  switch (type) {
    case TensorMapType::u8: return 1;
    case TensorMapType::u16: return 2;
    case TensorMapType::u32:
    case TensorMapType::i32:
    case TensorMapType::f32:
    case TensorMapType::tf32: return 4;
    case TensorMapType::u64:
    case TensorMapType::i64:
    case TensorMapType::f64: return 8;
  }
  return 0;
}

// Bytes of the span within which chunks are permuted; 16 without.
int swizzle_bytes(TensorMapSwizzle swizzle) {
  switch (swizzle) {
    case TensorMapSwizzle::none: return 16;
    case TensorMapSwizzle::bytes32: return 32;
    case TensorMapSwizzle::bytes64: return 64;
    case TensorMapSwizzle::bytes128: return 128;
  }
  return 0;
}

bool is_aligned(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

}  // namespace

Result cuTensorMapEncodeTiled(TensorMapBytes* map, TensorMapType type, std::uint32_t rank,
                              void* address, const std::uint64_t* sizes,
                              const std::uint64_t* strides, const std::uint32_t* box,
                              const std::uint32_t* element_strides, int interleave,
                              TensorMapSwizzle swizzle, TensorMapPromotion promotion, int fill) {
  TensorMap made;
  int bytes = element_bytes(type), span = swizzle_bytes(swizzle);
  bool is_right = map != nullptr && is_aligned(map, 64) && bytes != 0 && span != 0 && rank >= 1 &&
                  rank <= 5 && address != nullptr && is_aligned(address, 16) && sizes != nullptr &&
                  box != nullptr && element_strides != nullptr &&
                  (strides != nullptr || rank == 1) && static_cast<int>(promotion) >= 0 &&
                  static_cast<int>(promotion) <= 3 && (fill == 0 || fill == 1);
  if (!is_right) return Result::invalid_value;
  if (interleave != 0 || fill != 0) return Result::not_supported;
  for (std::size_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > std::uint64_t{1} << 32 || box[i] == 0 || box[i] > 256)
      return Result::invalid_value;
    if (element_strides[i] == 0 || element_strides[i] > 8) return Result::invalid_value;
    if (element_strides[i] != 1) return Result::not_supported;
    made.sizes[i] = static_cast<std::int64_t>(sizes[i]);
    made.box[i] = static_cast<std::uint16_t>(box[i]);
    if (i == 0) continue;
    if (strides[i - 1] % 16 != 0 || strides[i - 1] >= std::uint64_t{1} << 40)
      return Result::invalid_value;
    made.strides_bytes[i - 1] = static_cast<std::int64_t>(strides[i - 1]);
  }
  std::uint32_t row_bytes = box[0] * static_cast<std::uint32_t>(bytes);
  if (row_bytes % 16 != 0) return Result::invalid_value;
  if (swizzle != TensorMapSwizzle::none && row_bytes > static_cast<std::uint32_t>(span))
    return Result::invalid_value;
  made.rank = static_cast<std::uint8_t>(rank);
  made.element_bytes = static_cast<std::uint8_t>(bytes);
  made.swizzle = static_cast<dsl::emulator::Swizzle>(span);
  made.rounds_to_tf32 = type == TensorMapType::tf32;
  made.base = static_cast<std::byte*>(address);
  std::memcpy(map, &made, sizeof made);
  return Result::success;
}

}  // namespace tilewright::cuda::fake
