#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "dsl/launch/compile.h"
#include "graph/lower/custom/buffers_call.h"
#include "graph/lower/custom/checked_kernel.h"
#include "graph/lower/frame.h"
#include "graph/lower/lower.h"
#include "graph/lower/lowering.h"
#include "graph/lower/packed_weights.h"
#include "graph/regions/region_key.h"
#include "graph/regions/storage.h"
#include "graph/run/batches.h"
#include "graph/run/control_flow.h"
#include "graph/run/marked_regions.h"
#include "graph/run/memory.h"
#include "graph/run/plan_body.h"
#include "graph/run/plan_kernels.h"
#include "graph/run/plan_tasks.h"
#include "graph/run/planned_regions.h"
#include "graph/run/region_blocks.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using Clock = std::chrono::steady_clock;

// How much the launches of one batch may write as intermediate values: about what caches hold.
constexpr std::int64_t host_batch_bytes = 1 << 20, gpu_batch_bytes = 8 << 20;
// A batch that reads and writes no more than this is done before other threads are awake.
constexpr std::int64_t bytes_alone = 64 << 10;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class PlanMaker {
 public:
  PlanMaker(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        target_(options.device.target()),
        threads_(options.threads) {
    body_->device = options.device;
    run_.gpu = options.device.ordinal();
    run_.memory = options.device.memory();
  }

  std::shared_ptr<const Plan> run() {
    const Clock::time_point begin = Clock::now();
    lay_out_steps();
    const double tuning_seconds = body_->choices.report.seconds;
    body_->lower_seconds = seconds_since(begin) - (options_.choices ? 0 : tuning_seconds);
    const Clock::time_point generate = Clock::now();
    add_kernels();
    add_steps();
    outputs();
    body_->compile_seconds = seconds_since(generate) + tuning_seconds;
    return std::make_shared<const Plan>(std::move(body_));
  }

  // No code is generated, except for bodies of control flow.
  PlanMemory memory() {
    lay_out_steps();
    for (HostCall& call : calls_) run_.kernels.push_back({.call = std::move(call)});
    add_steps();
    return memory_of(run_);
  }

 private:
  void lay_out_steps() {
    if (may_interpolate_regions(graph_, options_))
      lay_out_interpolated();
    else
      lay_out_regions();
    batch_launches();
    place_storages();
  }

  void lay_out_interpolated() {
    planned_ = planned_regions(graph_, options_, body_->is_interpolated);
    body_->key = key_of(*planned_);
    list_ = std::move(planned_->tasks.list);
    regions_ = std::move(planned_->tasks.regions);
    if (!graph_.marks.empty()) find_marked();
    find_positions();
    for (std::size_t i = 0; i < regions_.size(); ++i) lower_region(i);
  }

  void lay_out_regions() {
    FusedTasks tasks = planned_tasks(graph_, options_, body_->is_interpolated);
    list_ = std::move(tasks.list);
    regions_ = std::move(tasks.regions);
    find_marked();
    body_->key = key_of_regions();
    find_positions();
    blocks_.emplace(list_, regions_, keys_, options_);
    body_->choices = blocks_->choices();
    for (std::size_t i = 0; i < regions_.size(); ++i) lower_region(i);
    blocks_->write();
  }

  void find_marked() {
    for (const FusedRegion& fused : regions_)
      keys_.push_back(program_key(list_, fused.region, target_));
    body_->marked_regions = marked_regions(graph_, list_, regions_, keys_);
  }
  void add_steps() {
    for (const auto& batch : batches_) add_step(batch);
  }

  // The lowered form of a region: programs, one after the other, and their scratch memory.
  struct RegionProgram {
    std::uint32_t program = 0;
    Grid grid;
    std::vector<std::uint32_t> memory;
    std::vector<std::int64_t> sizes;
  };
  struct RegionPrograms {
    std::vector<RegionProgram> steps;
    std::vector<Scratch> scratch;
    std::vector<PackedOperand> packed;  // that bodies of control flow read, behind the scratch
  };

  struct PendingLaunch {
    std::uint32_t program;
    Grid grid;
    std::vector<StorageId> storages;
    std::vector<std::int64_t> sizes;  // the arguments behind them
    std::vector<StorageId> writes;    // of them
    std::int64_t bytes = 0;           // read and written
    bool may_batch = false;
  };

  void lower_region(std::size_t number) {
    const FusedRegion& region = regions_[number];
    const Lowering& lowering = lowering_of(list_, region.region);
    auto [known, is_new] = like_.try_emplace(shared_key(number));
    if (is_new) known->second = planned_ ? interpolated_steps(number) : steps_of(number);
    std::vector<StorageId> memory = storages_of(list_, region.region);
    std::vector<StorageId> writes = written(region.region);
    for (const Scratch& scratch : known->second.scratch) {
      memory.push_back(static_cast<StorageId>(list_.storages.size()));
      writes.push_back(memory.back());
      list_.storages.emplace_back();
      list_.storages.back().dtype = scratch.dtype;
      list_.storages.back().elements = scratch.elements;
    }
    for (const PackedOperand& packed : known->second.packed)
      memory.push_back(packed_storage(region.region, packed));
    for (const RegionProgram& step : known->second.steps) {
      PlanProgram& program = body_->programs[step.program];
      ++program.instances;
      if (MarkId mark = mark_of(graph_, list_, region))
        add_name(graph_.marks[mark - 1], program.marks);
      PendingLaunch launch{step.program, step.grid, {}, step.sizes, {}, 0};
      for (std::uint32_t i : step.memory) launch.storages.push_back(memory[i]);
      if (lowering.launch != nullptr) {
        SizedLaunch sized = lowering.launch(list_, region.region, target_);
        launch.grid = sized.grid;
        launch.sizes = {sized.count};
      }
      bool is_alone = known->second.steps.size() == 1;
      launch.writes = writes;
      if (!is_alone)
        std::erase_if(launch.writes,
                      [&](StorageId id) { return !std::ranges::count(launch.storages, id); });
      launch.bytes = bytes_moved(list_, region.region);
      // A batch would compute values again where the function has them at hand.
      launch.may_batch = options_.fuse && is_alone && lowering.may_batch && !region.is_again &&
                         body_->functions[step.program]->cluster == 1;
      launches_.push_back(std::move(launch));
    }
  }

  StorageId packed_storage(const Region& region, const PackedOperand& packed) {
    TaskOperand weight = list_.tasks[region.tasks[0]].operands[packed.operand];
    Storage storage;
    storage.elements = packed.weight.elements();
    storage.packed_from = packed.weight.matrix;
    storage.panels = packed.weight.panels;
    storage.is_winograd = packed.weight.is_winograd;
    read_packed(list_, weight, std::move(storage));
    return weight.storage;
  }

  static void add_name(const std::string& name, std::vector<std::string>& names) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }

  std::vector<StorageId> written(const Region& region) const {
    std::vector<StorageId> result;
    for (std::size_t slot = 0; slot < region.tasks.size(); ++slot)
      if (region.stored[slot]) result.push_back(list_.tasks[region.tasks[slot]].storage);
    for (TaskId id : region.tasks)
      for (const TaskResult& other : list_.tasks[id].others) result.push_back(other.storage);
    return result;
  }

  void batch_launches() {
    std::vector<BatchCandidate> candidates;
    for (const PendingLaunch& launch : launches_) {
      BatchCandidate candidate{launch.program, launch.storages, launch.writes};
      if (launch.may_batch)
        candidate.most = dsl::most_launches(*body_->functions[launch.program], options_.device);
      for (StorageId id : launch.writes) {
        const Storage& storage = list_.storages[id];
        if (storage.kind == StorageKind::result && !storage.is_output)
          candidate.new_bytes += storage.elements * size_bytes(storage.dtype);
      }
      candidates.push_back(std::move(candidate));
    }
    std::int64_t most_bytes = target_.is_gpu() ? gpu_batch_bytes : host_batch_bytes;
    batches_ = make_batches(candidates, list_.storages.size(), {most_bytes});
    uses_.resize(body_->programs.size());
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].call = calls_[i];
    for (const auto& [key, program] : program_of_) uses_[program].content = key;
    for (const auto& batch : batches_) {
      std::uint32_t program = launches_[batch[0]].program;
      PlanProgram& of = body_->programs[program];
      ++of.launches;
      of.batch = std::max(of.batch, std::ssize(batch));
      uses_[program].batch = of.batch;
      uses_[program].runs_alone |= batch.size() == 1;
    }
  }

  bool is_checked(const Region& region) const {
    return !options_.interpret && is_checked_kernel(list_, region, options_.device);
  }
  std::source_location line_of(const Region& region) const {
    return graph_.node(list_.tasks[region.tasks[0]].node).where;
  }
  // Bodies of control flow read packed copies of operands that are frozen.
  Hash key_of_control(std::size_t number) const {
    Hasher hasher;
    hasher.add(keys_[number]);
    for (const TaskOperand& operand : list_.tasks[regions_[number].region.tasks[0]].operands)
      hasher.add(may_be_packed(list_, operand));
    return hasher.finish();
  }
  // Equal for regions that run the same programs: checked kernels name their line.
  Hash shared_key(std::size_t number) const {
    if (planned_) return {0, planned_->becomes[number]};
    const Region& region = regions_[number].region;
    if (is_control_flow(list_, region)) return key_of_control(number);
    if (!is_checked(region)) return keys_[number];
    const std::source_location where = line_of(region);
    return Hasher()
        .add(keys_[number])
        .add(std::string_view(where.file_name()))
        .add(where.line())
        .finish();
  }

  RegionPrograms interpolated_steps(std::size_t number) {
    const PlannedPrograms& planned = planned_->programs[planned_->becomes[number]];
    RegionPrograms result{{}, planned.scratch, {}};
    for (const PlannedProgram& program : planned.programs)
      result.steps.push_back({add_program(regions_[number], planned.kind, planned.scratch,
                                          program.key, program.function, {}, result.steps.empty()),
                              program.grid, program.memory, program.sizes});
    return result;
  }

  RegionPrograms steps_of(std::size_t number) {
    const FusedRegion& region = regions_[number];
    LoweredRegion lowered = blocks_->lowered(region.region, keys_[number]);
    RegionPrograms result;
    if (is_control_flow(list_, region.region)) {
      ControlFlowCall control =
          control_flow_call(list_, region.region, options_, line_of(region.region));
      LoweredProgram& program = lowered.programs[0];
      program.call = std::move(control.call);
      result.packed = std::move(control.packed);
      for (std::size_t i = 0; i < result.packed.size(); ++i)
        program.memory.push_back(static_cast<std::uint32_t>(program.memory.size()));
    }
    if (DeviceMemory* memory = options_.device.memory();
        memory != nullptr && is_buffers_call(list_, region.region))
      lowered.programs[0].call = buffers_call(list_, region.region, memory);
    if (is_checked(region.region))
      lowered.programs[0].call =
          checked_kernel_call(list_, region.region, options_.device, lowered.programs[0].function,
                              lowered.blocks.configuration, line_of(region.region));
    result.scratch = lowered.scratch;
    for (LoweredProgram& program : lowered.programs) {
      RegionProgram step{0, program.grid, program.memory, program.sizes};
      const Hash key = program.call ? shared_key(number) : ir::content_hash(program.function);
      step.program = add_program(region, lowered.kind, lowered.scratch, key,
                                 std::make_shared<const ir::Function>(std::move(program.function)),
                                 std::move(program.call), result.steps.empty());
      result.steps.push_back(std::move(step));
    }
    return result;
  }

  Hash key_of_regions() const {
    Hasher hasher;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const Region& region = regions_[i].region;
      hasher.add(keys_[i]).add(region.family_elements != 0 ? region.rows * region.width : 0);
    }
    return hasher.finish();
  }

  void find_positions() {
    for (const FusedRegion& region : regions_)
      for (WorkElement& element : work_elements(list_, region.region)) {
        const Storage& storage = list_.storages[element.storage];
        if (storage.kind == StorageKind::input)
          body_->positions.push_back({static_cast<std::size_t>(storage.input), storage.dtype,
                                      element.element, std::move(element.values)});
      }
  }

  // The user's operations that the region's tasks are parts of, in the order of the program.
  std::vector<std::string> user_ops(const Region& region) const {
    std::map<NodeId, std::string_view> written;
    for (TaskId id : region.tasks) {
      const Origin& origin = graph_.node(list_.tasks[id].node).origin;
      written.emplace(origin.node, graph::word_of(origin));
    }
    std::vector<std::string> names;
    for (const auto& [node, word] : written) names.emplace_back(word);
    return names;
  }

  // Regions of different keys may still give equal programs; of C++ the region's key is all that is
  // known.
  std::uint32_t add_program(const FusedRegion& region, const std::string& kind,
                            std::span<const Scratch> scratch, const Hash& key,
                            std::shared_ptr<const ir::Function> function, HostCall call,
                            bool is_first) {
    auto [it, is_new] =
        program_of_.emplace(key, static_cast<std::uint32_t>(body_->programs.size()));
    if (!is_new) return it->second;
    PlanProgram program;
    program.name = function->name;
    program.kind = kind;
    for (TaskId id : region.region.tasks) program.ops.emplace_back(word_of(list_.tasks[id]));
    program.user_ops = user_ops(region.region);
    program.key = key.hex();
    // The region's own reads and writes count with its first program.
    if (is_first) {
      program.bytes = bytes_moved(list_, region.region);
      program.bytes_saved = region.bytes_saved;
    }
    for (const Scratch& part : scratch) program.bytes += part.elements * size_bytes(part.dtype);
    body_->programs.push_back(std::move(program));
    body_->functions.push_back(std::move(function));
    calls_.push_back(std::move(call));
    return it->second;
  }

  // Assigns memory to each storage; values that are never in memory get none.
  void place_storages() {
    std::vector<int> first(list_.storages.size(), -1), last(list_.storages.size(), -1);
    for (std::size_t step = 0; step < batches_.size(); ++step)
      for (std::uint32_t launch : batches_[step])
        for (StorageId id : launches_[launch].storages) {
          if (first[id] < 0) first[id] = static_cast<int>(step);
          last[id] = static_cast<int>(step);
        }
    slot_of_.resize(list_.storages.size());
    std::vector<Lifetime> lifetimes;
    std::vector<StorageId> in_arena;
    for (StorageId id = 0; id < list_.storages.size(); ++id) {
      const Storage& storage = list_.storages[id];
      const std::int64_t bytes = countable_bytes(storage);
      if (storage.kind == StorageKind::input) {
        slot_of_[id] = {SlotKind::input, static_cast<std::uint32_t>(storage.input)};
      } else if (storage.kind == StorageKind::packed) {
        std::size_t index = graph_.inputs.size() + body_->packed_weights.size();
        slot_of_[id] = {SlotKind::input, static_cast<std::uint32_t>(index), 0, bytes};
        body_->packed_weights.push_back({storage.input, storage.dtype, storage.packed_from,
                                         storage.panels, storage.is_winograd});
      } else if (storage.is_output) {
        const auto output = static_cast<std::uint32_t>(run_.output_bytes.size());
        slot_of_[id] = {SlotKind::output, output, 0, bytes};
        run_.output_bytes.push_back(bytes);
      } else if (first[id] < 0) {
        continue;
      } else if (storage.kind == StorageKind::constant) {
        const auto constant = static_cast<std::uint32_t>(run_.constants.size());
        slot_of_[id] = {SlotKind::constant, constant, 0, bytes};
        run_.constants.push_back(constant_buffer(storage, bytes));
      } else {
        lifetimes.push_back({bytes, first[id], last[id]});
        in_arena.push_back(id);
      }
    }
    MemoryLayout layout = lay_out(lifetimes);
    for (std::size_t i = 0; i < in_arena.size(); ++i)
      slot_of_[in_arena[i]] = {SlotKind::arena, 0, layout.offsets[i], lifetimes[i].bytes};
    run_.arena_bytes = layout.bytes;
  }

  std::shared_ptr<Buffer> constant_buffer(const Storage& storage, std::int64_t bytes) const {
    DeviceMemory* memory = run_.memory;
    auto buffer = Buffer::allocate(bytes, memory);
    if (memory != nullptr)
      memory->copy_from_host(buffer->data(), storage.data.data(),
                             static_cast<std::int64_t>(storage.data.size()));
    else
      std::memcpy(buffer->data(), storage.data.data(), storage.data.size());
    return buffer;
  }

  // The launches of a batch have one program, and so as many places each.
  void add_step(const std::vector<std::uint32_t>& batch) {
    ExecutableStep step{.kernel = launches_[batch[0]].program,
                        .first_grid = static_cast<std::uint32_t>(run_.grids.size()),
                        .grids = static_cast<std::uint32_t>(batch.size()),
                        .first_slot = static_cast<std::uint32_t>(run_.slots.size())};
    std::int64_t bytes = 0;
    for (std::uint32_t i : batch) {
      add_launch(launches_[i]);
      bytes += launches_[i].bytes;
    }
    step.slots_of_a_grid =
        (static_cast<std::uint32_t>(run_.slots.size()) - step.first_slot) / step.grids;
    step.spread = bytes > bytes_alone;
    run_.steps.push_back(step);
  }

  void add_launch(const PendingLaunch& from) {
    for (StorageId id : from.storages) {
      run_.slots.push_back(slot_of_[id]);
      run_.slots.back().is_written = std::ranges::find(from.writes, id) != from.writes.end();
    }
    for (std::int64_t size : from.sizes) run_.slots.push_back({SlotKind::number, 0, size});
    run_.grids.push_back(from.grid);
  }

  void outputs() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Node& node = graph_.node(graph_.outputs[i]);
      const TaskList::Output& output = list_.outputs[i];
      body_->outputs.push_back({node.dtype, node.shape, output.input});
      run_.results.push_back(output.input ? std::nullopt
                                          : std::optional(slot_of_[output.storage].index));
    }
  }

  void add_kernels() {
    if (options_.interpret) {
      run_.kernels = interpreted_kernels(body_->functions, uses_, options_.shuffle_interpreted);
      return;
    }
    run_.kernels = compile_kernels(body_->functions, uses_, options_.device, options_.first_code);
    for (std::size_t i = 0; i < uses_.size(); ++i)
      body_->programs[i].compile_seconds = uses_[i].compile_seconds;
  }

  const Graph& graph_;
  PlanOptions options_;
  dsl::Target target_;
  PlannedThreads threads_;
  TaskList list_;
  std::vector<FusedRegion> regions_;
  std::vector<Hash> keys_;                 // of each region's program (program_key)
  std::optional<RegionBlocks> blocks_;     // once the keys are known
  std::optional<PlannedRegions> planned_;  // where they may be interpolated: without the tasks
  std::unordered_map<Hash, RegionPrograms> like_;  // by key
  std::vector<PendingLaunch> launches_;
  std::vector<std::vector<std::uint32_t>> batches_;  // launches
  std::vector<ProgramUse> uses_;                     // by program
  std::vector<HostCall> calls_;                      // by program
  std::vector<ArgumentSlot> slot_of_;
  std::unordered_map<Hash, std::uint32_t> program_of_;
  std::shared_ptr<PlanBody> body_ = std::make_shared<PlanBody>();
  Executable& run_ = body_->executable;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(const Graph& graph, const PlanOptions& options) {
  return while_doing({"compile", "planning", options.title},
                     [&] { return PlanMaker(graph, options).run(); });
}

PlanMemory planned_memory(const Graph& graph, const PlanOptions& options) {
  PlanOptions by_default = options;
  by_default.tune.reset();
  by_default.lock = nullptr;
  return while_doing({"compile", "planning", options.title},
                     [&] { return PlanMaker(graph, by_default).memory(); });
}

}  // namespace tilewright::graph
