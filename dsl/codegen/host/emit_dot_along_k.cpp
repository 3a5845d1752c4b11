// Products along k, for few rows or a long k, and a b whose columns are contiguous, as in a weight
// stored [N, K]. They use vectors along k of both operands, and a tree that sums many accumulators
// at once.
//
// Where rows are summed alike, the sums of up to `rows_of_a_step` rows of floats are divided into
// accumulators in one way: but for words, that of a reduction along lanes (emit_loop_nest.cpp), by
// which a single row multiplies a weight that is computed (graph/lower/rows_product.cpp).
#include <algorithm>
#include <bit>

#include "dsl/codegen/host/matrix.h"
#include "dsl/target/step_rows.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t fetched_ahead = 1 << 10;  // bytes of each of four columns of weights
constexpr std::int64_t long_column = 2 << 10;    // bytes
constexpr std::int64_t parts_of_a_sum = 4;       // enough to hide the latency of one
constexpr std::int64_t short_depth = 4;          // vectors, whose sums are not divided

}  // namespace

bool Emitter::is_read_ahead(const Matrix& a, const Matrix& b) const {
  return a.rows == 1 && target_.reads_ahead &&
         b.rows * size_bytes(b.dtype) * b.in_word >= long_column;
}

void Emitter::dot_along_k(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  int lanes = static_cast<int>(std::min<std::int64_t>(
      target_.lanes,
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(a.columns)))));
  // Integers have the same sum in any order.
  const bool is_alike = sums_rows_alike(a) && is_floating(c.dtype);
  const bool is_divided = is_alike && b.in_word == 1 && a.columns / lanes > short_depth;
  const std::int64_t parts = is_divided ? parts_of_a_sum : 1;
  const std::int64_t height = a.rows == 1 ? 1 : a.rows == 2 || is_divided ? 2 : 4;
  // Few columns at a time, so that weights are read from few streams at once. Long columns are read
  // one at a time where the hardware prefetcher follows them.
  std::int64_t width =
      std::min<std::int64_t>({target_.vector_registers() / 2 / (height * parts), lanes, 4});
  if (is_read_ahead(a, b)) width = 1;
  for_blocks(b.columns, width, true, [&](llvm::Value* n, std::int64_t columns) {
    for_rows(a, height, true, [&](llvm::Value* m, std::int64_t rows) {
      const bool is_alone = !is_alike && a.rows * columns == 1;
      dot_block_k(a, b, c, accumulate, m, static_cast<int>(rows), n, static_cast<int>(columns),
                  is_alone ? std::min(parts_of_a_sum, a.columns / lanes) : parts);
    });
  });
}

void Emitter::dot_block_k(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                          llvm::Value* m, int rows, llvm::Value* n, int columns,
                          std::int64_t parts) {
  std::int64_t depth = a.columns;
  int lanes = static_cast<int>(std::min<std::int64_t>(
      target_.lanes, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(depth)))));
  // Instructions for words of i8 multiply unsigned by signed numbers, as in emit_packed_dot.cpp: so
  // 128 is added to all elements of a, and a further row has 128 times the sums of b's columns.
  const bool adds_128 = b.in_word == 4;
  const bool is_alike = sums_rows_alike(a) && is_floating(c.dtype);
  const int high_sums = rows + (adds_128 ? 1 : 0);
  const std::int64_t block = high_sums * columns;
  auto* all_128 = llvm::ConstantInt::get(lanes_type(b_.getInt32Ty(), lanes), 0x80808080U);
  std::vector<llvm::Value*> sums(
      static_cast<std::size_t>(block * parts),
      llvm::Constant::getNullValue(lanes_type(element_type(c.dtype), lanes)));
  Matrix b_rows = b.transposed();  // row n is contiguous along k
  auto iteration = [&](llvm::Value* k, std::int64_t active, std::int64_t part) {
    std::vector<llvm::Value*> left;
    for (int r = 0; r < rows; ++r)
      left.push_back(load_row(a, b_.CreateAdd(m, index(r)), k, lanes, active, c.dtype));
    if (adds_128) {
      for (llvm::Value*& words : left) words = b_.CreateXor(words, all_128);
      left.push_back(all_128);
    }
    for (int column = 0; column < columns; ++column) {
      auto* number = b_.CreateAdd(n, index(column));
      if (b.next_block != nullptr) fetch_next_block(b_rows, number, k);
      auto* right = load_row(b_rows, number, k, lanes, active, c.dtype);
      for (int r = 0; r < high_sums; ++r) {
        llvm::Value*& sum = sums[static_cast<std::size_t>(part * block + r * columns + column)];
        llvm::Value* x = left[static_cast<std::size_t>(r)];
        sum = is_alike && active < lanes && b.in_word == 1 ? plus(b_.CreateFMul(x, right), sum)
                                                           : multiply_add(x, right, sum, b.in_word);
      }
    }
  };
  // An operand that is read once is prefetched a kilobyte ahead: further along the columns, and at
  // their end from the next ones.
  std::int64_t element = size_bytes(b.dtype) * b.in_word;
  std::int64_t ahead = fetched_ahead / element;
  bool fetches = depth >= 2 * ahead && a.rows <= most_rows_fetched && lanes * element >= 32 &&
                 !is_read_ahead(a, b);
  auto fetch = [&](llvm::Value* k) {
    auto* next = b_.CreateAdd(k, index(ahead));
    auto* same = b_.CreateICmpSLT(next, index(depth));
    auto* at = b_.CreateSelect(same, next, b_.CreateSub(next, index(depth)));
    auto* group = b_.CreateSelect(same, n, b_.CreateAdd(n, index(columns)));
    for (int column = 0; column < columns; ++column)
      prefetch({.pointer = place_of(b_rows, b_.CreateAdd(group, index(column)), at)},
               innermost_cache);
  };
  std::int64_t at_once = parts * lanes, whole = depth / at_once * at_once;
  auto turn = [&](llvm::Value* k) {
    for (std::int64_t part = 0; part < parts; ++part) {
      auto* at = b_.CreateAdd(k, index(part * lanes));
      if (fetches) fetch(at);
      iteration(at, lanes, part);
    }
  };
  if (is_alike && parts > 1)
    loop_of_sums(whole, at_once, sums, turn);
  else
    emit_loop(index(whole), at_once, sums, turn);
  for (std::int64_t part = 0; whole < depth; whole += lanes, ++part) {
    const std::int64_t active = std::min<std::int64_t>(lanes, depth - whole);
    iteration(index(whole), active, is_alike && active < lanes ? 0 : part);
  }
  for (std::int64_t i = block; i < block * parts; ++i) {
    const std::int64_t next = is_alike ? i : block * (parts + 1) - 1 - i;  // a reduction's order
    llvm::Value*& sum = sums[static_cast<std::size_t>(next % block)];
    sum = plus(sum, sums[static_cast<std::size_t>(next)]);
  }
  sums.resize(static_cast<std::size_t>(block));
  for (std::size_t i = 0; adds_128 && i < static_cast<std::size_t>(rows * columns); ++i)
    sums[i] = b_.CreateSub(
        sums[i],
        sums[static_cast<std::size_t>(rows * columns) + i % static_cast<std::size_t>(columns)]);
  llvm::Value* together = nullptr;
  // As many rows at once as there are lanes for their sums.
  const int high = std::min(rows, std::max(1, lanes / columns));
  for (int r = 0; r < rows; ++r) {
    auto first = sums.begin() + r * columns;
    if (r % high == 0) together = sum_each({first, first + high * columns});
    llvm::Value* total = part_of_lanes(together, r % high * columns, columns);
    auto* row = b_.CreateAdd(m, index(r));
    if (accumulate) {
      auto* old = load_row(c, row, n, columns, columns, c.dtype);
      total = plus(old, total);
    }
    store_row(c, row, n, total, columns);
  }
}

// Lane i of the result is the sum of all lanes of vector i. The number of vectors is a power of
// two, at most the number of lanes. Each stage halves what is left to sum and packs two vectors
// into one.
llvm::Value* Emitter::sum_each(std::vector<llvm::Value*> vectors) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vectors[0]->getType());
  if (type == nullptr) return vectors[0];
  auto count = static_cast<int>(vectors.size());
  auto lanes = static_cast<int>(type->getNumElements());
  int width = lanes;  // lanes that one sum is spread over
  while (width > 1) {
    int half = width / 2;
    bool pairs = vectors.size() > 1;
    std::vector<llvm::Value*> next;
    for (std::size_t i = 0; i < vectors.size(); i += pairs ? 2 : 1) {
      auto size = static_cast<int>(
          llvm::cast<llvm::FixedVectorType>(vectors[i]->getType())->getNumElements());
      std::vector<int> low, high;
      for (int source = 0; source < (pairs ? 2 : 1); ++source)
        for (int group = 0; group < size; group += width)
          for (int lane = 0; lane < half; ++lane) {
            low.push_back(source * size + group + lane);
            high.push_back(source * size + group + half + lane);
          }
      llvm::Value* other = pairs ? vectors[i + 1] : llvm::PoisonValue::get(vectors[i]->getType());
      next.push_back(plus(b_.CreateShuffleVector(vectors[i], other, low),
                          b_.CreateShuffleVector(vectors[i], other, high)));
    }
    vectors = std::move(next);
    width = half;
  }
  if (count == 1) return b_.CreateExtractElement(vectors[0], std::uint64_t{0});
  return vectors[0];
}

}  // namespace tilewright::dsl
