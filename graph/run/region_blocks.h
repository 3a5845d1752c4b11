// Which sizes of blocks the regions of a plan are lowered with. This file decides where they come
// from, once, and later code does not ask.
//
// A locked plan's sizes come first, then those that tuning chose before (PlanOptions::choices) or
// knows or finds now, then the caller's (PlanOptions::blocks), where nothing is searched. The
// lowering chooses the sizes that none of them names. A locked plan must also record the sizes that
// were used in the end, and so does a plan that is written.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/lower/lower.h"
#include "graph/regions/fuse.h"
#include "graph/run/plan.h"
#include "graph/tune/plan_lock.h"

namespace tilewright::graph {

class RegionBlocks {
 public:
  // Tunes where the options say so, all regions at once, since they share one budget. `keys` are
  // those of the regions' programs (program_key). All must outlive it. Raises `Error` for sizes
  // that cannot be asked for, and for a lock of another device.
  RegionBlocks(const TaskList& list, std::span<const FusedRegion> regions,
               std::span<const Hash> keys, const PlanOptions& options);

  // Called for one region of each key. Raises `Error` where a locked plan does not have the region,
  // or says that it became something else.
  LoweredRegion lowered(const Region& region, const Hash& key);
  // Called when all are lowered: brings a plan that is to be written to its file.
  void write() const;
  // That the clock made, now or before.
  const TunedChoices& choices() const { return choices_; }

 private:
  void tune(std::span<const FusedRegion> regions, std::span<const Hash> keys);
  BlockSizes asked(const Region& region, const Hash& key) const;
  void hold_to_lock(const Region& region, const Hash& key, LockedRegion now);
  std::string words_of(const Region& region) const;

  const TaskList& list_;
  const PlanOptions& options_;
  dsl::Target target_;
  bool is_locked_;
  TunedChoices choices_;
  std::unordered_map<Hash, BlockSizes> tuned_;       // by key
  std::vector<std::pair<Hash, LockedRegion>> used_;  // of each distinct region, where it is written
};

}  // namespace tilewright::graph
