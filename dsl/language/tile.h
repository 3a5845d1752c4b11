// The words of the kernel language: values over tiles, and the functions on them.
//
// A kernel is ordinary C++ that runs once, under a tracer (dsl/language/tracer.h), on values that
// stand for tiles. Each operator below appends one instruction of tile IR and remembers the line of
// the user that it came from. Operands of different shapes broadcast by NumPy's rule; a C++ number
// takes the element type of the other operand.
//
//   Tile   an immutable value: a scalar, a tile, a pointer or a tile of pointers
//   Var    a variable: what it holds can be assigned anew, also inside `range` loops and `if_`
//   Desc   an array in memory with sizes and strides; loads and stores are masked at its edges
//
// Names and meanings are those of Triton's language, but for these:
//
//   what                         here                              Triton
//   sizes of tiles               any                               powers of two
//   program_id, num_programs     i64                               int32
//   /, of integers               an integer, towards zero          a floating number; // is integer
//   /, % of integers by zero     0                                 undefined
//   shifts by the width or more  0, or -1 of a negative to the     undefined
//                                right
//   cast to integers             saturates, NaN gives 0            undefined outside the range
//   maximum, minimum, max, min   NaN where an operand is NaN       the other operand
//   sum                          of the operand's type             int32 of smaller integers
//   dot of f32                   as f32 (ieee) unless told tf32    tf32 unless told ieee
//   dot of integers              i32 sums                          the same
//   load, masked off             0 without `other`                 undefined without `other`
//   atomics                      relaxed unless told               acquire and release by default
//   range                        traced once; a step may be        may say num_stages and the like
//                                negative
//   &&, ||                       of bools, both sides computed     `and`, `or`
//   dtypes                       never mix by themselves           promoted
//
// Words that are made of these stand in words/ and random.h; docs/language.md lists all of Triton's
// words, their counterparts here, and the missing ones. Everything here belongs to the one thread
// that traces; misuse raises `Error` with the line of the kernel in front.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/ir/immediates.h"

namespace tilewright::dsl {

class Tracer;

// The index in brackets after a tile: for each `whole` an axis of it, in order, for each None one
// of a single element. x[{whole, None}] is Triton's x[:, None]; axes that are not named follow.
enum class Slice : std::uint8_t { whole, None };
inline constexpr Slice whole = Slice::whole, None = Slice::None;
struct Slices {
  Slices(std::initializer_list<Slice> list,
         std::source_location where = std::source_location::current())
      : list(list), where(where) {}
  std::vector<Slice> list;
  std::source_location where;
};

// An immutable value of the program being traced.
class Tile {
 public:
  Tile() = default;  // nothing: assign before use
  Tile(Tracer* tracer, ir::Value value);
  Tile operator[](const Slices& slices) const;
  ir::Type type() const;  // raises `Error` once the trace that made the value is over
  DType dtype() const { return type().dtype; }
  Shape shape() const { return type().shape; }
  ir::Value value() const { return value_; }
  Tracer* tracer() const { return tracer_; }
  bool defined() const { return tracer_ != nullptr; }
  bool is_live() const;  // its trace is still running

 private:
  Tracer* tracer_ = nullptr;
  std::uint64_t serial_ = 0;  // of the trace: an address alone may be reused
  ir::Value value_ = 0;
};

// The parameters of a kernel: Pointer and Scalar are given at the launch, Constexpr is a number
// that the program is compiled for.
class Pointer : public Tile {
 public:
  using Tile::Tile;
  explicit Pointer(const Tile& tile) : Tile(tile) {}
};
class Scalar : public Tile {
 public:
  using Tile::Tile;
  explicit Scalar(const Tile& tile) : Tile(tile) {}
};
class Constexpr {
 public:
  explicit constexpr Constexpr(std::int64_t value) : value_(value) {}
  constexpr operator std::int64_t() const { return value_; }

 private:
  std::int64_t value_;
};
// Without these, `bm * 2` could mean numbers or operands.
#define TILEWRIGHT_CONSTEXPR(symbol)                                                    \
  constexpr auto operator symbol(Constexpr a, Constexpr b) {                            \
    return std::int64_t{a} symbol std::int64_t{b};                                      \
  }                                                                                     \
  template <typename T>                                                                 \
  requires std::is_arithmetic_v<T>                                                      \
  constexpr auto operator symbol(Constexpr a, T b) { return std::int64_t{a} symbol b; } \
  template <typename T>                                                                 \
  requires std::is_arithmetic_v<T>                                                      \
  constexpr auto operator symbol(T a, Constexpr b) { return a symbol std::int64_t{b}; }
TILEWRIGHT_CONSTEXPR(+)
TILEWRIGHT_CONSTEXPR(-)
TILEWRIGHT_CONSTEXPR(*)
TILEWRIGHT_CONSTEXPR(/)
TILEWRIGHT_CONSTEXPR(%)
TILEWRIGHT_CONSTEXPR(==)
TILEWRIGHT_CONSTEXPR(!=)
TILEWRIGHT_CONSTEXPR(<)
TILEWRIGHT_CONSTEXPR(<=)
TILEWRIGHT_CONSTEXPR(>)
TILEWRIGHT_CONSTEXPR(>=)
TILEWRIGHT_CONSTEXPR(&)
TILEWRIGHT_CONSTEXPR(|)
TILEWRIGHT_CONSTEXPR(^)
TILEWRIGHT_CONSTEXPR(<<)
TILEWRIGHT_CONSTEXPR(>>)
TILEWRIGHT_CONSTEXPR(&&)
TILEWRIGHT_CONSTEXPR(||)
#undef TILEWRIGHT_CONSTEXPR
constexpr std::int64_t operator-(Constexpr a) { return -std::int64_t{a}; }
constexpr std::int64_t operator~(Constexpr a) { return ~std::int64_t{a}; }
constexpr bool operator!(Constexpr a) { return std::int64_t{a} == 0; }

template <typename N>
concept Number = std::is_arithmetic_v<N> || std::same_as<N, Constexpr>;
template <typename N>
concept WholeNumber = std::integral<N> || std::same_as<N, Constexpr>;

// An array in memory. `load(desc, offsets, block)` reads zero outside it.
class Desc {
 public:
  // The operands of make_desc; empty for a bare handle.
  struct Parts {
    Tile base;
    std::vector<Tile> sizes, strides;
  };
  Desc() = default;
  explicit Desc(Tile handle, Parts parts = {}) : handle_(handle), parts_(std::move(parts)) {}
  DType dtype() const { return handle_.type().dtype; }
  int rank() const { return handle_.type().desc_rank; }
  const Tile& handle() const { return handle_; }
  const Parts& parts() const { return parts_; }

 private:
  Tile handle_;
  Parts parts_;
};

// An operand of an operator: a tile, a variable's present value, or a C++ number. It is converted
// at the call and so carries the user's line.
class Operand {
 public:
  Operand(const Tile& tile, std::source_location where = std::source_location::current())
      : tile_(tile), is_number_(false), where(where) {}
  Operand(const class Var& var, std::source_location where = std::source_location::current());
  Operand(double number, std::source_location where = std::source_location::current())
      : number_(number), integral_(false), where(where) {}
  template <std::integral T>
  Operand(T number, std::source_location where = std::source_location::current())
      : integer_(static_cast<std::int64_t>(number)), integral_(true), where(where) {}
  Operand(Constexpr number, std::source_location where = std::source_location::current())
      : integer_(number), integral_(true), where(where) {}

  bool is_number() const { return is_number_; }
  const Tile& tile() const { return tile_; }
  bool is_integral() const { return integral_; }
  // The tile, or the number as a scalar constant of `dtype`, which must be able to hold it.
  Tile as(Tracer& tracer, DType dtype) const;
  // The tile, or the number as an i64 scalar.
  Tile as_index(Tracer& tracer) const { return as(tracer, DType::i64); }

 private:
  Tile tile_;
  double number_ = 0;
  std::int64_t integer_ = 0;
  bool integral_ = false, is_number_ = true;

 public:
  std::source_location where;
};

// A variable of the kernel. Reading gives its present value; assignments inside a loop carry over
// to the next turn. The type must not change.
class Var {
 public:
  Var(const Tile& value, std::source_location where = std::source_location::current());
  // A scalar: f32 of a floating number, i64 of a whole one.
  template <Number N>
  Var(N number, std::source_location where = std::source_location::current())
      : Var(Operand(number, where)) {}
  Var(const Var& other);
  ~Var();
  Var& operator=(const Operand& value);
  Var& operator=(Var& other);  // not const: a Tile would become a Var as well as an Operand
  Tile get() const;
  operator Tile() const { return get(); }
  DType dtype() const { return get().dtype(); }
  Shape shape() const { return get().shape(); }

 private:
  explicit Var(const Operand& number);
  void assign(const Tile& value, std::source_location where);

  Tracer* tracer_;
  std::uint64_t serial_;
  int slot_;
  std::source_location where_;  // of the declaration
};

#define TILEWRIGHT_BINARY(symbol) Tile operator symbol(const Operand& a, const Operand& b)
TILEWRIGHT_BINARY(+);
TILEWRIGHT_BINARY(-);
TILEWRIGHT_BINARY(*);
TILEWRIGHT_BINARY(/);
TILEWRIGHT_BINARY(%);
TILEWRIGHT_BINARY(&);
TILEWRIGHT_BINARY(|);
TILEWRIGHT_BINARY(^);
TILEWRIGHT_BINARY(<<);
TILEWRIGHT_BINARY(>>);
TILEWRIGHT_BINARY(==);
TILEWRIGHT_BINARY(!=);
TILEWRIGHT_BINARY(<);
TILEWRIGHT_BINARY(<=);
TILEWRIGHT_BINARY(>);
TILEWRIGHT_BINARY(>=);
// For bools. Unlike in C++ both sides are always computed; use `if_` to skip one.
TILEWRIGHT_BINARY(&&);
TILEWRIGHT_BINARY(||);
#undef TILEWRIGHT_BINARY
Tile operator-(const Operand& a);
Tile operator!(const Operand& a);  // of a bool
Tile operator~(const Operand& a);  // of an integer or bool, bit by bit
#define TILEWRIGHT_ASSIGNMENT(symbol) Var& operator symbol(Var& a, const Operand& b)
TILEWRIGHT_ASSIGNMENT(+=);
TILEWRIGHT_ASSIGNMENT(-=);
TILEWRIGHT_ASSIGNMENT(*=);
TILEWRIGHT_ASSIGNMENT(/=);
TILEWRIGHT_ASSIGNMENT(%=);
TILEWRIGHT_ASSIGNMENT(&=);
TILEWRIGHT_ASSIGNMENT(|=);
TILEWRIGHT_ASSIGNMENT(^=);
TILEWRIGHT_ASSIGNMENT(<<=);
TILEWRIGHT_ASSIGNMENT(>>=);
#undef TILEWRIGHT_ASSIGNMENT

// Grid
Tile program_id(int axis, std::source_location where = std::source_location::current());
Tile num_programs(int axis, std::source_location where = std::source_location::current());

// Creation. `arange` is i32, half-open.
//
// Tensors have functions of the same names, and argument-dependent lookup finds both, since dtypes
// belong to both. Where both are visible, sizes in braces (`zeros({bm, bn}, f32)`) and temporary
// sizes (`zeros(x.shape(), f32)`) mean tiles: with `using namespace tilewright::dsl`, write
// `tilewright::zeros` for a tensor's, and `dsl::zeros` for a tile whose shape is a variable.
namespace detail {
Tile arange(std::int64_t start, std::int64_t end, std::source_location where);
Tile full(const Shape& shape, const Operand& value, DType dtype);
}  // namespace detail
template <WholeNumber A, WholeNumber B>
Tile arange(A start, B end, std::source_location where = std::source_location::current()) {
  return detail::arange(static_cast<std::int64_t>(start), static_cast<std::int64_t>(end), where);
}
// Reports in one line the problem with a size that only a launch knows.
template <typename A, typename B>
requires(std::convertible_to<A, Tile> || std::convertible_to<B, Tile>) Tile
    arange(const A&, const B&) {
  static_assert(
      sizeof(A) == 0,
      "the bounds of arange are numbers of C++ or Constexprs: sizes of tiles are known as "
      "the kernel is traced; mask elements beyond a Scalar");
  return Tile();
}
Tile full(const Shape& shape, double value, DType dtype,
          std::source_location where = std::source_location::current());
template <Number N>
Tile full(std::initializer_list<std::int64_t> shape, N value, DType dtype,
          std::source_location where = std::source_location::current()) {
  return detail::full(Shape(shape), Operand(value, where), dtype);
}
template <Number N>
Tile full(Shape&& shape, N value, DType dtype,
          std::source_location where = std::source_location::current()) {
  return detail::full(shape, Operand(value, where), dtype);
}
Tile zeros(const Shape& shape, DType dtype,
           std::source_location where = std::source_location::current());
Tile zeros(Shape&& shape, DType dtype,
           std::source_location where = std::source_location::current());
Tile zeros(std::initializer_list<std::int64_t> shape, DType dtype,
           std::source_location where = std::source_location::current());
Tile constant(ir::Scalar value, std::source_location where = std::source_location::current());
Tile splat(const Operand& scalar, const Shape& shape);

// Elementwise. `maximum` and `minimum` give NaN if an operand is NaN, and -0 is below 0. `cast` to
// an integer rounds towards zero and saturates, NaN gives 0. Division truncates; x / 0 is 0.
Tile abs(const Operand& x);
Tile exp(const Operand& x);
Tile exp2(const Operand& x);
Tile log(const Operand& x);
Tile log2(const Operand& x);
Tile sin(const Operand& x);
Tile cos(const Operand& x);
Tile tanh(const Operand& x);
Tile erf(const Operand& x);
Tile sigmoid(const Operand& x);
Tile sqrt(const Operand& x);
Tile rsqrt(const Operand& x);
Tile floor(const Operand& x);
Tile ceil(const Operand& x);
Tile round(const Operand& x);  // to nearest, ties to even
Tile logical_not(const Operand& x);
Tile maximum(const Operand& a, const Operand& b);
Tile minimum(const Operand& a, const Operand& b);
// x times two to the power of floor(n), rounded once. For floating numbers; the result for an
// infinite n is unspecified.
Tile ldexp(const Operand& x, const Operand& n);
// The upper half of a * b, of integers read as unsigned: the upper 32 bits of 64 for those of 32.
Tile umulhi(const Operand& a, const Operand& b);
// 64 random bits for each place, by Philox 4x32-10: of integers of 64 bits. The lower half is the
// word that Triton's rand and randint are made of where `place` is their offset of 32 bits.
Tile random_bits(const Operand& seed, const Operand& place);
Tile fma(const Operand& a, const Operand& b, const Operand& c);
Tile where(const Operand& condition, const Operand& a, const Operand& b);
Tile cast(const Operand& x, DType dtype);
Tile bitcast(const Operand& x, DType dtype);
// Any elementwise op of the table by its enumerator; operands broadcast.
Tile elementwise(ir::Op op, const std::vector<Operand>& operands);

// Shape
Tile expand_dims(const Operand& x, int axis);
Tile broadcast_to(const Operand& x, const Shape& shape);
Tile reshape(const Operand& x, const Shape& shape);
Tile permute(const Operand& x, const std::vector<int>& dims);
Tile trans(const Operand& x);  // exchanges the last two axes

// Memory. Pointers move by elements with `+`. A cache policy (ir/function.h) advises caches about
// the data: an eviction priority (evict_first, evict_last, no_allocate) or a modifier (loads: ca,
// cg, cv; stores: wb, cg, cs, wt). GPUs follow them. The host makes stores with evict_first,
// no_allocate or cs non-temporal and ignores the others.
using ir::CachePolicy;
Tile load(const Operand& pointer, CachePolicy cache = CachePolicy::normal);
Tile load(const Operand& pointer, const Operand& mask, CachePolicy cache = CachePolicy::normal);
Tile load(const Operand& pointer, const Operand& mask, const Operand& other,
          CachePolicy cache = CachePolicy::normal);
void store(const Operand& pointer, const Operand& value, CachePolicy cache = CachePolicy::normal);
void store(const Operand& pointer, const Operand& value, const Operand& mask,
           CachePolicy cache = CachePolicy::normal);
// Atomic read-modify-write operations, unordered among elements. They return the former value, zero
// where masked off. For integers of 32 or 64 bits, for floats of 32 or 64 bits (add, max, min,
// exchange), and for floats of 16 bits (without exchange).
//
// An order says which other accesses stay before or after it (acquire, release, acq_rel; Triton's
// default is acq_rel), and a scope in whose eyes: cta, gpu, sys (ir/function.h). Programs that wait
// for each other must run at the same time, which nothing promises but for those of a cluster.
using ir::MemoryOrder;
using ir::MemoryScope;
struct Ordering {
  MemoryOrder order = MemoryOrder::relaxed;
  MemoryScope scope = MemoryScope::gpu;
  constexpr Ordering() = default;
  constexpr Ordering(MemoryOrder order, MemoryScope scope = MemoryScope::gpu)
      : order(order), scope(scope) {}
  constexpr Ordering(MemoryScope scope) : scope(scope) {}
};
Tile atomic(ir::AtomicKind kind, const Operand& pointer, const Operand& value,
            const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_add(const Operand& pointer, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_max(const Operand& pointer, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_min(const Operand& pointer, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_and(const Operand& pointer, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_or(const Operand& pointer, const Operand& value,
               const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_xor(const Operand& pointer, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Tile atomic_exchange(const Operand& pointer, const Operand& value,
                     const std::optional<Operand>& mask = {}, Ordering ordering = {});
// Where memory holds exactly the bits of `expected`, `value` takes its place; returns the old
// values. For integers and floats of 32 or 64 bits.
Tile atomic_cas(const Operand& pointer, const Operand& expected, const Operand& value,
                const std::optional<Operand>& mask = {}, Ordering ordering = {});
Desc make_desc(const Operand& base, const std::vector<Operand>& sizes,
               const std::vector<Operand>& strides);  // a size below 0 is as 0: nothing is inside
Tile load(const Desc& desc, const std::vector<Operand>& offsets, const Shape& block,
          CachePolicy cache = CachePolicy::normal,
          std::source_location where = std::source_location::current());
void store(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
           CachePolicy cache = CachePolicy::normal);
void prefetch(const Desc& desc, const std::vector<Operand>& offsets, const Shape& block,
              std::source_location where = std::source_location::current());

// Writes to the standard output, once a program: `text` with a scalar for each "{}". A line ends
// with "\n". Programs print in any order.
void device_print(const std::string& text, const std::vector<Operand>& values = {},
                  std::source_location where = std::source_location::current());

// Says that all conditions, a bool or a tile of them, hold. Launches of a kernel with
// Check::asserts (language/kernel.h) raise `Error` where one does not, with the kernel, the
// program, the first such element of it, and `text` with a value for each "{}": a scalar, or a tile
// that broadcasts to the shape of the conditions, of which it shows the element. Other launches
// compute none of this.
void device_assert(const Operand& condition, const std::string& text = "the condition is false",
                   const std::vector<Operand>& values = {});

// Reductions along an axis, which goes away unless `keep_dims`.
Tile reduce(const Operand& x, ir::ReduceKind kind, int axis, bool keep_dims = false);
Tile sum(const Operand& x, int axis, bool keep_dims = false);
Tile max(const Operand& x, int axis, bool keep_dims = false);
Tile min(const Operand& x, int axis, bool keep_dims = false);

// Programs that are neighbours along axis 0 of the grid form clusters of this size (1, 2, 4 or 8),
// which must divide the grid; they run at the same time. Called once, at the beginning.
void form_clusters(int programs, std::source_location where = std::source_location::current());
// Reduces over the programs of the cluster, element by element: sum, prod, max or min. All of them
// must call it equally often, and get the same result. Only on GPUs with clusters (sm_90a), and in
// the interpreter.
Tile cluster_reduce(const Operand& x, ir::ReduceKind kind);

// acc + a b, with a [M, K], b [K, N], or with a third axis in front of each, whose size is the
// number of products (words/products.h). f16 and bf16 accumulate in f32, small integers in i32.
// With tf32, operands of f32 may be rounded to 10 bits of mantissa, so that tensor cores can
// multiply them: a relative error of 2^-10 of each |a b|; with tf32x3 they are split in two such
// numbers, and three products are made of them: 2^-19. GPUs do so, the host multiplies f32.
using ir::InputPrecision;
Tile dot(const Operand& a, const Operand& b);
Tile dot(const Operand& a, const Operand& b, const Operand& acc,
         InputPrecision precision = InputPrecision::ieee);

// for (Tile i : range(0, n, 16)) body: the body is traced once and runs for each i at run time,
// from `low` on and below `high`, or above it where the step is negative: range(4, 0, -1) is 4, 3,
// 2, 1. A step of 0 is an Error where it is a number; one that is found to be 0 at run time makes
// no turn. Where a step is or may be negative, the distance between the bounds must fit their type.
class range {
 public:
  range(const Operand& low, const Operand& high, const Operand& step,
        std::source_location where = std::source_location::current());
  range(const Operand& low, const Operand& high,
        std::source_location where = std::source_location::current());
  class iterator {
   public:
    explicit iterator(range* owner) : owner_(owner) {}
    Tile operator*() const { return owner_->index_; }
    iterator& operator++();
    bool operator!=(const iterator& other) const { return owner_ != other.owner_; }

   private:
    range* owner_;
  };
  iterator begin();
  iterator end() { return iterator(nullptr); }

 private:
  void count_down(std::int64_t step);
  void count_either_way();

  std::source_location where_;
  Tile low_, high_, step_;
  // The loop that is made goes up, from `first_` by `stride_` while below `end_`.
  Tile first_, end_, stride_, turn_, index_;
  Tile is_up_;               // where the step's sign is not known: whether it is positive
  bool is_counted_ = false;  // the index is computed from the distance gone
  bool goes_down_ = false;
};

// Runs the body as long as the condition, a bool scalar, is true before a turn. Both are traced,
// the condition twice; variables assigned in the body are those that it sees next.
void while_(const std::function<Tile()>& condition, const std::function<void()>& body,
            std::source_location where = std::source_location::current());

// Ends the program where the condition, a bool scalar, is true. Not inside of loops and ifs.
void return_if(const Operand& condition);

// Runs one of two bodies, chosen at run time by a bool scalar; variables assigned in them keep the
// values of the chosen body.
void if_(
    const Operand& condition, const std::function<void()>& then,
    const std::function<void()>& otherwise = [] {});

}  // namespace tilewright::dsl
