#include "graph/run/region_blocks.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "graph/ir/options/unkept_options.h"
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

RegionBlocks::RegionBlocks(const TaskList& list, std::span<const FusedRegion> regions,
                           std::span<const Hash> keys, const PlanOptions& options)
    : list_(list),
      options_(options),
      target_(options.device.target()),
      is_locked_(options.lock && options.lock->is_locked()) {
  require_possible(options.blocks);
  if (is_locked_) options.lock->require_device(options.device);
  const bool is_decided = is_locked_ || options.blocks != BlockSizes{};
  // The times of an interpreter or an emulator mean nothing.
  const bool has_clock = !options.interpret && !options.device.is_emulated();
  if (options.choices) {
    choices_ = *options.choices;
    for (const RegionChoice& choice : choices_.regions)
      tuned_.emplace(choice.region, choice.blocks);
  } else if (options.tune && has_clock && !is_decided) {
    tune(regions, keys);
  } else if (options.tune && !has_clock && !is_decided) {
    UnkeptOptions::note(options.tune->searches ? "mode" : "tune_in_background",
                        concat("block configurations are not searched for on ",
                               options.device.text(), ", whose times mean nothing"));
  }
}

void RegionBlocks::tune(std::span<const FusedRegion> regions, std::span<const Hash> keys) {
  std::vector<RegionUse> distinct;
  std::unordered_map<Hash, std::size_t> place;
  std::unordered_set<Hash> without_choice;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (lowering_of(list_, regions[i].region).choice == nullptr) {
      without_choice.insert(keys[i]);
      continue;
    }
    auto [at, is_new] = place.try_emplace(keys[i], distinct.size());
    if (is_new) distinct.push_back({&regions[i].region, 0});
    ++distinct[at->second].instances;
  }
  TunedRegions tuned = tune_regions(list_, distinct, options_.device, *options_.tune);
  choices_.report = tuned.report;
  choices_.report.fixed += static_cast<int>(without_choice.size());
  for (const auto& [key, at] : place) {
    tuned_.emplace(key, tuned.asked[at]);
    if (tuned.asked[at] != BlockSizes{})
      choices_.regions.push_back({key, tuned.asked[at], tuned.seconds[at]});
  }
  std::ranges::sort(choices_.regions, std::greater{}, [](const RegionChoice& choice) {
    return std::pair(choice.seconds, choice.region);
  });
}

BlockSizes RegionBlocks::asked(const Region& region, const Hash& key) const {
  if (lowering_of(list_, region).choice == nullptr) return {};
  if (is_locked_) return options_.lock->at(key, words_of(region)).asked;
  auto tuned = tuned_.find(key);
  return tuned == tuned_.end() ? options_.blocks : tuned->second;
}

LoweredRegion RegionBlocks::lowered(const Region& region, const Hash& key) {
  const BlockSizes sizes = asked(region, key);
  LoweredRegion result = lower(list_, region, target_, sizes);
  if (options_.lock) hold_to_lock(region, key, {sizes, result.blocks});
  return result;
}

void RegionBlocks::hold_to_lock(const Region& region, const Hash& key, LockedRegion now) {
  now.precision = ir::name_of(precision_of(list_, region));
  now.ops = words_of(region);
  if (is_locked_)
    options_.lock->require_same(key, now);
  else
    used_.emplace_back(key, std::move(now));
}

void RegionBlocks::write() const {
  if (options_.lock && !is_locked_) options_.lock->add_plan(options_.device, options_.title, used_);
}

std::string RegionBlocks::words_of(const Region& region) const {
  std::string words;
  for (TaskId id : region.tasks)
    words += (words.empty() ? "" : " ") + std::string(word_of(list_.tasks[id]));
  return words;
}

}  // namespace tilewright::graph
