// The numbers, bounds, orders and kinds that instructions carry besides their operands, with the
// arithmetic of numbers, and the ids of values. Apart from function.h, so that whoever writes
// programs, or speaks of numbers, does not depend on how a program is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/ir/op.h"
#include "dsl/ir/type.h"
#include "runtime/base/hash.h"

namespace tilewright::ir {

using Value = std::uint32_t;

// A compile-time number of some element type. Integers and booleans use `integer`.
struct Scalar {
  DType dtype = DType::f32;
  std::int64_t integer = 0;
  double floating = 0;
  bool operator==(const Scalar& other) const;  // bitwise for floating: NaN equals NaN
  static Scalar of(DType dtype, double value);
  static Scalar of_integer(DType dtype, std::int64_t value);
  double as_double() const { return is_floating(dtype) ? floating : double(integer); }
};

// The immediates, one alternative a kind; op.h's ImmediateKind names them in this order.
struct Bounds {
  std::int64_t start, end;
  bool operator==(const Bounds&) const = default;
};
struct Axis {
  int axis;
  bool operator==(const Axis&) const = default;
};
struct Extent {
  Shape shape;
  bool operator==(const Extent&) const = default;
};
struct Permutation {
  std::vector<int> dims;
  bool operator==(const Permutation&) const = default;
};
// The hint for caches about the data of a load or store. It is only a hint: results do not depend
// on it, and a target follows it as far as it can. Either which data goes first when room is
// needed:
//   evict_first    what is wanted once    evict_last    what will be wanted again
//   no_allocate    as evict_first, and the cache next to the core is not filled
// or the levels that hold it: for loads ca (all), cg (not the one next to the core), cv (none: the
// value is fetched, not taken from an equal load); for stores wb (written back when evicted), cg,
// cs (as evict_first), wt (through to memory). GPUs have no access with both.
enum class CachePolicy : std::uint8_t {
  normal,
  evict_first,
  evict_last,
  no_allocate,
  ca,
  cg,
  cv,
  wb,
  cs,
  wt
};
struct Access {
  CachePolicy cache = CachePolicy::normal;
  bool operator==(const Access&) const = default;
};
// The immediate of a load that gives the size of its block.
struct BlockAccess {
  Shape shape;
  CachePolicy cache = CachePolicy::normal;
  bool operator==(const BlockAccess&) const = default;
};
struct Reduction {
  ReduceKind kind;
  int axis;
  bool operator==(const Reduction&) const = default;
};
enum class AtomicKind : std::uint8_t { add, max, min, and_, or_, xor_, exchange, compare_exchange };
// Which accesses of memory, by all threads of the program, are ordered by an atomic one: none
// (relaxed); those that follow come after it (acquire); those before it come before (release);
// both. Where an acquire reads the value of a release, it sees everything that the other program
// wrote before. Arrays that a program only reads do not change while it runs.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };
// The threads that see that order, and the operation as one: those of the same program, of the GPU,
// or of all of the machine. A host knows no smaller circle than all.
enum class MemoryScope : std::uint8_t { cta, gpu, sys };
struct Atomic {
  AtomicKind kind;
  MemoryOrder order = MemoryOrder::relaxed;
  MemoryScope scope = MemoryScope::gpu;
  bool operator==(const Atomic&) const = default;
};

struct Text {
  std::string text;
  bool operator==(const Text&) const = default;
};

// The treatment of f32 operands by a matrix product: none (ieee); rounding to 10 bits of mantissa,
// with which tensor cores multiply (tf32, runtime/base/tf32.h); or taking each as the sum of two
// such numbers and leaving out the product of the lesser ones (tf32x3). Sums are f32 always. Both
// are permissions: a target without such tensor cores multiplies as with ieee.
enum class InputPrecision : std::uint8_t { ieee, tf32, tf32x3 };
struct Precision {
  InputPrecision input = InputPrecision::ieee;
  bool operator==(const Precision&) const = default;
};

// Says whether a loop ends by a condition, its first carried value, beside its bounds.
struct LoopEnd {
  bool by_condition = false;
  bool operator==(const LoopEnd&) const = default;
};

using Immediate = std::variant<std::monostate, Scalar, Bounds, Axis, Extent, Permutation, DType,
                               Access, Reduction, Atomic, Text, Precision, BlockAccess, LoopEnd>;

std::string_view name_of(AtomicKind kind);
std::optional<AtomicKind> parse_atomic_kind(std::string_view name);
std::string_view name_of(MemoryOrder order);
std::optional<MemoryOrder> parse_memory_order(std::string_view name);
std::string_view name_of(MemoryScope scope);
std::optional<MemoryScope> parse_memory_scope(std::string_view name);
std::string_view name_of(InputPrecision precision);
std::optional<InputPrecision> parse_input_precision(std::string_view name);
std::string_view name_of(CachePolicy policy);
std::optional<CachePolicy> parse_cache_policy(std::string_view name);

// `result` is the element type of the result (which matters for casts).
Scalar evaluate(Op op, std::span<const Scalar> operands, DType result);
// Combines two elements as `reduce` does (not for argmax and argmin).
Scalar combine(ReduceKind kind, const Scalar& a, const Scalar& b);
// combine(kind, identity, x) == x; for argmax and argmin a value that is no better than any
// element.
Scalar identity(ReduceKind kind, DType dtype);

}  // namespace tilewright::ir
