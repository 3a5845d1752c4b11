// The types that tensors of GGUF files have: floats, and blocks of quantised weights
// (graph/quant/gguf_blocks.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/tensor/tensor.h"

namespace tilewright::gguf {

// The dtype of a type that is one; none of blocks.
std::optional<DType> float_type(std::uint32_t type);
// The bytes of a tensor; none for an unknown type, or rows that blocks do not divide.
std::optional<std::int64_t> size_of_tensor(std::uint32_t type, const Shape& shape);
std::string known_types();  // "f32 (0), f16 (1), .."

}  // namespace tilewright::gguf
