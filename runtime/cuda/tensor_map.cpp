#include "runtime/cuda/tensor_map.h"

#include <array>

#include "runtime/base/error.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"

namespace tilewright::cuda {
namespace {

// TMA moves bits: types of one width are alike to it.
TensorMapType type_of(const TensorMapSpec& spec) {
  if (spec.rounds_to_tf32) return TensorMapType::tf32;
  switch (size_bytes(spec.dtype)) {
    case 1: return TensorMapType::u8;
    case 2: return TensorMapType::u16;
    case 4: return spec.dtype == DType::f32 ? TensorMapType::f32 : TensorMapType::u32;
    default: return TensorMapType::u64;
  }
}

TensorMapSwizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 32: return TensorMapSwizzle::bytes32;
    case 64: return TensorMapSwizzle::bytes64;
    case 128: return TensorMapSwizzle::bytes128;
    default: return TensorMapSwizzle::none;
  }
}

}  // namespace

TensorMapBytes encode(const TensorMapSpec& spec, const Argument* arguments,
                      const std::vector<ArtifactParam>& params) {
  auto pointer = static_cast<std::size_t>(spec.pointer);
  auto* address = static_cast<char*>(const_cast<void*>(arguments[pointer].pointer));
  require(reinterpret_cast<std::uintptr_t>(address) % 16 == 0, "[launch] the array of parameter ",
          params[pointer].name, " begins at ", static_cast<void*>(address),
          "; it must begin at a multiple of 16 bytes");
  std::array<std::uint64_t, 5> sizes{}, strides{};
  std::array<std::uint32_t, 5> box{}, element_strides{};
  for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
    sizes[i] = static_cast<std::uint64_t>(spec.sizes[i].value(arguments, params));
    box[i] = static_cast<std::uint32_t>(spec.box[i]);
    element_strides[i] = 1;
    if (i == 0) continue;
    std::int64_t stride = spec.strides_bytes[i - 1].value(arguments, params);
    require(stride % 16 == 0, "[launch] dimension ", i, " of the array of parameter ",
            params[pointer].name, " has a stride of ", stride,
            " bytes; it must be a multiple of 16");
    strides[i - 1] = static_cast<std::uint64_t>(stride);
  }
  TensorMapBytes map;
  must(driver().cuTensorMapEncodeTiled(
           &map, type_of(spec), static_cast<std::uint32_t>(spec.sizes.size()),
           address + spec.offset_bytes, sizes.data(), strides.data(), box.data(),
           element_strides.data(), 0, swizzle_of(spec.swizzle_bytes), TensorMapPromotion::bytes256,
           0),
       "cuTensorMapEncodeTiled", concat("the tensor map of parameter ", params[pointer].name));
  return map;
}

}  // namespace tilewright::cuda
