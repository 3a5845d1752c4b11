// A GPU as this process uses it: its primary context, its memory, copies and kernels.
//
// One context a device, made when it is first asked for and kept. Launches are asynchronous; only a
// read on the host waits for them.
//
// Memory comes from a pool (runtime/device_pool.h) in the order of the thread's stream. A buffer
// that is used on another stream than it was taken on must be kept until that stream is done.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/primary_context.h"
#include "runtime/device_memory.h"
#include "runtime/device_pool.h"

namespace tilewright::cuda {

class StagingRing;
class PeerCopies;
class ModuleTable;
class Timeline;

class Context final : public PrimaryContext, public DeviceMemory {
 public:
  explicit Context(int ordinal);  // raises `Error` as PrimaryContext does
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string name() const override { return PrimaryContext::name(); }
  void* take(std::int64_t bytes) override;
  void give_back(void* block) noexcept override;
  void copy_from_host(void* to, const void* from, std::int64_t bytes) override;
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override;
  bool copy_from(void* to, DeviceMemory& other, const void* from, std::int64_t bytes) override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  bool reaches(const void* address) const override;
  void synchronize() override { PrimaryContext::synchronize(); }

  void fill(void* to, unsigned char value, std::int64_t bytes);
  // Where the pool's segments come from, instead of the driver. Raises `Error` if it has some.
  void set_source(std::unique_ptr<SegmentSource> source);
  DevicePool& pool() { return *pool_; }
  ModuleTable& modules() { return *modules_; }
  Timeline& timeline() { return *timeline_; }

 private:
  friend class Stream;
  class Source;  // the driver's memory
  std::unique_ptr<SegmentSource> source_;
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<StagingRing> small_copies_, large_copies_;
  std::unique_ptr<PeerCopies> peers_;
  std::unique_ptr<ModuleTable> modules_;
  std::unique_ptr<Timeline> timeline_;
};

// The context of GPU `ordinal`. Raises `Error` where there is no driver or no such GPU, listing the
// GPUs. Thread safe.
Context& context(int ordinal);

// A stream of the library's, for work beside the context's own.
class Stream {
 public:
  explicit Stream(const Context& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  StreamHandle handle() const { return handle_; }

 private:
  const Context& context_;
  StreamHandle handle_ = nullptr;
};

}  // namespace tilewright::cuda
