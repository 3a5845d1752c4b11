#include "tests/property/host_memory.h"

#include <cstring>

#include "graph/ir/strided_view.h"

namespace tilewright::graph {

std::vector<std::byte> to_memory(const HostTensor& tensor, const Strides& strides) {
  StridedView view = row_major(tensor.shape);
  if (!strides.empty()) view.strides = strides;
  std::vector<std::int64_t> offsets = element_offsets(view);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.count() * size_bytes(tensor.dtype)));
  dispatch(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      T element{};
      if constexpr (!std::is_arithmetic_v<T>)
        element = T(static_cast<float>(tensor.number(i)));
      else if constexpr (std::is_floating_point_v<T>)
        element = static_cast<T>(tensor.number(i));
      else
        element = static_cast<T>(tensor.get(i).integer);
      auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
      std::memcpy(bytes.data() + at * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

HostTensor from_memory(DType dtype, const Shape& shape, const void* memory,
                       const Strides& strides) {
  HostTensor tensor(dtype, shape);
  StridedView view = row_major(shape);
  if (!strides.empty()) view.strides = strides;
  std::vector<std::int64_t> offsets = element_offsets(view);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* elements = static_cast<const T*>(memory);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const T& element = elements[offsets[static_cast<std::size_t>(i)]];
      if constexpr (!std::is_arithmetic_v<T>)
        tensor.set_number(i, static_cast<double>(static_cast<float>(element)));
      else if constexpr (std::is_floating_point_v<T>)
        tensor.set_number(i, static_cast<double>(element));
      else
        tensor.set(i, ir::Scalar::of_integer(dtype, static_cast<std::int64_t>(element)));
    }
  });
  return tensor;
}

}  // namespace tilewright::graph
