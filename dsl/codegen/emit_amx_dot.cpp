// Blocks of a product by AMX: registers ("tiles") of 16 rows of 64 bytes.
//
// One instruction multiplies a tile of the left operand, 16 rows of 16 words, by one of the right,
// 16 words of 16 columns, each a row, and adds the products to a tile of sums, 16 rows of 16. A
// word is two neighbours of bf16 or four of i8. Of eight tiles four are sums, two by two, so that
// four tiles that are loaded make four products:
//
//               right 0   right 1      each [16 words, 16 columns], from the sliver in the L2
//     left 0     sum 0     sum 1
//     left 1     sum 2     sum 3       left: [16 rows, 16 words], in the L1
//
// The left operand's strip stays in the L1, packed tile by tile, each a kilobyte without gaps. The
// slivers go by: they are read with the hint that they are not wanted there. What the inner axis
// lacks to whole tiles is zeros, in both operands; rows and columns that lack hold anything, and
// what comes of them is not stored.
//
// Tile numbers are given here, not by LLVM, whose allocation of tiles would configure them anew
// wherever it thinks fit. All have one shape, set once a product.
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/matrix.h"
#include "dsl/packed_product.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t side = 16;  // rows of a tile, and words of a row
constexpr std::int64_t tile_bytes = 1 << 10;
constexpr int first_left = 4, first_right = 6;  // tiles; 0 to 3 are sums

// What the instruction that configures tiles reads.
struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace

void Emitter::tile_op(llvm::Intrinsic::ID id, std::initializer_list<int> tiles,
                      std::initializer_list<llvm::Value*> others) {
  std::vector<llvm::Value*> operands;
  for (int tile : tiles) operands.push_back(b_.getInt8(static_cast<std::uint8_t>(tile)));
  operands.insert(operands.end(), others);
  b_.CreateIntrinsic(id, {}, operands);
}

void Emitter::begin_tiles() {
  constexpr TileShapes shapes;
  std::string_view bytes(reinterpret_cast<const char*>(&shapes), sizeof shapes);
  auto* value = llvm::ConstantDataArray::getString(context_, bytes, false);
  auto* global = new llvm::GlobalVariable(module_, value->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, value, "tile_shapes");
  tile_op(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
}

// Other code need not keep what tiles hold, nor does the system between threads.
void Emitter::end_tiles() { tile_op(llvm::Intrinsic::x86_tilerelease, {}, {}); }

// Rows of a, tile by tile: those of the first 16 rows along k, then those of the next.
void Emitter::pack_tiles(const Matrix& a, const Matrix& tiles, int in_word) {
  const std::int64_t in_line = side * in_word;
  const std::int64_t steps = (a.columns + in_line - 1) / in_line;
  Matrix from = a;
  if (!a.rows_contiguous()) {
    const std::int64_t scratch = scratch_used_;
    from = scratch_matrix(a.dtype, a.rows, a.columns);
    transpose_into(a, from);
    scratch_used_ = scratch;
  }
  std::vector<llvm::Value*> none;
  emit_loop(index(a.rows), 1, none, [&](llvm::Value* m) {
    auto* first = b_.CreateMul(b_.CreateUDiv(m, index(side)), index(steps * side));
    auto* row = b_.CreateAdd(first, b_.CreateURem(m, index(side)));
    for_blocks(a.columns, in_line, false, [&](llvm::Value* k, std::int64_t active) {
      auto* line = load_row(from, m, k, static_cast<int>(in_line), active, from.dtype);
      // Rows of one step lie in one tile.
      auto* step = b_.CreateUDiv(k, index(in_line));
      auto* words = b_.CreateBitCast(line, lanes_type(b_.getInt32Ty(), static_cast<int>(side)));
      store_row(tiles, b_.CreateAdd(row, b_.CreateMul(step, index(side))), index(0), words, side);
    });
  });
}

// Zeros behind the last row of a sliver, up to whole tiles.
void Emitter::fill_up(const Matrix& sliver) {
  const std::int64_t lacking = (side - sliver.rows % side) % side;
  if (lacking == 0) return;
  auto* end = place_of(sliver, index(sliver.rows), index(0));
  auto bytes = static_cast<std::uint64_t>(lacking * sliver.columns * 4);
  b_.CreateMemSet(end, b_.getInt8(0), bytes, llvm::Align(64));
}

// Of the last rows of the slivers, which are no whole tile, those of the one at column n.
Emitter::Matrix Emitter::sliver_tail(const Matrix& tails, llvm::Value* n, std::int64_t width) {
  Matrix slivers = tails;
  slivers.sliver_rows = side;
  return sliver_of(slivers, index(0), n, side, width);
}

void Emitter::copy_tail(const Matrix& sliver, const Matrix& tail) {
  const std::int64_t rest = sliver.rows % side, row_bytes = sliver.columns * 4;
  auto* from = place_of(sliver, index(sliver.rows - rest), index(0));
  b_.CreateMemCpy(tail.data, llvm::Align(64), from, llvm::Align(4),
                  static_cast<std::uint64_t>(rest * row_bytes));
  Matrix filled = tail;
  filled.rows = rest;
  fill_up(filled);
}

// c += left * right, of a strip and a sliver. `tail`: where the sliver's last rows lie, if there
// are some beyond whole tiles.
void Emitter::dot_tiles(const Matrix& left, const Matrix& right, const std::optional<Matrix>& tail,
                        const Matrix& c, bool accumulate) {
  for_blocks(c.columns, 2 * side, false, [&](llvm::Value* n, std::int64_t columns) {
    auto right_part = [&](const Matrix& of) { return part_of(of, index(0), n, of.rows, columns); };
    std::optional<Matrix> tail_part;
    if (tail) tail_part = right_part(*tail);
    dot_tile_block(left, right_part(right), tail_part, part_of(c, index(0), n, c.rows, columns),
                   accumulate);
  });
}

void Emitter::dot_tile_block(const Matrix& left, const Matrix& right,
                             const std::optional<Matrix>& tail, const Matrix& c, bool accumulate) {
  namespace id = llvm::Intrinsic;
  const auto down = static_cast<int>((c.rows + side - 1) / side);
  const auto across = static_cast<int>((c.columns + side - 1) / side);
  const std::int64_t steps = (right.rows + side - 1) / side;
  const std::int64_t whole = tail ? steps - 1 : steps;
  auto* left_stride = index(64);
  auto* right_stride = b_.CreateMul(right.row_stride, index(4));
  auto* sum_stride = b_.CreateMul(c.row_stride, index(4));
  auto product = right.in_word == 2 ? id::x86_tdpbf16ps : id::x86_tdpbssd;
  auto sum_of = [&](int i, int j) { return 2 * i + j; };
  auto rows_of = [&](int i) { return std::min(side, c.rows - i * side); };
  auto columns_of = [&](int j) { return std::min(side, c.columns - j * side); };
  auto is_whole = [&](int i, int j) { return rows_of(i) == side && columns_of(j) == side; };
  auto place_of_sum = [&](int i, int j) { return place_of(c, index(i * side), index(j * side)); };

  for (int i = 0; i < down; ++i)
    for (int j = 0; j < across; ++j) {
      if (accumulate && is_whole(i, j))
        tile_op(id::x86_tileloadd64, {sum_of(i, j)}, {place_of_sum(i, j), sum_stride});
      else
        tile_op(id::x86_tilezero, {sum_of(i, j)}, {});
    }
  // One step of 16 words: right tiles from row `row` of `from`.
  auto turn = [&](llvm::Value* step, const Matrix& from, llvm::Value* row) {
    auto load_left = [&](int i) {
      auto* tile = b_.CreateAdd(step, index(i * steps));
      auto* data = b_.CreateGEP(b_.getInt8Ty(), left.data, b_.CreateMul(tile, index(tile_bytes)));
      tile_op(id::x86_tileloadd64, {first_left + i}, {data, left_stride});
    };
    for (int j = 0; j < across; ++j) {
      auto* data = place_of(from, row, index(j * side));
      tile_op(id::x86_tileloaddt164, {first_right + j}, {data, right_stride});
      for (int i = 0; i < down; ++i) {
        if (j == 0) load_left(i);
        tile_op(product, {sum_of(i, j), first_left + i, first_right + j}, {});
      }
    }
  };
  std::vector<llvm::Value*> none;
  auto turn_of_slivers = [&](llvm::Value* step) {
    turn(step, right, b_.CreateMul(step, index(side)));
  };
  // (A loop has a turn at least.)
  if (whole > 0) emit_loop(index(whole), 1, none, turn_of_slivers);
  if (tail) turn(index(whole), *tail, index(0));

  const std::int64_t scratch = scratch_used_;
  for (int i = 0; i < down; ++i)
    for (int j = 0; j < across; ++j) {
      if (is_whole(i, j)) {
        tile_op(id::x86_tilestored64, {sum_of(i, j)}, {place_of_sum(i, j), sum_stride});
        continue;
      }
      // By way of a whole tile elsewhere.
      Matrix sums = scratch_matrix(c.dtype, side, side);
      tile_op(id::x86_tilestored64, {sum_of(i, j)}, {sums.data, index(64)});
      const int lanes = static_cast<int>(side);
      emit_loop(index(rows_of(i)), 1, none, [&](llvm::Value* r) {
        auto *row = b_.CreateAdd(index(i * side), r), *column = index(j * side);
        auto* sum = load_row(sums, r, index(0), lanes, lanes, c.dtype);
        if (accumulate) sum = plus(load_row(c, row, column, lanes, columns_of(j), c.dtype), sum);
        store_row(c, row, column, sum, columns_of(j));
      });
      scratch_used_ = scratch;
    }
}

}  // namespace tilewright::dsl
