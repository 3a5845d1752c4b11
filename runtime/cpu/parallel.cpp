#include "runtime/cpu/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/cpu/thread_pool.h"

namespace tilewright {
namespace {

constinit thread_local int limit_of_thread = 0;   // 0: none
constinit thread_local int threads_of_plans = 0;  // 0: thread_count()

int count_of_usable_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0
                  ? CPU_COUNT(&cpus)
                  : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, ThreadPool::max_workers);
}

void require_thread_count(const char* operation, std::int64_t count) {
  require(count >= 1 && count <= ThreadPool::max_workers, "[", operation, "] the count is ", count,
          "; 1 to ", ThreadPool::max_workers, " would be right");
}

int default_thread_count() {
  env::integer wanted = env::threads();
  if (!wanted) return count_of_usable_cpus();
  require_thread_count("TILEWRIGHT_THREADS", *wanted);
  return static_cast<int>(*wanted);
}

// The threads of the process, and the running of loops on them. Never destroyed, because
// destructors of other objects may launch after ours would have run; the threads end with `end`.
class Workers {
 public:
  Workers() {
    at_forks({before_fork, after_fork_in_parent, after_fork_in_child});
    std::atexit(end);
  }

  int count() {
    int count = count_.load(std::memory_order_relaxed);
    if (count == 0) [[unlikely]] {
      count = default_thread_count();
      count_.store(count, std::memory_order_relaxed);
    }
    return count;
  }

  void set_count(int count) {
    std::lock_guard lock(mutex_);
    pool_.reset();
    count_ = count;
  }

  void set_hook(ParallelFor hook, int workers) {
    std::lock_guard lock(mutex_);
    pool_.reset();
    hook_ = std::move(hook);
    count_ = hook_ ? workers : 0;
  }

  // With at most `limit` workers.
  void run(std::int64_t count, int limit, RangeBody body, void* context) {
    if (hook_)
      return limit < this->count() ? run_hook_in_parts(count, limit, body, context)
                                   : run_hook(count, body, context);
    LoopCount here(loops_);
    for (std::int64_t done = 0; done < count;) {
      const int others = std::max(loops_.load(std::memory_order_relaxed) - 1, 0);
      const int workers = std::min(limit, this->count() - others);
      if (workers > 1) {
        std::unique_lock lock(mutex_, std::try_to_lock);
        if (lock) return run_on_pool(count, workers, {body, context, done});
      }
      const auto begin = std::chrono::steady_clock::now();
      const std::int64_t piece =
          std::max((count - done) / (pieces_a_worker * limit), std::int64_t{1});
      {
        ThreadPool::InsideBody inside(0);
        body(context, done, done + piece, 0);
      }
      done += piece;
      const auto rest = (std::chrono::steady_clock::now() - begin) / piece * (count - done);
      if (rest <= limit * worth_waiting) continue;
      std::lock_guard lock(mutex_);
      return run_on_pool(count, limit, {body, context, done});
    }
  }

 private:
  // A loop that finds the pool in use looks again after so large a part of what each worker would
  // have.
  static constexpr std::int64_t pieces_a_worker = 4;
  // The time of each worker from which on a loop waits for the pool: its own thread alone would
  // take far longer than the loops before it.
  static constexpr std::chrono::microseconds worth_waiting{25};

  // Counts a loop while it runs.
  class LoopCount {
   public:
    explicit LoopCount(std::atomic<int>& loops) : loops_(loops) {
      loops_.fetch_add(1, std::memory_order_relaxed);
    }
    ~LoopCount() { loops_.fetch_sub(1, std::memory_order_relaxed); }
    LoopCount(const LoopCount&) = delete;
    LoopCount& operator=(const LoopCount&) = delete;

   private:
    std::atomic<int>& loops_;
  };

  // The indices of a loop from `done` on.
  struct Rest {
    RangeBody body;
    void* context;
    std::int64_t done;
    static void run(void* context, std::int64_t begin, std::int64_t end, int worker) {
      auto& rest = *static_cast<Rest*>(context);
      rest.body(rest.context, rest.done + begin, rest.done + end, worker);
    }
  };

  // With the lock.
  void run_on_pool(std::int64_t count, int workers, Rest rest) {
    if (pool_ == nullptr) [[unlikely]]
      pool_ = std::make_unique<ThreadPool>(this->count());
    if (rest.done == 0)
      pool_->run(count, workers, rest.body, rest.context);
    else
      pool_->run(count - rest.done, workers, Rest::run, &rest);
  }

  void run_hook(std::int64_t count, RangeBody body, void* context) {
    struct Inner {
      RangeBody body;
      void* context;
    } inner{body, context};
    hook_(
        count,
        [](void* context, std::int64_t begin, std::int64_t end, int worker) {
          ThreadPool::InsideBody inside(worker);
          auto& inner = *static_cast<Inner*>(context);
          inner.body(inner.context, begin, end, worker);
        },
        &inner);
  }

  // A loop over `limit` equal parts of the loop, each of which is a worker.
  void run_hook_in_parts(std::int64_t count, int limit, RangeBody body, void* context) {
    struct Parts {
      RangeBody body;
      void* context;
      std::int64_t count, parts;
    } parts{body, context, count, std::min<std::int64_t>(limit, count)};
    hook_(
        parts.parts,
        [](void* context, std::int64_t part, std::int64_t end, int) {
          auto& all = *static_cast<Parts*>(context);
          for (; part < end; ++part) {
            ThreadPool::InsideBody inside(static_cast<int>(part));
            all.body(all.context, all.count * part / all.parts, all.count * (part + 1) / all.parts,
                     static_cast<int>(part));
          }
        },
        &parts);
  }

  static void end();

  // A child has only the thread that forked, so it must find no lock held by a thread that is gone:
  // the fork waits until no loop runs, and the child leaves the pool, whose threads it has not,
  // behind. Where a body forks, waiting for its own loop would be for ever: there the child gets a
  // fresh lock, and must not return from the body.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::mutex mutex_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<ThreadPool*> left_behind_;
  std::atomic<int> count_{0};  // 0: not asked for yet
  std::atomic<int> loops_{0};  // that run now, on the pool or beside it
  ParallelFor hook_;
};

Workers& workers() {
  static Workers& workers = *new Workers;
  return workers;
}

// Where the process exits from within a body, its threads still run that body: they are left alone.
void Workers::end() {
  if (ThreadPool::current_worker() >= 0) return;
  Workers& w = workers();
  std::lock_guard lock(w.mutex_);
  w.pool_.reset();
  w.count_ = 1;  // what others still launch runs on their own thread
}

void Workers::before_fork() {
  if (ThreadPool::current_worker() < 0) workers().mutex_.lock();
}

void Workers::after_fork_in_parent() {
  if (ThreadPool::current_worker() < 0) workers().mutex_.unlock();
}

void Workers::after_fork_in_child() {
  Workers& w = workers();
  w.loops_ = 0;
  if (w.pool_ != nullptr) w.left_behind_.push_back(w.pool_.release());
  if (ThreadPool::current_worker() < 0)
    w.mutex_.unlock();
  else
    new (&w.mutex_) std::mutex;
}

}  // namespace

void set_thread_count(int count) {
  require_thread_count("set_thread_count", count);
  workers().set_count(count);
}

int thread_count() {
  const int count = workers().count();
  return limit_of_thread == 0 ? count : std::min(limit_of_thread, count);
}

ThreadLimit::ThreadLimit(int count) : former_(limit_of_thread) {
  if (count == 0) return;
  require_thread_count("threads", count);
  limit_of_thread = former_ == 0 ? count : std::min(count, former_);
}
ThreadLimit::~ThreadLimit() { limit_of_thread = former_; }

int ThreadLimit::of_thread() { return limit_of_thread; }

int planned_threads() { return threads_of_plans == 0 ? thread_count() : threads_of_plans; }

PlannedThreads::PlannedThreads(int count) : former_(threads_of_plans) {
  if (count == 0) return;
  require_thread_count("planned_threads", count);
  threads_of_plans = count;
}
PlannedThreads::~PlannedThreads() { threads_of_plans = former_; }

void set_parallel_for(ParallelFor hook, int workers_of_hook) {
  if (hook) require_thread_count("set_parallel_for", workers_of_hook);
  workers().set_hook(std::move(hook), workers_of_hook);
}

void parallel_for(std::int64_t count, RangeBody body, void* context) {
  if (count <= 0) return;
  int worker = ThreadPool::current_worker();
  const int limit = thread_count();
  if (count == 1 || worker >= 0 || limit == 1) return body(context, 0, count, std::max(worker, 0));
  workers().run(count, limit, body, context);
}

}  // namespace tilewright
