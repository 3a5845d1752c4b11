// The bytes of a constant: elements start, start + step, ... of any type.
//
// Apart from the making of tasks because a text says start and step alone.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

// The bytes of a storage of this type, size, start and step.
std::vector<std::byte> constant_data(const Storage& storage);

// Of a storage of any kind. Raises `Error` where 63 bits cannot count them.
std::int64_t countable_bytes(const Storage& storage);

}  // namespace tilewright::graph
