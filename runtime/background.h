// Background work: one thread of low priority for the whole process.
//
// Jobs run one after the other, in the order in which they were made; without jobs there is no
// thread. When the process ends, the job that runs is asked to stop and waited for, before anything
// that was made earlier is destroyed; a child after fork has no jobs.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>

namespace tilewright {

class BackgroundJob {
 public:
  // Looks at the token often, because ending the job waits for it to return.
  using Work = std::function<void(std::stop_token)>;
  // Runs behind the jobs that are there.
  explicit BackgroundJob(Work work);
  ~BackgroundJob();  // `stop`
  BackgroundJob(const BackgroundJob&) = delete;

  // Asks the work to end and waits until it did; work that has not begun never does. Not to be
  // called by the work itself.
  void stop();
  // Waits until the work is over, at most `seconds`; returns whether it is. 0: only asks.
  bool wait(double seconds = std::numeric_limits<double>::infinity()) const;
  // The message of the exception it threw, once it is over; empty if there was none.
  std::string failure() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tilewright
