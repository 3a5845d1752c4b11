#include "tests/cuda/fake_driver.h"

#include <gtest/gtest.h>

#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_state.h"
#include "tests/setting.h"

namespace tilewright::cuda {
namespace fake {
namespace {

State* in_place = nullptr;

// Called first by every function: counts the call, and fails if a test asked for it.
Result enter(const char* name) {
  std::int64_t call = ++state().calls[name];
  auto failures = state().failures.find(name);
  if (failures == state().failures.end()) return Result::success;
  for (const Failure& failure : failures->second) {
    if (call < failure.first || call > failure.last) continue;
    int device;
    if (is_sticky(failure.result) && state().ready(&device) == Result::success)
      state().lose(device, failure.result, concat("a call of ", name, " was told to fail"));
    return failure.result;
  }
  return Result::success;
}

template <typename Function, Function* function, const char* const& name>
struct Entry;
template <typename... P, Result (*function)(P...), const char* const& name>
struct Entry<Result(P...), function, name> {
  static Result call(P... parameters) {
    if (in_place == nullptr) return Result::deinitialized;
    std::lock_guard lock(state().mutex);
    Result failed = enter(name);
    // Where waiting fails the work is done nevertheless.
    bool is_called = failed == Result::success ||
                     std::string_view(name).find("Synchronize") != std::string_view::npos;
    Result result = is_called ? function(parameters...) : failed;
    return failed == Result::success ? result : failed;
  }
};

#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) \
  constexpr const char* name_of_##name = #name;
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA

Driver table() {
  Driver driver;
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) \
  driver.name = Entry<Result parameters, &name, name_of_##name>::call;
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
  return driver;
}

std::uint64_t next_serial() {
  static std::uint64_t serial = 0;
  return ++serial;
}

std::string counted(std::size_t count, const std::string& what) {
  if (count == 0) return "";
  return concat(count, " ", what, count == 1 ? "" : "s", ", ");
}

}  // namespace

State& state() { return *in_place; }

State::State(FakeOptions options)
    : version(options.version),
      spilled_bytes(options.spilled_bytes),
      peers(options.peers),
      serial(next_serial()) {
  for (FakeDevice& device : options.devices) {
    devices.push_back({std::move(device)});
    all_streams.push_back(
        std::make_shared<Stream>(Stream{static_cast<int>(devices.size()) - 1, {}}));
    devices.back().null_stream = all_streams.back();
  }
}

}  // namespace fake

FakeDriver::FakeDriver(FakeOptions options)
    : cache_(std::make_unique<Setting>("TILEWRIGHT_CACHE_DIR", options.cache_dir.c_str())),
      state_(std::make_unique<fake::State>(std::move(options))),
      former_(fake::in_place) {
  fake::in_place = state_.get();
  in_place_ = std::make_unique<ScopedDriver>(fake::table());
}

FakeDriver::~FakeDriver() {
  in_place_.reset();
  if (!forgives_leaks_) {
    EXPECT_EQ(leaks(), "") << "was not given back to the driver";
  }
  fake::in_place = former_;
}

void FakeDriver::fail(std::string_view function, std::int64_t nth, Result result,
                      std::int64_t times) {
  check(find_function(function) != nullptr, "the driver has a function of this name");
  std::lock_guard lock(state_->mutex);
  std::string name(function);
  std::int64_t first = state_->calls[name] + nth;
  state_->failures[name].push_back({first, first + times - 1, result});
}

void FakeDriver::fault_at_kernel(std::int64_t nth) {
  std::lock_guard lock(state_->mutex);
  state_->fault_at_kernel = state_->kernels_run + nth;
}

void FakeDriver::fail_nothing() {
  std::lock_guard lock(state_->mutex);
  state_->failures.clear();
  state_->fault_at_kernel = 0;
}

std::vector<std::string> FakeDriver::functions() {
  return {
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) #name,
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
  };
}

std::int64_t FakeDriver::calls(std::string_view function) const {
  check(find_function(function) != nullptr, "the driver has a function of this name");
  std::lock_guard lock(state_->mutex);
  auto found = state_->calls.find(function);
  return found == state_->calls.end() ? 0 : found->second;
}

std::int64_t FakeDriver::kernels_run() const {
  std::lock_guard lock(state_->mutex);
  return state_->kernels_run;
}

std::size_t FakeDriver::memory_in_use(int device) const {
  std::lock_guard lock(state_->mutex);
  return state_->devices[static_cast<std::size_t>(device)].in_use_bytes;
}

std::string FakeDriver::fault() const {
  std::lock_guard lock(state_->mutex);
  return state_->fault;
}

std::string FakeDriver::leaks() const {
  std::lock_guard lock(state_->mutex);
  const fake::State& s = *state_;
  std::size_t bytes = 0, contexts = 0;
  for (const auto& [begin, allocation] : s.memory.live()) bytes += allocation.bytes;
  for (const fake::Device& device : s.devices)
    contexts += static_cast<std::size_t>(device.retained);
  std::string text =
      fake::counted(s.memory.live().size(), "allocation") +
      (bytes == 0 ? "" : concat("of ", bytes, " bytes in all, ")) +
      fake::counted(s.pinned.size(), "pinned allocation") +
      fake::counted(s.streams.size(), "stream") + fake::counted(s.events.size(), "event") +
      fake::counted(s.links.size(), "link") + fake::counted(s.modules.size(), "module") +
      fake::counted(s.graphs.size(), "graph") +
      fake::counted(s.executables.size(), "executable graph") +
      fake::counted(contexts, "retained context");
  return text.empty() ? text : text.substr(0, text.size() - 2);
}

void* FakeDriver::find_function(std::string_view function) {
  static const Driver driver = fake::table();
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) \
  if (function == #name) return reinterpret_cast<void*>(driver.name);
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
  return nullptr;
}

}  // namespace tilewright::cuda
