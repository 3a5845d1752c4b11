#include "runtime/cuda/context.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/peers.h"
#include "runtime/cuda/staging.h"
#include "runtime/cuda/timeline.h"
#include "runtime/trace.h"

namespace tilewright::cuda {
namespace {

// The contexts of the driver that is in place.
struct Contexts {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Context>> by_ordinal;
};

DevicePointer pointer_of(const void* address) { return reinterpret_cast<DevicePointer>(address); }

// The driver's type of this memory; for unknown memory the driver returns invalid_value.
std::optional<MemoryType> memory_type(const void* memory) {
  MemoryType type{};
  Result result =
      driver().cuPointerGetAttribute(&type, PointerAttribute::memory_type, pointer_of(memory));
  if (result != Result::success) return std::nullopt;
  return type;
}

bool is_pinned(const void* memory) { return memory_type(memory) == MemoryType::host; }

}  // namespace

// Segments as the driver gives them. Freeing one waits for all work on the device.
class Context::Source final : public SegmentSource {
 public:
  explicit Source(const Context& context) : context_(context) {}
  void* allocate(std::int64_t bytes) override {
    context_.make_current();
    DevicePointer pointer = 0;
    Result result = driver().cuMemAlloc(&pointer, static_cast<std::size_t>(bytes));
    if (result == Result::out_of_memory) return nullptr;
    must(result, "cuMemAlloc");
    return reinterpret_cast<void*>(pointer);
  }
  void free(void* segment) noexcept override {
    const Driver& table = driver();
    table.cuCtxSetCurrent(context_.handle());
    table.cuMemFree(pointer_of(segment));  // of a lost context there is nothing to free
  }

 private:
  const Context& context_;
};

Context::Context(int ordinal) : PrimaryContext(ordinal) {
  source_ = std::make_unique<Source>(*this);
  pool_ = std::make_unique<DevicePool>(*source_);
  small_copies_ = std::make_unique<StagingRing>(*this, StagingRing::small_half);
  large_copies_ = std::make_unique<StagingRing>(*this, StagingRing::large_half);
  peers_ = std::make_unique<PeerCopies>(*this);
  modules_ = std::make_unique<ModuleTable>(*this);
  timeline_ = std::make_unique<Timeline>(*this);
}

void Context::set_source(std::unique_ptr<SegmentSource> source) {
  std::int64_t held = pool_->statistics().segment_bytes;
  require(held == 0, "[cuda] ", name(), " has ", bytes_text(held),
          " of memory already; say where it comes from before the first tensor is made there");
  pool_ = std::make_unique<DevicePool>(*source);
  source_ = std::move(source);
}

// Waits for all streams of the device, also those of the program, before what they use goes.
Context::~Context() {
  const Driver& table = driver();
  table.cuCtxSetCurrent(handle());
  table.cuCtxSynchronize();
  timeline_.reset();
  peers_.reset();
  large_copies_.reset();
  small_copies_.reset();
  modules_.reset();
  pool_.reset();
}

void* Context::take(std::int64_t bytes) {
  void* block = pool_->take(bytes, stream(), MemoryOwner::current());
  if (block == nullptr) {
    std::size_t free = 0, total = 0;
    driver().cuMemGetInfo(&free, &total);
    throw OutOfMemory(concat("[cuda] ", name(), " (", facts().name, ") has no memory for ",
                             bytes_text(bytes), " more: ", pool_->shortage(), ", and of its ",
                             bytes_text(static_cast<std::int64_t>(total)), " the driver has ",
                             bytes_text(static_cast<std::int64_t>(free)),
                             " left; free tensors, or use smaller ones"));
  }
  return block;
}

void Context::give_back(void* block) noexcept { pool_->give_back(block); }

void Context::copy_from_host(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  TraceSpan span("copy", "host to device");
  make_current();
  bool is_small = bytes <= StagingRing::largest_small;
  StagingRing& ring = is_small ? *small_copies_ : *large_copies_;
  if ((is_small || !is_pinned(from)) && ring.copy_from_host(pointer_of(to), from, bytes)) return;
  must(driver().cuMemcpyHtoDAsync(pointer_of(to), from, static_cast<std::size_t>(bytes), stream()),
       "cuMemcpyHtoDAsync");
  synchronize();  // where memory of the host is pinned the driver does not wait
}

void Context::copy_to_host(void* to, const void* from, std::int64_t bytes) {
  TraceSpan span("copy", "device to host");
  make_current();
  bool is_staged = bytes > StagingRing::large_half && !is_pinned(to) &&
                   large_copies_->copy_to_host(to, pointer_of(from), bytes);
  if (bytes > 0 && !is_staged)
    must(
        driver().cuMemcpyDtoHAsync(to, pointer_of(from), static_cast<std::size_t>(bytes), stream()),
        "cuMemcpyDtoHAsync");
  wait();  // come what may: the device writes to memory of the caller's
}

bool Context::reaches(const void* address) const {
  if (facts().reaches_pageable_memory) return true;
  make_current();
  return memory_type(address).has_value();
}

bool Context::copy_from(void* to, DeviceMemory& other, const void* from, std::int64_t bytes) {
  auto* source = dynamic_cast<Context*>(&other);
  return source != nullptr && peers_->copy(to, *source->peers_, from, bytes);
}

void Context::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  make_current();
  must(driver().cuMemcpyDtoDAsync(pointer_of(to), pointer_of(from), static_cast<std::size_t>(bytes),
                                  stream()),
       "cuMemcpyDtoDAsync");
}

void Context::fill(void* to, unsigned char value, std::int64_t bytes) {
  if (bytes == 0) return;
  make_current();
  must(driver().cuMemsetD8Async(pointer_of(to), value, static_cast<std::size_t>(bytes), stream()),
       "cuMemsetD8Async");
}

Context& context(int ordinal) {
  driver();  // or the reason why there is none
  std::shared_ptr<void>& belongings = belongings_of_driver();
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!belongings) belongings = std::make_shared<Contexts>();
  auto& contexts = *static_cast<Contexts*>(belongings.get());
  std::unique_ptr<Context>& found = contexts.by_ordinal[ordinal];
  if (!found) found = std::make_unique<Context>(ordinal);
  return *found;
}

Stream::Stream(const Context& context) : context_(context) {
  context_.make_current();
  must(driver().cuStreamCreateWithPriority(&handle_, stream_non_blocking, 0),
       "cuStreamCreateWithPriority");
}

// Waits for its work, for then its memory can be used by others.
Stream::~Stream() {
  driver().cuCtxSetCurrent(context_.handle());
  driver().cuStreamSynchronize(handle_);
  context_.pool_->hand_over(handle_, context_.own_stream());
  driver().cuStreamDestroy(handle_);
}

}  // namespace tilewright::cuda
