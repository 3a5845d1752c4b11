// The state of the fake driver: its devices and everything that has a handle, and the rules that
// all of its functions share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/emulator/tensor_map.h"
#include "tests/cuda/device_memory.h"
#include "tests/cuda/fake_driver.h"

namespace tilewright::cuda::fake {

// Results that the library has no name for.
constexpr Result invalid_image{200}, invalid_context{201}, peer_access_unsupported{217},
    invalid_handle{400}, peer_access_already_enabled{704}, invalid_cluster_size{912};

// Live objects by handles that are never used twice.
template <typename Handle, typename T>
class Table {
 public:
  Handle add(std::shared_ptr<T> object) {
    static std::uintptr_t next = 0x1000;
    auto handle = reinterpret_cast<Handle>(next += 64);
    live_.emplace(handle, std::move(object));
    return handle;
  }
  // Null where the handle is not live.
  std::shared_ptr<T> find(Handle handle) const {
    auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second;
  }
  bool remove(Handle handle) { return live_.erase(handle) != 0; }
  std::size_t size() const { return live_.size(); }

 private:
  std::map<Handle, std::shared_ptr<T>> live_;
};

// Work of a stream, in order. Work up to number `done` is done.
struct Stream {
  int device;
  std::deque<std::function<void()>> pending;
  std::uint64_t done = 0;
  std::uint64_t last() const { return done + pending.size(); }
};

// One recording of an event: complete when its stream has done so much.
struct Recording {
  std::shared_ptr<Stream> stream;
  std::uint64_t position;
  double time_ms = 0;
};
struct Event {
  int device;
  bool is_timed;
  std::shared_ptr<Recording> last;  // null before the first
};

struct KernelFunction {
  int device;
  std::shared_ptr<const dsl::gpu::EmulatedPtx> code;
  int dynamic_shared_bytes = 48 << 10;  // allowed at launch
  bool large_clusters = false;          // are allowed
  int local_bytes = 0;                  // of a thread
  bool is_loaded = true;                // until its module is unloaded
};
// The contents of a linked image: tile programs, by entry.
struct Programs {
  std::string target;           // "sm_90a"
  bool says_registers = false;  // how many a thread has
  std::map<std::string, std::string> by_entry;
};
struct Module {
  int device;
  Programs programs;
  std::map<std::string, FunctionHandle> functions;
};
struct Link {
  int device;
  Programs programs;
  std::string image;  // once it is complete
  char* log = nullptr;
  std::size_t log_bytes = 0;
};

// A launch with copies of its arguments.
struct PreparedLaunch {
  std::shared_ptr<KernelFunction> function;
  std::int64_t grid[3];
  unsigned shared_bytes;
  std::int64_t cluster;                        // blocks along axis 0
  std::vector<Argument> arguments;             // but the tensor maps' addresses
  std::vector<dsl::emulator::TensorMap> maps;  // after the program's arguments
  std::vector<std::byte> table;                // instead, where launches are several
};

struct GraphNode {
  PreparedLaunch launch;
};
struct Graph {
  std::vector<GraphNodeHandle> nodes;
  std::vector<std::pair<GraphNodeHandle, GraphNodeHandle>> edges;
};
struct GraphExec {
  std::vector<GraphNodeHandle> order;
  std::map<GraphNodeHandle, std::shared_ptr<const PreparedLaunch>> launches;
  std::shared_ptr<Recording> last;  // of its launches: one follows the other
  int device;
};

struct Device {
  FakeDevice what;
  int retained = 0;  // the primary context
  Result lost = Result::success;
  std::size_t in_use_bytes = 0;
  std::shared_ptr<Stream> null_stream;
  std::set<int> reached;  // devices whose memory its context may reach
};

struct Failure {
  std::int64_t first, last;  // calls
  Result result;
};

struct State {
  explicit State(FakeOptions options);

  // Held by all functions, and while work runs.
  mutable std::recursive_mutex mutex;
  const int version;
  const int spilled_bytes;
  const bool peers;
  const std::uint64_t serial;  // of this fake among those of the process
  std::vector<Device> devices;
  DeviceMemory memory;
  std::map<std::byte*, std::size_t> pinned;  // bytes by begin
  Table<StreamHandle, Stream> streams;
  std::vector<std::shared_ptr<Stream>> all_streams;  // with those that were destroyed
  Table<EventHandle, Event> events;
  Table<LinkHandle, Link> links;
  Table<ModuleHandle, Module> modules;
  Table<FunctionHandle, KernelFunction> functions;
  Table<GraphHandle, Graph> graphs;
  Table<GraphNodeHandle, GraphNode> nodes;
  Table<GraphExecHandle, GraphExec> executables;
  double clock_ms = 0;
  std::string fault;
  std::int64_t kernels_run = 0, fault_at_kernel = 0;
  std::map<std::string, std::int64_t, std::less<>> calls;
  std::map<std::string, std::vector<Failure>, std::less<>> failures;

  ContextHandle context_of(int device) const;
  // The device of a context that is retained.
  std::optional<int> device_of(ContextHandle context) const;
  // The check at the start of each call that needs a context: sets the current device, or returns
  // the error.
  Result ready(int* device) const;

  bool lies_on(int device, const std::byte* begin, std::size_t bytes) const;
  bool is_pinned(const void* begin, std::size_t bytes) const;

  // Null where the stream is not live.
  std::shared_ptr<Stream> stream_of(StreamHandle handle, int device);
  void enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work);
  // Does the stream's work up to that number, and the work that it waits for; remaining work of a
  // lost device is dropped.
  void run(Stream& stream, std::uint64_t position);
  // The device is lost from here on.
  void lose(int device, Result result, const std::string& why);
  // All that the device has to do.
  void finish(int device);
  void run_kernel(int device, const PreparedLaunch& launch);
};

// The state of the installed fake.
State& state();

// Copies a launch's arguments after checking it as the driver does.
Result prepare(State& s, int device, FunctionHandle function, const unsigned (&grid)[3],
               const unsigned (&block)[3], unsigned shared_bytes, void** arguments, void** extra,
               PreparedLaunch* launch);
Result set_attribute(PreparedLaunch& launch, LaunchAttributeId id,
                     const LaunchAttributeValue& value);

// The rows of driver.def. One that is missing does not link.
#define TILEWRIGHT_CUDA(name, symbol, version, need, parameters) Result name parameters;
#include "runtime/cuda/driver/driver.def"
#undef TILEWRIGHT_CUDA

}  // namespace tilewright::cuda::fake
