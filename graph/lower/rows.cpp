#include <algorithm>

#include "graph/lower/block_sizes.h"
#include "graph/lower/frame.h"
#include "graph/lower/lower.h"
#include "graph/lower/region_key.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using dsl::Desc;
using dsl::Operand;
using dsl::Tile;

constexpr std::int64_t streaming_bytes = 4 << 20;  // a value that will have left the cache
constexpr std::int64_t prefetched_row_bytes = 4 << 10;

DType accumulator(DType dtype) {
  return is_floating(dtype) && bit_width(dtype) < 32 ? DType::f32 : dtype;
}

// Emits one program for a region whose tasks are all seen as tables.
class RowsProgram {
 public:
  RowsProgram(const TaskList& list, const Region& region, const RowBlocks& blocks)
      : list_(list),
        region_(region),
        blocks_(blocks),
        tracer_("rows"),
        parameters_(tracer_, list),
        digits_(region.digits.sizes()),
        whole_(region.tasks.size()),
        block_(region.tasks.size()) {}

  LoweredRegion emit() {
    for (StorageId storage : storages_of(list_, region_)) parameters_.add(storage);
    open_grid();
    for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
      if (region_.stored[slot]) store(slot);
    LoweredRegion result;
    result.function = tracer_.finish();
    result.kind = blocks_.has_product ? "product" : "rows";
    result.function.name = program_name(list_, region_.tasks, result.kind);
    result.grid = grid_;
    result.arguments = parameters_.storages();
    result.blocks = {blocks_.rows, blocks_.columns};
    return result;
  }

 private:
  const Task& task(std::size_t slot) const { return list_.tasks[region_.tasks[slot]]; }
  std::optional<std::size_t> producer(const TaskOperand& operand) const {
    return operand.producer ? region_.slot(*operand.producer) : std::nullopt;
  }
  bool varies_by_row(const std::vector<std::int64_t>& strides) const {
    return blocks_.digit && strides[*blocks_.digit] != 0;
  }

  // Programs take blocks of columns, blocks of the row digit, and one value of the other digits.
  void open_grid() {
    std::int64_t rows = blocks_.digit ? digits_[*blocks_.digit] : 1, outer = 1;
    for (std::size_t i = 0; i < digits_.size(); ++i)
      if (i != blocks_.digit) outer *= digits_[i];
    std::int64_t row_blocks = (rows + blocks_.rows - 1) / blocks_.rows;
    std::int64_t column_blocks = (region_.width + blocks_.columns - 1) / blocks_.columns;
    int row_axis = blocks_.rows_fastest ? 0 : 1, column_axis = 1 - row_axis;
    grid_.size[row_axis] = row_blocks;
    grid_.size[column_axis] = column_blocks;
    grid_.size[2] = outer;
    if (row_blocks > 1) row_ = block_start(row_axis, blocks_.rows, rows);
    if (column_blocks > 1) column_ = block_start(column_axis, blocks_.columns, region_.width);
    indices_.resize(digits_.size());
    if (outer == 1) return;
    Tile rest = dsl::program_id(2);
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      if (i == blocks_.digit) continue;
      outer /= digits_[i];
      indices_[i] = outer == 1 ? rest : rest % digits_[i];
      if (outer > 1) rest = rest / digits_[i];
    }
  }

  // Where this program's block begins. The last one is moved back to end with the table, so that
  // no block needs a mask: some elements are then computed twice, which must not happen where the
  // second time would read what the first has written.
  Tile block_start(int axis, std::int64_t block, std::int64_t size) const {
    Tile start = dsl::program_id(axis) * block;
    bool may_overlap = size % block == 0 || !region_.is_in_place;
    return may_overlap ? dsl::minimum(start, size - block) : start;
  }

  Operand row() const { return row_.defined() ? Operand(row_) : Operand(0); }
  Operand column(bool whole) const {
    return whole || !column_.defined() ? Operand(0) : Operand(column_);
  }
  // The offset of the table's first element that this program sees, without rows and columns.
  Offset outer_offset(std::int64_t offset, const std::vector<std::int64_t>& strides) const {
    Offset result(offset);
    for (std::size_t i = 0; i < digits_.size(); ++i)
      if (i != blocks_.digit && strides[i] != 0) result.add(indices_[i], strides[i]);
    return result;
  }

  // A block of a table in memory, as a descriptor of rows and columns and where to read it. Rows or
  // columns that are all the same are one.
  struct Block {
    Desc desc;
    std::vector<Operand> offsets;
    Shape shape;
  };
  Block block_of(StorageId storage, const Access& access, std::int64_t width, bool whole) const {
    std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
    Tile base = parameters_.pointer(storage) + outer_offset(access.offset, strides);
    bool by_row = varies_by_row(strides), by_column = !access.columns.is_constant();
    std::int64_t rows = by_row ? digits_[*blocks_.digit] : 1;
    std::int64_t row_stride = by_row ? strides[*blocks_.digit] : width;
    std::int64_t columns = by_column ? width : 1;
    std::int64_t column_stride = by_column ? access.columns.modes()[0].stride : 1;
    Block result;
    result.shape = {by_row ? blocks_.rows : 1, by_column ? width_of(width, whole) : 1};
    result.offsets = {by_row ? row() : Operand(0), by_column ? column(whole) : Operand(0)};
    if (blocks_.columns_first) {
      std::swap(result.shape[0], result.shape[1]);
      std::swap(result.offsets[0], result.offsets[1]);
      result.desc = dsl::make_desc(base, {columns, rows}, {column_stride, row_stride});
    } else {
      result.desc = dsl::make_desc(base, {rows, columns}, {row_stride, column_stride});
    }
    return result;
  }
  // The axis of tiles that rows and columns are.
  int row_axis() const { return blocks_.columns_first ? 1 : 0; }
  int column_axis() const { return 1 - row_axis(); }
  std::int64_t width_of(std::int64_t width, bool whole) const {
    return whole || width == 1 ? width : std::min(width, blocks_.columns);
  }

  // Each block of memory is read once, whichever tasks want it.
  Tile load(const TaskOperand& operand, const Table& seen, bool whole) {
    Access access = *compose(operand.view, seen.place);
    for (const Loaded& known : loaded_)
      if (known.storage == operand.storage && known.access == access && known.width == seen.width &&
          known.whole == whole)
        return known.tile;
    Block block = block_of(operand.storage, access, seen.width, whole);
    Tile result = dsl::load(block.desc, block.offsets, block.shape);
    loaded_.push_back({operand.storage, access, seen.width, whole, result});
    // The next block of rows comes while this one is being worked on.
    bool moves_on = row_.defined() && varies_by_row(region_.digits.strides(access.rows));
    std::int64_t row_bytes = block.shape[1] * size_bytes(result.dtype());
    if (moves_on && !blocks_.has_product && !blocks_.columns_first && !blocks_.rows_fastest &&
        row_bytes >= prefetched_row_bytes)
      dsl::prefetch(block.desc, {row_ + blocks_.rows, block.offsets[1]}, block.shape);
    return result;
  }

  Tile operand(std::size_t slot, std::size_t i, bool whole) {
    const Task& t = task(slot);
    const TaskOperand& from = t.operands[i];
    if (from.number) return dsl::constant(*from.number);
    if (auto p = producer(from)) return value(*p, whole);
    return load(from, *operand_table(t, i, region_.tables[slot]), whole);
  }

  // A task's value for this program's rows, and its block of columns or all of them.
  Tile value(std::size_t slot, bool whole) {
    bool same = region_.tables[slot].width == 1 || blocks_.columns >= region_.width;
    Tile& known = whole || same ? whole_[slot] : block_[slot];
    if (!known.defined()) {
      Tile made = compute(slot, whole || same);
      known = made;
    }
    return known;
  }

  Tile compute(std::size_t slot, bool whole) {
    const Task& t = task(slot);
    switch (t.kind) {
      case TaskKind::pointwise: return pointwise(slot, whole);
      case TaskKind::scatter: return operand(slot, 0, whole);
      case TaskKind::reduction: return reduction(slot);
      case TaskKind::contraction: return product(slot, whole);
      case TaskKind::gather: return gather(slot, whole);
      case TaskKind::attention: break;
    }
    raise_internal_error("attention is not lowered as rows", std::source_location::current());
  }

  Tile pointwise(std::size_t slot, bool whole) {
    const Task& t = task(slot);
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < t.operands.size(); ++i) operands.push_back(operand(slot, i, whole));
    if (!t.tile_op) return operands[0].tile();
    if (ir::info(*t.tile_op).immediate == ir::ImmediateKind::dtype)
      return dsl::cast(operands[0], t.dtype);
    return dsl::elementwise(*t.tile_op, operands);
  }

  // The value with its broadcast columns, and rows if wanted, spelt out.
  Tile spread(const Tile& x, std::int64_t columns, std::int64_t rows = 0) const {
    Shape shape = x.shape(), wanted(2, columns);
    if (rows == 0) rows = shape.empty() ? 1 : shape[row_axis()];
    wanted[row_axis()] = rows;
    if (shape.empty()) return dsl::splat(x, wanted);
    return shape == wanted ? x : dsl::broadcast_to(x, wanted);
  }

  Tile reduction(std::size_t slot) {
    const Task& t = task(slot);
    std::int64_t width = operand_table(t, 0, region_.tables[slot])->width;
    Tile x = spread(operand(slot, 0, true), width);
    if (x.dtype() != accumulator(x.dtype())) x = dsl::cast(x, accumulator(x.dtype()));
    Tile result = dsl::reduce(x, t.reduce, column_axis(), true);
    return result.dtype() == t.dtype ? result : dsl::cast(result, t.dtype);
  }

  Tile product(std::size_t slot, bool whole) {
    const Task& t = task(slot);
    const TaskOperand& weight = t.operands[1];
    WeightTable table = weight_table(t);
    std::int64_t depth = weight.view.shape[-2], width = weight.view.shape[-1];
    Tile a = spread(operand(slot, 0, true), depth, blocks_.rows);
    Access access = *compose(weight.view, {table.rows, table.columns, 0});
    IndexMap inner = *compose(index_map(weight.view), table.inner);
    std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
    check(!varies_by_row(strides), "a product's second operand differs between rows of a block");
    auto stride_of = [](const IndexMap& map) {
      return map.is_constant() ? 0 : map.modes()[0].stride;
    };
    Tile base = parameters_.pointer(weight.storage) + outer_offset(access.offset, strides);
    if (width == 1) return inner_product(t, a, base, depth, stride_of(inner));
    Desc desc = dsl::make_desc(base, {depth, width}, {stride_of(inner), stride_of(access.columns)});
    Tile b = dsl::load(desc, {0, column(whole)}, {depth, width_of(width, whole)});
    Tile result = dsl::dot(a, b);
    return result.dtype() == t.dtype ? result : dsl::cast(result, t.dtype);
  }

  // A product with one column is a sum along the row, where lanes run along k.
  static Tile inner_product(const Task& t, const Tile& a, const Tile& base, std::int64_t depth,
                            std::int64_t stride) {
    Desc desc = dsl::make_desc(base, {1, depth}, {depth, stride});
    Tile b = dsl::load(desc, {0, 0}, {1, depth});
    DType wide = accumulator(t.dtype);
    Tile product = wide == t.dtype ? a * b : dsl::cast(a, wide) * dsl::cast(b, wide);
    Tile result = dsl::sum(product, 1, true);
    return wide == t.dtype ? result : dsl::cast(result, t.dtype);
  }

  // The row number that operand `i` gives for this program's one row.
  Tile row_number(std::size_t slot, std::size_t i) {
    const Task& t = task(slot);
    Table seen = *operand_table(t, i, region_.tables[slot]);
    Access access = *compose(t.operands[i].view, seen.place);
    std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
    Tile at = parameters_.pointer(t.operands[i].storage) + outer_offset(access.offset, strides);
    Tile id = dsl::load(at);
    return id.dtype() == DType::i64 ? id : dsl::cast(id, DType::i64);
  }

  // A row outside the table reads as zeros.
  Tile gather(std::size_t slot, bool whole) {
    const Task& t = task(slot);
    const Placement& table = t.operands[0].view;
    Tile base = parameters_.pointer(t.operands[0].storage) + Offset(table.offset);
    Desc desc = dsl::make_desc(base, {table.shape[0], table.shape[1]},
                               {table.strides[0], table.strides[1]});
    return dsl::load(desc, {row_number(slot, 1), column(whole)},
                     {1, width_of(table.shape[1], whole)});
  }

  void store(std::size_t slot) {
    const Task& t = task(slot);
    const Table& table = region_.tables[slot];
    Access access = *compose(t.place, table.place);
    Tile x = spread(value(slot, false), width_of(table.width, false), blocks_.rows);
    if (t.kind == TaskKind::scatter) {
      std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
      std::int64_t column_stride =
          access.columns.is_constant() ? 1 : access.columns.modes()[0].stride;
      Tile base = parameters_.pointer(t.storage) + outer_offset(access.offset, strides);
      Desc desc =
          dsl::make_desc(base, {t.scatter_size, table.width}, {t.scatter_stride, column_stride});
      dsl::store(desc, {row_number(slot, 1), column(false)}, x);
      return;
    }
    Block block = block_of(t.storage, access, table.width, false);
    // Memory of the caller's may begin anywhere, which stores past the cache do not allow.
    bool streams =
        t.bytes() > streaming_bytes && list_.storages[t.storage].kind == StorageKind::result;
    auto cache = streams ? ir::CachePolicy::streaming : ir::CachePolicy::normal;
    dsl::store(block.desc, block.offsets,
               spread(x, block.shape[column_axis()], block.shape[row_axis()]), cache);
  }

  struct Loaded {
    StorageId storage;
    Access access;
    std::int64_t width;
    bool whole;
    Tile tile;
  };
  const TaskList& list_;
  const Region& region_;
  RowBlocks blocks_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  std::vector<std::int64_t> digits_;
  Grid grid_;
  Tile row_, column_;          // first row and column of this program; undefined: 0
  std::vector<Tile> indices_;  // of the digits that are not cut in blocks
  std::vector<Loaded> loaded_;
  std::vector<Tile> whole_, block_;  // values of tasks: all columns, this program's
};

}  // namespace

LoweredRegion lower_rows(const TaskList& list, const Region& region, const BlockSizes& blocks) {
  return RowsProgram(list, region, choose_blocks(list, region, blocks)).emit();
}

}  // namespace tilewright::graph
