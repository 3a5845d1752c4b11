#include "graph/lower/rows_program.h"

#include <algorithm>

#include "dsl/ir/type_rules.h"
#include "dsl/target/step_rows.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

namespace {

std::string_view kind_of(const RowBlocks& blocks, ProductStage stage) {
  switch (stage) {
    case ProductStage::whole: return blocks.has_product ? "product" : "rows";
    case ProductStage::partial: return blocks.has_stream_k() ? "partial_tail" : "partial";
    case ProductStage::combining: return blocks.has_stream_k() ? "combine_tail" : "combine";
  }
  __builtin_unreachable();
}

}  // namespace

RowsProgram::RowsProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                         const RowBlocks& blocks, ProductStage stage)
    : list_(list),
      region_(region),
      target_(target),
      blocks_(blocks),
      stage_(stage),
      tracer_("rows"),
      parameters_(tracer_, list, region),
      sizes_(tracer_, region.sizes_vary && !target.is_gpu()),
      digits_(region.digits.sizes()),
      known_{
          Tiles(region.tasks.size()), Tiles(region.tasks.size()), Tiles(region.tasks.size()), {}} {}

LoweredProgram RowsProgram::emit() {
  add_parameters();
  if (blocks_.takes_rows) {
    row_count_ = sizes_.add(digits_[*blocks_.digit]);
    row_step_ = sizes_.add(blocks_.step);
  }
  open_grid();
  if (stage_ == ProductStage::partial)
    store_parts();
  else
    store_all();
  LoweredProgram result{tracer_.finish(), grid_, parameters_.memory(), sizes_.sizes()};
  std::vector<bool> needed = needed_tasks();
  std::vector<TaskId> tasks;
  for (std::size_t slot = 0; slot < needed.size(); ++slot)
    if (needed[slot]) tasks.push_back(region_.tasks[slot]);
  result.function.name = program_name(list_, tasks, kind_of(blocks_, stage_));
  return result;
}

std::vector<bool> RowsProgram::needed_tasks() const {
  std::vector<bool> needed(region_.tasks.size(), false);
  std::function<void(std::size_t)> need = [&](std::size_t slot) {
    if (needed[slot]) return;
    needed[slot] = true;
    if (stage_ == ProductStage::combining && is_product(slot)) return;
    for (const TaskOperand& operand : task(slot).operands)
      if (auto p = producer(operand)) need(*p);
  };
  for (std::size_t slot = 0; slot < needed.size(); ++slot)
    if (stage_ == ProductStage::partial ? is_product(slot) : region_.stored[slot]) need(slot);
  return needed;
}

void RowsProgram::add_parameters() {
  std::vector<bool> needed = needed_tasks();
  for (std::size_t slot = 0; slot < needed.size(); ++slot) {
    if (!needed[slot]) continue;
    bool reads = stage_ != ProductStage::combining || !is_product(slot);
    for (const TaskOperand& operand : task(slot).operands)
      if (reads && !operand.number && !producer(operand)) parameters_.add(operand.storage);
    if (region_.stored[slot] && stage_ != ProductStage::partial)
      parameters_.add(task(slot).storage);
  }
  parts_.resize(needed.size());
  if (stage_ == ProductStage::whole) return;
  std::vector<Scratch> scratch = product_parts(list_, region_, blocks_);
  std::size_t number = 0;
  for (std::size_t slot = 0; slot < needed.size(); ++slot) {
    if (!is_product(slot)) continue;
    parts_[slot] = parameters_.add_scratch(number, scratch[number]);
    ++number;
  }
}

RowsGrid grid_of_rows(const Region& region, const RowBlocks& blocks, std::int64_t rows,
                      std::int64_t columns, std::int64_t splits) {
  const std::vector<std::int64_t> digits = region.digits.sizes();
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < digits.size(); ++i)
    if (i != blocks.digit) outer *= digits[i];
  const std::int64_t row_blocks = divide_up(rows, blocks.takes_rows ? blocks.step : blocks.rows);
  const std::int64_t quantum = std::max<std::int64_t>(1, blocks.panel_width);
  const std::int64_t column_blocks =
      blocks.shares_rows()
          ? blocks.cluster
          : divide_up(divide_up(columns, quantum), divide_up(blocks.columns, quantum));
  const int row_axis = blocks.rows_fastest ? 0 : 1;
  RowsGrid grid{{column_blocks, row_blocks, outer * splits}, row_axis, 1 - row_axis, 2};
  if (blocks.rows_fastest) std::swap(grid.counts[0], grid.counts[1]);
  if (blocks.outer_fastest) {
    std::swap(grid.counts[0], grid.counts[2]);
    std::swap(grid.column_axis, grid.outer_axis);
  }
  return grid;
}

void RowsProgram::open_grid() {
  const std::int64_t rows = blocks_.digit ? digits_[*blocks_.digit] : 1;
  rows_ = band(rows, blocks_.stream_k_rows);
  columns_ = band(region_.width, blocks_.stream_k_columns);
  const std::int64_t quantum = std::max<std::int64_t>(1, blocks_.panel_width);
  const Band panels{columns_.first / quantum, (columns_.size + quantum - 1) / quantum};
  const std::int64_t block_panels = (blocks_.columns + quantum - 1) / quantum;
  const std::int64_t splits = stage_ == ProductStage::partial ? blocks_.splits : 1;
  RowsGrid own = grid_of_rows(region_, blocks_, rows_.size, columns_.size, splits);
  auto& [counts, row_axis, column_axis, outer_axis] = own;
  std::int64_t outer = counts[outer_axis] / splits;
  // A program for any number of rows asks which block is its own, also where there is one.
  std::int64_t& blocks_of_rows = counts[row_axis];
  const std::int64_t count = blocks_of_rows;
  if (blocks_.takes_rows) blocks_of_rows = std::max<std::int64_t>(count, 2);
  ProgramGrid programs = graph::open_grid(counts, target_);
  grid_ = programs.grid;
  if (blocks_.takes_rows) grid_.size[row_axis] = count;
  if (blocks_.cluster > 1) tracer_.set_cluster(static_cast<int>(blocks_.cluster));
  if (blocks_.takes_rows) {
    row_ = programs.index[row_axis] * row_step_;
    Tile left = dsl::minimum(row_count_ - row_, row_step_);
    block_rows_ = dsl::maximum(dsl::minimum(left, blocks_.rows), 1);
  } else if (rows > blocks_.rows)
    row_ = block_start(programs.index[row_axis], blocks_.rows, rows_);
  if (blocks_.shares_rows())
    rank_ = programs.index[column_axis];
  else if (region_.width > blocks_.columns) {
    panel_ = block_start(programs.index[column_axis], block_panels, panels);
    column_ = quantum == 1 ? panel_ : panel_ * quantum;
  }
  indices_.resize(digits_.size());
  Tile rest = programs.index[outer_axis];
  if (splits > 1) {
    split_ = outer == 1 ? rest : rest / outer;
    if (outer > 1) rest = rest % outer;
  }
  if (outer == 1) return;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if (i == blocks_.digit) continue;
    outer /= digits_[i];
    indices_[i] = rest;
    if (outer == 1) continue;
    const Operand size = sizes_.number(digits_[i]);
    indices_[i] = rest % size;
    rest = rest / size;
  }
}

RowsProgram::Band RowsProgram::band(std::int64_t size, std::int64_t tail) const {
  if (tail == 0) return {0, size};
  return stage_ == ProductStage::whole ? Band{0, size - tail} : Band{size - tail, tail};
}

Tile RowsProgram::block_start(const Tile& index, std::int64_t block, const Band& band) const {
  // One block of a part of the table. Before a band it may reach into it, whose values are stored
  // after it.
  if (!index.defined()) return dsl::constant(ir::Scalar::of_integer(DType::i64, band.first));
  Tile start = index * block;
  // Two programs store the rows that both have. They are equal to the bit, but for the products of
  // a rest of a block, whose sums are made in another order.
  const bool are_alike = !blocks_.has_product || target_.is_gpu() || block <= rows_alike ||
                         block % rows_alike == 0 ||
                         (list_.row_invariant && blocks_.rows <= dsl::rows_of_a_step);
  bool may_overlap = band.size % block == 0 || (!region_.is_in_place && are_alike);
  if (may_overlap) start = dsl::minimum(start, band.size - block);
  return band.first == 0 ? start : start + band.first;
}

Operand RowsProgram::column(const Columns& columns) const {
  if (columns.part == Part::chunk) return columns.start;
  bool moves = columns.part == Part::block && column_.defined();
  return moves ? Operand(column_) : Operand(0);
}

// True if all rows lie within a step of another digit or of the columns, so that their number may
// decide how long it is: also where programs have one row each.
bool RowsProgram::lies_behind_rows(const std::vector<std::int64_t>& strides,
                                   std::int64_t step) const {
  if (!blocks_.digit) return true;
  const std::int64_t rows = digits_[*blocks_.digit] * strides[*blocks_.digit];
  return blocks_.takes_rows && std::abs(step) >= std::abs(rows);
}

Offset RowsProgram::outer_offset(std::int64_t offset, const std::vector<std::int64_t>& strides,
                                 std::optional<std::size_t> but) {
  Offset result;
  sizes_.add_to(result, offset);
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if (i == blocks_.digit || i == but || strides[i] == 0 || digits_[i] == 1) continue;
    if (lies_behind_rows(strides, strides[i]))
      sizes_.add_to(result, indices_[i], strides[i]);
    else
      result.add(indices_[i], strides[i]);
  }
  return result;
}

RowsProgram::Block RowsProgram::block_of(const Tile& pointer, const TableAccess& access,
                                         std::int64_t width, const Columns& columns,
                                         bool is_ahead) {
  std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  Offset offset = outer_offset(access.offset, strides);
  bool by_row = varies_by_row(strides), by_column = !access.columns.is_constant();
  const bool ends = by_row && blocks_.takes_rows && !is_ahead;
  std::int64_t row_stride = by_row ? strides[*blocks_.digit] : width;
  std::int64_t column_stride = by_column ? access.columns.modes()[0].stride : 1;
  // Rows that lie apart may be rows of texts, or the like, of a length that changes.
  const bool apart = by_row && blocks_.takes_rows &&
                     std::abs(row_stride) > std::abs(column_stride) * (by_column ? width : 1);
  if (ends && apart)
    sizes_.add_to(offset, row_, row_stride);
  else if (ends)
    offset.add(row_, row_stride);
  Tile base = pointer + offset;
  const Operand rows = !by_row              ? Operand(1)
                       : ends               ? Operand(block_rows_)
                       : blocks_.takes_rows ? Operand(row_count_)
                                            : Operand(digits_[*blocks_.digit]);
  const Stride by_rows = apart ? Stride(sizes_.number(row_stride)) : Stride(row_stride);
  const Stride by_columns = by_row && by_column && lies_behind_rows(strides, column_stride)
                                ? Stride(sizes_.number(column_stride))
                                : Stride(column_stride);
  Block result{{base, rows, by_column ? width : 1, by_rows, by_columns, blocks_.coalesces},
               by_row && !ends ? row() : Operand(0),
               by_column ? column(columns) : Operand(0),
               {by_row ? blocks_.rows : 1, by_column ? width_of(width, columns) : 1}};
  if (blocks_.columns_first) {
    std::swap(result.matrix.rows, result.matrix.columns);
    std::swap(result.matrix.row_stride, result.matrix.column_stride);
    std::swap(result.row, result.column);
    std::swap(result.shape[0], result.shape[1]);
  }
  return result;
}

std::int64_t RowsProgram::width_of(std::int64_t width, const Columns& columns) const {
  if (width == 1 || columns.part == Part::whole) return width;
  return columns.part == Part::chunk ? columns.size : std::min(width, blocks_.columns);
}

Tile RowsProgram::load(const TaskOperand& operand, const Table& seen, const Columns& columns) {
  TableAccess access = *compose(operand.view, seen.place);
  for (const Loaded& known : known_.loaded)
    if (known.storage == operand.storage && known.access == access && known.part == columns.part)
      return known.tile;
  if (auto numbers = counted(list_.storages[operand.storage], access, seen.width, columns)) {
    known_.loaded.push_back({operand.storage, access, columns.part, *numbers});
    return *numbers;
  }
  const Tile& pointer = parameters_.pointer(operand.storage);
  Block block = block_of(pointer, access, seen.width, columns);
  Tile result = block.matrix.load(block.row, block.column, block.shape);
  known_.loaded.push_back({operand.storage, access, columns.part, result});
  std::int64_t row_bytes = block.shape[1] * size_bytes(result.dtype());
  if (blocks_.prefetches && blocks_.ahead > 0 && row_bytes >= RowBlocks::prefetched_row_bytes)
    prefetch_next(operand, access,
                  blocks_.takes_rows
                      ? block_of(pointer, access, seen.width, columns, /*is_ahead=*/true)
                      : block);
  return result;
}

// A block of rows that a later program will want, which comes while this one is being worked on; or
// a later row, where programs have one each: that of the digit that moves fastest.
void RowsProgram::prefetch_next(const TaskOperand& operand, const TableAccess& access,
                                const Block& block) {
  std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  if (row_.defined() && varies_by_row(strides)) {
    const Operand ahead = blocks_.takes_rows ? Operand(row_step_ * blocks_.ahead)
                                             : Operand(blocks_.ahead * blocks_.rows);
    return block.matrix.prefetch(row_ + ahead, block.column, block.shape);
  }
  if (blocks_.digit) return;
  auto moving = std::ranges::find_if(digits_, [](std::int64_t size) { return size > 1; });
  const auto digit = static_cast<std::size_t>(moving - digits_.begin());
  if (digit == digits_.size() || strides[digit] == 0) return;
  Matrix rows = block.matrix;
  rows.base = parameters_.pointer(operand.storage) + outer_offset(access.offset, strides, digit);
  rows.rows = sizes_.number(digits_[digit]);
  rows.row_stride = strides[digit];
  rows.prefetch(indices_[digit] + blocks_.ahead, block.column, block.shape);
}

Tile RowsProgram::operand(std::size_t slot, std::size_t i, const Columns& columns) {
  const Task& t = task(slot);
  const TaskOperand& from = t.operands[i];
  if (from.number) return dsl::constant(*from.number);
  if (auto p = producer(from)) return value(*p, columns);
  return load(from, *operand_table(t, i, region_.tables[slot]), columns);
}

RowsProgram::Columns RowsProgram::of_value(std::size_t slot, const Columns& columns) const {
  bool one = region_.tables[slot].width == 1;
  bool all = columns.part == Part::block && blocks_.columns >= region_.width;
  return one || all ? whole_row() : columns;
}

Tile RowsProgram::value(std::size_t slot, Columns columns) {
  columns = of_value(slot, columns);
  Tiles& tiles = known_.of(columns.part);
  if (tiles[slot].defined()) return tiles[slot];
  Tile made = compute(slot, columns);
  tiles[slot] = made;
  return made;
}

Tile RowsProgram::compute(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  switch (t.kind) {
    case TaskKind::pointwise: return pointwise(slot, columns);
    case TaskKind::scatter: return operand(slot, 0, columns);
    case TaskKind::reduction: return reduction(slot);
    case TaskKind::contraction:
      return stage_ == ProductStage::combining ? combined_product(slot, columns)
                                               : product(slot, columns);
    case TaskKind::gather:
      return task(slot).gathers_elements() ? gathered_elements(slot, columns)
                                           : gather(slot, columns);
    case TaskKind::opaque: break;
  }
  raise_internal_error("an opaque task is not lowered as rows", std::source_location::current());
}

void RowsProgram::prepare(std::size_t slot, std::vector<bool>& seen) {
  if (seen[slot] || known_.whole[slot].defined() || region_.tables[slot].inner) return;
  seen[slot] = true;
  if (region_.tables[slot].width == 1) {
    value(slot, whole_row());
    return;
  }
  if (stage_ == ProductStage::combining && is_product(slot)) return;
  for (const TaskOperand& operand : task(slot).operands)
    if (auto p = producer(operand)) prepare(*p, seen);
}

void RowsProgram::prepare(const TaskOperand& operand) {
  std::vector<bool> seen(region_.tasks.size(), false);
  if (auto p = producer(operand)) prepare(*p, seen);
}

void RowsProgram::prepare_products() {
  const std::vector<bool> needed = needed_tasks();
  for (std::size_t slot = 0; slot < needed.size(); ++slot)
    if (needed[slot] && is_product(slot)) first_operand(slot, whole_row());
}

RowsProgram::Run RowsProgram::part_of_row(std::int64_t width) const {
  if (!blocks_.shares_rows()) return {{}, width, blocks_.chunk};
  return {rank_ * blocks_.share, blocks_.share, blocks_.chunk};
}

Tile RowsProgram::over_cluster(const Tile& x, ir::ReduceKind kind) const {
  return blocks_.shares_rows() ? dsl::cluster_reduce(x, kind) : x;
}

void RowsProgram::for_each_chunk(const Run& run, const std::function<void(const Columns&)>& body) {
  if (is_resident()) return body({Part::chunk, run.first, run.size});
  const Known before = known_;
  for (Tile start : dsl::range(0, run.length, run.size)) {
    known_.chunk.assign(region_.tasks.size(), {});
    std::erase_if(known_.loaded, [](const Loaded& l) { return l.part == Part::chunk; });
    body({Part::chunk, run.first.defined() ? run.first + start : start, run.size});
  }
  known_ = before;
}

Tile RowsProgram::filled(const Tile& x, std::int64_t width, const Columns& chunk,
                         ir::Scalar rest) const {
  std::int64_t covered = blocks_.shares_rows() ? blocks_.share * blocks_.cluster : width;
  if (width % chunk.size == 0 && covered == width) return x;
  Shape line(2, 1);
  line[column_axis()] = chunk.size;
  // Compared in 32 bits, which take half the registers on a GPU.
  Tile left = dsl::cast(dsl::minimum(width - chunk.start, chunk.size), DType::i32);
  Tile at = dsl::reshape(dsl::arange(0, chunk.size), line);
  return dsl::where(at < left, x, dsl::constant(rest));
}

Tile RowsProgram::pointwise(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < t.operands.size(); ++i) operands.push_back(operand(slot, i, columns));
  if (row_max_below(slot)) return exp_below_zero(operands[0].tile());
  return apply_pointwise(t, operands);
}

Tile RowsProgram::spread(const Tile& x, std::int64_t columns, std::int64_t rows) const {
  Shape shape = x.shape(), wanted(2, columns);
  if (rows == 0) rows = shape.empty() ? 1 : shape[row_axis()];
  wanted[row_axis()] = rows;
  if (shape.empty()) return dsl::splat(x, wanted);
  return shape == wanted ? x : dsl::broadcast_to(x, wanted);
}

void RowsProgram::store_all() {
  std::vector<std::size_t> at_once, in_chunks;
  for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
    if (!region_.stored[slot]) continue;
    const std::int64_t width = region_.tables[slot].width;
    bool wide = blocks_.stored_chunk != 0 ? width == region_.width
                                          : !column_.defined() && is_in_chunks(width);
    (wide ? in_chunks : at_once).push_back(slot);
  }
  // Memory that will be overwritten is read before the first store.
  if (!in_chunks.empty() || region_.is_in_place)
    for (std::size_t slot : at_once) value(slot, block_of_row());
  if (!in_chunks.empty()) {
    std::vector<bool> seen(region_.tasks.size(), false);
    for (std::size_t slot : in_chunks) prepare(slot, seen);
    if (blocks_.stored_chunk != 0) prepare_products();
  }
  while (!in_chunks.empty()) {
    std::int64_t width = region_.tables[in_chunks[0]].width;
    auto others = std::ranges::stable_partition(
        in_chunks, [&](std::size_t slot) { return region_.tables[slot].width == width; });
    std::vector<std::size_t> slots(in_chunks.begin(), others.begin());
    const Run run = blocks_.stored_chunk == 0 ? part_of_row(width)
                                              : Run{column_, blocks_.columns, blocks_.stored_chunk};
    for_each_chunk(run, [&](const Columns& chunk) {
      for (std::size_t slot : slots) value(slot, chunk);
      for (std::size_t slot : slots) store(slot, chunk);
    });
    in_chunks.erase(in_chunks.begin(), others.begin());
  }
  for (std::size_t slot : at_once) store(slot, block_of_row());
}

void RowsProgram::store(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  const Table& table = region_.tables[slot];
  TableAccess access = *compose(t.place, table.place);
  Tile x = spread(value(slot, columns), width_of(table.width, columns), blocks_.rows);
  if (t.scatters_elements()) {
    const Tile base = parameters_.pointer(t.storage) + Offset(access.offset);
    Tile ids = spread(numbers(operand(slot, 1, columns), t.scatter_size, t.scatter_stride),
                      width_of(table.width, columns), blocks_.rows);
    if (columns.part == Part::chunk)
      ids = filled(ids, table.width, columns, ir::Scalar::of_integer(ids.dtype(), -1));
    return dsl::store(base + ids * t.scatter_stride, x, (ids >= 0) & (ids < t.scatter_size));
  }
  if (t.kind == TaskKind::scatter) {
    std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
    std::int64_t column_stride =
        access.columns.is_constant() ? 1 : access.columns.modes()[0].stride;
    Tile base = parameters_.pointer(t.storage) + outer_offset(access.offset, strides);
    Matrix matrix{base, t.scatter_size, table.width, t.scatter_stride, column_stride};
    matrix.store(row_number(slot, 1), column(columns), x);
    return;
  }
  Block block = block_of(parameters_.pointer(t.storage), access, table.width, columns);
  // Parts of lines stay in the cache until the others have come.
  // Those of programs for any number of rows may be few.
  const bool stays = blocks_.outer_fastest || blocks_.takes_rows;
  const ir::CachePolicy cache = stays ? ir::CachePolicy::normal : cache_policy(list_, t, target_);
  block.matrix.store(block.row, block.column,
                     spread(x, block.shape[column_axis()], block.shape[row_axis()]), cache);
}

}  // namespace tilewright::graph
