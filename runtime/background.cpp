#include "runtime/background.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/base/fork_gate.h"

// The program or shared library that this is linked into.
extern "C" void* __dso_handle;

namespace tilewright {

// Everything but the source of its token is guarded by the queue's mutex.
struct BackgroundJob::State {
  Work work;
  std::stop_source stop;
  bool is_over = false;
  std::string failure;
};

namespace {

using Job = std::shared_ptr<BackgroundJob::State>;

constexpr int nice_value = 10;  // Linux has one for each thread

// Never destroyed, because jobs may be when the process ends; its thread ends with `end`.
class Queue {
 public:
  Queue() {
    at_forks({before_fork, after_fork_in_parent, after_fork_in_child});
    std::atexit(end);
  }

  void add(const Job& job) {
    std::lock_guard lock(mutex_);
    if (has_ended_) return give_up(*job, "the process ends");
    jobs_.push_back(job);
    if (is_running_) return;
    if (thread_.joinable()) thread_.join();  // it has left its loop
    try {
      thread_ = std::thread([this] { run(); });
      is_running_ = true;
    } catch (const std::exception& error) {
      jobs_.pop_back();
      give_up(*job, error.what());
    }
  }

  void stop(const Job& job) {
    job->stop.request_stop();
    BackgroundJob::Work unused;  // is destroyed without the lock
    std::unique_lock lock(mutex_);
    if (std::erase(jobs_, job) > 0) {
      unused = std::move(job->work);
      give_up(*job, "");
    }
    changed_.wait(lock, [&] { return job->is_over; });
  }

  bool wait(const Job& job, double seconds) {
    std::unique_lock lock(mutex_);
    auto is_over = [&] { return job->is_over; };
    if (seconds <= 0) return is_over();
    constexpr double longest = 1e8;  // that a clock can add
    if (seconds < longest)
      return changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_over);
    changed_.wait(lock, is_over);
    return true;
  }

  std::string failure(const Job& job) {
    std::lock_guard lock(mutex_);
    return job->failure;
  }

  static void end();

 private:
  void give_up(BackgroundJob::State& job, std::string why) {
    job.is_over = true;
    job.failure = std::move(why);
    changed_.notify_all();
  }

  void run() {
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice_value);
    std::unique_lock lock(mutex_);
    while (!jobs_.empty()) {
      running_ = std::move(jobs_.front());
      jobs_.pop_front();
      BackgroundJob::Work work = std::move(running_->work);
      lock.unlock();
      std::string failure = failure_of(work, running_->stop.get_token());
      work = nullptr;  // what it holds is gone when the job is over
      lock.lock();
      give_up(*running_, std::move(failure));
      running_.reset();
    }
    is_running_ = false;
  }

  static std::string failure_of(const BackgroundJob::Work& work, std::stop_token token) {
    try {
      work(std::move(token));
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "something that is not a std::exception was thrown";
    }
    return {};
  }

  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::mutex mutex_;
  std::condition_variable changed_;  // some job is over
  std::deque<Job> jobs_;             // that have not begun
  Job running_;
  std::thread thread_;
  bool is_running_ = false, has_ended_ = false;
};

std::atomic<bool> has_queue = false;

Queue& queue() {
  static Queue& queue = *new Queue;
  has_queue.store(true);
  return queue;
}

// Ends the queue when the main thread ends the process. A job may use objects that were made after
// the queue, such as LLVM's of the first program that is compiled, and `atexit` would come after
// their destructors. Objects of a thread are destroyed before all static ones, so this is noted as
// one of them, once, while the library is loaded. By its name, since a C library need not have it.
bool watch_main_thread() {
  using Note = int (*)(void (*)(void*), void*, void*);
  const auto note = reinterpret_cast<Note>(::dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl"));
  if (note == nullptr || ::getpid() != static_cast<pid_t>(::syscall(SYS_gettid))) return false;
  const auto end = [](void*) {
    if (has_queue.load()) Queue::end();
  };
  return note(end, nullptr, &__dso_handle) == 0;
}
[[maybe_unused]] const bool is_main_thread_watched = watch_main_thread();

void Queue::end() {
  Queue& q = queue();
  std::deque<Job> unused;
  {
    std::lock_guard lock(q.mutex_);
    q.has_ended_ = true;
    unused = std::move(q.jobs_);
    q.jobs_.clear();
    for (const Job& job : unused) q.give_up(*job, "the process ends");
    if (q.running_) q.running_->stop.request_stop();
  }
  if (q.thread_.joinable()) q.thread_.join();
}

void Queue::before_fork() { queue().mutex_.lock(); }
void Queue::after_fork_in_parent() { queue().mutex_.unlock(); }

// The thread does not exist in the child: its job ends as if it had been stopped.
void Queue::after_fork_in_child() {
  Queue& q = queue();
  new (&q.changed_) std::condition_variable;  // the thread that waited does not exist here either
  if (q.thread_.joinable()) q.thread_.detach();
  q.is_running_ = false;
  if (q.running_) q.jobs_.push_back(std::move(q.running_));
  for (const Job& job : q.jobs_) {
    job->is_over = true;
    job->failure = "the process forked";
  }
  q.jobs_.clear();
  q.mutex_.unlock();
}

}  // namespace

BackgroundJob::BackgroundJob(Work work) : state_(std::make_shared<State>()) {
  state_->work = std::move(work);
  queue().add(state_);
}

BackgroundJob::~BackgroundJob() { stop(); }
void BackgroundJob::stop() { queue().stop(state_); }
bool BackgroundJob::wait(double seconds) const { return queue().wait(state_, seconds); }
std::string BackgroundJob::failure() const { return queue().failure(state_); }

}  // namespace tilewright
