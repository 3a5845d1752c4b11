#include "graph/tune/region_space.h"

#include <algorithm>
#include <set>

#include "graph/lower/lowering.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using autotune::Setting;
using Sizes = std::vector<std::int64_t>;

// Elements of what a program has at once: a host's tiles lie in caches, a GPU's in registers and
// shared memory.
constexpr std::int64_t most_host_elements = 512 << 10, most_gpu_elements = 64 << 10;

std::int64_t BlockSizes::*member_named(const std::string& name) {
  const BlockSize* size = block_size_named(name);
  if (size != nullptr) return size->size;
  raise_internal_error("a knob that is not a block size: " + name, std::source_location::current());
}

Sizes with(Sizes sizes, std::int64_t chosen) {
  std::set<std::int64_t> result(sizes.begin(), sizes.end());
  result.insert(chosen);
  return {result.begin(), result.end()};
}

// Powers of two in the range, for the host three quarters of them too; and the chosen size, and
// what is just all.
Sizes doubled(const TriedSizes& range, std::int64_t all, std::int64_t chosen,
              const dsl::Target& target) {
  Sizes result;
  for (std::int64_t size = 1; size <= std::min(range.to, all); size *= 2) {
    if (!target.is_gpu() && size >= 4 && size / 4 * 3 >= range.from) result.push_back(size / 4 * 3);
    if (size >= range.from) result.push_back(size);
  }
  if (all <= range.to) result.push_back(all);
  return with(std::move(result), chosen);
}

// Those of the list in its order, if the chosen size is among them.
Sizes listed(const TriedSizes& tried, std::int64_t chosen) {
  Sizes result(tried.list().begin(), tried.list().end());
  return std::ranges::count(result, chosen) != 0 ? result : with(std::move(result), chosen);
}

bool is_tuned_on(TunedWhere where, const dsl::Target& target) {
  switch (where) {
    case TunedWhere::any_device: return true;
    case TunedWhere::a_host: return !target.is_gpu();
    case TunedWhere::a_gpu: return target.is_gpu();
    case TunedWhere::a_gpu_with_clusters: return target.gpu().has_clusters;
  }
  __builtin_unreachable();
}

// How the lowering is asked for them.
BlockSizes request_for(BlockSizes sizes) {
  if (sizes.tail == -1) sizes.splits = 0;
  return sizes;
}

// A lowering that leaves a size at 0 has no use for it in this region, unless 0 means something.
bool has_use(const BlockSize& size, std::int64_t own) {
  return own != 0 || size.tried.is_doubling() || std::ranges::count(size.tried.list(), 0) != 0;
}

RegionSpace make_space(std::string_view lowering, const BlockChoice& choice,
                       const dsl::Target& target) {
  const BlockSizes& chosen = choice.chosen;
  RegionSpace result;
  autotune::Space& space = result.space;
  for (const BlockSize& one : all_block_sizes()) {
    const std::int64_t most = choice.most.*one.size, own = chosen.*one.size;
    if (most == 0 || !has_use(one, own)) continue;
    if (!one.is_tuned_by(lowering) || !is_tuned_on(one.where, target)) continue;
    space.choose(std::string(one.name), one.tried.is_doubling()
                                            ? doubled(one.tried, most, own, target)
                                            : listed(one.tried, own));
  }

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
  std::int64_t most = target.is_gpu() ? most_gpu_elements : most_host_elements;
  bool cuts_columns = choice.most.columns != 0;
  space.rule("tiles are of a size that is compiled soon", [=](const Setting& setting) {
    BlockSizes blocks = requested(setting);
    bool as_chosen = blocks.rows == choice.chosen.rows &&
                     (!cuts_columns || blocks.columns == choice.chosen.columns);
    std::int64_t columns = cuts_columns ? blocks.columns : choice.row_elements;
    return as_chosen || blocks.rows * columns <= most;
  });
  space.rule("the lowering uses the requested size", [=](const Setting& setting) {
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
  return make_space(lowering.name, lowering.choice(list, region, target), target);
}

}  // namespace tilewright::graph
