// Where the elements of a tile lie in shared memory.
//
// Shared memory has 32 banks of 4 bytes; threads that ask one bank for different words wait for
// each other. A swizzle spreads neighbours of all axes over the banks by XORing bits of the row
// into bits of the column. So offsets, like places in registers, are linear over F2 in the bits of
// the coordinates, and a layout of shared memory is one square invertible matrix. There is no
// padding.
//
// Which one avoids conflicts for given accesses is found in banks.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/layout/bit_matrix.h"
#include "runtime/base/shape.h"

namespace tilewright::dsl::layout {

class SharedLayout {
 public:
  // By rows, the last axis contiguous.
  static SharedLayout row_major(Shape physical, int element_bytes);
  // By rows, where chunks of `vec` elements of a row change places: chunk c of row r, counting rows
  // over all axes but the last, lies at c ^ ((r / per_phase) % max_phase). A row has at least
  // `max_phase` chunks.
  static SharedLayout xor_swizzled(Shape physical, int element_bytes, int vec, int per_phase,
                                   int max_phase);
  // As TMA writes it and wgmma reads it with a swizzle of 32, 64 or 128 bytes: boxes that many
  // bytes wide with all rows, one after the other; in each, bits 4 and up of the offset are XORed
  // with bits 7 and up (1, 2 or 3 of them). The base must be aligned to 8 * swizzle_bytes.
  static SharedLayout tma(Shape physical, int element_bytes, int swizzle_bytes);
  // Any: from the bits of an element's row-major number to those of its number in memory.
  static SharedLayout linear(Shape physical, int element_bytes, BitMatrix element_order);

  const Shape& shape() const { return shape_; }  // physical
  int element_bytes() const { return element_bytes_; }
  std::int64_t size_bytes() const { return element_count(shape_) * element_bytes_; }
  int swizzle_bytes() const { return swizzle_bytes_; }  // of `tma`, else 0

  std::int64_t offset(const std::vector<std::int32_t>& coordinates) const;  // in bytes
  // From the bits of an element's row-major number to those of its number in memory, in elements.
  const BitMatrix& element_order() const { return element_order_; }
  // The same in bytes.
  BitMatrix offset_matrix() const;

  bool operator==(const SharedLayout&) const = default;
  Hash hash() const;

 private:
  SharedLayout(Shape physical, int element_bytes, BitMatrix element_order, int swizzle_bytes);

  Shape shape_;
  int element_bytes_;
  int swizzle_bytes_;
  BitMatrix element_order_;
};

// The same bytes seen as a tile whose axis i is axis dims[i].
SharedLayout permute(const SharedLayout& shared, const std::vector<int>& dims);

std::string to_string(const SharedLayout& shared);

}  // namespace tilewright::dsl::layout
