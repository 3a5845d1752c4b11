// The blocks of memory that TMA can move, and the tensor maps that describe them.
//
// A tensor map is made by the host before the launch, so its contents must follow from the kernel's
// arguments alone: the array's sizes and strides, each a constant or a parameter. Where the array
// begins may depend on the program: the start of a head, of a batch. Such a start is a sum of
// program-dependent indices times constants; each index becomes a coordinate of a further dimension
// of the map, whose stride is the constant.
//
//   make_desc(a + head * 8192 + 64, [100, 64], strides [64, 1])
//     map: base a + 64, sizes [64, 100, any], strides [64, 8192]; coordinates (column, row, head)
//
// Elements outside the first two dimensions read as zeros and are not written, as a descriptor
// wants it.
#pragma once

#include <optional>
#include <vector>

#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "runtime/tensor_map.h"

namespace tilewright::dsl::gpu {

struct TensorCopy {
  TensorMapSpec map;
  std::vector<ir::Value> outer;  // coordinates beyond row and column: integer scalars, never < 0
};

// For a two-dimensional descriptor, boxes of `rows` rows of `columns` elements, swizzled; nothing
// where a tensor map cannot say it.
std::optional<TensorCopy> tensor_copy(const ir::Function& function, const Uses& uses,
                                      const std::vector<ScalarFacts>& facts,
                                      const ir::Inst& make_desc, std::int64_t rows,
                                      std::int64_t columns, int swizzle_bytes);

}  // namespace tilewright::dsl::gpu
