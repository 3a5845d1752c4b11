#include "graph/tune/region_tuner.h"

#include <algorithm>

#include "autotune/database/row/compiler_record.h"
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"

namespace tilewright::graph {
namespace {

using autotune::Configuration;
using autotune::Point;
using autotune::Record;
using autotune::TuningKey;
using autotune::TuningRow;

constexpr std::size_t most_seeds = 2;  // winner and runner-up of elsewhere

Record problem_record(const TaskList& list, const Region& region) {
  Record record;
  std::string types;
  for (StorageId id : storages_of(list, region)) {
    const Storage& storage = list.storages[id];
    types += (types.empty() ? "" : ",") + std::string(name_of(storage.dtype));
    if (!storage.is_aligned) types += "?";  // begins anywhere
  }
  record.set("types", types);
  const Lowering& lowering = lowering_of(list, region);
  if (lowering.describe != nullptr) lowering.describe(list, region, record);
  return record;
}

}  // namespace

TuningKey tuning_key(const TaskList& list, const Region& region, const Device& device) {
  std::string kernel;
  for (TaskId id : region.tasks)
    if (kernel.size() < 64)
      kernel += (kernel.empty() ? "" : " ") + std::string(word_of(list.tasks[id]));
  return {kernel, region_key(list, region), problem_record(list, region),
          autotune::record_of(device), autotune::compiler_record()};
}

RegionTuner::RegionTuner(const TaskList& list, const Device& device,
                         autotune::TuningDatabase& database)
    : list_(list), device_(device), database_(database) {}

KnownRegion RegionTuner::look_up(const Region& region) {
  KnownRegion known;
  RegionSpace space = region_space(list_, region, device_.target());
  known.has_choice = space.space.legal_points(2).size() > 1;
  if (!known.has_choice) return known;
  std::vector<TuningRow> rows = database_.rows(tuning_key(list_, region, device_));
  known.is_known = !rows.empty();
  Point choice = autotune::choice_of(space.space, space.preferred, rows);
  if (choice != space.preferred) known.blocks = space.blocks_of(choice);
  Configuration preferred = autotune::configuration_of(space.space, space.preferred);
  auto row = std::ranges::find(rows, preferred, &TuningRow::configuration);
  if (row != rows.end()) known.default_seconds = row->median_ns() / 1e9;
  return known;
}

BlockSizes RegionTuner::search(const Region& region, TuneSettings settings) {
  RegionSpace space = region_space(list_, region, device_.target());
  TuningKey key = tuning_key(list_, region, device_);
  auto accept = [&](const Configuration& one) {
    return autotune::point_of(space.space, one).has_value();
  };
  std::vector<TuningRow> known = database_.lookup(key, accept).seeds;
  // Another build's winner and runner-up are looked at again, and nothing else.
  if (!known.empty()) settings.budget.trials = 1 + static_cast<double>(known.size());
  if (known.empty()) known = database_.neighbours(key, most_seeds, accept);
  std::vector<Point> seeds;
  for (const TuningRow& row : known)
    seeds.push_back(autotune::point_of(space.space, row.configuration).value());
  RegionTuning tuning = tune_region(list_, region, device_, settings, std::move(seeds));
  std::vector<TuningRow> rows =
      autotune::rows_of(key, space.space, space.preferred, tuning.measured);
  database_.store(rows);
  Point choice = autotune::choice_of(space.space, space.preferred, rows);
  return choice == space.preferred ? BlockSizes{} : space.blocks_of(choice);
}

}  // namespace tilewright::graph
