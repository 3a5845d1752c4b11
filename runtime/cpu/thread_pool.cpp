#include "runtime/cpu/thread_pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

// The bits of `state_`. The number of the loop wraps; a worker that slept through a whole round
// would at worst miss one loop, whose pieces the others then take.
constexpr std::uint32_t inside_mask = 0xfff;           // workers inside the loop
constexpr std::uint32_t caller_sleeps_bit = 1U << 12;  // the last to leave wakes the caller
constexpr std::uint32_t open_bit = 1U << 13;           // workers may join
constexpr std::uint32_t number_step = 1U << 14;

// Both kinds of sleeper wait on `state_`; the bit set selects the kind to wake.
constexpr int worker_set = 1, caller_set = 2;

thread_local int worker_of_thread = -1;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, int set) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nullptr, nullptr, set);
}
void wake(std::atomic<std::uint32_t>& word, int threads, int set) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, threads, nullptr, nullptr, set);
}

// Spins until `done` or until `spin_ns` are over; returns done().
template <typename Done>
bool spin_until(Done done) {
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_cpu();
    }
  } while (std::chrono::steady_clock::now() - start <
           std::chrono::nanoseconds(ThreadPool::spin_ns));
  return done();
}

std::uint64_t pack(std::uint64_t begin, std::uint64_t end) { return begin | end << 32; }
std::uint64_t begin_of(std::uint64_t range) { return range & 0xffffffffU; }
std::uint64_t end_of(std::uint64_t range) { return range >> 32; }

}  // namespace

int ThreadPool::current_worker() { return worker_of_thread; }

ThreadPool::InsideBody::InsideBody(int worker) : former_(worker_of_thread) {
  worker_of_thread = worker;
}
ThreadPool::InsideBody::~InsideBody() { worker_of_thread = former_; }

ThreadPool::ThreadPool(int workers)
    : workers_(workers), slice_(std::make_unique<Slice[]>(static_cast<std::size_t>(workers))) {
  check(workers >= 1 && workers <= max_workers, "the number of workers is out of range");
  threads_.reserve(static_cast<std::size_t>(workers - 1));
  try {
    for (int worker = 1; worker < workers; ++worker) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error& error) {
    std::size_t started = threads_.size();
    stop();
    raise_error(concat("[set_thread_count] starting worker threads: the system refused thread ",
                       started + 1, " of ", workers - 1, " beside the caller's (", error.what(),
                       "); set a smaller count than ", workers, ", 1 needs none"));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  // before the new number: a thread that has seen the number sees this as well
  stopping_.store(true);
  state_.fetch_add(number_step);
  wake(state_, INT_MAX, worker_set);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::run(std::int64_t count, int limit, RangeBody body, void* context) {
  if (count <= 0) return;
  body_ = body;
  context_ = context;
  count_ = count;
  unit_ = (count >> 31) + 1;  // so that the ends of slices fit into 32 bits
  auto units = static_cast<std::uint64_t>((count + unit_ - 1) / unit_);
  slices_ = static_cast<int>(
      std::min<std::uint64_t>(units, static_cast<unsigned>(std::min(limit, workers_))));
  auto slices = static_cast<std::uint64_t>(slices_);
  for (std::uint64_t i = 0; i < slices; ++i)
    slice_[i].range.store(pack(units * i / slices, units * (i + 1) / slices),
                          std::memory_order_relaxed);

  InsideBody inside(0);
  if (slices_ == 1) return work(0);
  next_worker_.store(1, std::memory_order_relaxed);
  // Opening is sequentially consistent with the count of sleepers: either a worker that goes to
  // sleep sees the new state, or we see the sleeper.
  std::uint32_t number = state_.load(std::memory_order_relaxed) / number_step;
  state_.store((number + 1) * number_step | open_bit);
  if (sleepers_.load() > 0) wake(state_, slices_ - 1, worker_set);
  work(0);
  wait_until_left();
}

void ThreadPool::wait_until_left() {
  state_.fetch_and(~open_bit, std::memory_order_acq_rel);
  auto left = [this] { return (state_.load(std::memory_order_acquire) & inside_mask) == 0; };
  if (spin_until(left)) return;
  state_.fetch_or(caller_sleeps_bit);
  for (std::uint32_t now = state_.load(); (now & inside_mask) != 0; now = state_.load())
    sleep_while(state_, now, caller_set);
  state_.fetch_and(~caller_sleeps_bit);
}

bool ThreadPool::join(std::uint32_t& seen) {
  std::uint32_t now = state_.load(std::memory_order_acquire);
  if (now / number_step == seen) return false;
  while ((now & open_bit) != 0)
    if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) {
      seen = now / number_step;
      return true;
    }
  seen = now / number_step;
  return false;
}

void ThreadPool::leave() {
  std::uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & inside_mask) == 1 && (before & caller_sleeps_bit) != 0) wake(state_, 1, caller_set);
}

void ThreadPool::serve() {
  std::uint32_t seen = 0;
  for (;;) {
    if (join(seen)) {
      worker_of_thread = next_worker_.fetch_add(1, std::memory_order_relaxed);
      if (worker_of_thread < slices_) work(worker_of_thread);
      worker_of_thread = -1;
      leave();
    }
    // Behind the look at the number: it changes once more, and last, when the pool has stopped.
    if (stopping_.load(std::memory_order_acquire)) return;
    auto idle = [&](std::uint32_t now) { return now / number_step == seen; };
    if (spin_until([&] { return !idle(state_.load()); })) continue;
    sleepers_.fetch_add(1);
    for (std::uint32_t now = state_.load(); idle(now); now = state_.load())
      sleep_while(state_, now, worker_set);
    sleepers_.fetch_sub(1);
  }
}

void ThreadPool::run_piece(std::uint64_t begin, std::uint64_t end, int worker) {
  std::int64_t first = static_cast<std::int64_t>(begin) * unit_;
  std::int64_t last = std::min(static_cast<std::int64_t>(end) * unit_, count_);
  body_(context_, first, last, worker);
}

void ThreadPool::work(int worker) {
  // The own slice from the front, in pieces that shrink: a quarter of the rest.
  std::atomic<std::uint64_t>& own = slice_[worker].range;
  for (std::uint64_t now = own.load(std::memory_order_relaxed); begin_of(now) < end_of(now);) {
    std::uint64_t middle = begin_of(now) + (end_of(now) - begin_of(now) + 3) / 4;
    if (!own.compare_exchange_weak(now, pack(middle, end_of(now)), std::memory_order_relaxed))
      continue;
    run_piece(begin_of(now), middle, worker);
    now = own.load(std::memory_order_relaxed);
  }
  // Then half of what another has left, from the back.
  for (int step = 1; step < slices_; ++step) {
    std::atomic<std::uint64_t>& other = slice_[(worker + step) % slices_].range;
    for (std::uint64_t now = other.load(std::memory_order_relaxed); begin_of(now) < end_of(now);) {
      std::uint64_t middle = begin_of(now) + (end_of(now) - begin_of(now)) / 2;
      if (!other.compare_exchange_weak(now, pack(begin_of(now), middle), std::memory_order_relaxed))
        continue;
      run_piece(middle, end_of(now), worker);
      now = other.load(std::memory_order_relaxed);
    }
  }
}

}  // namespace tilewright
