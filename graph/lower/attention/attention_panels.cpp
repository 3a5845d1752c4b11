#include "graph/lower/attention/attention_panels.h"

#include "dsl/target/packed_product.h"
#include "graph/lower/attention/page_table.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {

using dsl::Tile;

namespace {

constexpr std::int64_t least_readers = 2;  // programs, of each block of keys

}  // namespace

std::optional<AttentionPanels> AttentionPanels::of(const TaskList& list, const Task& task,
                                                   const dsl::Target& target,
                                                   const BlockSizes& blocks) {
  const AttentionShape shape(task);
  const bool by_tiles = target.has_tiles && dsl::elements_in_word(target, task.dtype) == 2 &&
                        blocks.rows >= dsl::PackedProduct::least_rows && blocks.splits <= 1;
  if (!by_tiles || shape.packs_heads) return std::nullopt;
  if (has_codes(task) && task.dtype == DType::f16) return std::nullopt;  // values get their scales
  for (std::size_t operand : {1, 2})
    if (list.storages[task.operands[operand].storage].dtype != task.dtype && !has_codes(task))
      return std::nullopt;
  const dsl::PackedPanels panels =
      dsl::panels_of(target, task.dtype, shape.depth(), blocks.columns);
  // Whole blocks and whole panels alone: nothing has to be filled up.
  if (!panels.in_pairs || blocks.columns % panels.width != 0 || shape.depth() % panels.width != 0 ||
      shape.keys() % blocks.columns != 0)
    return std::nullopt;
  if (divide_up(shape.rows, blocks.rows) * shape.group < least_readers) return std::nullopt;
  if (shape.k.strides[3] != 1 || shape.v.strides[3] != 1) return std::nullopt;
  return AttentionPanels(task.dtype, shape, blocks.columns, panels.width);
}

std::vector<Scratch> AttentionPanels::scratch() const {
  const std::int64_t elements = shape_.batch() * shape_.k.shape[1] * elements_of_head();
  return {{dtype_, elements}, {dtype_, elements}};
}

void AttentionPanels::add_to(Parameters& parameters) {
  const std::vector<Scratch> memory = scratch();
  key_memory_ = parameters.add_scratch(0, memory[0]);
  value_memory_ = parameters.add_scratch(1, memory[1]);
}

dsl::Desc AttentionPanels::key_panels(const Offset& head) const {
  const std::int64_t depth = shape_.depth();
  return dsl::make_desc(key_memory_ + head.times(elements_of_head()),
                        {shape_.keys() / width_, depth / 2, width_, 2},
                        {depth * width_, 2 * width_, 2, 1});
}

dsl::Desc AttentionPanels::value_panels(const Offset& head) const {
  const std::int64_t keys = shape_.keys();
  return dsl::make_desc(value_memory_ + head.times(elements_of_head()),
                        {shape_.depth() / width_, keys / 2, width_, 2},
                        {keys * width_, 2 * width_, 2, 1});
}

Tile AttentionPanels::keys(const Offset& head, const Tile& column) const {
  const std::int64_t depth = shape_.depth();
  Tile block = dsl::load(key_panels(head), {column / width_, 0, 0, 0},
                         {columns_ / width_, depth / 2, width_, 2});
  return dsl::reshape(dsl::permute(block, {1, 3, 0, 2}), {depth, columns_});
}

Tile AttentionPanels::values(const Offset& head, const Tile& column) const {
  const std::int64_t depth = shape_.depth();
  Tile block = dsl::load(value_panels(head), {0, column / 2, 0, 0},
                         {depth / width_, columns_ / 2, width_, 2});
  return dsl::reshape(dsl::permute(block, {1, 3, 0, 2}), {columns_, depth});
}

LoweredProgram AttentionPanels::pack(const TaskList& list, const Region& region,
                                     const dsl::Target& target) const {
  const Task& task = list.tasks[region.tasks[0]];
  const std::int64_t keys = shape_.keys(), depth = shape_.depth(), heads = shape_.k.shape[1];
  dsl::Tracer tracer("attention_panels");
  Parameters parameters(tracer, list, region);
  const AttentionOperands given = operands_of_attention(task);
  for (std::size_t operand : {std::size_t{1}, std::size_t{2}, given.position, given.page_table})
    if (operand != 0) parameters.add(task.operands[operand].storage);
  AttentionPanels panels = *this;
  panels.add_to(parameters);
  ProgramGrid programs = open_grid({keys / columns_, heads, shape_.batch()}, target);
  const Tile& block = programs.index[0];
  Tile column = block.defined() ? Tile(dsl::minimum(block * columns_, keys - columns_))
                                : dsl::constant(ir::Scalar::of_integer(DType::i64, 0));
  Offset head;
  if (programs.index[1].defined()) head.add(programs.index[1], 1);
  if (programs.index[2].defined()) head.add(programs.index[2], heads);
  // Where a block of pages begins in its page; keys that lie one after the other begin at the
  // first.
  const std::optional<PageTable> pages =
      given.are_pages() ? std::optional(page_table_of(task, parameters, programs.index[2]))
                        : std::nullopt;
  const Tile first = pages ? pages->row_of(column) : column;
  const std::int64_t run = shape_.run_of_keys();
  auto source = [&](std::size_t operand, const StridedView& place) {
    Offset offset(place.offset);
    const Tile& text = pages ? pages->page_of(column) : programs.index[2];
    if (text.defined()) offset.add(text, place.strides[0]);
    if (programs.index[1].defined()) offset.add(programs.index[1], place.strides[1]);
    return parameters.pointer(task.operands[operand].storage) + offset;
  };
  auto in_dtype = [&](const Tile& tile) {
    return tile.dtype() == dtype_ ? tile : dsl::cast(tile, dtype_);
  };
  auto pack_block = [&] {
    const std::int64_t key = shape_.k.strides[2], value = shape_.v.strides[2];
    Tile from = dsl::load(dsl::make_desc(source(1, shape_.k), {run / width_, width_, depth / 2, 2},
                                         {width_ * key, key, 2, 1}),
                          {first / width_, 0, 0, 0}, {columns_ / width_, width_, depth / 2, 2});
    dsl::store(panels.key_panels(head), {column / width_, 0, 0, 0},
               in_dtype(dsl::permute(from, {0, 2, 1, 3})));
    from = dsl::load(dsl::make_desc(source(2, shape_.v), {run / 2, 2, depth / width_, width_},
                                    {2 * value, value, width_, 1}),
                     {first / 2, 0, 0, 0}, {columns_ / 2, 2, depth / width_, width_});
    dsl::store(panels.value_panels(head), {0, column / 2, 0, 0},
               in_dtype(dsl::permute(from, {2, 0, 3, 1})));
  };
  if (task.attributes.causal && has_position(task)) {
    // Keys behind the last row's are read by no program: as good as none of a large cache.
    Tile end = position_of(task, parameters, programs.index[2]) + shape_.rows;
    for ([[maybe_unused]] Tile at :
         dsl::range(column, dsl::minimum(end, column + columns_), columns_))
      pack_block();
  } else {
    pack_block();
  }
  return {tracer.finish(), programs.grid, parameters.memory()};
}

}  // namespace tilewright::graph
