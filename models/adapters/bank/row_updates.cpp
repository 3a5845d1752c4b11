#include "models/adapters/bank/row_updates.h"

#include <algorithm>
#include <bit>

#include "graph/functions/custom/custom_op.h"
#include "models/layers/invariant_step.h"
#include "runtime/base/error.h"

namespace tilewright::adapters {
namespace {

using dsl::Constexpr;
using dsl::Pointer;
using dsl::Scalar;
using dsl::Tile;
using dsl::Var;

// Rows of x times rows of A, a few of a block in each turn: t [texts, rows, blocks * 16].
void shrink(Pointer x, Pointer slots, Pointer table, Pointer a, Pointer t, Scalar rows, Scalar in,
            Constexpr bm, Constexpr ranks, Constexpr bk, Constexpr programs) {
  const std::int64_t parts = block_ranks / ranks, width = most_blocks * block_ranks;
  const Tile row = dsl::program_id(1) * bm, text = dsl::program_id(2);
  const Tile slot = table + dsl::load(slots + text) * table_columns;
  const dsl::Desc from = dsl::make_desc(x + text * rows * in, {rows, in}, {in, 1});
  const dsl::Desc to = dsl::make_desc(t + text * rows * width, {rows, width}, {width, 1});
  for (Tile turn : dsl::range(dsl::program_id(0), dsl::load(slot) * parts, programs)) {
    const Tile block = turn / parts, skipped = turn % parts * ranks;
    const Tile first = dsl::load(slot + (block * 2 + first_block)) + skipped;
    const Tile count = dsl::load(slot + (block * 2 + (first_block + 1))) - skipped;
    const dsl::Desc factor = dsl::make_desc(a + first * in, {count, in}, {in, 1});
    Var total = dsl::zeros({bm, ranks}, f32);
    for (Tile k : dsl::range(0, in, bk))
      total = dsl::dot(dsl::load(from, {row, k}, {bm, bk}),
                       dsl::trans(dsl::load(factor, {0, k}, {ranks, bk})), total);
    dsl::store(to, {row, block * block_ranks + skipped}, total);
  }
}

// Columns of t behind the last rank of a block are zero, and no rows of B are read for them.
void expand(Pointer t, Pointer slots, Pointer table, Pointer weights, Pointer b, Pointer change,
            Pointer factor, Scalar rows, Scalar out, Constexpr bm, Constexpr bn) {
  constexpr std::int64_t width = most_blocks * block_ranks;
  const Tile column = dsl::program_id(0) * bn, row = dsl::program_id(1) * bm;
  const Tile text = dsl::program_id(2), own = dsl::load(slots + text);
  const Tile slot = table + own * table_columns, weight = weights + own * weight_columns;
  const dsl::Desc from = dsl::make_desc(t + text * rows * width, {rows, width}, {width, 1});
  Var total = dsl::zeros({bm, bn}, f32);
  for (Tile block : dsl::range(0, dsl::load(slot), 1)) {
    const Tile first = dsl::load(slot + (block * 2 + first_block));
    const Tile count = dsl::load(slot + (block * 2 + (first_block + 1)));
    const Tile left = dsl::load(from, {row, block * block_ranks}, {bm, block_ranks}) *
                      dsl::cast(dsl::load(weight + block), f32);
    const dsl::Desc right = dsl::make_desc(b + first * out, {count, out}, {out, 1});
    total = dsl::dot(dsl::cast(left, b.dtype()), dsl::load(right, {0, column}, {block_ranks, bn}),
                     total);
  }
  const Tile at = column + dsl::cast(dsl::arange(0, bn), i64), inside = at < out;
  Var scale = dsl::full({bn}, 1.0, f32), offset = dsl::zeros({bn}, f32);
  for (Tile i : dsl::range(0, dsl::load(slot + 1), 1)) {
    const Tile begin = dsl::load(slot + (i * 2 + first_vector)) * out;
    const Tile is_offset = dsl::load(slot + (i * 2 + (first_vector + 1))) ==
                           static_cast<std::int64_t>(VectorKind::offset);
    const Tile value = dsl::cast(dsl::load(b + (begin + at), inside), f32) *
                       dsl::cast(dsl::load(weight + (i + most_blocks)), f32);
    offset = offset + dsl::where(is_offset, value, 0.0);
    scale = scale + dsl::where(is_offset, 0.0, value);
  }
  dsl::store(dsl::make_desc(change + text * rows * out, {rows, out}, {out, 1}), {row, column},
             dsl::cast(total + dsl::expand_dims(offset, 0), change.dtype()));
  dsl::store(factor + (text * out + at), dsl::cast(scale, factor.dtype()), inside && row == 0);
}

// A tile of at most `most` elements for an axis of that size.
std::int64_t tile_of(std::int64_t size, std::int64_t most) {
  return std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size))));
}

const CustomOp& shrink_op() {
  static const CustomOp op = custom_op(
      "adapter_ranks",
      [](std::span<const TensorType> operands) {
        const std::int64_t texts = operands[1].shape[0];
        return std::vector<TensorType>{
            {f32, {texts, operands[0].shape[1], most_blocks * block_ranks}}};
      },
      TileKernel{dsl::Kernel("adapter_ranks", shrink,
                             {"x", "slots", "table", "a", "t", "rows", "in", "bm", "ranks", "bk",
                              "programs"}),
                 [](const CustomCall& call) {
                   const Shape& x = call.operand(0).shape;
                   const std::int64_t texts = x[0], rows = x[1], in = x[2];
                   // One row has little work, which is divided among threads by its ranks.
                   const bool is_one = rows == 1;
                   const std::int64_t bm = tile_of(rows, 32), programs = is_one ? 4 : 1;
                   const std::int64_t ranks = is_one ? 4 : block_ranks;
                   return TileLaunch{
                       Grid(programs, dsl::cdiv(rows, bm), texts),
                       {rows, in, bm, ranks, tile_of(in, is_one ? 256 : 64), programs}};
                 }});
  return op;
}

const CustomOp& expand_op() {
  static const CustomOp op = custom_op(
      "adapter_change",
      [](std::span<const TensorType> operands) {
        const Shape& t = operands[0].shape;
        const TensorType& b = operands[4];
        return std::vector<TensorType>{{b.dtype, {t[0], t[1], b.shape[1]}},
                                       {b.dtype, {t[0], 1, b.shape[1]}}};
      },
      TileKernel{dsl::Kernel("adapter_change", expand,
                             {"t", "slots", "table", "weights", "b", "change", "factor", "rows",
                              "out", "bm", "bn"}),
                 [](const CustomCall& call) {
                   const Shape& change = call.result(0).shape;
                   const std::int64_t texts = change[0], rows = change[1], out = change[2];
                   const std::int64_t bm = tile_of(rows, 32),
                                      bn = tile_of(out, rows == 1 ? 256 : 128);
                   return TileLaunch{Grid(dsl::cdiv(out, bn), dsl::cdiv(rows, bm), texts),
                                     {rows, out, bm, bn}};
                 }});
  return op;
}

}  // namespace

Tensor with_row_updates(const Tensor& x, const Tensor& y, const Tensor& slots,
                        const LayerPool& pool) {
  const std::int64_t texts = slots.size(0), in = x.size(-1), out = y.size(-1);
  const std::int64_t all = x.count() / in;
  require(all % texts == 0, "[adapters] ", all, " rows of a layer for ", texts,
          " texts that have adapters; there must be as many of each text");
  const std::int64_t rows = all / texts;
  if (texts == 1 && rows > 1 && is_invariant_step(texts, rows))  // as one row of each of several
    return with_row_updates(x, y, slots.expand({rows}).contiguous(), pool);
  const Tensor of_texts = x.reshape({texts, rows, in});
  const DType dtype = pool.a.dtype();
  const Tensor t = shrink_op()(of_texts.dtype() == dtype ? of_texts : of_texts.to(dtype), slots,
                               pool.table, pool.a);
  const std::vector<Tensor> found = expand_op().all({t, slots, pool.table, pool.weights, pool.b});
  auto as_y = [&](const Tensor& part) { return dtype == y.dtype() ? part : part.to(y.dtype()); };
  const Shape wide = {texts, rows, out};
  const Tensor products = y.shape() == wide ? y : y.reshape(wide);
  const Tensor changed = products * as_y(found[1]) + as_y(found[0]);
  return y.shape() == wide ? changed : changed.reshape(y.shape());
}

}  // namespace tilewright::adapters
