// Blocks of a product by AMX: registers ("tiles") of 16 rows of 64 bytes.
//
// One instruction multiplies a tile of the left operand, 16 rows of 16 words, by one of the right,
// 16 words of 16 columns, each a row, and adds the products to a tile of sums, 16 rows of 16. A
// word is two neighbours of bf16 or four of i8. There are eight tiles. Four are sums, two by two,
// so that four tiles that are loaded make four products:
//
//               right 0   right 1      each [16 words, 16 columns], from the panel, in the L1
//     left 0     sum 0     sum 1
//     left 1     sum 2     sum 3       left: [16 rows, 16 words], from the L2
//
// The whole left operand is packed first, or as much of its depth as the L2 holds, tile by tile,
// each a kilobyte without gaps. Then, for each panel of the right one:
//
//   for k, in chunks of the panel:                   that stay in the L1
//     for m, in left panels of 32 rows:              they go by: read with the hint that they are
//       sums += left panel * panel chunk             not wanted in the L1
//
// The sums of a panel are so few that they stay in a near cache from chunk to chunk, and are
// written to memory once. Meanwhile the next panel is prefetched into the L2, a few lines a step.
// A left operand that is the same in all iterations of a loop is packed once, before the loop.
//
// Along the inner axis both operands are padded with zeros to whole tiles. Missing rows and columns
// hold arbitrary values, and their results are not stored.
//
// Tile registers are assigned here, not by LLVM, whose allocator would configure them again
// wherever it sees fit. All have one shape, which is configured once a product.
#include <algorithm>

#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/host/amx/amx_tiles.h"
#include "dsl/codegen/host/matrix.h"
#include "dsl/codegen/host/word_instructions.h"
#include "dsl/ir/rewrite.h"
#include "dsl/target/packed_product.h"
#include "runtime/base/divide_up.h"

namespace tilewright::dsl {

using ir::Value;

namespace {

constexpr std::int64_t side = tile_side;
constexpr int first_left = 4, first_right = 6;  // tiles; 0 to 3 are sums
constexpr std::int64_t left_panel_rows = 2 * side, block_columns = 2 * side;
constexpr std::int64_t chunk_steps = 16;  // of a panel, 32 KB: most of an L1
constexpr std::int64_t most_left_bytes = PackedProduct::most_tiled_bytes;
constexpr std::int64_t most_fetched = 8;  // lines a step

// The operand of the instruction that configures tiles.
struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

std::int64_t round_up(std::int64_t x, std::int64_t quantum) {
  return divide_up(x, quantum) * quantum;
}

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

// Afterwards neither other code nor the system, when it switches threads, has to save the tiles.
void Emitter::end_tiles() { tile_op(llvm::Intrinsic::x86_tilerelease, {}, {}); }

std::int64_t Emitter::steps_of(const TiledLeft& left) {
  return divide_up(left.depth, side * left.in_word);
}

Emitter::TiledLeft Emitter::allocate_left(std::int64_t rows, std::int64_t depth, int in_word) {
  TiledLeft result{nullptr, rows, depth, in_word, nullptr};
  result.tiles =
      scratch_matrix(DType::i32, round_up(rows, left_panel_rows) * steps_of(result), side).data;
  return result;
}

// Rows in scratch memory that are whole tiles, and not so far apart that the rows of one evict each
// other from the cache, are read where they lie.
std::optional<Emitter::TiledLeft> Emitter::tiles_in_place(const Matrix& a, int in_word) const {
  constexpr std::int64_t most_row_bytes = 512;
  const std::int64_t row_bytes = a.columns * size_bytes(a.dtype);
  const bool is_whole = a.rows % left_panel_rows == 0 && a.columns % (side * in_word) == 0;
  if (!a.in_scratch || !a.rows_contiguous() || !is_whole || row_bytes > most_row_bytes)
    return std::nullopt;
  return TiledLeft{a.data,      a.rows,    a.columns,        in_word,
                   a.live_rows, row_bytes, side * row_bytes, 64};
}

// Left panels of 32 rows, each tile by tile along k, two of 16 rows at a time.
void Emitter::pack_tiles(const Matrix& a, const TiledLeft& left) {
  if (a.rows_contiguous()) return pack_tiles_of_rows(a, index(0), left);
  const std::int64_t scratch = scratch_used_;
  Matrix turned = scratch_matrix(a.dtype, std::min(a.rows, left_panel_rows), a.columns);
  for_blocks(a.rows, left_panel_rows, false, [&](llvm::Value* m, std::int64_t rows) {
    Matrix left_panel = part_of(turned, index(0), index(0), rows, a.columns);
    transpose_into(part_of(a, m, index(0), rows, a.columns), left_panel);
    pack_tiles_of_rows(left_panel, m, left);
  });
  scratch_used_ = scratch;
}

// Those from row `first` on, where a left panel begins.
void Emitter::pack_tiles_of_rows(const Matrix& a, llvm::Value* first, const TiledLeft& left) {
  constexpr std::int64_t at_once = 4;
  const std::int64_t in_line = side * left.in_word, steps = steps_of(left);
  const Matrix lines{left.tiles, DType::i32,  round_up(left.rows, left_panel_rows) * steps,
                     side,       index(side), index(1)};
  std::vector<llvm::Value*> none;
  auto* rows = a.live_rows == nullptr ? index(a.rows) : a.live_rows;
  emit_loop(rows, 1, none, [&](llvm::Value* r) {
    auto* m = b_.CreateAdd(first, r);
    auto* left_panel =
        b_.CreateMul(b_.CreateUDiv(m, index(left_panel_rows)), index(steps * left_panel_rows));
    auto* row = b_.CreateAdd(left_panel, b_.CreateURem(m, index(left_panel_rows)));
    for_blocks(a.columns, at_once * in_line, false, [&](llvm::Value* k, std::int64_t columns) {
      for (std::int64_t at = 0; at < columns; at += in_line) {
        auto* from = b_.CreateAdd(k, index(at));
        auto* line = load_row(a, r, from, static_cast<int>(in_line),
                              std::min(in_line, columns - at), a.dtype);
        // Rows of one step lie in two tiles, one after the other.
        auto* step = b_.CreateMul(b_.CreateUDiv(from, index(in_line)), index(left_panel_rows));
        auto* words = b_.CreateBitCast(line, lanes_type(b_.getInt32Ty(), static_cast<int>(side)));
        store_row(lines, b_.CreateAdd(row, step), index(0), words, side);
      }
    });
  });
}

// Packs the left operands of products in the loop's body that are marked as hoisted. Returns these
// values, so that they can be forgotten after the loop.
std::vector<Value> Emitter::pack_shared_lefts(const Step& loop) {
  const std::vector<Value> outside = ir::free_values(loop.inst->bodies[0]);
  std::vector<Value> packed;
  for (const Step& step : loop.bodies[0]) {
    if (step.kind != StepKind::dot || !step.inst->schedule.hoisted) continue;
    const Value value = step.inst->operands[0];
    bool is_outside = std::ranges::find(outside, value) != outside.end();
    if (tiled_lefts_.contains(value) || !is_outside || !products_.is_tiled(*step.inst)) continue;
    const ir::Type& type = function_.type(value);
    TiledLeft left = allocate_left(type.shape[0], type.shape[1], products_.tiled_word(*step.inst));
    const std::int64_t scratch = scratch_used_;
    const Matrix a = left_operand(*step.inst);
    left.live_rows = a.live_rows;
    pack_tiles(a, left);
    scratch_used_ = scratch;
    tiled_lefts_.emplace(value, left);
    packed.push_back(value);
  }
  return packed;
}

// Pads a panel with rows of zeros to whole tiles.
void Emitter::fill_up(const Matrix& panel) {
  const std::int64_t lacking = (side - panel.rows % side) % side;
  if (lacking == 0) return;
  auto* end = place_of(panel, index(panel.rows), index(0));
  auto bytes = static_cast<std::uint64_t>(lacking * panel.columns * 4);
  b_.CreateMemSet(end, b_.getInt8(0), bytes, llvm::Align(64));
}

void Emitter::copy_tail(const Matrix& panel, const Matrix& tail) {
  const std::int64_t rest = panel.rows % side, row_bytes = panel.columns * 4;
  auto* from = place_of(panel, index(panel.rows - rest), index(0));
  b_.CreateMemCpy(tail.data, llvm::Align(64), from, llvm::Align(4),
                  static_cast<std::uint64_t>(rest * row_bytes));
  Matrix filled = tail;
  filled.rows = rest;
  fill_up(filled);
}

void Emitter::tiled_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  const int in_word = packed_word(a, b, c.dtype);
  if (auto left = tiles_in_place(a, in_word)) return dot_panels(*left, b, index(0), c, accumulate);
  const std::int64_t bytes = a.columns * round_up(a.rows, left_panel_rows) * size_bytes(a.dtype);
  const std::int64_t depth = std::min(
      a.columns, round_up(divide_up(a.columns, divide_up(bytes, most_left_bytes)), side * in_word));
  TiledLeft all = allocate_left(a.rows, depth, in_word);
  all.live_rows = a.live_rows;
  auto multiply = [&](llvm::Value* k, std::int64_t chunk, bool adds) {
    TiledLeft left = all;
    left.depth = chunk;
    Matrix part = part_of(a, index(0), k, a.rows, chunk);
    part.live_rows = a.live_rows;
    pack_tiles(part, left);
    dot_panels(left, b, k, c, adds);
  };
  multiply(index(0), depth, accumulate);
  for_blocks(a.columns - depth, depth, false, [&](llvm::Value* k, std::int64_t chunk) {
    multiply(b_.CreateAdd(k, index(depth)), chunk, true);
  });
}

// c = left * the rows of b from k on, or is added to.
void Emitter::dot_panels(const TiledLeft& left, const Matrix& b, llvm::Value* k, const Matrix& c,
                         bool accumulate) {
  const std::int64_t scratch = scratch_used_, in_word = left.in_word, words = left.depth / in_word;
  const std::int64_t width = b.in_panels() ? b.panel_width : block_columns;
  auto* first_word = b_.CreateUDiv(k, index(in_word));
  std::optional<Matrix> packed, tail;
  if (!b.in_panels()) {
    packed = scratch_matrix(DType::i32, round_up(words, side), width);
    packed->in_word = left.in_word;
    packed->rows = words;
  } else if (words % side != 0) {
    tail = scratch_matrix(DType::i32, side, width);
  }
  Matrix sums = c;
  if (steps_of(left) > chunk_steps)
    sums = scratch_matrix(c.dtype, round_up(c.rows, left_panel_rows), block_columns);
  begin_tiles();
  for_blocks(b.columns, width, false, [&](llvm::Value* n, std::int64_t columns) {
    Matrix panel = packed ? *packed : panel_of(b, first_word, n, words, width);
    if (packed) {
      pack_panel(part_of(b, k, n, left.depth, columns),
                 part_of(panel, index(0), index(0), words, columns));
      fill_up(panel);
    } else if (tail) {
      copy_tail(panel, *tail);
    }
    TileFetch fetch = next_panel(b, k, n, width, left.in_word);
    for_blocks(columns, block_columns, false, [&](llvm::Value* j, std::int64_t part) {
      TileBlock block{left,
                      part_of(panel, index(0), j, words, part),
                      {},
                      index(0),
                      0,
                      sums,
                      part_of(c, index(0), b_.CreateAdd(n, j), c.rows, part),
                      true,
                      true,
                      accumulate};
      if (tail) block.tail = part_of(*tail, index(0), j, side, part);
      fetch.iterations = divide_up(columns, block_columns);
      fetch.iteration = b_.CreateUDiv(j, index(block_columns));
      dot_panel(left, block, fetch);
    });
  });
  end_tiles();
  scratch_used_ = scratch;
}

// The panel after the one at column n: in this block, or the first one of the block that the
// loop's next iteration reads, or none.
Emitter::TileFetch Emitter::next_panel(const Matrix& b, llvm::Value* k, llvm::Value* n,
                                       std::int64_t width, int in_word) {
  if (b.columns <= width && b.next_block == nullptr) return {};
  auto begin = [&](llvm::Value* column) {
    return b.in_panels() ? panel_of(b, b_.CreateUDiv(k, index(in_word)), column, 1, width).data
                         : place_of(b, k, column);
  };
  auto* after = b_.CreateAdd(n, index(width));
  auto* last = b.next_block == nullptr ? begin(n) : gep(begin(index(0)), b.dtype, b.next_block);
  TileFetch fetch;
  fetch.data = b_.CreateSelect(b_.CreateICmpSLT(after, index(b.columns)), begin(after), last);
  const std::int64_t bytes = size_bytes(b.dtype);
  if (b.in_panels()) {
    fetch.lines = side * width * 4 / cache_line;
    fetch.line = index(cache_line);
    fetch.step = index(fetch.lines * cache_line);
  } else if (b.rows_contiguous()) {
    fetch.lines = side * in_word;
    fetch.line = b_.CreateMul(b.row_stride, index(bytes));
    fetch.step = b_.CreateMul(fetch.line, index(fetch.lines));
  } else {
    fetch.lines = width;
    fetch.line = b_.CreateMul(b.column_stride, index(bytes));
    fetch.step = b_.CreateMul(b.row_stride, index(side * in_word * bytes));
  }
  return fetch;
}

// Multiplies all left panels by a panel, or by half of a wide one, chunk by chunk.
void Emitter::dot_panel(const TiledLeft& left, const TileBlock& all, const TileFetch& fetch) {
  const std::int64_t steps = steps_of(left);
  const std::int64_t of_chunk = divide_up(steps, divide_up(steps, chunk_steps));
  const std::int64_t last = (steps - 1) / of_chunk * of_chunk;
  auto chunk = [&](llvm::Value* first, std::int64_t count, bool begins, bool ends) {
    auto multiply = [&](llvm::Value* m, std::int64_t rows) {
      TileBlock block = all;
      // (So many bytes of a left panel are a row's, whether its lines lie together or not.)
      auto* before = b_.CreateMul(m, index(steps * tile_line_bytes));
      block.left.tiles = b_.CreateGEP(b_.getInt8Ty(), left.tiles, before);
      block.first = first;
      block.steps = count;
      if (!ends) block.tail.reset();
      block.result = part_of(all.result, m, index(0), rows, all.result.columns);
      block.sums = part_of(all.sums, m, index(0), rows, all.sums.columns);
      block.begins = begins;
      block.ends = ends;
      TileFetch share = fetch;
      const std::int64_t left_panels = divide_up(left.rows, left_panel_rows);
      share.iterations = fetch.iterations * left_panels;
      share.iteration = b_.CreateAdd(b_.CreateMul(fetch.iteration, index(left_panels)),
                                     b_.CreateUDiv(m, index(left_panel_rows)));
      dot_tile_block(block, share);
    };
    if (left.live_rows == nullptr) return for_blocks(left.rows, left_panel_rows, false, multiply);
    std::vector<llvm::Value*> none;
    emit_loop(left.live_rows, left_panel_rows, none,
              [&](llvm::Value* m) { multiply(m, left_panel_rows); });
  };
  if (last == 0) return chunk(index(0), steps, true, true);
  chunk(index(0), of_chunk, true, false);
  std::vector<llvm::Value*> none;
  if (last > of_chunk)
    emit_loop(index(last / of_chunk - 1), 1, none, [&](llvm::Value* i) {
      chunk(b_.CreateMul(b_.CreateAdd(i, index(1)), index(of_chunk)), of_chunk, false, false);
    });
  chunk(index(last), steps - last, false, true);
}

void Emitter::fetch_lines(const TileFetch& fetch, llvm::Value* step) {
  if (fetch.data == nullptr) return;
  const std::int64_t share = divide_up(fetch.lines, fetch.iterations);
  auto* first = b_.CreateAdd(b_.CreateMul(step, fetch.step),
                             b_.CreateMul(b_.CreateMul(fetch.iteration, index(share)), fetch.line));
  for (std::int64_t i = 0; i < std::min(share, most_fetched); ++i) {
    auto* at = b_.CreateAdd(first, b_.CreateMul(index(i), fetch.line));
    prefetch({.pointer = b_.CreateGEP(b_.getInt8Ty(), fetch.data, at)});
  }
}

void Emitter::dot_tile_block(const TileBlock& block, const TileFetch& fetch) {
  namespace id = llvm::Intrinsic;
  const Matrix& c = block.result;
  const auto down = static_cast<int>(divide_up(c.rows, side));
  const auto across = static_cast<int>(divide_up(c.columns, side));
  auto product = word_instructions(block.right.in_word).of_tiles;
  auto is_whole = [&](int i, int j) {
    return c.rows - i * side >= side && c.columns - j * side >= side;
  };
  auto sum_of = [&](int i, int j) { return across * i + j; };
  auto move = [&](id::ID instruction, const Matrix& with, int i, int j) {
    tile_op(instruction, {sum_of(i, j)},
            {place_of(with, index(i * side), index(j * side)),
             b_.CreateMul(with.row_stride, index(4))});
  };
  for (int i = 0; i < down; ++i)
    for (int j = 0; j < across; ++j) {
      if (!block.begins)
        move(id::x86_tileloadd64, block.sums, i, j);
      else if (block.accumulate && is_whole(i, j))
        move(id::x86_tileloadd64, c, i, j);
      else
        tile_op(id::x86_tilezero, {sum_of(i, j)}, {});
    }
  // One step of 16 words: right tiles from row `row` of `from`.
  auto iteration = [&](llvm::Value* step, const Matrix& from, llvm::Value* row) {
    auto* right_stride = b_.CreateMul(from.row_stride, index(4));
    auto* left = b_.CreateGEP(b_.getInt8Ty(), block.left.tiles,
                              b_.CreateMul(step, index(block.left.step_bytes)));
    auto load_right = [&](int j) {
      tile_op(id::x86_tileloadd64, {first_right + j},
              {place_of(from, row, index(j * side)), right_stride});
    };
    fetch_lines(fetch, step);
    for (int i = 0; i < down; ++i) {
      if (i == 0) load_right(0);
      auto* tile = b_.CreateGEP(b_.getInt8Ty(), left, index(i * block.left.tile_bytes));
      const int at = first_left + i % 2;
      tile_op(id::x86_tileloaddt164, {at}, {tile, index(block.left.row_bytes)});
      for (int j = 0; j < across; ++j) {
        if (i == 0 && j > 0) load_right(j);
        tile_op(product, {sum_of(i, j), at, first_right + j}, {});
      }
    }
  };
  std::vector<llvm::Value*> none;
  const std::int64_t whole = block.steps - (block.tail ? 1 : 0);
  // (A loop has an iteration at least.)
  if (whole > 0)
    emit_loop(index(whole), 1, none, [&](llvm::Value* i) {
      auto* step = b_.CreateAdd(block.first, i);
      iteration(step, block.right, b_.CreateMul(step, index(side)));
    });
  if (block.tail) iteration(b_.CreateAdd(block.first, index(whole)), *block.tail, index(0));

  for (int i = 0; i < down; ++i)
    for (int j = 0; j < across; ++j) {
      if (!block.ends)
        move(id::x86_tilestored64, block.sums, i, j);
      else if (is_whole(i, j))
        move(id::x86_tilestored64, c, i, j);
      else
        store_part_of_tile(block, i, j, sum_of(i, j));
    }
}

// Stores a part of a tile by way of a whole tile in scratch memory.
void Emitter::store_part_of_tile(const TileBlock& block, int i, int j, int tile) {
  const Matrix& c = block.result;
  const std::int64_t scratch = scratch_used_, columns = std::min(side, c.columns - j * side);
  Matrix sums = scratch_matrix(c.dtype, side, side);
  tile_op(llvm::Intrinsic::x86_tilestored64, {tile}, {sums.data, index(64)});
  const int lanes = static_cast<int>(side);
  std::vector<llvm::Value*> none;
  emit_loop(index(std::min(side, c.rows - i * side)), 1, none, [&](llvm::Value* r) {
    llvm::Value *row = b_.CreateAdd(index(i * side), r), *column = index(j * side);
    auto* sum = load_row(sums, r, index(0), lanes, lanes, c.dtype);
    if (block.accumulate) sum = plus(load_row(c, row, column, lanes, columns, c.dtype), sum);
    store_row(c, row, column, sum, columns);
  });
  scratch_used_ = scratch;
}

}  // namespace tilewright::dsl
