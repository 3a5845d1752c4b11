#include "dsl/launch/gpu_host.h"

#include "runtime/base/error.h"
#include "runtime/cuda/context.h"

namespace tilewright {
namespace {

cuda::Context& context_of(const Device& device, const char* operation) {
  require(device.is_cuda(), "[", operation, "] the device is ", device.text(),
          "; a GPU, as cuda:0, is needed");
  return cuda::context(device.ordinal());
}

class UsersMemory final : public SegmentSource {
 public:
  explicit UsersMemory(GpuAllocator allocator) : allocator_(std::move(allocator)) {}
  void* allocate(std::int64_t bytes) override { return allocator_.allocate(bytes); }
  void free(void* segment) noexcept override { allocator_.free(segment); }

 private:
  GpuAllocator allocator_;
};

}  // namespace

struct StreamGuard::Scope {
  cuda::StreamScope scope;
};

StreamGuard::StreamGuard(const Device& device, void* stream)
    : scope_(
          new Scope{{context_of(device, "StreamGuard"), static_cast<cuda::StreamHandle>(stream)}}) {
}
StreamGuard::~StreamGuard() = default;

void* current_stream(const Device& device) { return context_of(device, "current_stream").stream(); }

void set_gpu_allocator(const Device& device, GpuAllocator allocator) {
  require(allocator.allocate != nullptr && allocator.free != nullptr,
          "[set_gpu_allocator] a function is empty; both are needed");
  context_of(device, "set_gpu_allocator")
      .set_source(std::make_unique<UsersMemory>(std::move(allocator)));
}

}  // namespace tilewright
