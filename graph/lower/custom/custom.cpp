// The lowering of custom ops: a kernel's own program, with sizes as constants, or a call of C++.
//
// Programs are written by the kernel's function; the lowering only gives it pointers to where the
// operands and results lie. What may be tuned are the configurations that its author listed.
#include <algorithm>

#include "dsl/language/kernel_knobs.h"
#include "graph/custom/definition.h"
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// One task, its types and where all of its memory is.
struct CustomSite {
  const TaskList& list;
  const Region& region;
  const Task& task = list.tasks[region.tasks[0]];
  const CustomReference& custom = task.attributes.custom;

  struct Place {
    TensorType type;
    StorageId storage;
    std::int64_t offset;
  };

  std::vector<TensorType> operand_types() const {
    std::vector<TensorType> types;
    for (const TaskOperand& operand : task.operands)
      types.push_back({list.storages[operand.storage].dtype, operand.view.shape});
    return types;
  }
  std::vector<Place> operands() const {
    std::vector<Place> places;
    for (const TaskOperand& operand : task.operands)
      places.push_back({{list.storages[operand.storage].dtype, operand.view.shape},
                        operand.storage,
                        operand.view.offset});
    return places;
  }
  // Of an op that changes its first operand none: they are there.
  std::vector<Place> results(const CustomCall& call) const {
    std::vector<Place> places;
    if (custom.changes_operand()) return places;
    std::int64_t offset = task.place.offset;
    for (const TensorType& type : call.results()) {
      places.push_back({type, task.storage, offset});
      offset += type.count();
    }
    return places;
  }
};

bool is_custom(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::custom;
}

void add_storages(const CustomSite& site, Parameters& parameters) {
  for (const TaskOperand& operand : site.task.operands) parameters.add(operand.storage);
  parameters.add(site.task.storage);
}

LoweredProgram kernel_program(const CustomSite& site, const dsl::Target& target,
                              const CustomCall& call) {
  dsl::Tracer tracer(site.custom.name());
  Parameters parameters(tracer, site.list, site.region);
  add_storages(site, parameters);
  std::vector<dsl::Tile> pointers;
  for (const auto& places : {site.operands(), site.results(call)})
    for (const CustomSite::Place& place : places)
      pointers.push_back(parameters.pointer(place.storage) + Offset(place.offset));
  Grid grid = trace_custom(*site.custom, call, pointers);
  LoweredProgram program{tracer.finish(), grid, parameters.memory()};
  if (target.is_gpu()) follow(knobs_of(call), program.function);
  return program;
}

// The function that stands for C++ takes what that takes, and does nothing.
LoweredProgram buffers_program(const CustomSite& site, const CustomCall& call) {
  dsl::Tracer tracer(concat(site.custom.name(), "_", site.custom.identity().hex()));
  Parameters parameters(tracer, site.list, site.region);
  add_storages(site, parameters);
  LoweredProgram program{tracer.finish(), Grid(), parameters.memory()};
  struct View {
    TensorType type;
    std::size_t argument;
    std::int64_t offset_bytes;
  };
  std::vector<StorageId> storages = storages_of(site.list, site.region);
  auto views_of = [&](const std::vector<CustomSite::Place>& places) {
    std::vector<View> views;
    for (const CustomSite::Place& place : places) {
      auto index =
          static_cast<std::uint32_t>(std::ranges::find(storages, place.storage) - storages.begin());
      auto at = std::ranges::find(program.memory, index) - program.memory.begin();
      views.push_back(
          {place.type, static_cast<std::size_t>(at), place.offset * size_bytes(place.type.dtype)});
    }
    return views;
  };
  auto memory_at = [](const std::vector<View>& views, const Argument* arguments) {
    std::vector<BufferView> buffers;
    for (const View& view : views) {
      auto* begin = static_cast<std::byte*>(const_cast<void*>(arguments[view.argument].pointer));
      buffers.push_back({view.type, begin + view.offset_bytes});
    }
    return buffers;
  };
  program.call = [custom = site.custom, memory_at, operands = views_of(site.operands()),
                  results = views_of(site.results(call))](const Grid&, const Argument* arguments) {
    std::vector<BufferView> read = memory_at(operands, arguments);
    std::vector<BufferView> written = memory_at(results, arguments);
    if (custom.changes_operand()) written = {read[0]};
    custom->buffers(read, written);
  };
  return program;
}

BlockSizes chosen_configuration(const CustomSite& site, const BlockSizes& asked) {
  BlockSizes blocks;
  const std::int64_t all = configurations_of(*site.custom);
  if (all > 1) blocks.configuration = settled(asked.configuration, 1, all);
  return blocks;
}

LoweredRegion lower_custom(const TaskList& list, const Region& region, const dsl::Target& target,
                           const BlockSizes& asked) {
  CustomSite site{list, region};
  LoweredRegion result;
  result.blocks = chosen_configuration(site, asked);
  const std::int64_t configuration = std::max<std::int64_t>(1, result.blocks.configuration);
  CustomCall call = custom_call(*site.custom, site.operand_types(), configuration);
  result.kind = "custom";
  if (site.custom->buffers)
    result.programs.push_back(buffers_program(site, call));
  else
    result.programs.push_back(kernel_program(site, target, call));
  return result;
}

BlockChoice choose_configuration(const TaskList& list, const Region& region, const dsl::Target&) {
  CustomSite site{list, region};
  BlockChoice choice;
  choice.chosen = chosen_configuration(site, {});
  choice.most.configuration = configurations_of(*site.custom);
  const BlockSizes asked_for = choice.chosen;
  const std::int64_t all = choice.most.configuration;
  choice.used = [asked_for, all](const BlockSizes& asked) {
    BlockSizes used = asked_for;
    if (all > 1) used.configuration = settled(asked.configuration, 1, all);
    return used;
  };
  return choice;
}

void describe_custom(const TaskList& list, const Region& region, autotune::Record& problem) {
  CustomSite site{list, region};
  std::string shapes;
  for (const TensorType& type : site.operand_types())
    shapes += concat(shapes.empty() ? "" : ",", type.shape);
  problem.set("op", site.custom.name());
  problem.set("shapes", shapes);
}

}  // namespace

constinit const Lowering lowerings::custom = {.name = "custom",
                                              .matches = is_custom,
                                              .lower = lower_custom,
                                              .choice = choose_configuration,
                                              .describe = describe_custom};

}  // namespace tilewright::graph
