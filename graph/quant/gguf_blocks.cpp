#include "graph/quant/gguf_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/error.h"

namespace tilewright::quant {
namespace {

using Bytes = const std::uint8_t*;

// Where a function writes what it takes from one block.
struct Parts {
  std::uint8_t* codes;
  float *scales, *offsets;  // offsets: none of formats without them
};

float half_at(Bytes at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return half_value(bits);
}
std::uint32_t word_at(Bytes at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Column j of 32 in the low half of byte j, column 16 + j in its high half.
void halves(Bytes from, std::uint8_t* codes) {
  for (int j = 0; j < 16; ++j) {
    codes[j] = from[j] & 15;
    codes[j + 16] = from[j] >> 4;
  }
}
// A fifth bit for each.
void fifth_bits(std::uint32_t bits, std::uint8_t* codes) {
  for (int j = 0; j < 32; ++j) codes[j] |= static_cast<std::uint8_t>((bits >> j & 1) << 4);
}

void q4_0(Bytes b, Parts to) {
  *to.scales = half_at(b);
  halves(b + 2, to.codes);
}
void q4_1(Bytes b, Parts to) {
  *to.scales = half_at(b);
  *to.offsets = half_at(b + 2);
  halves(b + 4, to.codes);
}
void q5_0(Bytes b, Parts to) {
  *to.scales = half_at(b);
  halves(b + 6, to.codes);
  fifth_bits(word_at(b + 2), to.codes);
}
void q5_1(Bytes b, Parts to) {
  *to.scales = half_at(b);
  *to.offsets = half_at(b + 2);
  halves(b + 8, to.codes);
  fifth_bits(word_at(b + 4), to.codes);
}
void q8_0(Bytes b, Parts to) {
  *to.scales = half_at(b);
  std::copy_n(b + 2, 32, to.codes);
}
void iq4_nl(Bytes b, Parts to) { q4_0(b, to); }

// Two bits each: bytes 32 k to 32 k + 31 hold columns 128 k to 128 k + 127, 32 for each pair of
// bits.
void quarters(Bytes from, std::uint8_t* codes) {
  for (int i = 0; i < 256; ++i) codes[i] = from[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

void q2_k(Bytes b, Parts to) {
  const float d = half_at(b + 80), least = half_at(b + 82);
  for (int g = 0; g < 16; ++g) {
    to.scales[g] = d * static_cast<float>(b[g] & 15);
    to.offsets[g] = -(least * static_cast<float>(b[g] >> 4));
  }
  quarters(b + 16, to.codes);
}

void q3_k(Bytes b, Parts to) {
  quarters(b + 32, to.codes);
  for (int i = 0; i < 256; ++i)
    to.codes[i] |= static_cast<std::uint8_t>((b[i % 32] >> (i / 32) & 1) << 2);
  const Bytes packed = b + 96;
  const float d = half_at(b + 108);
  for (int g = 0; g < 16; ++g) {
    const int low = packed[g % 8] >> (g / 8 * 4) & 15;
    const int high = packed[8 + g % 4] >> (g / 4 * 2) & 3;
    to.scales[g] = d * static_cast<float>((low | high << 4) - 32);
  }
}

// The scales and least values of 8 groups, 6 bits each in 12 bytes.
void scales_k4(Bytes b, Parts to) {
  const float d = half_at(b), least = half_at(b + 2);
  const Bytes packed = b + 4;
  for (int g = 0; g < 8; ++g) {
    int scale = packed[g] & 63, offset = packed[g + 4] & 63;
    if (g >= 4) {
      scale = (packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4;
      offset = packed[g + 4] >> 4 | (packed[g] >> 6) << 4;
    }
    to.scales[g] = d * static_cast<float>(scale);
    to.offsets[g] = -(least * static_cast<float>(offset));
  }
}
// Groups 2 k and 2 k + 1 in the low and the high halves of 32 bytes.
void halves_k(Bytes from, std::uint8_t* codes) {
  for (int i = 0; i < 256; ++i) codes[i] = from[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
}

void q4_k(Bytes b, Parts to) {
  scales_k4(b, to);
  halves_k(b + 16, to.codes);
}
void q5_k(Bytes b, Parts to) {
  scales_k4(b, to);
  halves_k(b + 48, to.codes);
  for (int i = 0; i < 256; ++i)
    to.codes[i] |= static_cast<std::uint8_t>((b[16 + i % 32] >> (i / 32) & 1) << 4);
}

void q6_k(Bytes b, Parts to) {
  const Bytes high = b + 128;
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128, in = i % 128;
    const int low = b[part * 64 + in % 64] >> (in / 64 * 4) & 15;
    to.codes[i] =
        static_cast<std::uint8_t>(low | (high[part * 32 + in % 32] >> (in / 32 * 2) & 3) << 4);
  }
  const float d = half_at(b + 208);
  for (int g = 0; g < 16; ++g)
    to.scales[g] = d * static_cast<float>(static_cast<std::int8_t>(b[192 + g]));
}

void iq4_xs(Bytes b, Parts to) {
  const float d = half_at(b);
  const int high = b[2] | b[3] << 8;
  for (int g = 0; g < 8; ++g) {
    const int low = b[4 + g / 2] >> (g % 2 * 4) & 15;
    to.scales[g] = d * static_cast<float>((low | (high >> (2 * g) & 3) << 4) - 32);
    halves(b + 8 + 16 * g, to.codes + 32 * g);
  }
}

constexpr float iq4_values[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};

struct Layout {
  BlockLayout layout;
  void (*take_apart)(Bytes, Parts);
};
constexpr Layout layouts[] = {
    {{Format::q4_0, 2, 32, 18}, q4_0},      {{Format::q4_1, 3, 32, 20}, q4_1},
    {{Format::q5_0, 6, 32, 22}, q5_0},      {{Format::q5_1, 7, 32, 24}, q5_1},
    {{Format::q8_0, 8, 32, 34}, q8_0},      {{Format::q2_k, 10, 256, 84}, q2_k},
    {{Format::q3_k, 11, 256, 110}, q3_k},   {{Format::q4_k, 12, 256, 144}, q4_k},
    {{Format::q5_k, 13, 256, 176}, q5_k},   {{Format::q6_k, 14, 256, 210}, q6_k},
    {{Format::iq4_nl, 20, 32, 18}, iq4_nl}, {{Format::iq4_xs, 23, 256, 136}, iq4_xs},
};
constexpr auto plain_layouts = [] {
  std::array<BlockLayout, std::size(layouts)> plain = {};
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = layouts[i].layout;
  return plain;
}();

ValueTable values_of(const FormatFacts& facts) {
  if (facts.values == Values::table) return table_of(iq4_values);
  if (facts.bits == 8) return signed_bytes();
  return integers_from(facts.zeros == Zeros::centre ? -(1 << (facts.bits - 1)) : 0);
}

}  // namespace

std::span<const BlockLayout> block_layouts() { return plain_layouts; }

const BlockLayout* find_block_layout(std::uint32_t type) {
  const auto* found = std::ranges::find(plain_layouts, type, &BlockLayout::type);
  return found == plain_layouts.end() ? nullptr : found;
}

GroupedCodes codes_of_blocks(const BlockLayout& layout, std::span<const std::byte> bytes,
                             std::int64_t rows, std::int64_t columns) {
  const FormatFacts& facts = facts_of(layout.format);
  const std::int64_t blocks = rows * (columns / layout.elements);
  check(columns % layout.elements == 0 && std::ssize(bytes) == blocks * layout.bytes,
        "blocks that do not make up the rows of a weight");
  const auto* how = std::ranges::find(layouts, layout.format,
                                      [](const Layout& each) { return each.layout.format; });
  const std::int64_t groups = layout.elements / facts.block;
  GroupedCodes w{
      .format = layout.format, .shape = {rows, columns}, .rows = rows, .columns = columns};
  w.values = values_of(facts);
  w.group_columns = facts.block;
  w.codes.resize(static_cast<std::size_t>(rows * columns));
  w.scales.resize(static_cast<std::size_t>(blocks * groups));
  if (facts.zeros == Zeros::offset) w.offsets.resize(w.scales.size());
  if (facts.nesting == Nesting::none) w.scale_dtype = DType::f16;
  for (std::int64_t i = 0; i < blocks; ++i)
    how->take_apart(reinterpret_cast<Bytes>(bytes.data() + i * layout.bytes),
                    {w.codes.data() + i * layout.elements, w.scales.data() + i * groups,
                     w.offsets.empty() ? nullptr : w.offsets.data() + i * groups});
  return w;
}

}  // namespace tilewright::quant
