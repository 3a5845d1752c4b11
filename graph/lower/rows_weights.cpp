// A product's second operand: a block of it from memory, or computed from other memory, in
// registers, by the pointwise tasks that make it.
//
// Its sources may repeat along the inner axis: a scale for each 64 weights, a byte for two of them
// that are 16 columns apart. So the inner axis is cut into digits in which every chunk of memory
// has one stride, and tiles have an axis for each: what repeats is loaded once and broadcast. With
// groups of 64, 4 bits in blocks of 32 and a chunk of 512:
//
//   bytes   [columns, 8, 2, 1, 16]      shifts [1, 1, 1, 2, 1]      scales [columns, 8, 1, 1, 1]
//   weights [columns, 8, 2, 2, 16]  ->  [columns, 512]
#include <algorithm>

#include "graph/lower/rows_program.h"
#include "graph/regions/region_facts.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

struct RowsProgram::WeightBlock {
  RowDigits digits;
  // The axes of tiles that are digits, the outermost first, and the axis that is columns.
  int first_digit, column_axis;
  Operand column, digit;  // where the block begins; inner digits begin at 0
  Shape shape;            // of all axes
  Shape whole;            // of all that there is in memory
  Tiles made;
  bool is_whole_operand = false;  // what is looked up is all that the operand is made of
};

// How a piece of memory that a block is made of lies along the axes of its tiles. Axes along which
// memory is the same everywhere have one element.
struct RowsProgram::WeightAxes {
  std::vector<std::int64_t> strides;           // of all axes
  Shape spread, loaded;                        // of all axes, and of those that memory has
  std::vector<Operand> offsets, sizes, steps;  // of the latter

  Tile load(const Tile& base, ir::CachePolicy cache) const {
    if (loaded.empty()) return dsl::load(base);
    Tile tile = dsl::load(dsl::make_desc(base, sizes, steps), offsets, loaded, cache);
    return loaded == spread ? tile : dsl::reshape(tile, spread);
  }
};

RowsProgram::WeightAxes RowsProgram::axes_of(const IndexMap& columns, const IndexMap& inner,
                                             const WeightBlock& block) {
  WeightAxes axes{block.digits.strides(inner), Shape(block.shape.size(), 1), {}, {}, {}, {}};
  if (axes.strides.empty()) axes.strides = {0};
  std::ranges::reverse(axes.strides);
  axes.strides.insert(axes.strides.begin() + block.column_axis, stride_of(columns));
  for (int axis = 0; axis < block.shape.rank(); ++axis) {
    std::int64_t stride = axes.strides[static_cast<std::size_t>(axis)];
    if (stride == 0 || block.whole[axis] == 1) continue;
    axes.spread[axis] = block.shape[axis];
    axes.loaded.push_back(block.shape[axis]);
    axes.sizes.emplace_back(block.whole[axis]);
    axes.steps.emplace_back(stride);
    axes.offsets.push_back(axis == block.column_axis   ? block.column
                           : axis == block.first_digit ? block.digit
                                                       : Operand(0));
  }
  return axes;
}

bool RowsProgram::weights_lie_along_depth(const Task& product) const {
  const StridedView& view = product.operands[1].view;
  return view.shape[-1] == 1 ||
         stride_of(*compose(index_map(view), *weight_table(product).inner)) == 1;
}

Tile RowsProgram::weights(std::size_t slot, const Columns& along, const Columns& columns,
                          bool along_depth) {
  return producer(task(slot).operands[1]) ? computed_weights(slot, along, columns, along_depth)
                                          : loaded_weights(slot, along, columns, along_depth);
}

// A block of panels, seen as a matrix.
Tile RowsProgram::packed_weights(std::size_t slot, const Columns& along, const Columns& columns) {
  const TaskOperand& weight = task(slot).operands[1];
  const Storage& storage = list_.storages[weight.storage];
  const std::int64_t width = storage.panels.width, depth = weight.view.shape[-2];
  const std::int64_t block_depth = width_of(depth, along),
                     block_columns = width_of(weight.view.shape[-1], columns);
  const std::int64_t count = storage.panels.count(weight.view.shape[-1]);
  check(block_columns % width == 0, "a block of columns cuts a panel");
  const bool moves = columns.part == Part::block && panel_.defined();
  const Operand panel = columns.part == Part::chunk ? Operand(columns.start / width)
                        : moves                     ? Operand(panel_)
                                                    : Operand(0);
  const Operand first = column(along);
  const Tile& base = parameters_.pointer(weight.storage);
  const std::int64_t panels = block_columns / width;
  Tile block;
  if (storage.panels.in_pairs) {
    check(block_depth % 2 == 0, "a piece of the inner axis cuts a pair");
    Operand pair = first.is_number() ? first : Operand(first.tile() / 2);
    block = dsl::load(
        dsl::make_desc(base, {count, depth / 2, width, 2}, {depth * width, 2 * width, 2, 1}),
        {panel, pair, 0, 0}, {panels, block_depth / 2, width, 2});
    block = dsl::permute(block, {1, 3, 0, 2});
  } else {
    block = dsl::load(dsl::make_desc(base, {count, depth, width}, {depth * width, width, 1}),
                      {panel, first, 0}, {panels, block_depth, width});
    block = dsl::permute(block, {1, 0, 2});
  }
  return dsl::reshape(block, {block_depth, block_columns});
}

Tile RowsProgram::loaded_weights(std::size_t slot, const Columns& along, const Columns& columns,
                                 bool along_depth) {
  const TaskOperand& weight = task(slot).operands[1];
  if (list_.storages[weight.storage].kind == StorageKind::packed) {
    Tile matrix = packed_weights(slot, along, columns);
    return along_depth ? dsl::trans(matrix) : matrix;
  }
  Table table = weight_table(task(slot));
  TableAccess access = *compose(weight.view, table.place);
  std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  check(!varies_by_row(strides), "a product's second operand differs between rows of a block");
  std::int64_t depth = weight.view.shape[-2], width = weight.view.shape[-1];
  Matrix matrix{parameters_.pointer(weight.storage) + outer_offset(access.offset, strides),
                depth,
                width,
                stride_of(*compose(index_map(weight.view), *table.inner)),
                stride_of(access.columns),
                blocks_.coalesces};
  Shape block{width_of(depth, along), width_of(width, columns)};
  ir::CachePolicy cache = weight_policy(weight, strides);
  if (!along_depth) return matrix.load(column(along), column(columns), block, cache);
  std::swap(matrix.rows, matrix.columns);
  std::swap(matrix.row_stride, matrix.column_stride);
  if (width == 1) matrix.row_stride = depth;
  return matrix.load(column(columns), column(along), {block[1], block[0]}, cache);
}

// On a GPU, what one program reads and no other should leave the cache before what is shared. A
// value that this graph made may be read again soon.
ir::CachePolicy RowsProgram::weight_policy(const TaskOperand& operand,
                                           const std::vector<std::int64_t>& strides) const {
  bool once = target_.is_gpu() && !row_.defined() &&
              list_.storages[operand.storage].kind != StorageKind::result;
  for (std::size_t i = 0; i < digits_.size(); ++i)
    once = once && (i == blocks_.digit || digits_[i] == 1 || strides[i] != 0);
  return once ? ir::CachePolicy::evict_first : ir::CachePolicy::normal;
}

Tile RowsProgram::computed_weights(std::size_t slot, const Columns& along, const Columns& columns,
                                   bool along_depth) {
  const Task& t = task(slot);
  const Shape& all = t.operands[1].view.shape;
  std::int64_t depth = width_of(all[-2], along), width = width_of(all[-1], columns);
  std::int64_t quantum = depth_quantum(list_, region_, slot);
  check(depth % quantum == 0, "a piece of the inner axis cuts a digit of it");
  WeightBlock block{*inner_digits(list_, region_, slot),
                    along_depth ? 1 : 0,
                    0,
                    column(columns),
                    Operand(0),
                    {},
                    {},
                    Tiles(region_.tasks.size())};
  if (along.part == Part::chunk) block.digit = quantum == 1 ? along.start : along.start / quantum;
  std::vector<std::int64_t> sizes = block.digits.sizes();
  if (sizes.empty()) sizes = {1};
  block.whole = Shape(sizes.rbegin(), sizes.rend());
  block.shape = block.whole;
  block.shape[0] = depth / quantum;
  if (!along_depth) block.column_axis = block.shape.rank();
  block.whole.insert(block.whole.begin() + block.column_axis, all[-1]);
  block.shape.insert(block.shape.begin() + block.column_axis, width);

  const std::size_t last = *producer(t.operands[1]);
  block.is_whole_operand = task(last).kind == TaskKind::gather;
  Tile made = weight_value(last, block);
  if (made.shape().empty()) made = dsl::splat(made, block.shape);
  if (made.shape() != block.shape) made = dsl::broadcast_to(made, block.shape);
  Shape flat = along_depth ? Shape{width, depth} : Shape{depth, width};
  if (made.shape() != flat) made = dsl::reshape(made, flat);
  // A value computed beyond the edge may be NaN.
  if (along.part != Part::chunk || all[-2] % depth == 0) return made;
  Tile at = dsl::reshape(dsl::arange(0, depth), along_depth ? Shape{1, depth} : Shape{depth, 1});
  Tile left = dsl::cast(dsl::minimum(all[-2] - along.start, depth), DType::i32);
  return dsl::where(at < left, made, dsl::constant(ir::Scalar::of_integer(made.dtype(), 0)));
}

Tile RowsProgram::weight_value(std::size_t slot, WeightBlock& block) {
  Tile& made = block.made[slot];
  if (made.defined()) return made;
  const Task& t = task(slot);
  if (t.kind == TaskKind::gather) return made = looked_up_weights(slot, block);
  std::vector<Operand> operands;
  for (const TaskOperand& operand : t.operands) {
    if (operand.number)
      operands.push_back(dsl::constant(*operand.number));
    else if (auto p = producer(operand))
      operands.push_back(weight_value(*p, block));
    else
      operands.push_back(weight_load(operand, region_.tables[slot], block));
  }
  return made = apply_pointwise(t, operands);
}

RowsProgram::LookedUpRow RowsProgram::looked_up_row(std::size_t slot) {
  const Task& t = task(slot);
  const TaskOperand& number = t.operands[1];
  const TableAccess which = *compose(number.view, operand_table(t, 1, region_.tables[slot])->place);
  const std::vector<std::int64_t> strides = region_.digits.strides(which.rows);
  check(!varies_by_row(strides), "rows of a block look up weights of their own");
  const Tile read =
      dsl::load(parameters_.pointer(number.storage) + outer_offset(which.offset, strides));
  const Tile row = read.dtype() == DType::i64 ? read : dsl::cast(read, DType::i64);
  const std::int64_t last = t.operands[0].view.shape[0] - 1;
  return {dsl::minimum(dsl::maximum(row, 0), last), (row >= 0) & (row <= last)};
}

// A part of the row of the table that a number in memory names. A row outside is zeros: of what is
// multiplied as it lies, the product's result is (masked_product).
Tile RowsProgram::looked_up_weights(std::size_t slot, const WeightBlock& block) {
  const Table& seen = region_.tables[slot];
  const TaskOperand& table = task(slot).operands[0];
  const LookedUpRow row = looked_up_row(slot);
  const TableAccess access = *compose(table.view, TableAccess{IndexMap(), seen.place.columns, 0});
  const Tile base = parameters_.pointer(table.storage) + Offset(access.offset) +
                    row.number * table.view.strides[0];
  const IndexMap inner = *compose(index_map(table.view), *seen.inner);
  const Tile tile = axes_of(access.columns, inner, block).load(base, ir::CachePolicy::normal);
  const Tile zero = dsl::constant(ir::Scalar::of_integer(tile.dtype(), 0));
  return block.is_whole_operand ? tile : dsl::where(row.is_inside, tile, zero);
}

// The product by weights that are looked up and multiplied as they lie: 0 by a row outside.
Tile RowsProgram::masked_product(std::size_t slot, const Tile& sum) {
  const auto weights = producer(task(slot).operands[1]);
  if (!weights || task(*weights).kind != TaskKind::gather) return sum;
  const Tile zero = dsl::constant(ir::Scalar::of_integer(sum.dtype(), 0));
  return dsl::where(looked_up_row(*weights).is_inside, sum, zero);
}

Tile RowsProgram::weight_load(const TaskOperand& operand, const Table& seen,
                              const WeightBlock& block) {
  TableAccess access = *compose(operand.view, seen.place);
  const WeightAxes axes =
      axes_of(access.columns, *compose(index_map(operand.view), *seen.inner), block);
  std::vector<std::int64_t> rows = region_.digits.strides(access.rows);
  check(!varies_by_row(rows), "a product's second operand differs between rows of a block");
  const Storage& storage = list_.storages[operand.storage];
  bool stands_still =
      std::ranges::all_of(rows, [](std::int64_t s) { return s == 0; }) &&
      std::ranges::all_of(axes.offsets, [](const Operand& o) { return o.is_number(); });
  if (stands_still && counts_within(storage, INT32_MAX)) {
    // Counted rather than read, so that it is known when code is made.
    Tile numbers = dsl::constant(
        ir::Scalar::of_integer(DType::i32, storage.start + access.offset * storage.step));
    for (int axis = 0; axis < axes.spread.rank(); ++axis) {
      if (axes.spread[axis] == 1) continue;
      Shape line(axes.spread.size(), 1);
      line[axis] = axes.spread[axis];
      std::int64_t step = axes.strides[static_cast<std::size_t>(axis)] * storage.step;
      numbers = numbers + dsl::reshape(dsl::arange(0, axes.spread[axis]), line) * step;
    }
    return dsl::cast(numbers, storage.dtype);
  }
  Tile base = parameters_.pointer(operand.storage) + outer_offset(access.offset, rows);
  // Scales, which repeat, share their lines of the cache.
  bool repeats = 4 * element_count(axes.loaded) < element_count(block.shape);
  return axes.load(base, repeats ? ir::CachePolicy::normal : weight_policy(operand, rows));
}

}  // namespace tilewright::graph
