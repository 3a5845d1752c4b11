#include "graph/quant/words.h"

namespace tilewright::quant {
namespace {

std::uint8_t code_of(std::int32_t word, int place, int bits) {
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(word) >> (place * bits) &
                                   ((1U << bits) - 1));
}

}  // namespace

std::vector<std::uint8_t> codes_down(std::span<const std::int32_t> words, std::int64_t columns,
                                     int bits) {
  const std::int64_t each = 32 / bits;
  std::vector<std::uint8_t> codes(words.size() * static_cast<std::size_t>(each));
  for (std::int64_t i = 0; i < std::ssize(words); ++i)
    for (std::int64_t k = 0; k < each; ++k)
      codes[static_cast<std::size_t>((i / columns * each + k) * columns + i % columns)] =
          code_of(words[static_cast<std::size_t>(i)], static_cast<int>(k), bits);
  return codes;
}

std::vector<std::uint8_t> codes_along(std::span<const std::int32_t> words, int bits) {
  std::vector<std::uint8_t> codes;
  codes.reserve(words.size() * static_cast<std::size_t>(32 / bits));
  for (std::int32_t word : words)
    for (int k = 0; k < 32 / bits; ++k) codes.push_back(code_of(word, k, bits));
  return codes;
}

std::vector<std::uint8_t> interleaved_codes(std::span<const std::int32_t> words) {
  constexpr std::array<std::size_t, 8> columns = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<std::uint8_t> codes(words.size() * 8);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t k = 0; k < 8; ++k)
      codes[8 * i + columns[k]] = code_of(words[i], static_cast<int>(k), 4);
  return codes;
}

std::vector<std::uint8_t> turned(std::span<const std::uint8_t> codes, std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns), rows = codes.size() / width;
  std::vector<std::uint8_t> result(codes.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < width; ++column)
      result[column * rows + row] = codes[row * width + column];
  return result;
}

}  // namespace tilewright::quant
