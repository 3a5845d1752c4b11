// Large matrix products.
//
// Beside its multiplications, a product of many rows costs the transport of its operands. So it is
// done in chunks, whose operands are packed in the order in which they are used (Goto and van de
// Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008; the panels and left panels here
// are the packed panels of B and of A there):
//
//   for k, in chunks:                                as many as fill an L1 with a left panel
//     pack b [k chunk, all columns] as panels        of whole vectors; lies in the L2
//     for m, in left panels:                         a few blocks of registers high
//       pack a [left panel, k chunk]                 lies in the L1
//       for each panel, each block of the left panel:  panel and block stream through registers
//         c += a block * panel
//
// A panel is [depth, columns of a block of accumulators] without gaps: the innermost loop reads
// memory in one direction, one cache line after the other, and rows at distances of a power of two
// do not evict each other from the cache. Each element of b is packed once for all rows of a block,
// each of a once for all columns. Packing b takes a tenth of the time of a product of 128 rows,
// unless b is stored in panels already (packed_product.h).
//
// Instructions for vectors of i8 multiply unsigned by signed numbers. So 128 is added to all
// elements of a, and 128 times the sums of b's columns, which are stored after the last row of each
// panel, is subtracted from the result. (Processors with AMX use other chunks: emit_amx_dot.cpp.)
#include <algorithm>

#include "dsl/codegen/host/matrix.h"
#include "dsl/target/packed_product.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t words_of_line = 16;

std::int64_t round_up(std::int64_t x, std::int64_t quantum) {
  return divide_up(x, quantum) * quantum;
}

}  // namespace

Emitter::Matrix Emitter::scratch_matrix(DType dtype, std::int64_t rows, std::int64_t columns) {
  Slot slot = allocate(ir::Type::tile(dtype, {rows, columns}));
  return {slot.data, dtype, rows, columns, index(columns), index(1)};
}

Emitter::Matrix Emitter::part_of(const Matrix& x, llvm::Value* row, llvm::Value* column,
                                 std::int64_t rows, std::int64_t columns) {
  Matrix part = x;
  part.data = place_of(x, row, column);
  part.rows = rows;
  part.columns = columns;
  part.live_rows = nullptr;
  return part;
}

// A right operand that is stored in panels.
Emitter::Matrix Emitter::panels_in_memory(const PanelPlace& place) {
  const ir::Inst& load = *place.block.load;
  const Shape& block = load.get<ir::BlockAccess>().shape;
  const int in_word = place.in_word;
  Position first;
  first.index.assign(block.size(), index(0));
  llvm::Value* data = desc_address(load, 1, block, first).pointer;
  Matrix result{data,
                place.block.in_pairs ? DType::i32 : function_.type(load.results[0]).dtype,
                block[1],
                block[0] * place.width,
                index(place.width),
                index(1),
                in_word};
  result.panel_width = place.width;
  result.panel_rows = place.rows;
  llvm::Value* next = target_.has_tiles && place.block.in_pairs ? next_block(load) : nullptr;
  if (next != nullptr) result.next_block = b_.CreateExactSDiv(next, index(in_word));
  return result;
}

// The packed panel of b that begins with column n, from row k on.
Emitter::Matrix Emitter::panel_of(const Matrix& b, llvm::Value* k, llvm::Value* n,
                                  std::int64_t rows, std::int64_t columns) {
  // All panels before it have n columns together.
  auto* before = b_.CreateAdd(b_.CreateMul(n, index(b.panel_rows)), b_.CreateMul(k, b.row_stride));
  Matrix result = b;
  result.data = gep(b.data, b.dtype, before);
  result.rows = rows;
  result.columns = columns;
  result.panel_width = result.panel_rows = 0;
  result.next_block = nullptr;
  return result;
}

int Emitter::packed_word(const Matrix& a, const Matrix& b, DType sum) const {
  return b.in_panels() ? b.in_word : products_.packed_word(a.dtype, b.dtype, sum, a.columns);
}

void Emitter::packed_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate) {
  const int in_word = packed_word(a, b, c.dtype);
  const PackedProduct how = b.in_panels()
                                ? packed_product_of(target_, in_word, b.panel_width / target_.lanes)
                                : packed_product(target_, in_word, b.columns);
  const std::int64_t height = how.height, width = how.vectors * target_.lanes,
                     left_panel = how.left_panel_rows(), quantum = words_of_line * in_word;
  const bool of_words = in_word != 1, adds_128 = in_word == 4;
  const DType left_dtype = of_words ? a.dtype : c.dtype;
  std::int64_t chunks =
      divide_up(a.columns * left_panel * size_bytes(left_dtype), how.left_panel_bytes());
  std::int64_t depth = std::min(a.columns, round_up(divide_up(a.columns, chunks), quantum));

  const std::int64_t panels = divide_up(b.columns, width);
  auto* left_panels = a.live_rows == nullptr
                          ? index(divide_up(a.rows, left_panel))
                          : b_.CreateUDiv(rounded_up(a.live_rows, left_panel), index(left_panel));
  std::vector<llvm::Value*> none;
  auto rows_of_panel = [&](std::int64_t words) { return words + (adds_128 ? 1 : 0); };
  Matrix right = b, left = scratch_matrix(left_dtype, left_panel, depth);
  if (!b.in_panels()) {
    right = scratch_matrix(of_words ? DType::i32 : c.dtype,
                           panels * rows_of_panel(divide_up(depth, in_word)), width);
    right.in_word = in_word;
  }
  if (depth < a.columns && !accumulate) {
    auto* rows = a.live_rows == nullptr ? index(c.rows) : rounded_up(a.live_rows, height);
    clear(c, rows);
    accumulate = true;
  }
  for_blocks(a.columns, depth, false, [&](llvm::Value* k, std::int64_t chunk) {
    const std::int64_t words = chunk / in_word;
    // Only this chunk of the depth is packed here.
    if (!b.in_panels()) right.panel_rows = rows_of_panel(words);
    auto first_word = b.in_panels() ? b_.CreateUDiv(k, index(in_word)) : index(0);
    auto panel = [&](llvm::Value* n, std::int64_t columns) {
      Matrix result = panel_of(right, first_word, n, words, columns);
      result.starts_sums = adds_128;
      return result;
    };
    if (!b.in_panels())
      for_blocks(b.columns, width, false, [&](llvm::Value* n, std::int64_t columns) {
        pack_panel(part_of(b, k, n, chunk, columns), panel(n, columns));
        if (adds_128) add_start(panel(n, columns));
      });
    auto multiply = [&](llvm::Value* m, std::int64_t rows) {
      Matrix packed = part_of(left, index(0), index(0), rows, chunk);
      Matrix from = part_of(a, m, k, rows, chunk);
      if (a.live_rows != nullptr)
        from.live_rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                  b_.CreateSub(a.live_rows, m), index(rows));
      pack_rows(from, packed, height);
      if (adds_128) flip_signs(packed);
      if (of_words) packed = in_words(packed, in_word);
      for_blocks(b.columns, width, false, [&](llvm::Value* n, std::int64_t columns) {
        auto* left_panel_number = b_.CreateUDiv(m, index(left_panel));
        if (b.in_panels()) {
          auto* next = b_.CreateAdd(first_word, index(words));
          Matrix of = panel_of(b, next, n, words, width);
          prefetch_share(of, index(0), width, words, left_panel_number, left_panels);
        } else {
          auto* first = b_.CreateAdd(next_chunk(b, k, depth), b_.CreateMul(n, b.column_stride));
          prefetch_share(b, first, columns, chunk, left_panel_number, left_panels);
        }
        const std::int64_t parts = parts_of_sums(a, height, columns);
        auto block = [&](llvm::Value* r, std::int64_t high) {
          dot_block_n(part_of(packed, r, index(0), high, words), panel(n, columns),
                      part_of(c, b_.CreateAdd(m, r), n, high, columns), accumulate, false, parts);
        };
        if (from.live_rows == nullptr)
          return for_blocks(rows, even_rows(from, height), false, block);
        emit_loop(from.live_rows, height, none, [&](llvm::Value* r) { block(r, height); });
      });
    };
    if (a.live_rows == nullptr) return for_blocks(a.rows, left_panel, false, multiply);
    emit_loop(a.live_rows, left_panel, none, [&](llvm::Value* m) { multiply(m, left_panel); });
  });
}

// Its first rows.
void Emitter::clear(const Matrix& sums, llvm::Value* rows) {
  auto* bytes = b_.CreateMul(rows, index(sums.columns * size_bytes(sums.dtype)));
  b_.CreateMemSet(sums.data, b_.getInt8(0), bytes, llvm::Align(64));
}

llvm::Value* Emitter::rounded_up(llvm::Value* x, std::int64_t quantum) {
  auto* above = b_.CreateAdd(x, index(quantum - 1));
  return b_.CreateSub(above, b_.CreateURem(above, index(quantum)));
}

// Where the columns that are packed next begin: one chunk further along k; or, after the last
// chunk, in the columns next to this block's, which the same thread is likely to compute.
llvm::Value* Emitter::next_chunk(const Matrix& b, llvm::Value* k, std::int64_t depth) {
  auto* next = b_.CreateAdd(k, index(depth));
  auto* further = b_.CreateMul(next, b.row_stride);
  auto* beside = b_.CreateMul(index(b.columns), b.column_stride);
  return b_.CreateSelect(b_.CreateICmpSLT(next, index(b.rows)), further, beside);
}

// While one chunk is multiplied, the next is prefetched into the outer cache; each left panel
// fetches a share of each panel. `first`: where its columns begin in the next chunk, in elements.
// Prefetching beyond the end of an array is harmless.
void Emitter::prefetch_share(const Matrix& b, llvm::Value* first, std::int64_t columns,
                             std::int64_t depth, llvm::Value* left_panel,
                             llvm::Value* left_panels) {
  const bool along_k = b.columns_contiguous();
  const std::int64_t lines_of = along_k ? columns : depth;  // lines of memory, not of a cache
  const std::int64_t bytes = (along_k ? depth : columns) * size_bytes(b.dtype);
  auto* others = b_.CreateSub(left_panels, index(1));
  auto* share = b_.CreateUDiv(b_.CreateAdd(others, index(lines_of)), left_panels);
  auto* begin = b_.CreateMul(left_panel, share);
  begin = b_.CreateIntrinsic(llvm::Intrinsic::smin, {begin->getType()},
                             {begin, b_.CreateSub(index(lines_of), share)});
  llvm::Value* line_stride = along_k ? b.column_stride : b.row_stride;
  std::vector<llvm::Value*> none;
  emit_loop(share, 1, none, [&](llvm::Value* i) {
    auto* line = b_.CreateAdd(first, b_.CreateMul(b_.CreateAdd(begin, i), line_stride));
    auto* data = gep(b.data, b.dtype, line);
    for (std::int64_t at = 0; at < bytes; at += cache_line) {
      auto* pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), data, static_cast<std::uint64_t>(at));
      prefetch({.pointer = pointer});
    }
  });
}

// Stores a block of memory as panels of pairs, by whole vectors.
void Emitter::store_panels(const ir::Inst& store, bool is_alone) {
  const std::optional<PanelStore> panels = products_.panel_store(store);
  require(panels && is_alone, "[store_desc] ", describe(store.where),
          ": is in panels; that takes a loop nest of its own, which stores a block of an array, "
          "permuted to [panels, depth / 2, width, 2], in elements of 16 bits and whole vectors");
  const auto& [load, from, to] = *panels;
  const ir::Type& type = function_.type(store.operands[1]);
  const std::int64_t width = type.shape[2], depth = 2 * type.shape[1];
  Position first;
  first.index.assign(4, index(0));
  auto* source = desc_address(*load, 1, load->get<ir::BlockAccess>().shape, first).pointer;
  auto* target = desc_address(store, 2, type.shape, first).pointer;
  const Matrix b{source, DType::u16, depth, width, index(from[3]), index(from[2])};
  Matrix panel{target, DType::i32, depth / 2, width, index(width), index(1), 2};
  std::vector<llvm::Value*> none;
  emit_loop(index(type.shape[0]), 1, none, [&](llvm::Value* i) {
    Matrix block = b, panel_here = panel;
    block.data = gep(source, DType::u16, b_.CreateMul(i, index(from[0])));
    panel_here.data = gep(target, DType::u16, b_.CreateMul(i, index(to[0])));
    pack_panel(block, panel_here);
  });
}

void Emitter::pack_panel(const Matrix& b, const Matrix& panel) {
  const int in_word = panel.in_word;
  if (b.columns_contiguous()) {
    transpose_into(panel.of_words() ? in_words(b.transposed(), in_word).transposed() : b, panel);
    return;
  }
  const std::int64_t group = 2 * target_.lanes,
                     paired = in_word == 2 ? b.columns / group * group : 0;
  std::vector<llvm::Value*> none;
  emit_loop(index(panel.rows), 1, none, [&](llvm::Value* k) {
    for (std::int64_t n = 0; n < paired; n += group) pack_pairs(b, panel, k, n);
    for (std::int64_t n = paired; n < b.columns; n += target_.lanes) {
      std::int64_t active = std::min<std::int64_t>(target_.lanes, b.columns - n);
      if (!panel.of_words()) {
        store_row(panel, k, index(n), load_row(b, k, index(n), target_.lanes, active, panel.dtype),
                  active);
        continue;
      }
      llvm::Value* word = nullptr;
      for (int part = 0; part < in_word; ++part) {
        auto* row = b_.CreateAdd(b_.CreateMul(k, index(in_word)), index(part));
        auto* bits = load_row(b, row, index(n), target_.lanes, active, b.dtype);
        auto* wide = b_.CreateZExt(bits, lanes_type(b_.getInt32Ty(), target_.lanes));
        auto* shifted = b_.CreateShl(wide, static_cast<std::uint64_t>(part * 32 / in_word));
        word = word == nullptr ? shifted : b_.CreateOr(word, shifted);
      }
      store_row(panel, k, index(n), word, active);
    }
  });
}

// Row k of a panel of pairs from column n on, two vectors: two rows of b, element by element.
void Emitter::pack_pairs(const Matrix& b, const Matrix& panel, llvm::Value* k, std::int64_t n) {
  const int lanes = target_.lanes;
  auto* even = b_.CreateMul(k, index(2));
  auto row = [&](llvm::Value* r) {
    return load_row(b, r, index(n), 2 * lanes, 2 * lanes, b.dtype);
  };
  auto *x = row(even), *y = row(b_.CreateAdd(even, index(1)));
  for (int half = 0; half < 2; ++half) {
    std::vector<int> order;
    for (int lane = half * lanes; lane < (half + 1) * lanes; ++lane)
      order.insert(order.end(), {lane, 2 * lanes + lane});
    auto* pairs = b_.CreateShuffleVector(x, y, order);
    store_row(panel, k, index(n + half * lanes),
              b_.CreateBitCast(pairs, lanes_type(b_.getInt32Ty(), lanes)), lanes);
  }
}

// Stores the correction for the 128 that is added to the left operand after the last row of a
// panel of i8.
void Emitter::add_start(const Matrix& panel) {
  const int lanes = target_.lanes;
  llvm::Type* type = lanes_type(b_.getInt32Ty(), lanes);
  auto* all_128 = llvm::ConstantInt::get(type, 0x80808080U);
  for (std::int64_t n = 0; n < panel.columns; n += lanes) {
    std::int64_t active = std::min<std::int64_t>(lanes, panel.columns - n);
    std::vector<llvm::Value*> sum{llvm::Constant::getNullValue(type)};
    emit_loop(index(panel.rows), 1, sum, [&](llvm::Value* k) {
      auto* bytes = load_row(panel, k, index(n), lanes, active, DType::i32);
      sum[0] = multiply_add(all_128, bytes, sum[0], panel.in_word);
    });
    store_row(panel, index(panel.rows), index(n), b_.CreateNeg(sum[0]), active);
  }
}

// Adds 128 to all elements of a left panel of i8, which makes them u8.
void Emitter::flip_signs(const Matrix& left_panel) {
  constexpr std::int64_t at_once = 64;
  std::vector<llvm::Value*> none;
  emit_loop(index(left_panel.rows), 1, none, [&](llvm::Value* m) {
    for_blocks(left_panel.columns, at_once, false, [&](llvm::Value* k, std::int64_t active) {
      auto* bytes = load_row(left_panel, m, k, at_once, active, left_panel.dtype);
      auto* sign = llvm::ConstantInt::get(bytes->getType(), 0x80);
      store_row(left_panel, m, k, b_.CreateXor(bytes, sign), active);
    });
  });
}

// Whole blocks of `height` rows; behind the last row that is needed it is packed again.
void Emitter::pack_rows(const Matrix& a, const Matrix& packed, std::int64_t height) {
  if (!a.rows_contiguous()) {
    transpose_into(a, packed);
    return;
  }
  // Whole registers, several at once.
  const std::int64_t lanes =
      target_.lanes * std::max<std::int64_t>(1, 4 / size_bytes(packed.dtype));
  constexpr std::int64_t at_once = 4;
  std::vector<llvm::Value*> none;
  auto* rows = a.live_rows == nullptr ? index(a.rows) : rounded_up(a.live_rows, height);
  emit_loop(rows, 1, none, [&](llvm::Value* m) {
    llvm::Value* from = m;
    if (a.live_rows != nullptr)
      from =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, m, b_.CreateSub(a.live_rows, index(1)));
    for_blocks(a.columns, at_once * lanes, false, [&](llvm::Value* k, std::int64_t columns) {
      for (std::int64_t at = 0; at < columns; at += lanes) {
        auto* first = b_.CreateAdd(k, index(at));
        const std::int64_t active = std::min(lanes, columns - at);
        auto* line = load_row(a, from, first, static_cast<int>(lanes), active, packed.dtype);
        store_row(packed, m, first, line, active);
      }
    });
  });
}

Emitter::Matrix Emitter::transposed_copy(const Matrix& b, DType wanted) {
  Matrix to = scratch_matrix(wanted, b.rows, b.columns);
  transpose_into(b, to);
  return to;
}

void Emitter::transpose_into(const Matrix& b, const Matrix& to) {
  std::int64_t lanes = target_.lanes;
  for_blocks(b.columns, lanes, false, [&](llvm::Value* n, std::int64_t columns) {
    for_blocks(b.rows, lanes, false, [&](llvm::Value* k, std::int64_t rows) {
      transpose_block(b, to, n, k, columns, rows);
    });
  });
}

void Emitter::transpose_lanes(std::vector<llvm::Value*>& rows) {
  const auto lanes = static_cast<int>(rows.size());
  for (int distance = 1; distance < lanes; distance *= 2)
    for (int i = 0; i < lanes; ++i) {
      if ((i & distance) != 0) continue;
      std::vector<int> low, high;
      for (int lane = 0; lane < lanes; ++lane) {
        bool upper = (lane & distance) != 0;
        low.push_back(upper ? lanes + lane - distance : lane);
        high.push_back(upper ? lanes + lane : lane + distance);
      }
      auto &x = rows[static_cast<std::size_t>(i)],
           &y = rows[static_cast<std::size_t>(i + distance)];
      auto* first = b_.CreateShuffleVector(x, y, low);
      y = b_.CreateShuffleVector(x, y, high);
      x = first;
    }
}

// A square block through registers: column n of b is contiguous, row k of the copy is.
void Emitter::transpose_block(const Matrix& b, const Matrix& to, llvm::Value* n, llvm::Value* k,
                              std::int64_t columns, std::int64_t rows) {
  int lanes = target_.lanes;
  Matrix b_rows = b.transposed();
  std::vector<llvm::Value*> v;
  for (int i = 0; i < lanes; ++i) {
    if (i < columns)
      v.push_back(load_row(b_rows, b_.CreateAdd(n, index(i)), k, lanes, rows, to.dtype));
    else
      v.push_back(llvm::Constant::getNullValue(lanes_type(element_type(to.dtype), lanes)));
  }
  transpose_lanes(v);
  for (int i = 0; i < rows; ++i)
    store_row(to, b_.CreateAdd(k, index(i)), n, v[static_cast<std::size_t>(i)], columns);
}

}  // namespace tilewright::dsl
