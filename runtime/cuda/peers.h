// Copies from the memory of one GPU to that of another.
//
// The driver copies between any two GPUs; where one can reach the other's memory the bytes go the
// straight way, which must be allowed once. A copy runs in the stream of the destination GPU. It is
// ordered after all earlier work and before all later work of the source's stream, as if the two
// streams were one: events order them, and the host does not wait.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/cuda/driver/types.h"

namespace tilewright::cuda {

class PrimaryContext;
class Event;

class PeerCopies {
 public:
  explicit PeerCopies(PrimaryContext& context) : context_(context) {}
  ~PeerCopies();
  // From the memory of the source's context into this one's. False where the driver refuses, and
  // then nothing was done. Thread safe.
  bool copy(void* to, PeerCopies& source, const void* from, std::int64_t bytes);

 private:
  void reach(const PrimaryContext& source);
  // Makes later work in the thread's stream of the other context wait for all earlier work in this
  // context's stream.
  void let_wait(const PrimaryContext& other);

  PrimaryContext& context_;
  std::mutex mutex_;
  std::set<int> reached_;          // ordinals of GPUs that were asked for their memory
  std::unique_ptr<Event> so_far_;  // of this context's stream
};

}  // namespace tilewright::cuda
