// The description of a kernel's tensor map, before the map is made.
//
// TMA moves boxes of arrays between global and shared memory. It takes the
// array from a tensor map, 128 bytes that the host makes for each launch: where the array lies, how
// large it is, and which box one copy moves. The code generator says here how they follow from the
// kernel's arguments; the launch makes the map, for the driver or for the emulator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/base/dtype.h"

namespace tilewright {

struct TensorMapSpec {
  // factor, or factor times a parameter of the kernel (an i32 or i64).
  struct Extent {
    std::optional<int> param;
    std::int64_t factor = 1;
    bool operator==(const Extent&) const = default;
    std::int64_t value(const Argument* arguments, const std::vector<ArtifactParam>& params) const;
  };

  int pointer = 0;                // the parameter that points to the array
  std::int64_t offset_bytes = 0;  // of its first element from there, a multiple of 16
  DType dtype = DType::f32;
  int swizzle_bytes = 128;            // 32, 64 or 128; rows of the box are at most so long
  std::vector<Extent> sizes;          // in elements, innermost first; 1 to 5 of them
  std::vector<Extent> strides_bytes;  // of all dimensions but the innermost, multiples of 16
  std::vector<int> box;               // elements of each dimension, at most 256
  // For f32: whether copies to shared memory are rounded to tf32. The data type of the driver's map
  // is then TFLOAT32, which rounds ties to even.
  bool rounds_to_tf32 = false;
  bool operator==(const TensorMapSpec&) const = default;
};

}  // namespace tilewright
