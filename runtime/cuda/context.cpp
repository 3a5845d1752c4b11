#include "runtime/cuda/context.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

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

// The scope that a thread opened last. Scopes close in the opposite order in which they were
// opened.
constinit thread_local const StreamScope* innermost_scope = nullptr;

DevicePointer pointer_of(const void* address) { return reinterpret_cast<DevicePointer>(address); }

// What the driver knows of this memory; it says invalid_value of memory that it does not know.
std::optional<MemoryType> memory_type(const void* memory) {
  MemoryType type{};
  Result result =
      driver().cuPointerGetAttribute(&type, PointerAttribute::memory_type, pointer_of(memory));
  if (result != Result::success) return std::nullopt;
  return type;
}

bool is_pinned(const void* memory) { return memory_type(memory) == MemoryType::host; }

std::string describe_devices(int count) {
  return count == 0   ? std::string("this machine has none that the driver knows")
         : count == 1 ? std::string("there is one, cuda:0")
                      : concat("there are cuda:0 to cuda:", count - 1);
}

int attribute(DeviceHandle device, DeviceAttribute which) {
  int value = 0;
  must(driver().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

DeviceHandle device_handle(int ordinal) {
  int count = 0;
  must(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  require(ordinal >= 0 && ordinal < count, "[cuda] there is no GPU cuda:", ordinal, "; ",
          describe_devices(count));
  DeviceHandle device = 0;
  must(driver().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

}  // namespace

std::string DeviceFacts::compute_capability() const { return concat(major, ".", minor); }

DeviceFacts device_facts(int ordinal) {
  DeviceHandle device = device_handle(ordinal);
  DeviceFacts facts;
  facts.ordinal = ordinal;
  char name[256] = {};
  must(driver().cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  facts.name = name;
  std::size_t bytes = 0;
  must(driver().cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  char bus[32];
  std::snprintf(bus, sizeof bus, "%04x:%02x:%02x.0",
                static_cast<unsigned>(attribute(device, DeviceAttribute::domain_of_pci)),
                static_cast<unsigned>(attribute(device, DeviceAttribute::bus_of_pci)),
                static_cast<unsigned>(attribute(device, DeviceAttribute::device_of_pci)));
  facts.bus = bus;
  facts.major = attribute(device, DeviceAttribute::compute_capability_major);
  facts.minor = attribute(device, DeviceAttribute::compute_capability_minor);
  facts.multiprocessors = attribute(device, DeviceAttribute::multiprocessor_count);
  facts.l2_bytes = attribute(device, DeviceAttribute::l2_cache_bytes);
  facts.shared_bytes = attribute(device, DeviceAttribute::shared_bytes_of_block);
  facts.reaches_pageable_memory = attribute(device, DeviceAttribute::pageable_memory_access) != 0;
  must(driver().cuDriverGetVersion(&facts.driver_version), "cuDriverGetVersion");
  return facts;
}

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

Context::Context(int ordinal) : facts_(device_facts(ordinal)), device_(device_handle(ordinal)) {
  require(facts_.major >= 8, "[cuda] cuda:", ordinal, " (", facts_.name,
          ") has compute capability ", facts_.compute_capability(),
          "; 8.0 (Ampere) or newer is needed");
  must(driver().cuDevicePrimaryCtxRetain(&handle_, device_), "cuDevicePrimaryCtxRetain");
  try {
    make_current();
    must(driver().cuStreamCreateWithPriority(&own_stream_, stream_non_blocking, 0),
         "cuStreamCreateWithPriority");
  } catch (...) {
    driver().cuDevicePrimaryCtxRelease(device_);
    throw;
  }
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

// Waits for all streams of the device, also those of the program. Errors are not looked at: a
// context that was lost gives one at every call.
Context::~Context() {
  const Driver& table = driver();
  table.cuCtxSetCurrent(handle_);
  table.cuCtxSynchronize();
  timeline_.reset();
  peers_.reset();
  large_copies_.reset();
  small_copies_.reset();
  modules_.reset();
  pool_.reset();
  table.cuStreamDestroy(own_stream_);
  table.cuDevicePrimaryCtxRelease(device_);
  note_all_finished();  // the names of kernels go with their modules
}

void Context::make_current() const { must(driver().cuCtxSetCurrent(handle_), "cuCtxSetCurrent"); }

StreamHandle Context::stream() const {
  for (const StreamScope* scope = innermost_scope; scope != nullptr; scope = scope->outer_)
    if (&scope->context_ == this) return scope->stream_;
  return own_stream_;
}

// Asked for at every launch: no streams.
std::string Context::name() const { return "cuda:" + std::to_string(facts_.ordinal); }

void* Context::take(std::int64_t bytes) {
  void* block = pool_->take(bytes, stream(), MemoryOwner::current());
  if (block == nullptr) {
    std::size_t free = 0, total = 0;
    driver().cuMemGetInfo(&free, &total);
    throw OutOfMemory(concat("[cuda] ", name(), " (", facts_.name, ") has no memory for ",
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
  if (facts_.reaches_pageable_memory) return true;
  make_current();
  return memory_type(address).has_value();
}

bool Context::copy_from(void* to, DeviceMemory& other, const void* from, std::int64_t bytes) {
  auto* source = dynamic_cast<Context*>(&other);
  return source != nullptr && peers_->copy(to, *source, from, bytes);
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

void Context::synchronize() {
  make_current();
  wait();
}

void Context::wait() {
  must(driver().cuStreamSynchronize(stream()), "cuStreamSynchronize");
  note_all_finished();
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

StreamScope::StreamScope(const Context& context, StreamHandle stream)
    : context_(context), stream_(stream), outer_(std::exchange(innermost_scope, this)) {}

StreamScope::~StreamScope() { innermost_scope = outer_; }

Stream::Stream(const Context& context) : context_(context) {
  context_.make_current();
  must(driver().cuStreamCreateWithPriority(&handle_, stream_non_blocking, 0),
       "cuStreamCreateWithPriority");
}

// Waits for its work, for then its memory can be used by others.
Stream::~Stream() {
  driver().cuCtxSetCurrent(context_.handle());
  driver().cuStreamSynchronize(handle_);
  context_.pool_->hand_over(handle_, context_.own_stream_);
  driver().cuStreamDestroy(handle_);
}

Event::Event(const Context& context, bool is_timed) : context_(context) {
  context_.make_current();
  must(driver().cuEventCreate(&handle_, is_timed ? event_default : event_disable_timing),
       "cuEventCreate");
}

Event::~Event() {
  driver().cuCtxSetCurrent(context_.handle());
  driver().cuEventDestroy(handle_);
}

void Event::record() {
  context_.make_current();
  must(driver().cuEventRecord(handle_, context_.stream()), "cuEventRecord");
}

void Event::wait() const {
  context_.make_current();
  must(driver().cuEventSynchronize(handle_), "cuEventSynchronize");
}

void Event::make_stream_wait() const { make_stream_wait(context_); }

void Event::make_stream_wait(const Context& of) const {
  of.make_current();
  must(driver().cuStreamWaitEvent(of.stream(), handle_, 0), "cuStreamWaitEvent");
}

double Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  must(driver().cuEventElapsedTime(&milliseconds, start.handle_, handle_), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tilewright::cuda
