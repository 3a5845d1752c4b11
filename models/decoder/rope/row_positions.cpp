#include "models/decoder/rope/row_positions.h"

namespace tilewright {
namespace {

// Elements first, first + step, .. of the rotary part of each head.
Tensor elements_of(const Tensor& x, std::int64_t first, std::int64_t end, std::int64_t step) {
  return x.slice(3, first, end, step);
}

}  // namespace

RowPositions::RowPositions(const Tensor& first, std::int64_t rows, const Tensor& text_rows)
    : first(first),
      text_rows(text_rows),
      positions((first.count() == 1 ? first : first.unsqueeze(1)) + arange(0, rows)) {}

RowPositions::RowPositions(const Tensor& first, std::int64_t rows, const RotaryTable& table,
                           const Tensor& text_rows)
    : RowPositions(RowPositions(first, rows, text_rows).with(table)) {}

RowPositions RowPositions::with(const RotaryTable& table) const {
  auto turns = [&](const Tensor& angles) {
    const Tensor rows = embedding(positions, angles);
    return rows.rank() == 2 ? rows : rows.unsqueeze(1);  // the same for all heads of a text
  };
  RowPositions placed = *this;
  placed.pairs = table.pairs;
  placed.cos = turns(table.cos);
  placed.sin = turns(table.sin);
  if (!table.has_long()) return placed;
  Tensor so_far = first + positions.size(-1);
  Tensor is_long = (text_rows.defined() ? maximum(text_rows, so_far) : so_far) > table.short_rows;
  if (is_long.count() > 1) is_long = is_long.reshape({is_long.count(), 1, 1, 1});
  placed.cos = where(is_long, turns(table.long_cos), placed.cos);
  placed.sin = where(is_long, turns(table.long_sin), placed.sin);
  return placed;
}

Tensor rotate(const Tensor& x, const RowPositions& row_positions) {
  const Tensor &cos = row_positions.cos, &sin = row_positions.sin;
  if (!cos.defined()) return x;
  std::int64_t half = cos.size(-1), size = 2 * half;
  bool halves = row_positions.pairs == RopePairs::halves;
  Tensor a = halves ? elements_of(x, 0, half, 1) : elements_of(x, 0, size, 2);
  Tensor b = halves ? elements_of(x, half, size, 1) : elements_of(x, 1, size, 2);
  Tensor first = a * cos - b * sin, second = b * cos + a * sin;
  std::vector<Tensor> parts = {first, second};
  if (!halves)
    parts = {cat({first.unsqueeze(4), second.unsqueeze(4)}, 4)
                 .reshape({x.size(0), x.size(1), x.size(2), size})};
  auto as_x = [&](const Tensor& y) { return y.dtype() == x.dtype() ? y : y.to(x.dtype()); };
  if (size == x.size(3)) return as_x(halves ? cat(parts, 3) : parts[0]);
  for (Tensor& part : parts) part = as_x(part);
  parts.push_back(x.slice(3, size, x.size(3)));
  return cat(parts, 3);
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).permute({0, 2, 1, 3});
}

}  // namespace tilewright
