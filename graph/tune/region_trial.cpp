#include "graph/tune/region_trial.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>

#include "autotune/measure/difference.h"
#include "autotune/measure/interleaved.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/launch.h"
#include "graph/lower/lower.h"
#include "graph/regions/region_key.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/cpu/system_memory.h"
#include "runtime/cuda/graph_clock.h"

namespace tilewright::graph {
namespace {

// Copies of less memory would lie in an inner cache again anyway; together they are larger than
// most outer ones.
constexpr std::int64_t least_copied_bytes = 256 << 10, all_copies_bytes = 64 << 20;
constexpr std::int64_t most_copies = 16;
// Elements from the start of a storage that the region may touch.
std::int64_t reach_of(const StridedView& view) {
  std::int64_t last = view.offset;
  for (int axis = 0; axis < view.shape.rank(); ++axis)
    last += std::max<std::int64_t>(0, (view.shape[axis] - 1) * view.strides[axis]);
  return last + 1;
}

// More random elements than these are not worth their time: they repeat. A prime number, so that
// rows differ whatever their length.
constexpr std::int64_t most_random_elements = 4'194'301;

void copy_repeated(std::byte* to, std::int64_t size_bytes, const std::vector<std::byte>& pattern,
                   DeviceMemory* device, const std::function<void()>& before_each) {
  auto period = static_cast<std::int64_t>(pattern.size());
  for (std::int64_t at = 0; at < size_bytes; at += period) {
    before_each();
    std::int64_t bytes = std::min(period, size_bytes - at);
    if (device != nullptr)
      device->copy_from_host(to + at, pattern.data(), bytes);
    else
      std::memcpy(to + at, pattern.data(), static_cast<std::size_t>(bytes));
  }
}

std::int64_t scratch_bytes(const LoweredRegion& lowered) {
  std::int64_t bytes = 0;
  for (const Scratch& wanted : lowered.scratch) bytes += wanted.elements * size_bytes(wanted.dtype);
  return bytes;
}

std::vector<std::byte> random_elements(DType dtype, std::int64_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_bytes(dtype)));
  std::uniform_real_distribution<float> uniform(-1, 1);
  dispatch(dtype, [&](auto element) {
    using Element = decltype(element);
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(Element) == 1 && std::is_integral_v<Element>)
        element = static_cast<Element>(dtype == boolean ? random() % 2 : random());
      else if constexpr (!std::is_integral_v<Element>)
        element = Element(uniform(random));
      std::memcpy(bytes.data() + i * static_cast<std::int64_t>(sizeof element), &element,
                  sizeof element);
    }
  });
  return bytes;
}

}  // namespace

RegionTrial::RegionTrial(const TaskList& list, const Region& region, const Device& device,
                         std::stop_token stop, double until)
    : list_(list),
      region_(region),
      device_(device),
      storages_(storages_of(list, region)),
      stored_(storages_.size()),
      stop_(std::move(stop)),
      until_(until) {
  std::vector<std::int64_t> elements(storages_.size(), 1);
  auto index_of = [&](StorageId id) {
    return static_cast<std::size_t>(std::ranges::find(storages_, id) - storages_.begin());
  };
  auto reach = [&](StorageId id, std::int64_t count) {
    if (std::size_t at = index_of(id); at < elements.size())
      elements[at] = std::max(elements[at], count);
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (const TaskOperand& operand : task.operands)
      if (!operand.number)
        reach(operand.storage,
              std::max(reach_of(operand.view), list.storages[operand.storage].elements));
    std::int64_t rows = std::max<std::int64_t>(0, task.scatter_size - 1) * task.scatter_stride;
    reach(task.storage, reach_of(task.place) + rows);
    bool is_stored = slot >= region.stored.size() || region.stored[slot];
    if (std::size_t at = index_of(task.storage); is_stored && at < stored_.size())
      stored_[at] = true;
  }
  std::int64_t bytes = 0, bytes_of_results = 0;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    sizes_.push_back(elements[i] * size_bytes(list.storages[storages_[i]].dtype));
    bytes += sizes_.back();
    if (stored_[i]) bytes_of_results += sizes_.back();
  }
  std::vector<WorkElement> work = work_elements(list, region);
  for (const WorkElement& element : work)
    turns_ = std::max<std::int64_t>(turns_, std::ssize(element.values));
  std::int64_t copies = bytes < least_copied_bytes
                            ? 1
                            : std::clamp<std::int64_t>(all_copies_bytes / bytes, 1, most_copies);
  copies = divide_up(copies, turns_) * turns_;
  require_room(copies * bytes, 2 * bytes_of_results);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    require_time();
    contents_.push_back(random_elements(list.storages[storages_[i]].dtype,
                                        std::min(elements[i], most_random_elements), random));
  }
  double begin = autotune::steady_seconds();
  for (std::int64_t copy = 0; copy < copies; ++copy) add_copy();
  set_values(work);
  // Results are filled, copied to new memory, filled again, and read.
  constexpr double passes = 5;
  double seconds_a_byte =
      (autotune::steady_seconds() - begin) / std::max(1.0, static_cast<double>(copies * bytes));
  results_seconds_ = passes * seconds_a_byte * static_cast<double>(bytes_of_results);
}

// The copies, and the results of the default and of a candidate on the host. Half of the free
// memory is left to the program and to others, for which tuning is a side matter.
void RegionTrial::require_room(std::int64_t bytes_of_copies, std::int64_t bytes_of_results) const {
  std::int64_t needed = bytes_of_results + (device_.memory() == nullptr ? bytes_of_copies : 0);
  std::int64_t available = available_bytes(), most = available / 2;
  require_memory(needed <= most, "[tune] running a region by itself needs ", needed >> 20,
                 " MiB of memory; it may take ", most >> 20, " MiB, half of the ", available >> 20,
                 " that are free; tune it where there is more, or for a smaller shape");
}

void RegionTrial::require_time() const {
  if (autotune::steady_seconds() >= until_) throw TimeIsUp();
}

void RegionTrial::add_copy() {
  Memory memory;
  for (std::int64_t size : sizes_) memory.push_back(Buffer::allocate(size, device_.memory()));
  copies_.push_back(std::move(memory));
  fill(copies_.back(), /*stored_only=*/false, [this] { require_time(); });
}

void RegionTrial::set_values(const std::vector<WorkElement>& elements) {
  for (const WorkElement& element : elements) {
    auto storage =
        static_cast<std::size_t>(std::ranges::find(storages_, element.storage) - storages_.begin());
    std::int64_t size = size_bytes(list_.storages[element.storage].dtype);
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      Buffer& buffer = *copies_[i][storage];
      // Little-endian, so the low bytes of the number are it as any smaller integer.
      const std::int64_t& value = element.values[i % element.values.size()];
      std::byte* to = static_cast<std::byte*>(buffer.data()) + element.element * size;
      if (DeviceMemory* device = buffer.memory())
        device->copy_from_host(to, &value, size);
      else
        std::memcpy(to, &value, static_cast<std::size_t>(size));
    }
  }
}

void RegionTrial::fill(const Memory& memory, bool stored_only,
                       const std::function<void()>& before_each) const {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (stored_only && !stored_[i]) continue;
    copy_repeated(static_cast<std::byte*>(memory[i]->data()), sizes_[i], contents_[i],
                  memory[i]->memory(), before_each);
  }
}

RegionCandidate RegionTrial::compile(const BlockSizes& blocks) const {
  RegionCandidate candidate;
  if (stop_.stop_requested()) {
    candidate.failure = autotune::failure_of(Stopped());
    return candidate;
  }
  try {
    candidate.lowered = lower(list_, region_, device_.target(), blocks);
    std::int64_t scratch = scratch_bytes(candidate.lowered);
    require_memory(scratch == 0 || device_.memory() != nullptr || scratch <= available_bytes(),
                   "[tune] it needs ", scratch >> 20, " MiB of memory between its programs");
    for (const LoweredProgram& program : candidate.lowered.programs)
      candidate.artifacts.push_back(dsl::compile(program.function, device_));
  } catch (const std::exception& error) {
    candidate.failure = autotune::failure_of(error);
  }
  return candidate;
}

void RegionTrial::provide_scratch(const RegionCandidate& candidate) {
  for (std::size_t i = 0; i < candidate.lowered.scratch.size(); ++i) {
    const Scratch& wanted = candidate.lowered.scratch[i];
    std::int64_t bytes = wanted.elements * size_bytes(wanted.dtype);
    if (scratch_.size() <= i) scratch_.emplace_back();
    if (!scratch_[i] || scratch_[i]->size_bytes() < bytes)
      scratch_[i] = Buffer::allocate(bytes, device_.memory());
  }
}

std::vector<Argument> RegionTrial::arguments_of(const LoweredProgram& program,
                                                const Memory& memory) const {
  std::vector<Argument> arguments;
  for (std::uint32_t at : program.memory)
    arguments.push_back(
        {at < memory.size() ? memory[at]->data() : scratch_[at - memory.size()]->data()});
  for (std::int64_t size : program.sizes) arguments.push_back({.integer = size});
  return arguments;
}

void RegionTrial::run(const RegionCandidate& candidate, const Memory& memory) {
  for (std::size_t i = 0; i < candidate.artifacts.size(); ++i) {
    const LoweredProgram& program = candidate.lowered.programs[i];
    launch_on(device_, *candidate.artifacts[i], program.grid, arguments_of(program, memory).data());
  }
}

double RegionTrial::seconds_on_gpu(const RegionCandidate& candidate, double at_least_seconds) {
  cuda::Context& context = cuda::context(device_.ordinal());
  std::vector<cuda::PreparedLaunch> launches;
  for (const Memory& memory : copies_)
    for (std::size_t i = 0; i < candidate.artifacts.size(); ++i) {
      const LoweredProgram& program = candidate.lowered.programs[i];
      if (program.grid.count() == 0) continue;
      launches.emplace_back(context, *candidate.artifacts[i], program.grid);
      launches.back().set_arguments(arguments_of(program, memory).data());
    }
  cuda::GraphClock clock(context, std::move(launches));
  return clock.seconds(at_least_seconds) / static_cast<double>(copies_.size());
}

void RegionTrial::raise_if_stopped() const {
  if (stop_.stop_requested()) throw Stopped();
}

double RegionTrial::seconds(const RegionCandidate& candidate, double at_least_seconds) {
  raise_if_stopped();
  check(!candidate.failure, "a candidate that failed is timed");
  provide_scratch(candidate);
  if (device_.is_cuda()) return seconds_on_gpu(candidate, at_least_seconds);
  auto begin = std::chrono::steady_clock::now();
  std::clock_t begin_of_work = std::clock();
  for (std::int64_t runs = 0, batch = turns_;; batch *= 2) {
    for (std::int64_t i = 0; i < batch; ++i, ++runs)
      run(candidate, copies_[next_copy_++ % copies_.size()]);
    device_.synchronize();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() >= at_least_seconds) return spent.count() / static_cast<double>(runs);
    // A clock that stands still would be asked for ever; that of the processor is another one.
    bool has_worked = std::clock() - begin_of_work > CLOCKS_PER_SEC / 2;
    require(spent.count() > 0 || !has_worked, "[tune] the clock stands still: ", runs,
            " runs took no time; nothing can be measured by it");
  }
}

std::vector<std::vector<std::byte>> RegionTrial::results(const RegionCandidate& candidate) {
  provide_scratch(candidate);
  fill(copies_[0], /*stored_only=*/true);
  run(candidate, copies_[0]);
  device_.synchronize();
  std::vector<std::vector<std::byte>> result;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    if (!stored_[i]) continue;
    Buffer& buffer = *copies_[0][i];
    std::vector<std::byte> bytes(static_cast<std::size_t>(sizes_[i]));
    if (DeviceMemory* device = buffer.memory())
      device->copy_to_host(bytes.data(), buffer.data(), static_cast<std::int64_t>(bytes.size()));
    else
      std::memcpy(bytes.data(), buffer.data(), bytes.size());
    result.push_back(std::move(bytes));
  }
  fill(copies_[0], /*stored_only=*/true);
  return result;
}

std::string RegionTrial::difference(const std::vector<std::vector<std::byte>>& expected,
                                    const std::vector<std::vector<std::byte>>& actual) const {
  for (std::size_t i = 0, at = 0; i < storages_.size(); ++i) {
    if (!stored_[i]) continue;
    DType dtype = list_.storages[storages_[i]].dtype;
    std::string one =
        autotune::difference(dtype, expected[at], actual[at], autotune::rounding_of(dtype));
    if (!one.empty()) return concat("of result ", at, " ", one);
    ++at;
  }
  return {};
}

}  // namespace tilewright::graph
