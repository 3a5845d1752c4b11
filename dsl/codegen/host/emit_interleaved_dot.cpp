// Products of a few rows of bf16 or i8 by a b that is stored by rows and not packed.
//
// The instructions that multiply words want neighbours along k in one word, while rows of b hold
// neighbours along n. Where there are too few rows of a to pack b first, as many rows as a word has
// elements are interleaved as they are loaded, a register of each. For bf16, 32 columns:
//
//   row k      0 1 2 3 4 5 6 7 | 8 ...      low:  words of columns 0 1 2 3 | 8 9 10 11 | 16 ...
//   row k + 1  0 1 2 3 4 5 6 7 | 8 ...      high: words of columns 4 5 6 7 | 12 ...
//
// Each takes one instruction, since elements stay within 128 bits. Four rows of i8 are interleaved
// in two such steps, 64 columns of each. The sums have their columns in that order over the whole
// of k, and are put in order once, at the end.
//
// Instructions for words of i8 multiply unsigned by signed numbers. So 128 is added to all elements
// of b, and 128 times the sum of the row of a is subtracted from each result: it is one more
// product for all columns of a block.
#include <algorithm>
#include <array>
#include <span>

#include "dsl/codegen/host/matrix.h"

namespace tilewright::dsl {
namespace {

constexpr int lanes = 16, part = 4;  // of a vector of words, and of 128 bits of it
using Vectors = std::vector<llvm::Value*>;

// The elements of two vectors in turn, of the lower or the upper half of each 128 bits.
llvm::Value* unpacked(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, int half) {
  auto* type = llvm::cast<llvm::FixedVectorType>(x->getType());
  const auto count = static_cast<int>(type->getNumElements());
  const int in_part = 128 / static_cast<int>(type->getScalarSizeInBits());
  std::vector<int> order;
  for (int begin = half * in_part / 2; begin < count; begin += in_part)
    for (int i = begin; i < begin + in_part / 2; ++i) order.insert(order.end(), {i, count + i});
  return b.CreateShuffleVector(x, y, order);
}

// Rows of two or four lines as words. Lane l of vector v is a word of column
// (l / part * rows + v) * part + l % part.
Vectors as_words(llvm::IRBuilderBase& b, const Vectors& rows) {
  Vectors words;
  for (int half = 0; half < 2; ++half) {
    if (rows.size() == 2) {
      words.push_back(unpacked(b, rows[0], rows[1], half));
      continue;
    }
    auto* pairs = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
    auto* low = b.CreateBitCast(unpacked(b, rows[0], rows[1], half), pairs);
    auto* high = b.CreateBitCast(unpacked(b, rows[2], rows[3], half), pairs);
    for (int quarter = 0; quarter < 2; ++quarter) words.push_back(unpacked(b, low, high, quarter));
  }
  return words;
}

// A vector of these parts of others, by the number of each among all parts.
llvm::Value* of_parts(llvm::IRBuilderBase& b, std::span<llvm::Value* const> from,
                      const std::array<std::size_t, 4>& numbers) {
  auto two = [&](std::size_t first, std::size_t second) {
    std::vector<int> order;
    for (int i = 0; i < part; ++i) order.push_back(static_cast<int>(first % 4) * part + i);
    for (int i = 0; i < part; ++i) order.push_back(lanes + static_cast<int>(second % 4) * part + i);
    return b.CreateShuffleVector(from[first / 4], from[second / 4], order);
  };
  std::vector<int> all(lanes);
  for (int i = 0; i < lanes; ++i) all[static_cast<std::size_t>(i)] = i;
  return b.CreateShuffleVector(two(numbers[0], numbers[1]), two(numbers[2], numbers[3]), all);
}
// Sums of neighbouring columns in the order of words, and back.
Vectors in_order_of_words(llvm::IRBuilderBase& b, std::span<llvm::Value* const> sums) {
  const std::size_t count = sums.size();
  Vectors result;
  for (std::size_t v = 0; v < count; ++v)
    result.push_back(of_parts(b, sums, {v, count + v, 2 * count + v, 3 * count + v}));
  return result;
}
Vectors in_order_of_columns(llvm::IRBuilderBase& b, std::span<llvm::Value* const> sums) {
  const std::size_t count = sums.size();
  Vectors result;
  for (std::size_t v = 0; v < count; ++v) {
    std::array<std::size_t, 4> numbers{};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t number = 4 * v + i;  // among the parts of all columns
      numbers[i] = number % count * 4 + number / count;
    }
    result.push_back(of_parts(b, sums, numbers));
  }
  return result;
}

}  // namespace

void Emitter::dot_interleaved(const Matrix& a, const Matrix& b, const Matrix& c, int in_word,
                              bool accumulate) {
  const std::int64_t group = interleaved_columns(in_word), most_rows = 16 / in_word,
                     most_sums = in_word == 2 ? 24 : 16;
  const std::int64_t rows = std::min(a.rows, most_rows);
  const std::int64_t groups =
      std::min(b.columns / group, std::max<std::int64_t>(1, most_sums / in_word / rows));
  const Matrix words = in_words(a, in_word);
  for_blocks(b.columns / group, groups, false, [&](llvm::Value* g, std::int64_t wide) {
    auto* n = b_.CreateMul(g, index(group));
    for_rows(a, rows, false, [&](llvm::Value* m, std::int64_t high) {
      dot_interleaved_block(part_of(words, m, index(0), high, words.columns),
                            part_of(b, index(0), n, b.rows, wide * group),
                            part_of(c, m, n, high, wide * group), accumulate);
    });
  });
}

void Emitter::dot_interleaved_block(const Matrix& a, const Matrix& b, const Matrix& c,
                                    bool accumulate) {
  const int in_word = a.in_word;
  const auto rows = static_cast<std::size_t>(c.rows), vectors_of_group = std::size_t(in_word);
  const auto vectors = static_cast<std::size_t>(c.columns / lanes);
  const auto group = static_cast<int>(interleaved_columns(in_word));
  const bool adds_128 = in_word == 4;
  auto row = [&](std::size_t r) { return index(static_cast<std::int64_t>(r)); };
  auto column = [&](std::size_t v) { return index(static_cast<std::int64_t>(v) * lanes); };
  llvm::Type* type = lanes_type(element_type(c.dtype), lanes);
  auto* all_128 = llvm::ConstantInt::get(lanes_type(b_.getInt32Ty(), lanes), 0x80808080U);
  // Behind them 128 times the sums of rows of a.
  Vectors sums(rows * vectors + (adds_128 ? rows : 0), llvm::Constant::getNullValue(type));
  for (std::size_t r = 0; accumulate && r < rows; ++r)
    for (std::size_t v = 0; v < vectors; v += vectors_of_group) {
      Vectors start;
      for (std::size_t i = v; i < v + vectors_of_group; ++i)
        start.push_back(load_row(c, row(r), column(i), lanes, lanes, c.dtype));
      std::ranges::copy(in_order_of_words(b_, start),
                        sums.begin() + static_cast<std::ptrdiff_t>(r * vectors + v));
    }
  emit_loop(index(a.columns), 1, sums, [&](llvm::Value* k) {
    auto left = [&](std::size_t r) {
      return b_.CreateVectorSplat(lanes, load_row(a, row(r), k, 1, 1, c.dtype));
    };
    // One group after the other, so that the words of one at a time take registers.
    for (std::size_t v = 0; v < vectors; v += vectors_of_group) {
      Vectors lines;
      for (int i = 0; i < in_word; ++i) {
        auto* line = b_.CreateAdd(b_.CreateMul(k, index(in_word)), index(i));
        if (b.next_block != nullptr) fetch_next_block(b, line, column(v));
        lines.push_back(load_row(b, line, column(v), group, group, b.dtype));
        if (adds_128)
          lines.back() =
              b_.CreateXor(lines.back(), llvm::ConstantInt::get(lines.back()->getType(), 0x80));
      }
      const Vectors right = as_words(b_, lines);
      for (std::size_t r = 0; r < rows; ++r) {
        auto* x = left(r);
        for (std::size_t i = 0; i < vectors_of_group; ++i) {
          llvm::Value*& sum = sums[r * vectors + v + i];
          sum = multiply_add(right[i], x, sum, in_word);
        }
      }
    }
    for (std::size_t r = 0; adds_128 && r < rows; ++r) {
      llvm::Value*& sum = sums[rows * vectors + r];
      sum = multiply_add(all_128, left(r), sum, in_word);
    }
  });
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; v += vectors_of_group) {
      const Vectors ordered =
          in_order_of_columns(b_, std::span(sums).subspan(r * vectors + v, vectors_of_group));
      for (std::size_t i = 0; i < vectors_of_group; ++i) {
        llvm::Value* sum = ordered[i];
        if (adds_128) sum = b_.CreateSub(sum, sums[rows * vectors + r]);
        store_row(c, row(r), column(v + i), sum, lanes);
      }
    }
}

}  // namespace tilewright::dsl
