// The blocks of GGUF files (ggml): bytes that hold the codes of 32 or 256 neighbours of a row
// together with their scales. Layouts are those of ggml-common.h of llama.cpp, values those of
// gguf.quants.dequantize to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "graph/quant/grouped_codes.h"

namespace tilewright::quant {

struct BlockLayout {
  Format format;
  std::uint32_t type;  // ggml's number of it
  std::int64_t elements, bytes;
};
std::span<const BlockLayout> block_layouts();
// By ggml's number of the type.
const BlockLayout* find_block_layout(std::uint32_t type);

// `bytes` are whole blocks, row after row; columns are a multiple of the block's elements.
GroupedCodes codes_of_blocks(const BlockLayout& layout, std::span<const std::byte> bytes,
                             std::int64_t rows, std::int64_t columns);

}  // namespace tilewright::quant
