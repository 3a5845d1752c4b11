#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "dsl/compile.h"
#include "graph/fuse/fuse.h"
#include "graph/lower/frame.h"
#include "graph/lower/lower.h"
#include "graph/lower/region_key.h"
#include "graph/run/memory.h"
#include "graph/run/plan_body.h"
#include "graph/tune/plan_lock.h"
#include "graph/tune/region_tuner.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Clock = std::chrono::steady_clock;

// Of a block of a product, up to which computing an operand beside it costs nothing.
constexpr std::int64_t few_rows_of_gpus = 64;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class PlanMaker {
 public:
  PlanMaker(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        target_(options.device.target()),
        list_(make_tasks(graph)) {
    if (target_.is_gpu() && options.matmul_precision == MatmulPrecision::high)
      list_.f32_products = ir::InputPrecision::tf32;
    const std::vector<bool>& unaligned = options.unaligned_inputs;
    body_->device = options.device;
    for (Storage& storage : list_.storages) {
      auto input = static_cast<std::size_t>(storage.input);
      storage.is_aligned = storage.input < 0 || input >= unaligned.size() || !unaligned[input];
    }
  }

  std::shared_ptr<const Plan> run() {
    Clock::time_point begin = Clock::now();
    RegionLimits limits;
    if (target_.is_gpu()) limits.rows_of_computed_operands = few_rows_of_gpus;
    regions_ = fuse_tasks(list_, options_.fuse, limits);
    if (options_.lock && options_.lock->is_locked()) options_.lock->require_device(options_.device);
    for (const FusedRegion& region : regions_) lower_region(region);
    if (options_.lock && !options_.lock->is_locked())
      options_.lock->add_plan(options_.device, options_.title, chosen_);
    place_storages();
    body_->lower_seconds = seconds_since(begin) - tune_seconds_;
    begin = Clock::now();
    body_->artifacts.resize(body_->functions.size());
    if (!options_.interpret) compile_programs();
    for (const PendingLaunch& launch : launches_) add_launch(launch);
    outputs();
    body_->compile_seconds = seconds_since(begin) + tune_seconds_;
    return std::make_shared<const Plan>(std::move(body_));
  }

 private:
  // What a region becomes: programs, one after the other, and what they need between them.
  struct Step {
    std::uint32_t program = 0;
    Grid grid;
    std::vector<std::uint32_t> memory;
  };
  struct Lowering {
    std::vector<Step> steps;
    std::vector<Scratch> scratch;
  };

  struct PendingLaunch {
    std::uint32_t program;
    Grid grid;
    std::vector<StorageId> storages;
  };

  void lower_region(const FusedRegion& region) {
    Hash like = region_key(graph_, list_, region.region);
    auto [known, is_new] = like_.try_emplace(like);
    if (is_new) known->second = new_lowering(region, like);
    std::vector<StorageId> memory = storages_of(list_, region.region);
    for (const Scratch& scratch : known->second.scratch) {
      memory.push_back(static_cast<StorageId>(list_.storages.size()));
      list_.storages.emplace_back();
      list_.storages.back().dtype = scratch.dtype;
      list_.storages.back().elements = scratch.elements;
    }
    for (const Step& step : known->second.steps) {
      ++body_->programs[step.program].instances;
      PendingLaunch launch{step.program, step.grid, {}};
      for (std::uint32_t i : step.memory) launch.storages.push_back(memory[i]);
      launches_.push_back(std::move(launch));
    }
  }

  Lowering new_lowering(const FusedRegion& region, const Hash& key) {
    BlockSizes asked = asked_sizes(region.region, key);
    LoweredRegion lowered = lower(graph_, list_, region.region, target_, asked);
    if (options_.lock) hold_to_lock(region.region, key, {asked, lowered.blocks});
    Lowering result;
    result.scratch = lowered.scratch;
    for (LoweredProgram& program : lowered.programs) {
      Step step{0, program.grid, program.memory};
      step.program = add_program(region, lowered, program);
      result.steps.push_back(std::move(step));
    }
    return result;
  }

  // By the lock, the clock or the rule.
  BlockSizes asked_sizes(const Region& region, const Hash& key) {
    if (options_.lock && options_.lock->is_locked())
      return options_.lock->at(key, words_of(region)).asked;
    bool tunes = options_.tune && !options_.interpret && !options_.device.is_emulated();
    if (!tunes) return options_.blocks;
    Clock::time_point begin = Clock::now();
    RegionTuner tuner(graph_, list_, options_.device, autotune::tune_policy(), brief_tuning(),
                      autotune::shared_tuning_database());
    BlockSizes result = tuner.choose(region);
    tune_seconds_ += seconds_since(begin);
    return result;
  }

  void hold_to_lock(const Region& region, const Hash& key, LockedRegion now) {
    now.precision = list_.f32_products == ir::InputPrecision::tf32 ? "tf32" : "ieee";
    now.ops = words_of(region);
    if (options_.lock->is_locked())
      options_.lock->require_same(key, now);
    else
      chosen_.emplace_back(key, std::move(now));
  }

  std::string words_of(const Region& region) const {
    std::string words;
    for (TaskId id : region.tasks)
      words += (words.empty() ? "" : " ") + std::string(word_of(list_.tasks[id]));
    return words;
  }

  // Regions of different keys may still give equal programs.
  std::uint32_t add_program(const FusedRegion& region, const LoweredRegion& lowered,
                            LoweredProgram& from) {
    Hash key = ir::content_hash(from.function);
    auto [it, is_new] =
        program_of_.emplace(key, static_cast<std::uint32_t>(body_->programs.size()));
    if (!is_new) return it->second;
    PlanProgram program;
    program.name = from.function.name;
    program.kind = lowered.kind;
    for (TaskId id : region.region.tasks) program.ops.emplace_back(word_of(list_.tasks[id]));
    program.key = key.hex();
    // What the region itself reads and writes counts with its first program.
    if (&from == lowered.programs.data()) {
      program.bytes = bytes_moved(list_, region.region);
      program.bytes_saved = region.bytes_saved;
    }
    for (const Scratch& scratch : lowered.scratch)
      program.bytes += scratch.elements * size_bytes(scratch.dtype);
    body_->programs.push_back(std::move(program));
    body_->functions.push_back(std::move(from.function));
    return it->second;
  }

  // Where each storage lies; what is never in memory keeps no place.
  void place_storages() {
    std::vector<int> first(list_.storages.size(), -1), last(list_.storages.size(), -1);
    for (std::size_t step = 0; step < launches_.size(); ++step)
      for (StorageId id : launches_[step].storages) {
        if (first[id] < 0) first[id] = static_cast<int>(step);
        last[id] = static_cast<int>(step);
      }
    place_of_.resize(list_.storages.size());
    std::vector<Lifetime> lifetimes;
    std::vector<StorageId> in_arena;
    for (StorageId id = 0; id < list_.storages.size(); ++id) {
      const Storage& storage = list_.storages[id];
      std::int64_t bytes = storage.elements * size_bytes(storage.dtype);
      if (storage.kind == StorageKind::input) {
        place_of_[id] = {PlaceKind::input, static_cast<std::uint32_t>(storage.input)};
      } else if (storage.is_output) {
        place_of_[id] = {PlaceKind::output, static_cast<std::uint32_t>(body_->output_bytes.size())};
        body_->output_bytes.push_back(bytes);
      } else if (first[id] < 0) {
        continue;
      } else if (storage.kind == StorageKind::constant) {
        place_of_[id] = {PlaceKind::constant, static_cast<std::uint32_t>(body_->constants.size())};
        body_->constants.push_back(constant_buffer(storage, bytes));
      } else {
        lifetimes.push_back({bytes, first[id], last[id]});
        in_arena.push_back(id);
      }
    }
    MemoryLayout layout = lay_out(lifetimes);
    for (std::size_t i = 0; i < in_arena.size(); ++i)
      place_of_[in_arena[i]] = {PlaceKind::arena, 0, layout.offsets[i]};
    body_->arena_bytes = layout.bytes;
  }

  std::shared_ptr<Buffer> constant_buffer(const Storage& storage, std::int64_t bytes) const {
    DeviceMemory* memory = options_.device.memory();
    auto buffer = Buffer::allocate(bytes, memory);
    if (memory != nullptr)
      memory->copy_from_host(buffer->data(), storage.data.data(),
                             static_cast<std::int64_t>(storage.data.size()));
    else
      std::memcpy(buffer->data(), storage.data.data(), storage.data.size());
    return buffer;
  }

  void add_launch(const PendingLaunch& from) {
    Launch launch{from.program, static_cast<std::uint32_t>(body_->places.size()),
                  static_cast<std::uint32_t>(from.storages.size()), from.grid};
    for (StorageId id : from.storages) body_->places.push_back(place_of_[id]);
    body_->launches.push_back(launch);
  }

  void outputs() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Node& node = graph_.node(graph_.outputs[i]);
      const TaskList::Output& output = list_.outputs[i];
      body_->outputs.push_back({node.dtype, node.shape, output.input});
      body_->output_index.push_back(output.input ? 0 : place_of_[output.storage].index);
    }
  }

  // Two threads, since one program may take as long as all the others.
  void compile_programs() {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    auto work = [&] {
      for (std::size_t i; (i = next++) < body_->functions.size();) {
        try {
          body_->artifacts[i] = dsl::compile(body_->functions[i], options_.device);
          body_->programs[i].compile_seconds = body_->artifacts[i]->compile_seconds;
        } catch (...) {
          std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      }
    };
    if (body_->functions.size() > 1) {
      std::jthread second(work);
      work();
    } else {
      work();
    }
    if (failure) std::rethrow_exception(failure);
  }

  std::unordered_map<Hash, Lowering> like_;  // by region_key
  const Graph& graph_;
  PlanOptions options_;
  dsl::Target target_;
  TaskList list_;
  std::vector<FusedRegion> regions_;
  std::vector<PendingLaunch> launches_;
  std::vector<Place> place_of_;
  std::unordered_map<Hash, std::uint32_t> program_of_;
  std::vector<std::pair<Hash, LockedRegion>> chosen_;  // of each distinct region
  double tune_seconds_ = 0;
  std::shared_ptr<Plan::Body> body_ = std::make_shared<Plan::Body>();
};

}  // namespace

std::shared_ptr<const Plan> make_plan(const Graph& graph, const PlanOptions& options) {
  return PlanMaker(graph, options).run();
}

}  // namespace tilewright::graph
