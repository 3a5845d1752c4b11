// Writing elements from a file or another tensor into a parameter, wherever it lies.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "graph/tensor/tensor.h"

namespace tilewright::weights {

// `destination` is row-major; `source` has as many elements, of a type that converts to its own
// (convert.h), and need not be aligned. Elements go in pieces, each converted on the host and sent
// to where it belongs, so that besides the two a piece of memory is needed; `on_bytes` gets the
// number of the source's bytes after each.
void fill(Tensor& destination, const void* source, DType type,
          const std::function<void(std::int64_t bytes)>& on_bytes = {});

// Likewise, but `read` gives the source: its bytes from `at` on, as many as fit. Elements that need
// neither conversion nor a copy to a device are read directly into the destination.
using ReadBytes = std::function<void(std::int64_t at, std::span<std::byte> to)>;
void fill_by_reading(Tensor& destination, const ReadBytes& read, DType type,
                     const std::function<void(std::int64_t bytes)>& on_bytes = {});

}  // namespace tilewright::weights
