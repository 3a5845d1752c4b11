// Times of kernels on a GPU, for a trace (runtime/trace.h).
//
// An event is recorded before and after each kernel. The GPU's clock is set against the host's
// once, by an event whose time on the host is known. Times are read when the trace is, or when many
// are waiting.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

class PrimaryContext;
class Event;

// Thread safe.
class Timeline {
 public:
  explicit Timeline(PrimaryContext& context);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  void before(const std::string& kernel);  // the same thread calls after() next
  void after();
  void collect();  // waits for the kernels, adds their spans to the trace

 private:
  struct Pair {
    std::string kernel;
    std::unique_ptr<Event> begin, end;
  };
  std::unique_ptr<Event> event();
  void set_clock();

  PrimaryContext& context_;
  std::mutex mutex_;
  std::unique_ptr<Event> zero_;
  double zero_seconds_ = 0;
  std::vector<Pair> waiting_;
  std::vector<std::unique_ptr<Event>> free_;
  int source_;
};

}  // namespace tilewright::cuda
