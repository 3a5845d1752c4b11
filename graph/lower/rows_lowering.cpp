// The rows `rows` and `product` of the table of lowerings: regions that are tables of rows.
#include <algorithm>

#include "graph/lower/lowering.h"
#include "graph/lower/rows_program.h"

namespace tilewright::graph {
namespace {

bool is_product(const TaskList& list, const Region& region) {
  return std::ranges::any_of(
      region.tasks, [&](TaskId id) { return list.tasks[id].kind == TaskKind::contraction; });
}
bool is_rows(const TaskList& list, const Region& region) {
  return !region.tables.empty() && !is_product(list, region);
}

// All that decides what programs are, besides the form of the region, and not how they are
// launched: not how many rows each has where that is an argument.
Hash decided_by(const Region& region, const RowBlocks& blocks) {
  Hasher hasher;
  for (const BlockSize& one : all_block_sizes()) hasher.add(blocks.*one.size);
  hasher.add(blocks.digit.has_value()).add(blocks.digit.value_or(0)).add(blocks.takes_rows);
  hasher.add(blocks.has_product).add(blocks.rows_fastest).add(blocks.outer_fastest);
  hasher.add(blocks.columns_first).add(blocks.stored_chunk).add(blocks.depth_quantum);
  hasher.add(blocks.panel_width).add(blocks.prefetches).add(blocks.coalesces);
  hasher.add(blocks.sums_elements).add(blocks.stream_k_rows).add(blocks.stream_k_columns);
  hasher.add(blocks.share);
  const std::vector<std::int64_t> digits = region.digits.sizes();
  const RowsGrid grid = grid_of_rows(region, blocks, blocks.digit ? digits[*blocks.digit] : 1,
                                     region.width, blocks.splits);
  for (int axis = 0; axis < 3; ++axis)
    hasher.add(axis == grid.row_axis && blocks.takes_rows ? false : grid.counts[axis] == 1);
  return hasher.finish();
}

LoweredRegion lower_rows(const TaskList& list, const Region& region, const dsl::Target& target,
                         const BlockSizes& blocks) {
  RowBlocks used = choose_blocks(list, region, target, blocks);
  LoweredRegion result;
  result.kind = used.has_stream_k() ? "stream-K product" : used.has_product ? "product" : "rows";
  result.blocks = sizes_of(used);
  result.decided = decided_by(region, used);
  auto add_program = [&](const RowBlocks& of, ProductStage stage) {
    result.programs.push_back(RowsProgram(list, region, target, of, stage).emit());
  };
  if (used.splits == 1) {
    add_program(used, ProductStage::whole);
    return result;
  }
  result.scratch = product_parts(list, region, used);
  if (used.has_stream_k()) add_program(used, ProductStage::whole);
  add_program(used, ProductStage::partial);
  add_program(combining_blocks(region, target, used), ProductStage::combining);
  return result;
}

// The first two arguments are the number of rows, and how many of them a program has.
std::optional<Relaunch> relaunch_rows(const TaskList& list, const Region& region,
                                      const dsl::Target& target, const BlockSizes& blocks,
                                      const Hash& decided) {
  const RowBlocks used = choose_blocks(list, region, target, blocks);
  if (target.is_gpu() || used.splits != 1 || decided_by(region, used) != decided)
    return std::nullopt;
  const std::vector<std::int64_t> digits = region.digits.sizes();
  const RowsGrid grid =
      grid_of_rows(region, used, used.digit ? digits[*used.digit] : 1, region.width, 1);
  Relaunch result{Grid(grid.counts[0], grid.counts[1], grid.counts[2]), {}};
  if (used.takes_rows) result.sizes.emplace_back(1, used.step);
  return result;
}

// All sizes by their values; of a band that there is one, whatever its length and its parts.
BlockSizes all_sizes_of(const RowBlocks& blocks) {
  BlockSizes sizes = blocks;
  if (blocks.has_stream_k()) {
    sizes.splits = 1;
    sizes.tail = -1;
  }
  return sizes;
}

BlockChoice choice_of_rows(const TaskList& list, const Region& region, const dsl::Target& target) {
  RowBlocks chosen = choose_blocks(list, region, target, {});
  RegionFacts facts = facts_of(list, region);
  BlockChoice choice{.chosen = all_sizes_of(chosen), .row_elements = facts.widest};
  choice.most.rows = std::max(chosen.digit ? facts.digits[*chosen.digit] : 1, chosen.rows);
  choice.most.columns = cuts_columns(region, target) && region.width > 1 ? region.width : 0;
  bool splits = facts.products_come_first && region.splits_columns && !region.is_in_place;
  if (!splits) choice.most.splits = 0;
  if (!splits || facts.reduces) choice.most.tail = 0;
  choice.used = [&list, &region, target](const BlockSizes& blocks) {
    return all_sizes_of(choose_blocks(list, region, target, blocks));
  };
  return choice;
}

RegionWork work_of_rows(const TaskList& list, const Region& region, const dsl::Target& target) {
  RowBlocks chosen = choose_blocks(list, region, target, {});
  RegionFacts facts = facts_of(list, region);
  RegionWork work;
  work.has_product = facts.has_product;
  work.cuts_columns = cuts_columns(region, target);
  work.rows = chosen.digit ? facts.digits[*chosen.digit] : 1;
  work.outer = region.rows / work.rows;
  work.width = region.width;
  work.depth = facts.depth;
  work.row_elements = facts.widest;
  work.element_bytes = facts.element_bytes;
  work.weight_bytes = facts.weight_element_bytes;
  if (!target.is_gpu() && work.has_product && work.cuts_columns && !facts.computes_weights)
    work.host_product = product_extent(region, facts, work.rows, target);
  return work;
}

void describe_rows(const TaskList& list, const Region& region, autotune::Record& problem) {
  RegionFacts facts = facts_of(list, region);
  problem.set("rows", region.rows).set("columns", region.width).set("widest", facts.widest);
  if (facts.has_product) problem.set("depth", facts.depth);
  if (list.f32_products != ir::InputPrecision::ieee) problem.set("f32_products", "tf32");
}

}  // namespace

constinit const Lowering lowerings::product = {.name = "product",
                                               .matches = is_product,
                                               .lower = lower_rows,
                                               .choice = choice_of_rows,
                                               .work = work_of_rows,
                                               .describe = describe_rows,
                                               .relaunch = relaunch_rows};

constinit const Lowering lowerings::rows = {.name = "rows",
                                            .matches = is_rows,
                                            .lower = lower_rows,
                                            .choice = choice_of_rows,
                                            .work = work_of_rows,
                                            .describe = describe_rows,
                                            .relaunch = relaunch_rows,
                                            .may_batch = true};

}  // namespace tilewright::graph
