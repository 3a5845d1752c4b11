// Elements of one floating type as elements of another, on the host, at load time.
//
// Not an operation of the graph: weights are read before anything is compiled, once, and straight
// from the file into their place.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/dtype.h"

namespace tilewright::weights {

bool is_convertible(DType from, DType to);  // equal, or both floating
// `source` need not be aligned. The pair must be convertible.
void convert(const void* source, DType from, void* destination, DType to, std::int64_t count);
// Index of the first NaN or infinity, or nothing; types that have none give nothing.
std::optional<std::int64_t> find_non_finite(const void* source, DType dtype, std::int64_t count);

}  // namespace tilewright::weights
