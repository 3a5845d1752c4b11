// A GPU as this process uses it: its facts, its primary context, its memory and its streams.
//
// One context a device, made when it is first asked for and kept. All work of a thread goes to one
// stream, in order: the context's own, or one that the thread has put in its place (StreamScope),
// which may be the user's. Launches are asynchronous; only a read on the host waits for them.
//
// Memory comes from a pool (runtime/device_pool.h) in the order of the thread's stream. A buffer
// that is used on another stream than it was taken on must be kept until that stream is done.
#pragma once

#include <memory>
#include <string>

#include "runtime/cuda/driver/types.h"
#include "runtime/device_memory.h"
#include "runtime/device_pool.h"

namespace tilewright::cuda {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;          // "NVIDIA H200"
  std::string bus;           // of PCI, "0000:3b:00.0"
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes = 0;           // that a block may have
  bool reaches_pageable_memory = false;    // all of the host's, in kernels
  int driver_version = 0;                  // of CUDA, as 12040
  std::string compute_capability() const;  // "9.0"
};

class StagingRing;
class PeerCopies;
class ModuleTable;
class Timeline;

class Context final : public DeviceMemory {
 public:
  // Raises `Error` that says what a device lacks to be used.
  explicit Context(int ordinal);
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  DeviceHandle device() const { return device_; }
  ContextHandle handle() const { return handle_; }
  // Makes this the calling thread's context; all below do it by themselves.
  void make_current() const;
  // Where the calling thread's work goes.
  StreamHandle stream() const;

  std::string name() const override;
  void* take(std::int64_t bytes) override;
  void give_back(void* block) noexcept override;
  void copy_from_host(void* to, const void* from, std::int64_t bytes) override;
  void copy_to_host(void* to, const void* from, std::int64_t bytes) override;
  bool copy_from(void* to, DeviceMemory& other, const void* from, std::int64_t bytes) override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  bool reaches(const void* address) const override;
  void synchronize() override;

  void fill(void* to, unsigned char value, std::int64_t bytes);
  // Where the pool's segments come from, instead of the driver. Raises `Error` if it has some.
  void set_source(std::unique_ptr<SegmentSource> source);
  DevicePool& pool() { return *pool_; }
  ModuleTable& modules() { return *modules_; }
  Timeline& timeline() { return *timeline_; }
  PeerCopies& peers() { return *peers_; }

 private:
  friend class Stream;
  class Source;  // the driver's memory
  void wait();   // for the stream, with the context current
  DeviceFacts facts_;
  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  StreamHandle own_stream_ = nullptr;
  std::unique_ptr<SegmentSource> source_;
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<StagingRing> small_copies_, large_copies_;
  std::unique_ptr<PeerCopies> peers_;
  std::unique_ptr<ModuleTable> modules_;
  std::unique_ptr<Timeline> timeline_;
};

// The context of GPU `ordinal`. Raises `Error` where there is no driver or no such GPU, saying what
// there is. Thread safe.
Context& context(int ordinal);
// Facts of a GPU without a context for it.
DeviceFacts device_facts(int ordinal);

// Sends the calling thread's work on one GPU to `stream` (a CUstream of that GPU's primary
// context), which must outlive the object. Scopes of different GPUs may be open together.
class StreamScope {
 public:
  StreamScope(const Context& context, StreamHandle stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  friend class Context;  // looks for its stream
  const Context& context_;
  StreamHandle stream_;
  const StreamScope* outer_;  // of the same thread
};

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

// A point in a stream's work, with its time.
class Event {
 public:
  explicit Event(const Context& context, bool is_timed = true);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record();                                   // in the calling thread's stream
  void wait() const;                               // on the host, until the device has come here
  void make_stream_wait() const;                   // the calling thread's stream, without the host
  void make_stream_wait(const Context& of) const;  // that of another GPU
  double seconds_since(const Event& start) const;  // both must have been waited for

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

}  // namespace tilewright::cuda
