// The primary context of a GPU, the streams of threads in it, and events: what orders the work of
// one GPU.
//
// What does such work (staging.h, peers.h, module.h, timeline.h) needs this and no more; Context
// (context.h) owns all of these and is what the rest of the library sees.
//
// All work of a thread goes to one stream, in order: the context's own, or one that the thread has
// put in its place (StreamScope), which may be the user's.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/cuda/driver/types.h"

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

// Facts of a GPU without a context for it.
DeviceFacts device_facts(int ordinal);

class PrimaryContext {
 public:
  // Raises `Error` that says what a device lacks to be used.
  explicit PrimaryContext(int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  DeviceHandle device() const { return device_; }
  ContextHandle handle() const { return handle_; }
  std::string name() const;  // "cuda:0"
  // Makes this the calling thread's context; all below do it by themselves.
  void make_current() const;
  // Where the calling thread's work goes.
  StreamHandle stream() const;
  StreamHandle own_stream() const { return own_stream_; }
  // Waits for the calling thread's stream.
  void synchronize() const;

 protected:
  void wait() const;  // as synchronize, with the context current

 private:
  DeviceFacts facts_;
  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  StreamHandle own_stream_ = nullptr;
};

// Sends the calling thread's work on one GPU to `stream` (a CUstream of that GPU's primary
// context), which must outlive the object. Scopes of different GPUs may be open together.
class StreamScope {
 public:
  StreamScope(const PrimaryContext& context, StreamHandle stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  friend class PrimaryContext;  // looks for its stream
  const PrimaryContext& context_;
  StreamHandle stream_;
  const StreamScope* outer_;  // of the same thread
};

// A point in a stream's work, with its time.
class Event {
 public:
  explicit Event(const PrimaryContext& context, bool is_timed = true);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record();                  // in the calling thread's stream
  void wait() const;              // on the host, until the device has come here
  void make_stream_wait() const;  // the calling thread's stream, without the host
  void make_stream_wait(const PrimaryContext& of) const;  // that of another GPU
  double seconds_since(const Event& start) const;         // both must have been waited for

 private:
  const PrimaryContext& context_;
  EventHandle handle_ = nullptr;
};

}  // namespace tilewright::cuda
