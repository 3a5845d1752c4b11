// Products of a few rows of bf16 by a b that is stored by rows and not packed.
//
// The instruction that multiplies pairs wants neighbours along k in one word, while rows of b hold
// neighbours along n. Where there are too few rows of a to pack b first, two rows are interleaved
// as they are loaded, 32 columns of each:
//
//   row k      0 1 2 3 4 5 6 7 | 8 ...      low:  words of columns 0 1 2 3 | 8 9 10 11 | 16 ...
//   row k + 1  0 1 2 3 4 5 6 7 | 8 ...      high: words of columns 4 5 6 7 | 12 ...
//
// Each takes one instruction, since elements stay within 128 bits. The sums have their columns in
// that order over the whole of k, and are put in order once, at the end.
#include "dsl/codegen/host/matrix.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t group = interleaved_columns;
constexpr int lanes = 16, part = 4;  // of a vector of words, and of 128 bits of it

// Which words of columns 0 to 31 the two vectors hold.
std::vector<int> order_of_sums() {
  std::vector<int> order;
  for (int half = 0; half < 2; ++half)
    for (int lane = 0; lane < lanes; ++lane)
      order.push_back(lane / part * 2 * part + half * part + lane % part);
  return order;
}

}  // namespace

void Emitter::dot_interleaved(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  constexpr std::int64_t most_rows = 8, most_sums = 24;
  const std::int64_t rows = std::min(a.rows, most_rows);
  const std::int64_t groups =
      std::min(b.columns / group, std::max<std::int64_t>(1, most_sums / 2 / rows));
  const Matrix words = in_words(a, 2);
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
  const auto rows = static_cast<std::size_t>(c.rows);
  const auto vectors = static_cast<std::size_t>(c.columns / lanes);
  const std::vector<int> order = order_of_sums();
  auto row = [&](std::size_t r) { return index(static_cast<std::int64_t>(r)); };
  auto column = [&](std::size_t v) { return index(static_cast<std::int64_t>(v) * lanes); };
  std::vector<llvm::Value*> sums(rows * vectors,
                                 llvm::Constant::getNullValue(lanes_type(b_.getFloatTy(), lanes)));
  auto half_of = [](const std::vector<int>& all, std::size_t half) {
    auto first = all.begin() + static_cast<std::ptrdiff_t>(half * lanes);
    return std::vector<int>(first, first + lanes);
  };
  for (std::size_t r = 0; accumulate && r < rows; ++r)
    for (std::size_t v = 0; v < vectors; v += 2) {
      auto* x = load_row(c, row(r), column(v), lanes, lanes, c.dtype);
      auto* y = load_row(c, row(r), column(v + 1), lanes, lanes, c.dtype);
      for (std::size_t half = 0; half < 2; ++half)
        sums[r * vectors + v + half] = b_.CreateShuffleVector(x, y, half_of(order, half));
    }
  // Elements of 16 bits, from one row and the other.
  std::vector<int> interleaved;
  for (int word : order) {
    interleaved.push_back(word);
    interleaved.push_back(static_cast<int>(group) + word);
  }
  auto words_in = [&](std::size_t half) {
    auto first = interleaved.begin() + static_cast<std::ptrdiff_t>(half * group);
    return std::vector<int>(first, first + group);
  };
  emit_loop(index(a.columns), 1, sums, [&](llvm::Value* k) {
    auto *even = b_.CreateMul(k, index(2)), *odd = b_.CreateAdd(even, index(1));
    std::vector<llvm::Value*> right;
    for (std::size_t v = 0; v < vectors; v += 2) {
      if (b.next_block != nullptr)
        for (llvm::Value* line : {even, odd}) fetch_next_block(b, line, column(v));
      auto* x = load_row(b, even, column(v), group, group, b.dtype);
      auto* y = load_row(b, odd, column(v), group, group, b.dtype);
      for (std::size_t half = 0; half < 2; ++half)
        right.push_back(b_.CreateShuffleVector(x, y, words_in(half)));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      auto* left = b_.CreateVectorSplat(lanes, load_row(a, row(r), k, 1, 1, c.dtype));
      for (std::size_t v = 0; v < vectors; ++v) {
        llvm::Value*& sum = sums[r * vectors + v];
        sum = multiply_add(right[v], left, sum, 2);
      }
    }
  });
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; v += 2)
      for (std::size_t half = 0; half < 2; ++half) {
        auto* sum = b_.CreateShuffleVector(sums[r * vectors + v], sums[r * vectors + v + 1],
                                           half_of(back, half));
        store_row(c, row(r), column(v + half), sum, lanes);
      }
}

}  // namespace tilewright::dsl
