// Codes that share words of 32 bits, lowest bits first, as GPTQ, AWQ and compressed-tensors pack
// them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::quant {

// The codes of words [rows, columns], of 2, 4 or 8 bits.
//
// Down the columns: [rows * n, columns] with n = 32 / bits; along the rows: [rows, columns * n].
std::vector<std::uint8_t> codes_down(std::span<const std::int32_t> words, std::int64_t columns,
                                     int bits);
std::vector<std::uint8_t> codes_along(std::span<const std::int32_t> words, int bits);
// Along the rows in AWQ's order: the nibbles of a word are its columns 0, 2, 4, 6, 1, 3, 5, 7.
std::vector<std::uint8_t> interleaved_codes(std::span<const std::int32_t> words);

// [rows, columns] as [columns, rows].
std::vector<std::uint8_t> turned(std::span<const std::uint8_t> codes, std::int64_t columns);

}  // namespace tilewright::quant
