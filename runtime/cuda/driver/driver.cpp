#include "runtime/cuda/driver/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::cuda {
namespace {

// Where installations put it that do not tell the loader.
constexpr std::array libraries = {"libcuda.so.1", "libcuda.so",
                                  "/usr/local/nvidia/lib64/libcuda.so.1",
                                  "/usr/lib/wsl/lib/libcuda.so.1"};

std::atomic<bool> forked = false;

void* open_library() {
  std::string named = env::cuda_driver();
  if (!named.empty()) {
    void* library = ::dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL);
    require(library != nullptr, "[cuda] TILEWRIGHT_CUDA_DRIVER names ", named,
            ", which cannot be opened (", library == nullptr ? ::dlerror() : "",
            "); name the library of NVIDIA's driver, libcuda.so.1");
    return library;
  }
  std::string why;
  for (const char* name : libraries) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (why.empty()) why = ::dlerror();
  }
  raise_error(concat("[cuda] there is no NVIDIA driver on this machine (", why,
                     "); install it, or name its library in TILEWRIGHT_CUDA_DRIVER"));
}

using GetProcAddress = int (*)(const char* name, void** address, int version, std::uint64_t flags,
                               int* status);

Driver open_driver() {
  void* library = open_library();
  auto get = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  require(get != nullptr,
          "[cuda] the NVIDIA driver is too old: it lacks cuGetProcAddress_v2; one for CUDA 12.0 or "
          "newer (525.60 and on) is needed");
  return load_driver([get](const char* name, int version) -> void* {
    void* address = nullptr;
    int status = 0;
    return get(name, &address, version, 0, &status) == 0 ? address : nullptr;
  });
}

void initialise(const Driver& driver) {
  Result result = driver.cuInit(0);
  const char* name = nullptr;
  if (result != Result::success) driver.cuGetErrorName(result, &name);
  require(result == Result::success || result == Result::no_device,
          "[cuda] the NVIDIA driver does not start: cuInit gives ", name == nullptr ? "?" : name,
          " (", static_cast<int>(result), "); nvidia-smi may tell more");
}

// A child of this process may not use the driver.
void refuse_after_fork() {
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
}

}  // namespace

// A driver, or the reason why there is none; and what belongs to it.
struct DriverInPlace {
  bool is_known = false;  // looked for already
  std::optional<Driver> driver;
  std::string why_none;
  std::shared_ptr<void> belongings;

  void find() {
    if (is_known) return;
    is_known = true;
    try {
      Driver found = open_driver();
      initialise(found);
      refuse_after_fork();
      driver = found;
    } catch (const Error& error) {
      why_none = error.what();
    }
  }
};

namespace {

std::mutex mutex;

// Never destroyed: memory of GPUs may be given back by static objects.
DriverInPlace& in_place() {
  static DriverInPlace& place = *new DriverInPlace;
  return place;
}

DriverInPlace& known() {
  std::lock_guard lock(mutex);
  in_place().find();
  return in_place();
}

}  // namespace

Driver load_driver(const SymbolFinder& find) {
  Driver driver;
  auto version_of = reinterpret_cast<Result (*)(int*)>(find("cuDriverGetVersion", 2020));
  int version = 0;
  require(version_of != nullptr && version_of(&version) == Result::success,
          "[cuda] the NVIDIA driver does not tell its version; reinstall it");
  require(version >= least_version, "[cuda] the NVIDIA driver is for CUDA ", version / 1000, ".",
          version % 1000 / 10, ", which is too old; one for CUDA 12.0 or newer (525.60 and on) is ",
          "needed");
  enum Need { optional, required };
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters)                                \
  driver.name = reinterpret_cast<Result(*) parameters>(find(#name, version));                   \
  require(driver.name != nullptr || need == optional, "[cuda] the NVIDIA driver lacks ", #name, \
          ", though it says that it knows CUDA 12.0; reinstall it");
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA
  return driver;
}

const Driver& driver() {
  require(!forked,
          "[cuda] this process was forked from one that had used a GPU, whose driver does "
          "not live through that; fork before the first use, or start a new process");
  DriverInPlace& place = known();
  if (!place.driver) raise_error(place.why_none);
  return *place.driver;
}

std::string why_no_driver() { return known().why_none; }

int device_count() {
  const DriverInPlace& place = known();
  int count = 0;
  if (place.driver && place.driver->cuDeviceGetCount(&count) != Result::success) count = 0;
  return count;
}

std::shared_ptr<void>& belongings_of_driver() { return known().belongings; }

ScopedDriver::ScopedDriver(const Driver& driver) : former_(std::make_unique<DriverInPlace>()) {
  initialise(driver);
  refuse_after_fork();
  std::lock_guard lock(mutex);
  std::swap(*former_, in_place());
  in_place().is_known = true;
  in_place().driver = driver;
}

ScopedDriver::~ScopedDriver() {
  in_place().belongings.reset();  // while their driver is still in place
  std::lock_guard lock(mutex);
  std::swap(*former_, in_place());
}

}  // namespace tilewright::cuda
