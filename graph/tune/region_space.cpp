#include "graph/tune/region_space.h"

#include <algorithm>
#include <set>

#include "graph/lower/attention/attention_shape.h"
#include "graph/lower/block_sizes.h"
#include "graph/regions/region_facts.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using autotune::Setting;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t least_host_columns = 16, least_gpu_block = 16;
// Elements of what a program has at once: a host's tiles lie in caches, a GPU's in registers and
// shared memory.
constexpr std::int64_t most_host_elements = 512 << 10, most_gpu_elements = 64 << 10;
constexpr std::int64_t most_rows = 512, most_columns = 16 << 10, most_keys = 1024;

std::int64_t BlockSizes::*member_named(const std::string& name) {
  for (const BlockSize& member : block_sizes_by_name)
    if (member.name == name) return member.size;
  raise_internal_error("a knob that is no block size: " + name, std::source_location::current());
}

Sizes with(Sizes sizes, std::int64_t chosen) {
  std::set<std::int64_t> result(sizes.begin(), sizes.end());
  result.insert(chosen);
  return {result.begin(), result.end()};
}

// Powers of two from `least` to `most`, for the host three quarters of them too; and the chosen
// size, and what is just all.
Sizes sizes_to(std::int64_t least, std::int64_t most, std::int64_t all, std::int64_t chosen,
               const dsl::Target& target) {
  Sizes result;
  for (std::int64_t size = 1; size <= std::min(most, all); size *= 2) {
    if (!target.is_gpu() && size >= 4 && size / 4 * 3 >= least) result.push_back(size / 4 * 3);
    if (size >= least) result.push_back(size);
  }
  if (all <= most) result.push_back(all);
  return with(std::move(result), chosen);
}

// What may be varied, and up to where.
struct Bounds {
  std::int64_t rows = 1, columns = 1;
  std::int64_t row_elements = 1;  // that a program has at once of a row, where columns are not cut
  bool cuts_columns = false, cuts_depth = false, splits = false, clusters = false, tails = false;
};

RegionSpace make_space(const Bounds& bounds, const BlockSizes& chosen, const dsl::Target& target,
                       const std::function<BlockSizes(const BlockSizes&)>& used) {
  RegionSpace result;
  autotune::Space& space = result.space;
  bool is_gpu = target.is_gpu();
  space.choose("rows", sizes_to(1, most_rows, bounds.rows, chosen.rows, target));
  if (bounds.cuts_columns)
    space.choose("columns", sizes_to(is_gpu ? least_gpu_block : least_host_columns, most_columns,
                                     bounds.columns, chosen.columns, target));
  if (bounds.cuts_depth) space.choose("depth", with({16, 32, 64, 128}, chosen.depth));
  if (bounds.splits) space.choose("splits", with({1, 2, 4, 8, 16}, chosen.splits));
  if (bounds.clusters) space.choose("cluster", with({1, 2, 4}, chosen.cluster));
  if (bounds.tails) space.choose("tail", {0, -1});

  std::vector<std::string> names;
  for (const autotune::Knob& knob : space.knobs()) {
    auto at = std::ranges::find(knob.values, chosen.*member_named(knob.name));
    result.preferred.push_back(static_cast<int>(at - knob.values.begin()));
    names.push_back(knob.name);
  }
  auto asked = [names](const Setting& setting) {
    BlockSizes blocks;
    for (const std::string& name : names) blocks.*member_named(name) = setting[name];
    return blocks;
  };
  std::int64_t most = is_gpu ? most_gpu_elements : most_host_elements;
  space.rule("tiles are of a size that is compiled soon", [=](const Setting& setting) {
    BlockSizes blocks = asked(setting);
    bool as_chosen =
        blocks.rows == chosen.rows && (!bounds.cuts_columns || blocks.columns == chosen.columns);
    std::int64_t columns = bounds.cuts_columns ? blocks.columns : bounds.row_elements;
    return as_chosen || blocks.rows * columns <= most;
  });
  space.rule("the lowering uses what is asked for", [=](const Setting& setting) {
    BlockSizes blocks = asked(setting), got = used(blocks);
    return std::ranges::all_of(names, [&](const std::string& name) {
      auto member = member_named(name);
      return blocks.*member == got.*member;
    });
  });
  return result;
}

// All sizes by their values; of a tail that there is one, whatever its length and its parts.
BlockSizes all_sizes_of(const RowBlocks& blocks) {
  BlockSizes sizes{blocks.rows,  blocks.columns, blocks.piece,
                   blocks.depth, blocks.splits,  blocks.cluster};
  if (blocks.has_tail()) {
    sizes.splits = 1;
    sizes.tail = -1;
  }
  return sizes;
}

// How the lowering is asked for them.
BlockSizes request_for(BlockSizes sizes) {
  if (sizes.tail == -1) sizes.splits = 0;
  return sizes;
}

}  // namespace

BlockSizes RegionSpace::blocks_of(const autotune::Point& point) const {
  BlockSizes blocks;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const autotune::Knob& knob = space.knobs()[i];
    blocks.*member_named(knob.name) = knob.values[static_cast<std::size_t>(point[i])];
  }
  return request_for(blocks);
}

RegionSpace region_space(const Graph& graph, const TaskList& list, const Region& region,
                         const dsl::Target& target) {
  const Task& first = list.tasks[region.tasks[0]];
  if (first.kind == TaskKind::attention) {
    AttentionShape shape(first);
    BlockSizes chosen = lower(graph, list, region, target).blocks;
    chosen.cluster = std::max<std::int64_t>(1, chosen.cluster);
    Bounds bounds{shape.rows, std::min(shape.keys(), most_keys), 1, true};
    bounds.splits = target.is_gpu();
    bounds.clusters = target.gpu().has_clusters;
    std::int64_t least_rows = target.is_gpu() ? std::min(least_gpu_block, chosen.rows) : 1;
    return make_space(bounds, chosen, target, [=](BlockSizes blocks) {
      blocks.rows = std::max(blocks.rows, least_rows);  // fewer fill no fragment
      return blocks;
    });
  }
  if (region.tables.empty()) return {};
  RowBlocks chosen = choose_blocks(list, region, target, {});
  RegionFacts facts = facts_of(list, region);
  Bounds bounds{chosen.digit ? facts.digits[*chosen.digit] : 1, region.width, facts.widest};
  bounds.rows = std::max(bounds.rows, chosen.rows);
  bounds.cuts_columns = cuts_columns(region, target) && region.width > 1;
  bounds.cuts_depth = target.is_gpu() && chosen.has_product && chosen.depth != 0;
  bounds.splits = chosen.has_product && facts.products_come_first && region.splits_columns &&
                  !region.is_in_place;
  bounds.clusters = target.gpu().has_clusters && chosen.has_product;
  bounds.tails = target.is_gpu() && bounds.splits && !facts.reduces;
  // The rules outlive this call, and the target with which it was made.
  auto used = [&list, &region, target](const BlockSizes& blocks) {
    return all_sizes_of(choose_blocks(list, region, target, request_for(blocks)));
  };
  return make_space(bounds, all_sizes_of(chosen), target, used);
}

}  // namespace tilewright::graph
