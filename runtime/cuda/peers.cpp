#include "runtime/cuda/peers.h"

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/primary_context.h"
#include "runtime/trace.h"

namespace tilewright::cuda {

PeerCopies::~PeerCopies() = default;

// Where it is not possible, or another part of the program has done it, copies work all the same.
void PeerCopies::reach(const PrimaryContext& source) {
  std::lock_guard lock(mutex_);
  if (!reached_.insert(source.facts().ordinal).second) return;
  int can = 0;
  Result result = driver().cuDeviceCanAccessPeer(&can, context_.device(), source.device());
  context_.make_current();
  if (result == Result::success && can != 0)
    result = driver().cuCtxEnablePeerAccess(source.handle(), 0);
  if (is_sticky(result)) must(result, "cuCtxEnablePeerAccess");
}

void PeerCopies::let_wait(const PrimaryContext& other) {
  std::lock_guard lock(mutex_);
  if (!so_far_) so_far_ = std::make_unique<Event>(context_, false);
  so_far_->record();
  so_far_->make_stream_wait(other);
}

bool PeerCopies::copy(void* to, PeerCopies& other, const void* from, std::int64_t bytes) {
  if (bytes == 0) return true;
  TraceSpan span("copy", "device to device");
  const PrimaryContext& source = other.context_;
  reach(source);
  other.let_wait(context_);
  context_.make_current();
  Result result = driver().cuMemcpyPeerAsync(reinterpret_cast<DevicePointer>(to), context_.handle(),
                                             reinterpret_cast<DevicePointer>(from), source.handle(),
                                             static_cast<std::size_t>(bytes), context_.stream());
  if (is_sticky(result)) must(result, "cuMemcpyPeerAsync");
  if (result != Result::success) return false;
  try {
    let_wait(source);
  } catch (...) {
    context_.synchronize();  // the source's memory may be given to others after this
    throw;
  }
  return true;
}

}  // namespace tilewright::cuda
