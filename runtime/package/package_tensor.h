// A tensor that a function of a package takes or gives, by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright {

// The name of an input that says how many random numbers were drawn before a call, which adds those
// that it draws: i64, without axes. Behind those of the function; the second one is
// random.offset.1.
constexpr std::string_view random_offset = "random.offset";

// Row-major, in the memory of the host.
struct PackageTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  bool is_written = false;  // an input that the function changes in place
  bool operator==(const PackageTensor&) const = default;
  std::int64_t bytes() const { return element_count(shape) * size_bytes(dtype); }
};

}  // namespace tilewright
