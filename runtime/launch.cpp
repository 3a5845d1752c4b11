#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/base/thread_end.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/system_memory.h"
#include "runtime/launch_table.h"

namespace tilewright {
namespace {

// The scratch memory of the launches of one thread: one part a worker, kept from launch to launch.
// Owned by the launching thread, so that it can be made, and its lack be reported, before any
// worker starts. Plain data, so that reading it costs no initialisation guard.
struct Scratch {
  char* block;
  std::int64_t size_bytes;
  bool in_use;
};
constinit thread_local Scratch scratch_of_thread{};

void give_scratch_back(void* scratch) {
  auto& [block, size_bytes, in_use] = *static_cast<Scratch*>(scratch);
  if (block != nullptr) free_block(block, size_bytes);
  block = nullptr;
  size_bytes = 0;
}
const ThreadEnd scratch_end(give_scratch_back);

Scratch new_scratch(const Artifact& artifact, std::int64_t size_bytes) {
  std::int64_t block_bytes = block_size_for(size_bytes);
  void* block = block_bytes == 0 ? nullptr : allocate_block(block_bytes);
  require_memory(block != nullptr, "[launch] the system has no memory for ", size_bytes,
                 " bytes of scratch for kernel ", artifact.name,
                 "; fewer threads or a smaller block configuration would need less");
  return {static_cast<char*>(block), block_bytes, false};
}

[[gnu::noinline]] void grow_scratch(const Artifact& artifact, std::int64_t size_bytes) {
  scratch_end.note(&scratch_of_thread);
  Scratch larger = new_scratch(artifact, size_bytes);
  if (scratch_of_thread.block != nullptr)
    free_block(scratch_of_thread.block, scratch_of_thread.size_bytes);
  scratch_of_thread = larger;
}

// Scratch memory for the length of one launch.
class ScratchUse {
 public:
  ScratchUse(const Artifact& artifact, std::int64_t size_bytes) {
    if (size_bytes == 0) return;
    // A host program's hook may start a launch while another of the same thread waits.
    if (scratch_of_thread.in_use) [[unlikely]] {
      own_ = new_scratch(artifact, size_bytes);
      data_ = own_.block;
      return;
    }
    if (scratch_of_thread.size_bytes < size_bytes) grow_scratch(artifact, size_bytes);
    scratch_of_thread.in_use = true;
    data_ = scratch_of_thread.block;
  }
  ~ScratchUse() {
    if (own_.block != nullptr) [[unlikely]]
      free_block(own_.block, own_.size_bytes);
    else if (data_ != nullptr)
      scratch_of_thread.in_use = false;
  }
  ScratchUse(const ScratchUse&) = delete;
  ScratchUse& operator=(const ScratchUse&) = delete;
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  Scratch own_{};
};

// A worker must not throw, but the emulator does where a kernel is wrong: the first fault is kept
// for the launching thread.
struct Fault {
  std::mutex mutex;
  std::exception_ptr first;
};

struct Launch {
  const Artifact& artifact;
  const Grid& grid;
  const Argument* arguments;
  char* scratch;
  std::int64_t stride_bytes;
  Fault* fault;  // null where code of the host runs
};

// Launches as one: the first program of each, numbered through, and last the number of all.
struct Batch {
  const Artifact& artifact;
  std::span<const Grid> grids;
  const Argument* arguments;
  const std::vector<std::int64_t>& begins;
  char* scratch;
  std::int64_t stride_bytes;
};

void run_range_of_batch(void* context, std::int64_t begin, std::int64_t end, int worker) {
  auto& batch = *static_cast<const Batch*>(context);
  auto at = std::ranges::upper_bound(batch.begins, begin) - batch.begins.begin() - 1;
  std::size_t params = batch.artifact.params.size();
  for (auto i = static_cast<std::size_t>(at); begin < end; ++i) {
    std::int64_t first = batch.begins[i], last = std::min(end, batch.begins[i + 1]);
    if (begin == last) continue;
    batch.artifact.run(batch.arguments + i * params, batch.grids[i].size, begin - first,
                       last - first, batch.scratch + worker * batch.stride_bytes);
    begin = last;
  }
}

void run_range(void* context, std::int64_t begin, std::int64_t end, int worker) {
  auto& launch = *static_cast<const Launch*>(context);
  auto run = [&] {
    launch.artifact.run(launch.arguments, launch.grid.size, begin, end,
                        launch.scratch + worker * launch.stride_bytes);
  };
  if (launch.fault == nullptr) [[likely]]
    return run();
  try {
    run();
  } catch (...) {
    std::lock_guard lock(launch.fault->mutex);
    if (!launch.fault->first) launch.fault->first = std::current_exception();
  }
}

std::int64_t scratch_stride(const Artifact& artifact) {
  return (artifact.scratch_bytes + block_alignment - 1) / block_alignment * block_alignment;
}

}  // namespace

void Grid::raise_uncountable() const {
  raise_error(
      concat("[launch] the grid is ", size[0], " x ", size[1], " x ", size[2],
             "; its sizes must not be negative, and there must be fewer than 2^63 programs"));
}

void launch(const Artifact& artifact, const Grid& grid, const Argument* arguments) {
  std::int64_t count = grid.count();
  if (count <= 0) return;
  std::int64_t stride_bytes = scratch_stride(artifact);
  if (count == 1) {
    ScratchUse scratch(artifact, stride_bytes);
    artifact.run(arguments, grid.size, 0, 1, scratch.data());
    return;
  }
  ScratchUse scratch(artifact, stride_bytes * thread_count());
  if (artifact.host) [[likely]] {
    Launch launch{artifact, grid, arguments, scratch.data(), stride_bytes, nullptr};
    return parallel_for(count, run_range, &launch);
  }
  Fault fault;
  Launch launch{artifact, grid, arguments, scratch.data(), stride_bytes, &fault};
  parallel_for(count, run_range, &launch);
  if (fault.first) std::rethrow_exception(fault.first);
}

void launch(const Artifact& artifact, std::span<const Grid> grids, const Argument* arguments,
            bool spread) {
  if (artifact.table != nullptr) {
    std::vector<std::byte> table(static_cast<std::size_t>(artifact.table->bytes()));
    artifact.table->fill(table, grids, arguments);
    Argument argument{.pointer = table.data()};
    return launch(artifact, Grid(programs_of(grids)), &argument);
  }
  check(static_cast<bool>(artifact.host),
        "launches that are one run code that was not made for it");
  std::vector<std::int64_t> begins = {0};
  for (const Grid& grid : grids) begins.push_back(begins.back() + grid.count());
  std::int64_t stride_bytes = scratch_stride(artifact);
  ScratchUse scratch(artifact, spread ? stride_bytes * thread_count() : stride_bytes);
  Batch batch{artifact, grids, arguments, begins, scratch.data(), stride_bytes};
  if (!spread) return run_range_of_batch(&batch, 0, begins.back(), 0);
  parallel_for(begins.back(), run_range_of_batch, &batch);
}

}  // namespace tilewright
