// The lowering of custom ops: a kernel's own program, with sizes as constants, or a call of C++.
//
// Programs are written by the kernel's function; the lowering only gives it pointers to where the
// operands and results lie. The configurations that its author listed may be tuned.
#include <algorithm>

#include "dsl/language/kernel_knobs.h"
#include "dsl/language/launch_checks.h"
#include "graph/custom/refusal.h"
#include "graph/lower/custom/buffers_call.h"
#include "graph/lower/custom/custom_site.h"
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/error.h"
#include "runtime/plan/refused_call.h"

namespace tilewright::graph {
namespace {

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
    for (const CustomSite::PlacedTensor& place : places)
      pointers.push_back(parameters.pointer(place.storage) + Offset(place.offset));
  Grid grid = trace_custom(*site.custom, call, pointers);
  dsl::require_grid(site.custom.name(), grid);
  dsl::require_knobs(site.custom.name(), knobs_of(call));
  LoweredProgram program{tracer.finish(), grid, parameters.memory()};
  if (target.is_gpu()) follow(knobs_of(call), program.function);
  return program;
}

// The function that stands for C++ takes what that takes, and does nothing.
LoweredProgram buffers_program(const CustomSite& site) {
  dsl::Tracer tracer(concat(site.custom.name(), "_", site.custom.identity().hex()));
  Parameters parameters(tracer, site.list, site.region);
  add_storages(site, parameters);
  LoweredProgram program{tracer.finish(), Grid(), parameters.memory()};
  program.call = buffers_call(site.list, site.region, nullptr);
  return program;
}

// Views in memory that the function may touch: where they lie, or copies of what lies there.
class HostBuffers {
 public:
  HostBuffers(const std::vector<CustomView>& views, const Argument* arguments, DeviceMemory* device)
      : views_(views), arguments_(arguments), device_(device) {
    for (const CustomView& view : views) {
      std::byte* begin = view.begin(arguments);
      if (device != nullptr) {
        copies_.push_back(Buffer::allocate(std::max<std::int64_t>(1, view.bytes())));
        begin = static_cast<std::byte*>(copies_.back()->data());
      }
      buffers_.push_back({view.type, begin});
    }
  }
  void read() {
    for (std::size_t i = 0; i < copies_.size(); ++i)
      device_->copy_to_host(copies_[i]->data(), views_[i].begin(arguments_), views_[i].bytes());
  }
  // Gives back the first views, or all.
  void write(std::size_t count) {
    for (std::size_t i = 0; i < std::min(count, copies_.size()); ++i)
      device_->copy_from_host(views_[i].begin(arguments_), copies_[i]->data(), views_[i].bytes());
  }
  std::vector<BufferView>& all() { return buffers_; }

 private:
  const std::vector<CustomView>& views_;
  const Argument* arguments_;
  DeviceMemory* device_;
  std::vector<std::shared_ptr<Buffer>> copies_;
  std::vector<BufferView> buffers_;
};

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
    result.programs.push_back(buffers_program(site));
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

bool is_buffers_call(const TaskList& list, const Region& region) {
  return is_custom(list, region) && CustomSite{list, region}.custom->buffers;
}

HostCall buffers_call(const TaskList& list, const Region& region, DeviceMemory* memory) {
  const CustomSite site{list, region};
  if (const auto* refusal = site.custom->buffers.target<Refusal>())
    return RefusedCall{refusal->error};
  const CustomCall call = custom_call(*site.custom, site.operand_types(), 1);
  return [custom = site.custom, memory, operands = views_of(site, site.operands()),
          results = views_of(site, site.results(call))](const Grid&, const Argument* arguments) {
    HostBuffers read(operands, arguments, memory), written(results, arguments, memory);
    read.read();
    const bool changes = custom.changes_operand();
    custom->buffers(read.all(), changes ? std::vector{read.all()[0]} : written.all());
    if (changes) read.write(1);
    written.write(results.size());
  };
}

constinit const Lowering lowerings::custom = {.name = "custom",
                                              .matches = is_custom,
                                              .lower = lower_custom,
                                              .choice = choose_configuration,
                                              .describe = describe_custom};

}  // namespace tilewright::graph
