#include "graph/run/planned_regions.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/lower/lower.h"
#include "graph/run/plan_tasks.h"
#include "graph/run/task_numbers.h"
#include "graph/sizes/graph_numbers.h"
#include "graph/sizes/interpolated.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

template <typename Visitor, typename P>
void visit_programs(Visitor& visitor, P& planned) {
  auto& [kind, scratch, programs, is_relaunched, decided, relaunched_sizes] = planned;
  visitor.form(kind);
  visitor.form(scratch.size());
  for (auto& [dtype, elements] : scratch) {
    visitor.form(dtype);
    visitor.number(elements);
  }
  visitor.form(programs.size());
  visitor.form(is_relaunched);
  visitor.form(decided);
  visitor.form(relaunched_sizes);
  for (auto& [function, key, grid, memory, sizes] : programs) {
    visitor.form(key);
    visitor.form(memory);
    visitor.form(sizes.size());
    if (!is_relaunched)
      for (auto& size : grid.size) visitor.number(size);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (std::ranges::find(relaunched_sizes, i) == relaunched_sizes.end())
        visitor.number(sizes[i]);
  }
}

template <typename Visitor, typename P>
void visit_planned(Visitor& visitor, P& planned) {
  auto& [tasks, becomes, programs] = planned;
  visit(visitor, tasks);
  visitor.form(becomes);
  visitor.form(programs.size());
  for (auto& each : programs) visit_programs(visitor, each);
}

const Region& first_region(const PlannedRegions& planned, std::size_t programs) {
  const auto first = std::ranges::find(planned.becomes, programs);
  return planned.tasks.regions[static_cast<std::size_t>(first - planned.becomes.begin())].region;
}

PlannedPrograms lowered(const TaskList& list, const Region& region, const dsl::Target& target) {
  LoweredRegion from = lower(list, region, target);
  const Lowering& lowering = lowering_of(list, region);
  PlannedPrograms result{std::move(from.kind), std::move(from.scratch), {}, false, {}, {}};
  for (LoweredProgram& program : from.programs) {
    const Hash key = ir::content_hash(program.function);
    result.programs.push_back({std::make_shared<const ir::Function>(std::move(program.function)),
                               key, program.grid, std::move(program.memory),
                               std::move(program.sizes)});
  }
  if (lowering.relaunch == nullptr || result.programs.size() != 1) return result;
  if (auto again = lowering.relaunch(list, region, target, {}, from.decided)) {
    result.is_relaunched = true;
    result.decided = from.decided;
    for (const auto& [place, size] : again->sizes) result.relaunched_sizes.push_back(place);
  }
  return result;
}

PlannedRegions made(FusedTasks tasks, const dsl::Target& target) {
  PlannedRegions result{std::move(tasks), {}, {}};
  std::unordered_map<Hash, std::uint32_t> known;
  for (const FusedRegion& fused : result.tasks.regions) {
    const Hash key = program_key(result.tasks.list, fused.region, target);
    const auto number = static_cast<std::uint32_t>(result.programs.size());
    auto [at, is_new] = known.try_emplace(key, number);
    if (is_new) result.programs.push_back(lowered(result.tasks.list, fused.region, target));
    result.becomes.push_back(at->second);
  }
  return result;
}

bool are_equal(const PlannedPrograms& a, const PlannedPrograms& b) {
  return std::ranges::equal(a.programs, b.programs, [](const auto& one, const auto& other) {
    return one.key == other.key && one.memory == other.memory && one.sizes == other.sizes &&
           std::ranges::equal(one.grid.size, other.grid.size);
  });
}

// Sets launches that follow from no polynomial, by the code that decides them for all plans.
void launch_again(PlannedRegions& planned, const dsl::Target& target) {
  const TaskList& list = planned.tasks.list;
  for (std::size_t i = 0; i < planned.programs.size(); ++i) {
    PlannedPrograms& programs = planned.programs[i];
    const Region& region = first_region(planned, i);
    if (programs.is_relaunched) {
      const auto again =
          lowering_of(list, region).relaunch(list, region, target, {}, programs.decided);
      if (!again) {
        programs = lowered(list, region, target);
        continue;
      }
      programs.programs[0].grid = again->grid;
      for (const auto& [place, size] : again->sizes) programs.programs[0].sizes[place] = size;
    }
    if (is_interpolated_verified() && !are_equal(programs, lowered(list, region, target)))
      raise_wrongly_interpolated(concat("programs of a region (", programs.kind, ")"), 0, 1);
  }
}

}  // namespace

void visit(NumberReader& visitor, const PlannedRegions& planned) {
  visit_planned(visitor, planned);
}
void visit(NumberWriter& visitor, PlannedRegions& planned) { visit_planned(visitor, planned); }

Hash key_of(const PlannedRegions& planned) {
  Hasher hasher;
  for (std::size_t i = 0; i < planned.becomes.size(); ++i) {
    for (const PlannedProgram& program : planned.programs[planned.becomes[i]].programs)
      hasher.add(program.key).add(program.sizes);
    const Region& region = planned.tasks.regions[i].region;
    hasher.add(region.rows * region.width);
  }
  return hasher.finish();
}

bool may_interpolate_regions(const Graph& graph, const PlanOptions& options) {
  auto calls = [](const Node& node) {
    return info(node.op).kind == Kind::custom || info(node.op).kind == Kind::control;
  };
  return options.sizes_vary && !options.tune && !options.choices && !options.lock &&
         options.blocks == BlockSizes{} && !options.device.target().is_gpu() &&
         is_made_of_numbers(graph) && std::ranges::none_of(graph.nodes, calls);
}

PlannedRegions planned_regions(const Graph& graph, const PlanOptions& options,
                               bool& is_interpolated) {
  static InterpolatedValues<PlannedRegions>& values =
      *new InterpolatedValues<PlannedRegions>("tasks, regions and programs");
  const dsl::Target target = options.device.target();
  NumberReader given;
  given.form(planned_threads());
  add_form(given, options);
  visit(given, graph);
  bool tasks_are_interpolated = false;
  auto make = [&] { return made(planned_tasks(graph, options, tasks_are_interpolated), target); };
  PlannedRegions planned = values.value_of(given, make, is_interpolated);
  if (is_interpolated) launch_again(planned, target);
  is_interpolated |= tasks_are_interpolated;
  return planned;
}

}  // namespace tilewright::graph
