#include "graph/functions/dlpack.h"

#include <algorithm>
#include <memory>

#include "graph/functions/dlpack_layout.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"

namespace tilewright {
namespace {

constexpr std::int32_t on_host = 1, on_cuda = 2;
constexpr std::uint64_t read_only = 1;
constexpr std::uintptr_t alignment = 64;

DType dtype_of_code(const DLDataType& type) {
  for (DType dtype : all_dtypes())
    if (type.lanes == 1 && type.bits == bit_width(dtype) && type.code == dlpack_code(dtype))
      return dtype;
  raise_error(concat("[from_dlpack] elements of type code ", int{type.code}, ", ", int{type.bits},
                     " bits, ", type.lanes, " lanes; single integers, floats and bools of up ",
                     "to 64 bits are known"));
}

Device device_of(const DLDevice& device) {
  require(device.device_type == on_host || device.device_type == on_cuda,
          "[from_dlpack] memory of device type ", device.device_type,
          "; 1 (CPU) and 2 (CUDA) are known");
  return device.device_type == on_host ? Device::cpu() : Device::cuda(device.device_id);
}

// Elements between the lowest and the highest that is used, the highest included.
struct Reach {
  std::int64_t low = 0, high = 0;
};

template <typename Managed>
Tensor take(Managed* managed, bool may_write) {
  const DLTensor& from = managed->dl_tensor;
  DType dtype = dtype_of_code(from.dtype);
  Device device = device_of(from.device);
  require(from.ndim >= 0 && (from.ndim == 0 || from.shape != nullptr), "[from_dlpack] a tensor of ",
          from.ndim, " dimensions without sizes");
  graph::StridedView place;
  for (std::int32_t i = 0; i < from.ndim; ++i) {
    require(from.shape[i] >= 0, "[from_dlpack] size ", from.shape[i], " of dimension ", i,
            "; sizes must not be negative");
    place.shape.push_back(from.shape[i]);
  }
  place = graph::row_major(place.shape);
  Reach reach;
  for (std::int32_t i = 0; i < from.ndim; ++i) {
    if (from.strides != nullptr) place.strides[i] = from.strides[i];
    std::int64_t span = (std::max<std::int64_t>(from.shape[i], 1) - 1) * place.strides[i];
    (span < 0 ? reach.low : reach.high) += span;
  }
  // A buffer begins at a multiple of 64 bytes; memory before the first element is not touched.
  std::int64_t size = size_bytes(dtype);
  auto first = reinterpret_cast<std::uintptr_t>(from.data) + from.byte_offset;
  std::uintptr_t low = first + static_cast<std::uintptr_t>(reach.low * size);
  std::uintptr_t begin = low / alignment * alignment;
  require((first - begin) % static_cast<std::uintptr_t>(size) == 0,
          "[from_dlpack] the first element lies at ", reinterpret_cast<void*>(first),
          "; it must be aligned to its ", size, " bytes");
  place.offset = static_cast<std::int64_t>(first - begin) / size;
  bool is_empty = element_count(place.shape) == 0;
  std::int64_t bytes = is_empty ? 0 : (place.offset + reach.high + 1) * size;
  DeviceMemory* memory = device.memory();

  std::shared_ptr<void> owner(managed, [](void* held) {
    auto* given = static_cast<Managed*>(held);
    if (given->deleter != nullptr) given->deleter(given);
  });
  auto buffer = Buffer::wrap(reinterpret_cast<void*>(begin), bytes, std::move(owner), memory);
  Tensor tensor = graph::make_tensor(dtype, std::move(place), std::move(buffer));
  return may_write ? tensor : graph::copy_to(tensor, device);
}

// The owner of an exported tensor's memory.
template <typename Managed>
struct Given {
  Managed managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;
};

template <typename Managed>
Managed* give(const Tensor& tensor, std::source_location w) {
  const TensorBody& body = graph::body_of(tensor, "to_dlpack", w);
  if (graph::Capture* capture = graph::Capture::active())
    capture->before_address(body, "to_dlpack", w);
  if (!body.buffer) graph::require_usable(body, "to_dlpack", w);
  require_current(body.token, "to_dlpack", w);
  auto given = std::make_unique<Given<Managed>>();
  given->tensor = tensor;
  for (std::int64_t size : body.view.shape) given->shape.push_back(size);
  for (std::int64_t stride : body.view.strides) given->strides.push_back(stride);
  Device device = tensor.device();
  DLTensor& to = given->managed.dl_tensor;
  to.data = graph::address_of(body);
  to.device = {device.is_cuda() ? on_cuda : on_host, device.is_cuda() ? device.ordinal() : 0};
  to.ndim = tensor.rank();
  to.dtype = {dlpack_code(body.dtype), static_cast<std::uint8_t>(bit_width(body.dtype)), 1};
  to.shape = given->shape.data();
  to.strides = given->strides.data();
  given->managed.manager_ctx = given.get();
  given->managed.deleter = [](Managed* self) {
    delete static_cast<Given<Managed>*>(self->manager_ctx);
  };
  return &given.release()->managed;
}

}  // namespace

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  require(managed != nullptr, "[from_dlpack] there is no tensor: the pointer is null");
  require(managed->version.major == 1, "[from_dlpack] the tensor is of DLPack ",
          managed->version.major, ".", managed->version.minor, "; version 1 is known");
  return take(managed, (managed->flags & read_only) == 0);
}

Tensor from_dlpack(DLManagedTensor* managed) {
  require(managed != nullptr, "[from_dlpack] there is no tensor: the pointer is null");
  return take(managed, true);
}

DLManagedTensorVersioned* to_dlpack(const Tensor& tensor, std::source_location w) {
  auto* managed = give<DLManagedTensorVersioned>(tensor, w);
  managed->version = {1, 0};
  if (tensor.body()->buffer->is_read_only()) managed->flags |= read_only;
  return managed;
}

DLManagedTensor* to_dlpack_legacy(const Tensor& tensor, std::source_location w) {
  require(
      !graph::body_of(tensor, "to_dlpack_legacy", w).buffer ||
          !tensor.body()->buffer->is_read_only(),
      "[to_dlpack_legacy] the tensor is frozen: functions compiled with Options::freezing hold ",
      "copies of it, or values computed from it, and this form cannot say that it may only be "
      "read (at ",
      graph::At{w}, "); use to_dlpack, or share a clone");
  return give<DLManagedTensor>(tensor, w);
}

}  // namespace tilewright
