#include "runtime/cpu/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/cpu/thread_pool.h"

namespace tilewright {
namespace {

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
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
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

  void run(std::int64_t count, RangeBody body, void* context) {
    if (hook_) return run_hook(count, body, context);
    std::lock_guard lock(mutex_);
    if (pool_ == nullptr) [[unlikely]]
      pool_ = std::make_unique<ThreadPool>(this->count());
    pool_->run(count, body, context);
  }

 private:
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

int thread_count() { return workers().count(); }

void set_parallel_for(ParallelFor hook, int workers_of_hook) {
  if (hook) require_thread_count("set_parallel_for", workers_of_hook);
  workers().set_hook(std::move(hook), workers_of_hook);
}

void parallel_for(std::int64_t count, RangeBody body, void* context) {
  if (count <= 0) return;
  int worker = ThreadPool::current_worker();
  if (count == 1 || worker >= 0 || thread_count() == 1)
    return body(context, 0, count, std::max(worker, 0));
  workers().run(count, body, context);
}

}  // namespace tilewright
