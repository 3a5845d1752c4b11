#include "runtime/cuda/primary_context.h"

#include <cstdio>
#include <utility>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"

namespace tilewright::cuda {
namespace {

// The scope that a thread opened last. Scopes close in the opposite order in which they were
// opened.
constinit thread_local const StreamScope* innermost_scope = nullptr;

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

PrimaryContext::PrimaryContext(int ordinal)
    : facts_(device_facts(ordinal)), device_(device_handle(ordinal)) {
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
}

// Errors are not looked at: a context that was lost gives one at every call.
PrimaryContext::~PrimaryContext() {
  const Driver& table = driver();
  table.cuCtxSetCurrent(handle_);
  table.cuStreamDestroy(own_stream_);
  table.cuDevicePrimaryCtxRelease(device_);
  note_all_finished();  // the names of kernels go with their modules
}

void PrimaryContext::make_current() const {
  must(driver().cuCtxSetCurrent(handle_), "cuCtxSetCurrent");
}

StreamHandle PrimaryContext::stream() const {
  for (const StreamScope* scope = innermost_scope; scope != nullptr; scope = scope->outer_)
    if (&scope->context_ == this) return scope->stream_;
  return own_stream_;
}

// Asked for at every launch: no streams.
std::string PrimaryContext::name() const { return "cuda:" + std::to_string(facts_.ordinal); }

void PrimaryContext::synchronize() const {
  make_current();
  wait();
}

void PrimaryContext::wait() const {
  must(driver().cuStreamSynchronize(stream()), "cuStreamSynchronize");
  note_all_finished();
}

StreamScope::StreamScope(const PrimaryContext& context, StreamHandle stream)
    : context_(context), stream_(stream), outer_(std::exchange(innermost_scope, this)) {}

StreamScope::~StreamScope() { innermost_scope = outer_; }

Event::Event(const PrimaryContext& context, bool is_timed) : context_(context) {
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

void Event::make_stream_wait(const PrimaryContext& of) const {
  of.make_current();
  must(driver().cuStreamWaitEvent(of.stream(), handle_, 0), "cuStreamWaitEvent");
}

double Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  must(driver().cuEventElapsedTime(&milliseconds, start.handle_, handle_), "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tilewright::cuda
