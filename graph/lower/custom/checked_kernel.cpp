#include "graph/lower/custom/checked_kernel.h"

#include <string>
#include <utility>
#include <vector>

#include "dsl/emulator/known_memory.h"
#include "dsl/launch/compile.h"
#include "graph/lower/custom/custom_site.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The memory of each Pointer of the kernel.
struct PointerView {
  std::string name;
  CustomView view;
};

std::vector<PointerView> pointer_views(const CustomSite& site, const CustomCall& call) {
  std::vector<CustomView> views = views_of(site, site.operands());
  for (CustomView& view : views_of(site, site.results(call))) views.push_back(std::move(view));
  const dsl::Kernel& kernel = site.custom->kernel->kernel;
  std::vector<PointerView> pointers;
  for (std::size_t i = 0; i < kernel.parameter_kinds().size(); ++i)
    if (kernel.parameter_kinds()[i] == dsl::ParameterKind::pointer) {
      const auto part = site.custom->part_of_pointer(pointers.size());
      CustomView view = views[site.custom->operand_of_pointer(pointers.size())];
      view.offset_bytes += part.offset * size_bytes(view.type.dtype);
      if (part.count >= 0) view.type.shape = {part.count};
      pointers.push_back({kernel.parameter_names()[i], std::move(view)});
    }
  return pointers;
}

// By a launch of the kernel itself.
HostCall launched(const CustomSite& site, const Device& device, const CustomCall& call,
                  std::source_location where) {
  return [kernel = site.custom->kernel->kernel.on(device), pointers = pointer_views(site, call),
          numbers = site.custom->kernel->launch(call).numbers, knobs = knobs_of(call),
          where](const Grid& grid, const Argument* arguments) {
    std::vector<dsl::LaunchArgument> all;
    std::size_t pointer = 0, number = 0;
    for (dsl::ParameterKind kind : kernel.parameter_kinds()) {
      if (kind == dsl::ParameterKind::pointer) {
        const CustomView& view = pointers[pointer++].view;
        all.emplace_back(view.begin(arguments), view.type.dtype, view.type.count());
      } else {
        std::visit([&](auto value) { all.emplace_back(value); }, numbers[number++]);
      }
    }
    kernel.launch_with({grid, where}, all, knobs);
  };
}

// By the program of the plan, in the emulator.
HostCall watched(const CustomSite& site, const Device& device, const ir::Function& program,
                 const CustomCall& call, std::source_location where) {
  return [artifact = dsl::compile_watched(program, device), pointers = pointer_views(site, call),
          where](const Grid& grid, const Argument* arguments) {
    std::vector<dsl::emulator::KnownArray> arrays;
    for (const auto& [name, view] : pointers)
      arrays.push_back({name, view.begin(arguments), view.bytes(), size_bytes(view.type.dtype)});
    const dsl::emulator::KnownMemory known(std::move(arrays));
    Artifact own = *artifact;
    own.emulated = [&](const Argument* of_all, const std::int64_t* sizes, std::int64_t begin,
                       std::int64_t end) {
      dsl::emulator::KnownMemoryScope scope(&known);
      artifact->emulated(of_all, sizes, begin, end);
    };
    try {
      launch(own, grid, arguments);
    } catch (const Error& error) {
      raise_error(concat(error.what(), " (launched at ", describe(where), ")"));
    }
  };
}

bool checks_asserts(dsl::Check check) {
  return check == dsl::Check::asserts || check == dsl::Check::all;
}

}  // namespace

bool is_checked_kernel(const TaskList& list, const Region& region, const Device& device) {
  const CustomReference& custom = list.tasks[region.tasks[0]].attributes.custom;
  if (list.tasks[region.tasks[0]].op != Op::custom || !custom->kernel || device.is_cuda())
    return false;
  return device.is_emulated() || custom->kernel->kernel.checks() != dsl::Check::none;
}

HostCall checked_kernel_call(const TaskList& list, const Region& region, const Device& device,
                             const ir::Function& program, std::int64_t configuration,
                             std::source_location where) {
  const CustomSite site{list, region};
  const CustomCall call =
      custom_call(*site.custom, site.operand_types(), std::max<std::int64_t>(1, configuration));
  if (device.is_emulated() && !checks_asserts(site.custom->kernel->kernel.checks()))
    return watched(site, device, program, call, where);
  return launched(site, device, call, where);
}

}  // namespace tilewright::graph
