// Where the elements of a tile live in the registers of a block of threads.
//
// A block has warps, a warp has lanes, a lane has registers, and every number of them is a power of
// two. A layout says which element of the tile register r of lane l of warp w holds. All useful
// layouts have in common (after Zhou et al., "Linear Layouts", 2025) that this map is linear over
// F2: each bit of r, l and w has a fixed vector of coordinates, its basis, and the element's
// coordinates are the XOR of the bases whose bits are set. For example, the result of the tensor
// core's m16n8 product, 4 registers in each of 32 lanes:
//
//     register: (0,1) (8,0)
//     lane:     (0,2) (0,4) (1,0) (2,0) (4,0)
//
// Lane 6 = 2 + 4 with register 3 = 1 + 2 holds (0,4) ^ (1,0) ^ (0,1) ^ (8,0) = (9,5).
//
// From this follows all else. Taking axes away, adding, exchanging and regrouping them acts on the
// bases alone and moves no data. A basis of zeros, or one that others make up, says that a bit
// holds the same elements again: replicas. The movement from one layout to another, whether in a
// thread, within warps or through shared memory, is read off a product of one matrix with the
// inverse of the other (conversion.h), and conflicts of shared memory's banks are ranks (banks.h).
//
// The tile here is the padded, physical one: each axis is a power of two, no smaller than the
// tile's own. Loads, stores and reductions mask the elements outside.
//
// A layout is a value: it can be compared, hashed and printed. A wrong one is a bug of the
// compiler, hence an InternalError.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/layout/bit_matrix.h"
#include "runtime/base/hash.h"
#include "runtime/base/shape.h"

namespace tilewright::dsl::layout {

// The three parts of an element's place, from the nearest to the farthest.
enum class In : std::uint8_t { register_, lane, warp };

class Layout {
 public:
  // The XOR contribution of one bit: a coordinate for each axis. All zeros: the bit replicates.
  using Basis = std::vector<std::int32_t>;

  // Every element of the physical shape must have a place.
  Layout(Shape physical, std::vector<Basis> registers, std::vector<Basis> lanes,
         std::vector<Basis> warps);
  // The layout, or the problem with one that was read from a text.
  static std::variant<Layout, std::string> checked(Shape physical,
                                                   std::array<std::vector<Basis>, 3> bases);

  const Shape& shape() const { return shape_; }  // physical
  int registers() const { return count(In::register_); }
  int lanes() const { return count(In::lane); }
  int warps() const { return count(In::warp); }
  int bits(In in) const { return static_cast<int>(bases(in).size()); }
  const std::vector<Basis>& bases(In in) const { return bases_[static_cast<std::size_t>(in)]; }

  // The coordinates of the element that this register holds.
  std::vector<std::int32_t> at(int reg, int lane, int warp) const;

  // From the bits of a place, registers lowest, then lanes, then warps, to the bits of the
  // element's row-major number in the physical shape (the last axis lowest).
  BitMatrix matrix() const;
  BitMatrix matrix(In in) const;  // the columns of one input
  bool is_onto() const { return matrix().is_onto(); }

  // The bits of an input that bits before them (registers first, then lanes, then warps) can stand
  // in for. With these bits 0 everywhere, every element is visited exactly once.
  std::uint32_t redundant_bits(In in) const;
  bool replicates(In in) const { return redundant_bits(in) != 0; }

  bool operator==(const Layout&) const = default;
  Hash hash() const;

 private:
  Layout() = default;
  int count(In in) const { return 1 << bits(in); }
  std::string flaw() const;  // "": none

  Shape shape_;
  std::array<std::vector<Basis>, 3> bases_;
};

// The shape, then the bases of registers, lanes and warps, a line each as above.
std::string to_string(const Layout& layout);

// Each axis rounded up to a power of two: elements outside the logical shape exist in registers and
// mean nothing.
Shape physical_shape(const Shape& shape);
// The number of bits that number the elements of a physical shape.
int element_bits(const Shape& physical);
// Between the coordinates of an element and its row-major number. Linear: sizes are powers of two.
std::uint64_t flat_index(const Shape& physical, const Layout::Basis& coordinates);
Layout::Basis coordinates_of(const Shape& physical, std::uint64_t flat);

// The operations on shapes: each gives the layout of the result such that no data moves between
// threads, and, but for `drop_duplicate_registers`, none within them.

// Without the axis, for a result that all places along it hold, like that of a reduction.
Layout slice(const Layout& layout, int axis);
// Without the bits of registers that other bits of registers stand in for.
Layout drop_duplicate_registers(const Layout& layout);
// For each register of `drop_duplicate_registers(layout)` the register of `layout` that it is.
std::vector<int> distinct_registers(const Layout& layout);
// For each register of `layout` the one of `distinct_registers` that holds the same element.
std::vector<int> first_duplicates(const Layout& layout);
// With a new axis of size 1.
Layout expand_dims(const Layout& layout, int axis);
// Axis i of the result is axis dims[i] of the operand.
Layout permute(const Layout& layout, const std::vector<int>& dims);
// The layout of the operand of a broadcast, given that of its result: along an axis of size 1 all
// places hold element 0.
Layout broadcast_source(const Layout& layout, const Shape& from_physical);
// The layout of the result of a broadcast, given that of its operand: each place holds all elements
// that its element becomes.
Layout broadcast_in_registers(const Layout& layout, const Shape& to_physical);
// Row-major; nothing where the numbers of elements differ.
std::optional<Layout> reshape(const Layout& layout, const Shape& to_physical);

}  // namespace tilewright::dsl::layout
