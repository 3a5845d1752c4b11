// Memory that tasks read and write: an input, a constant, a result, or a packed copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsl/target/packed_product.h"
#include "graph/ir/strided_view.h"
#include "runtime/base/dtype.h"

namespace tilewright::graph {

using TaskId = std::uint32_t;
using StorageId = std::uint32_t;

// Packed: a copy of a matrix in an input that nobody writes (lower/packed_weights.h).
enum class StorageKind : std::uint8_t { input, constant, result, packed };

struct Storage {
  StorageKind kind = StorageKind::result;
  DType dtype = DType::f32;
  std::int64_t elements = 0;    // of an input: 0, not ours to know
  int input = -1;               // index into Graph::inputs; of what is packed too
  bool is_aligned = true;       // begins at a multiple of 64 bytes, as all but inputs do
  bool is_frozen = false;       // an input that nobody writes any more
  std::vector<std::byte> data;  // of a constant, whose elements are start, start + step, ...
  std::int64_t start = 0, step = 0;
  StridedView packed_from;   // of what is packed: [depth, columns] in the input
  dsl::PackedPanels panels;  // and how it lies here; width 0: it is not packed
  bool is_winograd =
      false;  // axis 0 of what is packed are rows of filters, transformed (winograd.h)
  std::vector<TaskId> writers, readers;
  bool is_output = false;  // must exist when the call is over
};

// The elements start, start + step, ... of a constant, of any type. Apart from the making of tasks,
// since a text says start and step alone.
std::vector<std::byte> constant_data(const Storage& storage);

// True of a constant if its start and its end, which is one step behind the last element, are
// between -most and most.
bool counts_within(const Storage& storage, std::int64_t most);

// Of a storage of any kind. Raises `Error` where 63 bits cannot count them.
std::int64_t countable_bytes(const Storage& storage);

}  // namespace tilewright::graph
