#include "dsl/emulator/cluster.h"

#include <utility>

namespace tilewright::dsl::emulator {
namespace {

thread_local Cluster* current_cluster = nullptr;

}  // namespace

Cluster::Cluster() = default;
Cluster::~Cluster() = default;

Cluster& Cluster::current() { return *current_cluster; }

void Cluster::run(const EmulatedKernel& kernel, const void* arguments,
                  const std::array<std::int64_t, 3>& place,
                  const std::array<std::int64_t, 3>& grid) {
  state_.kernel = &kernel;
  arguments_ = arguments;
  unfinished_ = kernel.cluster * kernel.threads;
  if (!stacks_ || stacks_->count() < unfinished_) stacks_ = std::make_unique<Stacks>(unfinished_);
  state_.clocks.reset(kernel.cluster, kernel.threads, kernel.options.check_shared);
  state_.loads.clear();
  barrier_ = {};
  auto number = static_cast<std::uint64_t>((place[2] * grid[1] + place[1]) * grid[0] + place[0]);
  Scheduler& scheduler = state_.scheduler;
  scheduler.reset((kernel.options.seed + 1) * 0x9E3779B97F4A7C15ULL ^
                  (number + 1) * 0xD1B54A32D192ED03ULL);
  while (static_cast<int>(blocks_.size()) < kernel.cluster)
    blocks_.push_back(
        std::make_unique<ThreadBlock>(*this, state_, static_cast<int>(blocks_.size())));
  for (int rank = 0; rank < kernel.cluster; ++rank) {
    block(rank).reset({place[0] + rank, place[1], place[2]}, grid);
    for (Thread& thread : block(rank).threads()) {
      thread.context = stacks_->start(thread.number, &Cluster::enter_thread);
      scheduler.make_ready(thread);
    }
  }
  fault_ = nullptr;

  Cluster* outer = std::exchange(current_cluster, this);
  run_threads();
  current_cluster = outer;
  if (kernel.options.report)
    for (int rank = 0; rank < kernel.cluster; ++rank)
      block(rank).counter().finish(*kernel.options.report);
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

ThreadBlock* Cluster::block_with(const void* address) {
  for (int rank = 0; rank < size(); ++rank) {
    std::int64_t offset = block(rank).shared().offset(address);
    if (offset >= 0 && offset < SharedMemory::arena_bytes) return &block(rank);
  }
  return nullptr;
}

ThreadBlock& Cluster::owner_of(const Call& call, const void* address) {
  ThreadBlock* owner = block_with(address);
  if (!owner)
    call.block.fault(call.thread, call.site,
                     "out of bounds: the address is in no block's shared memory");
  if (owner != &call.block) owner->visit(call);
  return *owner;
}

void Cluster::run_threads() {
  while (unfinished_ > 0 && !fault_) {
    if (state_.scheduler.is_any_ready())
      state_.scheduler.run();
    else if (!finish_async_work())
      break;
  }
  if (fault_) cancel();
}

// Advances asynchronous work by a step, since no thread can go on; false after a fault.
bool Cluster::finish_async_work() {
  try {
    if (finish_a_load(state_)) return true;
    report_deadlock();
  } catch (...) {
    fault_ = std::current_exception();
  }
  return false;
}

// Every thread that stands in a wait leaves it by an exception, and gives up its stack.
void Cluster::cancel() {
  for (int rank = 0; rank < size(); ++rank)
    for (Thread& thread : block(rank).threads())
      if (thread.is_started && !thread.is_finished) state_.scheduler.cancel(thread);
}

void Cluster::enter_thread() {
  Cluster& cluster = *current_cluster;
  Scheduler& scheduler = cluster.state_.scheduler;
  Thread& thread = scheduler.enter();
  cluster.state_.kernel->body(cluster.arguments_);
  try {
    cluster.finish(thread);
  } catch (...) {
    cluster.fault_ = std::current_exception();
  }
  scheduler.leave(thread);
}

void Cluster::finish(Thread& thread) {
  thread.is_finished = true;
  --unfinished_;
  state_.scheduler.note_event();
  if (thread.awaited_phase > barrier_.phase) --barrier_.arrived;
  thread.block->finish(thread);
  complete_barrier_if_all_came();
}

void Cluster::run_call(const CallSite& site, const Slot* operands, Slot* results) {
  Scheduler& scheduler = state_.scheduler;
  Thread& thread = *scheduler.running();
  bool goes_on = false;
  try {
    Call call{*thread.block, thread, site, operands, results};
    site.meaning(call);
    if (!scheduler.take_turns(thread))
      thread.block->fault(thread, call.site,
                          "the thread goes round for ever, and nothing else happens");
    goes_on = true;
  } catch (const Scheduler::Cancelled&) {
  } catch (...) {
    fault_ = std::current_exception();
  }
  if (goes_on) return;
  thread.is_finished = true;
  scheduler.leave(thread);
}

void Cluster::complete_barrier_if_all_came() {
  if (barrier_.arrived == 0 || barrier_.arrived != unfinished_) return;
  barrier_.arrived = 0;
  ++barrier_.phase;
  barrier_.completed = std::exchange(barrier_.gathered, {});
  for (Thread* thread : std::exchange(barrier_.waiting, {})) state_.scheduler.wake(*thread);
}

void Cluster::arrive_at_barrier(const Call& call) {
  Thread& thread = call.thread;
  if (thread.awaited_phase != 0)
    call.block.fault(thread, call.site, "the thread has arrived before, and not waited since");
  state_.clocks.release(thread.number, barrier_.gathered);
  thread.awaited_phase = barrier_.phase + 1;
  ++barrier_.arrived;
  complete_barrier_if_all_came();
}

void Cluster::await_barrier(const Call& call) {
  Thread& thread = call.thread;
  if (thread.awaited_phase == 0)
    call.block.fault(thread, call.site, "the thread waits where it has not arrived");
  if (barrier_.phase < thread.awaited_phase) {
    barrier_.waiting.push_back(&thread);
    state_.scheduler.wait(call);
  }
  thread.awaited_phase = 0;
  state_.clocks.acquire(thread.number, barrier_.completed);
}

void Cluster::report_deadlock() {
  std::string text;
  const Thread* stuck = nullptr;
  for (int rank = 0; rank < size(); ++rank) {
    for (const Thread& thread : block(rank).threads())
      if (!stuck && thread.waits_in) stuck = &thread;
    if (size() > 1) text += concat(rank > 0 ? "; " : "", "block of rank ", rank, ": ");
    text += block(rank).describe_waits();
  }
  check(stuck != nullptr, "a thread that is not ready waits for something");
  stuck->block->fault(*stuck, stuck->waits_in->site, "deadlock: no thread can go on: " + text);
}

}  // namespace tilewright::dsl::emulator
