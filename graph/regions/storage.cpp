#include "graph/regions/storage.h"

#include <cstring>

#include "graph/ir/shape_rules.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::graph {

std::int64_t countable_bytes(const Storage& storage) {
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(storage.elements, size_bytes(storage.dtype), &bytes),
          "[compile] a value of ", storage.elements, " elements of ", storage.dtype,
          " is too large; its bytes must fit 63 bits");
  return bytes;
}

bool counts_within(const Storage& storage, std::int64_t most) {
  std::int64_t end = 0;
  return storage.kind == StorageKind::constant &&
         !__builtin_mul_overflow(storage.elements, storage.step, &end) &&
         !__builtin_add_overflow(storage.start, end, &end) && -most <= end && end <= most &&
         -most <= storage.start && storage.start <= most;
}

std::vector<std::byte> constant_data(const Storage& storage) {
  auto data = host_list<std::byte>("arange", countable_bytes(storage));
  dispatch(storage.dtype, [&](auto host) {
    using T = decltype(host);
    for (std::int64_t i = 0; i < storage.elements; ++i) {
      const std::int64_t value = element_of_range(storage.start, storage.step, i);
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
