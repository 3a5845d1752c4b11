#include "dsl/emulator/cluster.h"

#include <utility>

namespace tilewright::dsl::emulator {
namespace {

thread_local Cluster* current_cluster = nullptr;

// Thrown through the C++ frames of a thread whose cluster has failed, and nowhere else.
struct Cancelled {};

// A thread that makes this many calls without waiting lets others go on; one that has had this many
// turns while nothing else happened will never end.
constexpr int calls_of_a_turn = 1024;
constexpr int most_turns = 1 << 14;

}  // namespace

Cluster::Cluster() = default;
Cluster::~Cluster() = default;

Cluster& Cluster::current() { return *current_cluster; }

void Cluster::run(const EmulatedKernel& kernel, const void* arguments,
                  const std::array<std::int64_t, 3>& place,
                  const std::array<std::int64_t, 3>& grid) {
  kernel_ = &kernel;
  arguments_ = arguments;
  unfinished_ = kernel.cluster * kernel.threads;
  if (!stacks_ || stacks_->count() < unfinished_) stacks_ = std::make_unique<Stacks>(unfinished_);
  clocks_.reset(kernel.cluster, kernel.threads, kernel.options.check_shared);
  loads_.clear();
  barrier_ = {};
  ready_.clear();
  while (static_cast<int>(blocks_.size()) < kernel.cluster)
    blocks_.push_back(std::make_unique<ThreadBlock>(*this, static_cast<int>(blocks_.size())));
  for (int rank = 0; rank < kernel.cluster; ++rank) {
    block(rank).reset({place[0] + rank, place[1], place[2]}, grid);
    for (Thread& thread : block(rank).threads()) {
      thread.context = stacks_->start(thread.number, &Cluster::enter_thread);
      ready_.push_back(&thread);
    }
  }
  fault_ = nullptr;
  is_cancelled_ = false;
  auto number = static_cast<std::uint64_t>((place[2] * grid[1] + place[1]) * grid[0] + place[0]);
  random_ =
      (kernel.options.seed + 1) * 0x9E3779B97F4A7C15ULL ^ (number + 1) * 0xD1B54A32D192ED03ULL;

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

void Cluster::run_threads() {
  while (unfinished_ > 0 && !fault_) {
    if (ready_.empty()) {
      if (!finish_async_work()) break;
      continue;
    }
    go_on_with(next_ready(), main_);
  }
  if (fault_) cancel();
}

// Leaves `from` until somebody comes back to it.
void Cluster::go_on_with(Thread& thread, Context& from) {
  running_ = &thread;
  thread.is_started = true;
  left_ = &from;
  switch_context(from, thread.context);
}

// Advances asynchronous work by a step, since no thread can go on; false after a fault.
bool Cluster::finish_async_work() {
  try {
    if (finish_a_load(*this)) return true;
    report_deadlock();
  } catch (...) {
    fault_ = std::current_exception();
  }
  return false;
}

std::size_t Cluster::random_below(std::size_t bound) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return (random_ >> 20) % bound;
}

Thread& Cluster::next_ready() {
  std::size_t chosen = random_below(ready_.size());
  std::swap(ready_[chosen], ready_.back());
  Thread* thread = ready_.back();
  ready_.pop_back();
  return *thread;
}

// Every thread that stands in a wait leaves it by an exception, and gives up its stack.
void Cluster::cancel() {
  is_cancelled_ = true;
  for (int rank = 0; rank < size(); ++rank)
    for (Thread& thread : block(rank).threads())
      if (thread.is_started && !thread.is_finished) go_on_with(thread, main_);
}

void Cluster::enter_thread() {
  Cluster& cluster = *current_cluster;
  arrive(*cluster.left_);
  Thread& thread = *cluster.running_;
  cluster.kernel_->body(cluster.arguments_);
  try {
    cluster.finish(thread);
  } catch (...) {
    cluster.fault_ = std::current_exception();
  }
  leave(thread.context, cluster.main_);
}

void Cluster::finish(Thread& thread) {
  thread.is_finished = true;
  --unfinished_;
  ++events_;
  if (thread.awaited_phase > barrier_.phase) --barrier_.arrived;
  thread.block->finish(thread);
  complete_barrier_if_all_came();
}

void Cluster::run_call(const CallSite& site, const Slot* operands, Slot* results) {
  Thread& thread = *running_;
  bool goes_on = false;
  try {
    Call call{*thread.block, thread, site, operands, results};
    site.meaning(call);
    if (++thread.calls >= calls_of_a_turn) take_turns(call);
    goes_on = true;
  } catch (const Cancelled&) {
  } catch (...) {
    fault_ = std::current_exception();
  }
  if (goes_on) return;
  thread.is_finished = true;
  leave(thread.context, main_);
}

void Cluster::take_turns(const Call& call) {
  Thread& thread = call.thread;
  thread.calls = 0;
  if (std::exchange(thread.seen_events, events_) != events_) thread.turns = 0;
  if (++thread.turns > most_turns)
    thread.block->fault(thread, call.site,
                        "the thread goes round for ever, and nothing else happens");
  ready_.push_back(&thread);
  Thread& next = next_ready();
  if (&next == &thread) return;
  go_on_with(next, thread.context);
  if (is_cancelled_) throw Cancelled{};
}

void Cluster::wait(const Call& call) {
  call.thread.calls = 0;
  call.thread.waits_in = &call;
  if (ready_.empty())
    switch_context(call.thread.context, main_);
  else
    go_on_with(next_ready(), call.thread.context);
  if (is_cancelled_) throw Cancelled{};
}

void Cluster::wake(Thread& thread) {
  ++events_;
  thread.waits_in = nullptr;
  ready_.push_back(&thread);
}

void Cluster::complete_barrier_if_all_came() {
  if (barrier_.arrived == 0 || barrier_.arrived != unfinished_) return;
  barrier_.arrived = 0;
  ++barrier_.phase;
  barrier_.completed = std::exchange(barrier_.gathered, {});
  for (Thread* thread : std::exchange(barrier_.waiting, {})) wake(*thread);
}

void Cluster::arrive_at_barrier(const Call& call) {
  Thread& thread = call.thread;
  if (thread.awaited_phase != 0)
    call.block.fault(thread, call.site, "the thread has arrived before, and not waited since");
  clocks_.release(thread.number, barrier_.gathered);
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
    wait(call);
  }
  thread.awaited_phase = 0;
  clocks_.acquire(thread.number, barrier_.completed);
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
