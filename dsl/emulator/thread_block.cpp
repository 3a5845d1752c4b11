#include "dsl/emulator/thread_block.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dsl/emulator/meanings/memory_barriers.h"

namespace tilewright::dsl::emulator {
namespace {

thread_local ThreadBlock* current_block = nullptr;

// Thrown through the C++ frames of a thread whose block has failed, and nowhere else.
struct Cancelled {};

// A thread that calls so often without waiting lets others go on; one that has had so many turns
// while nothing happened will never end.
constexpr int calls_of_a_turn = 1024;
constexpr int most_turns = 1 << 14;

std::string described(const CallSite& site) {
  return site.location.empty() ? site.operation : site.operation + " (" + site.location + ")";
}

}  // namespace

ThreadBlock::ThreadBlock() = default;
ThreadBlock::~ThreadBlock() = default;

ThreadBlock& ThreadBlock::current() { return *current_block; }

void ThreadBlock::run(const EmulatedKernel& kernel, const void* arguments,
                      const std::array<std::int64_t, 3>& place,
                      const std::array<std::int64_t, 3>& grid) {
  kernel_ = &kernel;
  arguments_ = arguments;
  place_ = place;
  grid_ = grid;
  auto count = static_cast<std::size_t>(kernel.threads);
  if (!stacks_ || stacks_->count() < kernel.threads)
    stacks_ = std::make_unique<Stacks>(kernel.threads);
  shared_.reset(kernel.shared_bytes, kernel.options.check_shared);
  clocks_.reset(kernel.threads, kernel.options.check_shared);
  threads_.assign(count, Thread{});
  ready_.clear();
  for (int i = 0; i < kernel.threads; ++i) {
    thread(i).index = i;
    thread(i).context = stacks_->start(i, &ThreadBlock::enter_thread);
    ready_.push_back(&thread(i));
  }
  warps_.assign((count + warp_lanes - 1) / warp_lanes, Gathering{});
  warpgroups_.assign((count + warpgroup_threads - 1) / warpgroup_threads, Gathering{});
  products_.assign(warpgroups_.size(), ProductQueue{});
  engine_ = {};
  barriers_.fill(NamedBarrier{});
  unfinished_ = kernel.threads;
  fault_ = nullptr;
  is_cancelled_ = false;
  auto number = static_cast<std::uint64_t>((place[2] * grid[1] + place[1]) * grid[0] + place[0]);
  random_ =
      (kernel.options.seed + 1) * 0x9E3779B97F4A7C15ULL ^ (number + 1) * 0xD1B54A32D192ED03ULL;

  ThreadBlock* outer = std::exchange(current_block, this);
  run_threads();
  current_block = outer;
  if (kernel.options.report) counter_.finish(*kernel.options.report);
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

void ThreadBlock::run_threads() {
  while (unfinished_ > 0 && !fault_) {
    if (ready_.empty()) {
      if (!finish_async_work()) break;
      continue;
    }
    go_on_with(next_ready(), main_);
  }
  if (!fault_) end_block();
  if (fault_) cancel();
}

// Leaves `from` until somebody comes back to it.
void ThreadBlock::go_on_with(Thread& thread, Context& from) {
  running_ = &thread;
  thread.is_started = true;
  left_ = &from;
  switch_context(from, thread.context);
}

// Lets asynchronous work go one step on, since no thread can; false after a fault.
bool ThreadBlock::finish_async_work() {
  try {
    if (finish_a_load(*this)) return true;
    report_deadlock();
  } catch (...) {
    fault_ = std::current_exception();
  }
  return false;
}

// All threads have finished; nothing may be on its way to memory that is no longer theirs.
void ThreadBlock::end_block() {
  if (engine_.loads.empty()) return;
  const TensorLoad& load = engine_.loads.front();
  try {
    fault(thread(load.thread), *load.site, "the block ends before the load is finished");
  } catch (...) {
    fault_ = std::current_exception();
  }
}

std::size_t ThreadBlock::random_below(std::size_t bound) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return (random_ >> 20) % bound;
}

Thread& ThreadBlock::next_ready() {
  std::size_t chosen = random_below(ready_.size());
  std::swap(ready_[chosen], ready_.back());
  Thread* thread = ready_.back();
  ready_.pop_back();
  return *thread;
}

// Every thread that stands in a wait leaves it by an exception, and gives up its stack.
void ThreadBlock::cancel() {
  is_cancelled_ = true;
  for (Thread& thread : threads_) {
    if (!thread.is_started || thread.is_finished) continue;
    go_on_with(thread, main_);
  }
}

void ThreadBlock::enter_thread() {
  ThreadBlock& block = *current_block;
  arrive(*block.left_);
  Thread& thread = *block.running_;
  block.kernel_->body(block.arguments_);
  try {
    block.finish(thread);
  } catch (...) {
    block.fault_ = std::current_exception();
  }
  leave(thread.context, block.main_);
}

void ThreadBlock::finish(Thread& thread) {
  thread.is_finished = true;
  --unfinished_;
  ++events_;
  for (const Gathering* gathering :
       {&warps_[static_cast<std::size_t>(thread.index / warp_lanes)],
        &warpgroups_[static_cast<std::size_t>(thread.index / warpgroup_threads)]})
    if (!gathering->arrived.empty()) {
      const Call& waiting = *gathering->arrived.front();
      fault(waiting.thread, waiting.site,
            concat("divergence: thread ", thread.index,
                   " has finished and will never come to this call"));
    }
  bool has_stores = !thread.stores.open.empty() ||
                    std::any_of(thread.stores.committed.begin(), thread.stores.committed.end(),
                                [](const auto& group) { return !group.empty(); });
  if (has_stores)
    fault(thread, CallSite{"ret"},
          "the thread ends before its tensor stores have read their source; bulk_wait_read_0 comes "
          "before");
}

void ThreadBlock::run_call(const CallSite& site, const Slot* operands, Slot* results) {
  Thread& thread = *running_;
  bool goes_on = false;
  try {
    Call call{*this, thread, site, operands, results};
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

void ThreadBlock::take_turns(const Call& call) {
  Thread& thread = call.thread;
  thread.calls = 0;
  if (std::exchange(thread.seen_events, events_) != events_) thread.turns = 0;
  if (++thread.turns > most_turns)
    fault(thread, call.site, "the thread goes round for ever, and nothing else happens");
  ready_.push_back(&thread);
  Thread& next = next_ready();
  if (&next == &thread) return;
  go_on_with(next, thread.context);
  if (is_cancelled_) throw Cancelled{};
}

void ThreadBlock::wait(const Call& call) {
  call.thread.calls = 0;
  call.thread.waits_in = &call;
  if (ready_.empty())
    switch_context(call.thread.context, main_);
  else
    go_on_with(next_ready(), call.thread.context);
  if (is_cancelled_) throw Cancelled{};
}

void ThreadBlock::wake(Thread& thread) {
  ++events_;
  thread.waits_in = nullptr;
  ready_.push_back(&thread);
}

void ThreadBlock::check_gathering(const Call& call, const Gathering& gathering, int first,
                                  int lanes) const {
  for (int i = first; i < first + lanes; ++i)
    if (threads_[static_cast<std::size_t>(i)].is_finished)
      fault(call.thread, call.site,
            concat("divergence: thread ", i, " has finished and will never come to this call"));
  if (gathering.arrived.empty()) return;
  const Call& other = *gathering.arrived.front();
  if (&other.site != &call.site)
    fault(call.thread, call.site,
          concat("divergence: thread ", other.thread.index, " of the same ",
                 lanes == warp_lanes ? "warp" : "warpgroup", " waits at ", described(other.site)));
}

void ThreadBlock::gather(const Call& call, int lanes, Complete complete) {
  int first = call.thread.index / lanes * lanes;
  if (first + lanes > kernel_->threads)
    fault(call.thread, call.site, concat("this call needs ", lanes, " neighbouring threads"));
  Gathering& gathering =
      (lanes == warp_lanes ? warps_ : warpgroups_)[static_cast<std::size_t>(first / lanes)];
  check_gathering(call, gathering, first, lanes);
  gathering.arrived.push_back(&call);
  if (static_cast<int>(gathering.arrived.size()) < lanes) {
    wait(call);
    return;
  }
  std::array<const Call*, warpgroup_threads> calls;
  for (const Call* arrived : gathering.arrived)
    calls[static_cast<std::size_t>(arrived->thread.index - first)] = arrived;
  gathering.arrived.clear();
  complete(*this, {calls.data(), static_cast<std::size_t>(lanes)});
  for (int lane = 0; lane < lanes; ++lane)
    if (calls[static_cast<std::size_t>(lane)] != &call)
      wake(calls[static_cast<std::size_t>(lane)]->thread);
}

void ThreadBlock::barrier(const Call& call, int id, int expected, bool waits) {
  if (id < 0 || id > 15)
    fault(call.thread, call.site, concat("barriers have the ids 0 to 15, this is ", id));
  if (expected <= 0 || expected > kernel_->threads || expected % warp_lanes != 0)
    fault(call.thread, call.site,
          concat("barrier ", id, " expects ", expected, " threads of a block of ", kernel_->threads,
                 "; it must be a multiple of 32"));
  NamedBarrier& barrier = barriers_[static_cast<std::size_t>(id)];
  if (barrier.expected != 0 && barrier.expected != expected)
    fault(call.thread, call.site,
          concat("barrier ", id, " expects ", expected, " threads here, but others wait there for ",
                 barrier.expected));
  const Call*& other =
      barrier.first_of_warp[static_cast<std::size_t>(call.thread.index) / warp_lanes];
  if (other && &other->site != &call.site)
    fault(call.thread, call.site,
          concat("divergence: thread ", other->thread.index, " of the same warp waits at ",
                 described(other->site)));
  bool is_all = id == 0 && waits && expected == kernel_->threads;
  barrier.expected = expected;
  if (!is_all) clocks_.release(call.thread.index, barrier.knowledge);
  if (waits) {
    barrier.waiting.push_back(&call);
    if (!other) other = &call;
  }
  if (++barrier.arrived < expected) {
    if (waits) wait(call);
    return;
  }
  complete_barrier(barrier, is_all);
}

void ThreadBlock::complete_barrier(NamedBarrier& barrier, bool is_all) {
  if (is_all) clocks_.meet_all();
  for (const Call* waiting : barrier.waiting) {
    clocks_.acquire(waiting->thread.index, barrier.knowledge);
    if (&waiting->thread != running_) wake(waiting->thread);
  }
  barrier = NamedBarrier{};
}

void ThreadBlock::fault(const Thread& thread, const CallSite& site, const std::string& what) const {
  throw EmulationFault(concat("[emulator] kernel ", kernel_->name, ", block (", place_[0], ", ",
                              place_[1], ", ", place_[2], "), thread ", thread.index, ", ",
                              described(site), ": ", what));
}

std::string ThreadBlock::describe_waits() const {
  std::map<std::string, std::vector<int>> waiting;
  for (const Thread& thread : threads_)
    if (!thread.is_finished && thread.waits_in)
      waiting[described(thread.waits_in->site)].push_back(thread.index);
  std::string text;
  for (const auto& [place, threads] : waiting)
    text += concat(text.empty() ? "" : "; ", threads.size(), " threads from thread ",
                   threads.front(), " on wait at ", place);
  for (std::size_t id = 0; id < barriers_.size(); ++id)
    if (barriers_[id].expected != 0)
      text += concat("; at barrier ", id, " ", barriers_[id].arrived, " of ",
                     barriers_[id].expected, " threads have arrived");
  text += describe_barriers(engine_);
  int finished = kernel_->threads - unfinished_;
  if (finished > 0) text += concat("; ", finished, " threads have finished");
  return text;
}

void ThreadBlock::report_deadlock() {
  auto stuck = std::find_if(threads_.begin(), threads_.end(),
                            [](const Thread& t) { return t.waits_in != nullptr; });
  check(stuck != threads_.end(), "a thread that is not ready waits for something");
  fault(*stuck, stuck->waits_in->site, "deadlock: no thread can go on: " + describe_waits());
}

}  // namespace tilewright::dsl::emulator
