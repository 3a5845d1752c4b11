#include "dsl/emulator/thread_block.h"

#include <algorithm>
#include <map>

namespace tilewright::dsl::emulator {
namespace {

std::string described(const CallSite& site) {
  return site.location.empty() ? site.operation : site.operation + " (" + site.location + ")";
}

// The barriers that somebody waits for, and what they lack.
std::string describe_barriers(const MemoryBarriers& barriers) {
  std::string text;
  for (const auto& [offset, barrier] : barriers)
    if (!barrier.waiting.empty())
      text += concat("; the mbarrier at shared address ", offset, " is in a phase of parity ",
                     barrier.phase, " and lacks ", barrier.pending, " of ", barrier.expected,
                     " arrivals and ", barrier.bytes, " bytes");
  return text;
}

}  // namespace

void ThreadBlock::reset(const std::array<std::int64_t, 3>& place,
                        const std::array<std::int64_t, 3>& grid) {
  place_ = place;
  grid_ = grid;
  int threads = kernel().threads;
  auto count = static_cast<std::size_t>(threads);
  shared_.reset(kernel().shared_bytes, kernel().options.check_shared);
  memory_barriers_.clear();
  threads_.assign(count, Thread{});
  for (int i = 0; i < threads; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    thread.block = this;
    thread.index = i;
    thread.number = rank_ * threads + i;
  }
  warps_.assign((count + warp_lanes - 1) / warp_lanes, Gathering{});
  warpgroups_.assign((count + warpgroup_threads - 1) / warpgroup_threads, Gathering{});
  products_.assign(warpgroups_.size(), ProductQueue{});
  barriers_.fill(NamedBarrier{});
  visits_.clear();
  unfinished_ = threads;
}

void ThreadBlock::finish(Thread& thread) {
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
  if (--unfinished_ == 0) end();
}

// All threads have finished; no copy may still be under way to their shared memory, which is gone
// now.
void ThreadBlock::end() {
  for (const TensorLoad& load : loads())
    if (load.block == this)
      fault(*load.issuer, *load.site, "the block ends before the load is finished");
  for (const Visit& visit : visits_)
    if (!is_known_here(visit.thread, visit.time))
      fault(threads_.front(), CallSite{"ret"},
            concat("the block may end before ", describe_thread(visit.thread), " has done ",
                   described(*visit.site),
                   " in its shared memory; a barrier of the cluster comes before the end"));
  for (const auto& [offset, barrier] : memory_barriers_)
    if (barrier.bytes < 0)
      fault(threads_.front(), CallSite{"ret"},
            concat("the mbarrier at shared address ", offset, " expects ", -barrier.bytes,
                   " bytes fewer than loads brought"));
}

bool ThreadBlock::is_known_here(int thread, Time time) const {
  return std::ranges::any_of(threads_, [&](const Thread& mine) {
    return clocks().happened_before(thread, time, mine.number);
  });
}

void ThreadBlock::check_present(const Call& call) const {
  const Thread& visitor = call.thread;
  if (unfinished_ == 0)
    call.block.fault(visitor, call.site,
                     concat("the block of rank ", rank_,
                            " of the cluster has ended, and its shared memory is gone; a barrier "
                            "of the cluster comes before the end"));
  bool knows = std::ranges::any_of(threads_, [&](const Thread& mine) {
    return clocks().happened_before(mine.number, 1, visitor.number);
  });
  if (!knows)
    call.block.fault(visitor, call.site,
                     concat("the block of rank ", rank_,
                            " of the cluster may not have begun; a barrier of the cluster comes "
                            "before its shared memory is touched"));
}

void ThreadBlock::visit(const Call& call) {
  check_present(call);
  const Thread& visitor = call.thread;
  auto found = std::ranges::find(visits_, visitor.number, &Visit::thread);
  if (found == visits_.end()) found = visits_.insert(found, Visit{visitor.number});
  found->time = clocks().now(visitor.number);
  found->site = &call.site;
}

std::string ThreadBlock::describe_thread(int number) const {
  if (clocks().is_engine(number)) return "an asynchronous copy";
  int threads = kernel().threads, rank = number / threads;
  std::string text = concat("thread ", number % threads);
  return rank == rank_ ? text : concat(text, " of the block of rank ", rank);
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
  if (first + lanes > kernel().threads)
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
  if (expected <= 0 || expected > kernel().threads || expected % warp_lanes != 0)
    fault(call.thread, call.site,
          concat("barrier ", id, " expects ", expected, " threads of a block of ", kernel().threads,
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
  bool is_all = id == 0 && waits && expected == kernel().threads;
  barrier.expected = expected;
  if (!is_all) clocks().release(call.thread.number, barrier.knowledge);
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
  if (is_all) clocks().meet_all(rank_);
  for (const Call* waiting : barrier.waiting) {
    clocks().acquire(waiting->thread.number, barrier.knowledge);
    if (&waiting->thread != state_.scheduler.running()) wake(waiting->thread);
  }
  barrier = NamedBarrier{};
}

void ThreadBlock::fault(const Thread& thread, const CallSite& site, const std::string& what) const {
  throw EmulationFault(concat("[emulator] kernel ", kernel().name, ", block (", place_[0], ", ",
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
  text += describe_barriers(memory_barriers_);
  int finished = kernel().threads - unfinished_;
  if (finished > 0) text += concat("; ", finished, " threads have finished");
  return text;
}

}  // namespace tilewright::dsl::emulator
