// The matrix instructions of a warp: 8x8 matrices from shared memory, and d = a b + c.
#include <cstring>

#include "dsl/emulator/meanings.h"
#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {
namespace {

using Lanes = std::span<const Call* const>;

constexpr int row_bytes = 16;  // of an 8x8 matrix of 16-bit elements

// The rows of matrix `m` as their lanes name them, checked.
void read_matrix(ThreadBlock& block, Lanes lanes, std::size_t m, std::uint16_t (&matrix)[8][8]) {
  for (std::size_t row = 0; row < 8; ++row) {
    const Call& owner = *lanes[m * 8 + row];
    const std::byte* address = owner.operands[0].pointer;
    block.access_shared(owner, AccessMode::read, address, row_bytes, row_bytes);
    std::memcpy(matrix[row], address, row_bytes);
  }
}

// Registers hold words of 32 bits: lane l has row l / 4 and word l % 4 of what is 8 rows high.
constexpr std::size_t fragment_rows = 8, fragment_words = 4;

}  // namespace

template <int matrices, bool transposed>
void ldmatrix(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock& block, Lanes lanes) {
    for (std::size_t m = 0; m < matrices; ++m) {
      std::uint16_t matrix[8][8];
      read_matrix(block, lanes, m, matrix);
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        std::size_t row = l / fragment_words, column = l % fragment_words * 2;
        std::uint32_t low = transposed ? matrix[column][row] : matrix[row][column];
        std::uint32_t high = transposed ? matrix[column + 1][row] : matrix[row][column + 1];
        lanes[l]->results[m].u32 = low | high << 16;
      }
    }
  });
}
template void ldmatrix<1, false>(const Call&);
template void ldmatrix<2, false>(const Call&);
template void ldmatrix<4, false>(const Call&);
template void ldmatrix<1, true>(const Call&);
template void ldmatrix<2, true>(const Call&);
template void ldmatrix<4, true>(const Call&);

template <bool transposed>
void stmatrix(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock& block, Lanes lanes) {
    for (std::size_t m = 0; m < 4; ++m) {
      std::uint16_t matrix[8][8];
      for (std::size_t l = 0; l < lanes.size(); ++l) {
        std::size_t row = l / fragment_words, column = l % fragment_words * 2;
        std::uint32_t word = lanes[l]->operands[1 + m].u32;
        auto low = static_cast<std::uint16_t>(word), high = static_cast<std::uint16_t>(word >> 16);
        (transposed ? matrix[column][row] : matrix[row][column]) = low;
        (transposed ? matrix[column + 1][row] : matrix[row][column + 1]) = high;
      }
      for (std::size_t row = 0; row < 8; ++row) {
        const Call& owner = *lanes[m * 8 + row];
        std::byte* address = owner.operands[0].pointer;
        block.access_shared(owner, AccessMode::write, address, row_bytes, row_bytes);
        std::memcpy(address, matrix[row], row_bytes);
      }
    }
  });
}
template void stmatrix<false>(const Call&);
template void stmatrix<true>(const Call&);

// a is 16 rows of 32 bytes, in four registers: rows 0-7 and 8-15 of the first 16 bytes, then of the
// last. b is 8 columns of 32 bytes, in two registers. c and d are 16x8, in four: columns 2 t and
// 2 t + 1 of row g, then of row g + 8.
template <Format format>
void mma(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    constexpr std::size_t per_word = 4 / bytes_of(format), depth = 8 * per_word;
    float a[16][depth], b[8][depth];
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      std::size_t g = l / fragment_words, t = l % fragment_words;
      for (std::size_t r = 0; r < 6; ++r) {
        bool of_a = r < 4;
        std::size_t word = t + (of_a ? r / 2 : r - 4) * fragment_words;
        float* row = of_a ? a[g + r % 2 * fragment_rows] : b[g];
        for (std::size_t e = 0; e < per_word; ++e)
          row[word * per_word + e] =
              packed_element(format, lanes[l]->operands[r].u32, static_cast<int>(e));
      }
    }
    for (std::size_t l = 0; l < lanes.size(); ++l)
      for (std::size_t r = 0; r < 4; ++r) {
        std::size_t row = l / 4 + r / 2 * fragment_rows, column = l % 4 * 2 + r % 2;
        const Slot& c = lanes[l]->operands[6 + r];
        double sum = format == Format::s8 ? c.i32 : c.f32;
        for (std::size_t k = 0; k < depth; ++k)
          sum += static_cast<double>(a[row][k]) * static_cast<double>(b[column][k]);
        if (format == Format::s8)
          lanes[l]->results[r].i32 = static_cast<std::int32_t>(sum);
        else
          lanes[l]->results[r].f32 = static_cast<float>(sum);
      }
  });
}
#define TILEWRIGHT_NUMBER_FORMAT(name, ...) template void mma<Format::name>(const Call&);
#include "dsl/target/number_formats.def"

}  // namespace tilewright::dsl::emulator
