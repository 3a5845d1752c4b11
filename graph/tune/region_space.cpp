#include "graph/tune/region_space.h"

#include <algorithm>
#include <set>

#include "graph/lower/lowering.h"
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

// How the lowering is asked for them.
BlockSizes request_for(BlockSizes sizes) {
  if (sizes.tail == -1) sizes.splits = 0;
  return sizes;
}

RegionSpace make_space(const BlockChoice& choice, const dsl::Target& target) {
  const BlockSizes& chosen = choice.chosen;
  RegionSpace result;
  autotune::Space& space = result.space;
  bool is_gpu = target.is_gpu();
  space.choose("rows", sizes_to(1, most_rows, choice.rows, chosen.rows, target));
  if (choice.cuts_columns)
    space.choose("columns", sizes_to(is_gpu ? least_gpu_block : least_host_columns, most_columns,
                                     choice.columns, chosen.columns, target));
  if (choice.cuts_depth) space.choose("depth", with({16, 32, 64, 128}, chosen.depth));
  if (choice.splits) space.choose("splits", with({1, 2, 4, 8, 16}, chosen.splits));
  if (choice.clusters) space.choose("cluster", with({1, 2, 4}, chosen.cluster));
  if (choice.tails) space.choose("tail", {0, -1});

  std::vector<std::string> names;
  for (const autotune::Knob& knob : space.knobs()) {
    auto at = std::ranges::find(knob.values, chosen.*member_named(knob.name));
    result.preferred.push_back(static_cast<int>(at - knob.values.begin()));
    names.push_back(knob.name);
  }
  auto requested = [names](const Setting& setting) {
    BlockSizes blocks;
    for (const std::string& name : names) blocks.*member_named(name) = setting[name];
    return blocks;
  };
  std::int64_t most = is_gpu ? most_gpu_elements : most_host_elements;
  space.rule("tiles are of a size that is compiled soon", [=](const Setting& setting) {
    BlockSizes blocks = requested(setting);
    bool as_chosen = blocks.rows == choice.chosen.rows &&
                     (!choice.cuts_columns || blocks.columns == choice.chosen.columns);
    std::int64_t columns = choice.cuts_columns ? blocks.columns : choice.row_elements;
    return as_chosen || blocks.rows * columns <= most;
  });
  space.rule("the lowering uses what is asked for", [=](const Setting& setting) {
    BlockSizes blocks = requested(setting), got = choice.used(request_for(blocks));
    return std::ranges::all_of(names, [&](const std::string& name) {
      auto member = member_named(name);
      return blocks.*member == got.*member;
    });
  });
  return result;
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

RegionSpace region_space(const TaskList& list, const Region& region, const dsl::Target& target) {
  const Lowering& lowering = lowering_of(list, region);
  if (lowering.choice == nullptr) return {};
  return make_space(lowering.choice(list, region, target), target);
}

}  // namespace tilewright::graph
