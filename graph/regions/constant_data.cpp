#include "graph/regions/constant_data.h"

#include <cstring>

namespace tilewright::graph {

std::vector<std::byte> constant_data(const Storage& storage) {
  std::vector<std::byte> data(
      static_cast<std::size_t>(storage.elements * size_bytes(storage.dtype)));
  dispatch(storage.dtype, [&](auto host) {
    using T = decltype(host);
    for (std::int64_t i = 0; i < storage.elements; ++i) {
      std::int64_t value = storage.start + i * storage.step;
      T element;
      if constexpr (std::is_arithmetic_v<T>)
        element = static_cast<T>(value);
      else
        element = T(static_cast<float>(value));
      std::memcpy(data.data() + i * std::int64_t{sizeof(T)}, &element, sizeof(T));
    }
  });
  return data;
}

}  // namespace tilewright::graph
