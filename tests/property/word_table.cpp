// Words that move elements, combine them, go through memory or steer.
#include "tests/property/word_table.h"

#include <algorithm>

#include "dsl/language/random.h"
#include "dsl/language/words/arranging.h"
#include "dsl/language/words/descriptors.h"
#include "dsl/language/words/math.h"
#include "dsl/language/words/naming.h"
#include "dsl/language/words/ordering.h"
#include "dsl/language/words/products.h"

namespace tilewright::dsl {

Tile WordDraw::like(const Tile& x) {
  std::vector<Tile> fitting{x};
  for (const Tile& other : pool)
    if (other.type() == x.type()) fitting.push_back(other);
  return fitting[static_cast<std::size_t>(below(std::ssize(fitting)))];
}

namespace {

using enum Takes;
using enum Agrees;

int any_axis(WordDraw& d, const Tile& x) { return static_cast<int>(d.below(x.shape().rank())); }
Shape flat(const Tile& x) { return {element_count(x.shape())}; }
Tile line(const Tile& x) { return reshape(x, flat(x)); }
Tile matrix(const Tile& x) {
  const std::int64_t count = element_count(x.shape());
  return reshape(x, count % 2 == 0 ? Shape{count / 2, 2} : Shape{count, 1});
}
Tile small(const Tile& x) { return cast(x & 15, i32); }
Tile last_two(const Tile& x) {
  return expand_dims(join(x, x), 0);  // [1, ..., 2]
}
// Sixteen numbers of a tile of any size.
Tile sixteen(const Tile& x) { return gather(line(x), arange(0, 16) * 5, 0); }

Tile permuted(WordDraw& d, const Tile& x) {
  std::vector<int> dims;
  for (int i = 0; i < x.shape().rank(); ++i) dims.push_back(i);
  std::ranges::shuffle(dims, d.random);
  return permute(x, dims);
}

Tile scanned(WordDraw& d, const Tile& x) {
  Tile most = associative_scan(
      x, any_axis(d, x), [](const Tile& a, const Tile& b) { return maximum(a, b); },
      d.below(2) == 0);
  // A reduction of pairs, whose order matters: x -> a x + b, one behind the other.
  Tiles line = reduce(
      {x, most}, any_axis(d, x),
      [](const Tiles& f, const Tiles& g) -> Tiles {
        return {f[0] * g[0], f[1] * g[0] + g[1]};
      },
      true);
  return most + line[1];
}

// The old values of the cells, which now hold others.
Tile exchanged(WordDraw& d, const Tile& x) {
  const std::int64_t count = std::min(element_count(x.shape()), WordDraw::cell_count);
  Tile value = gather(line(cast(x, i32)), arange(0, count), 0);
  Tile at = d.cells + arange(0, count), mask = value > 3;
  switch (d.below(9)) {
    case 0: return atomic_add(at, value, mask);
    case 1: return atomic_max(at, value);
    case 2: return atomic_min(at, value, mask, {MemoryOrder::acq_rel, MemoryScope::sys});
    case 3: return atomic_and(at, value);
    case 4: return atomic_or(at, value, mask);
    case 5: return atomic_xor(at, value, {}, MemoryScope::cta);
    case 6: return atomic_exchange(at, value, mask);
    case 7: return atomic(ir::AtomicKind::add, at, value);
    default: return atomic_cas(at, load(at), value);
  }
}

Tile stored_and_loaded(WordDraw& d, const Tile& x) {
  const std::int64_t count = std::min(element_count(x.shape()), WordDraw::cell_count);
  Tile at = d.cells + arange(0, count);
  store(at, gather(line(cast(x, i32)), arange(0, count), 0));
  return load(d.cells + (WordDraw::cell_count - 1 - arange(0, WordDraw::cell_count)),
              arange(0, WordDraw::cell_count) > 2, 17);
}

Tile through_descriptor(WordDraw& d, const Tile& x) {
  Desc cells = make_desc(d.cells, {8, 8}, {8, 1});
  prefetch(cells, {0, 0}, {4, 4});
  Tile rows = gather(line(small(x)), arange(0, 4), 0);
  if (d.below(2) == 0) atomic_xor(cells, {2, 2}, load(cells, {0, 0}, {4, 4}));
  Tile taken = gather(cells, rows, d.below(4), 4);
  scatter(cells, taken + 1, arange(0, 4) * 2, 3);
  store(cells, {5, 5}, taken);
  return taken;
}

Tile looped(WordDraw& d, const Tile& x) {
  Var sum = x;
  for (Tile i : range(0, d.below(5), 1 + d.below(2))) sum = sum + cast(i, x.dtype());
  Var turns = constant(ir::Scalar::of_integer(i64, 0));
  while_([&] { return turns.get() < 3; },
         [&] {
           turns = turns + 1;
           sum = sum ^ x;
         });
  if_(
      max(line(x), 0) > 5, [&] { sum = sum + 1; }, [&] { sum = sum - 1; });
  return sum;
}

const DrawnWord words[] = {
    DRAWN_WORD("program_id num_programs", integers, exactly,
               x + cast(program_id(0) + num_programs(0), x.dtype())),
    DRAWN_WORD("arange", integers, exactly, line(x) + cast(arange(0, flat(x)[0]), x.dtype())),
    DRAWN_WORD("full zeros zeros_like", anything, exactly,
               d.below(2) == 0 ? zeros_like(x) : cat(line(x), full({2}, 3, x.dtype()))),
    DRAWN_WORD("broadcast_to expand_dims", anything, exactly,
               broadcast_to(expand_dims(line(x), 0), {2, flat(x)[0]})),
    DRAWN_WORD("reshape view ravel", anything, exactly, view(ravel(x), matrix(x).shape())),
    DRAWN_WORD("permute", anything, exactly, permuted(d, x)),
    DRAWN_WORD("trans", anything, exactly, trans(matrix(x))),
    DRAWN_WORD("broadcast", integers, exactly,
               broadcast(line(x), constant({x.dtype(), 5, 5})).second),
    DRAWN_WORD("squeeze unsqueeze", anything, exactly, squeeze(unsqueeze(x, 0), 0)),
    DRAWN_WORD("x[:, None]", anything, exactly, (line(x)[{whole, None}])),
    DRAWN_WORD("join", anything, exactly, join(x, d.like(x))),
    DRAWN_WORD("split", anything, exactly, split(last_two(x)).second),
    DRAWN_WORD("interleave", anything, exactly, interleave(x, d.like(x))),
    DRAWN_WORD("cat", anything, exactly, cat(x, d.like(x), any_axis(d, x))),
    DRAWN_WORD("flip", anything, exactly, flip(x, any_axis(d, x))),
    DRAWN_WORD("gather", integers, exactly, gather(line(d.like(x)), line(small(x)), 0)),
    DRAWN_WORD("swizzle2d", integers, exactly,
               swizzle2d(small(x), small(d.like(x)), 16, 16, 3).first),
    DRAWN_WORD("dot", integers, exactly, dot(small(matrix(x)), trans(small(matrix(d.like(x)))))),
    DRAWN_WORD("load store", integers, exactly, stored_and_loaded(d, x)),
    DRAWN_WORD(
        "make_tensor_descriptor make_block_ptr load_tensor_descriptor store_tensor_descriptor "
        "advance scatter atomic_*",
        integers, exactly, through_descriptor(d, x)),
    DRAWN_WORD("atomic_add max min and or xor xchg cas sem scope", integers, exactly,
               exchanged(d, x)),
    DRAWN_WORD("reduce associative_scan", integers, exactly, scanned(d, x)),
    DRAWN_WORD("sum max min", integers, exactly,
               sum(x, any_axis(d, x), true) + max(x, 0, true) * min(x, any_axis(d, x), true)),
    DRAWN_WORD("argmax argmin", anything, exactly, argmax(x, any_axis(d, x), true) + argmin(x)),
    DRAWN_WORD("xor_sum reduce_or reduce_and", integers, exactly,
               xor_sum(x, any_axis(d, x), true) + reduce_or(x, 0, true) * reduce_and(x, 0, true)),
    DRAWN_WORD("prod", integers, exactly, prod(x, any_axis(d, x), true)),
    DRAWN_WORD("any all", integers, exactly,
               cast(any(x > 5, 0, true), i32) + cast(all(x > 2, any_axis(d, x), true), i32)),
    DRAWN_WORD("cumsum cumprod", integers, exactly,
               cumsum(x, any_axis(d, x), d.below(2) == 0) ^ cumprod(x, 0)),
    DRAWN_WORD("sort", anything, exactly, sort(x, any_axis(d, x), d.below(2) == 0)),
    DRAWN_WORD("topk", anything, exactly,
               topk(line(x), std::min<std::int64_t>(1 + d.below(3), line(x).shape()[0]))),
    DRAWN_WORD("bitonic_merge", integers, exactly, bitonic_merge(sixteen(x))),
    DRAWN_WORD("histogram", integers, exactly, histogram(x, 12, d.like(x) > 2)),
    DRAWN_WORD("softmax", floats, nearly, softmax(clamp(x, -9.0, 9.0, PropagateNan::none), 0)),
    DRAWN_WORD("named", anything, exactly, named(x, "seen")),
    DRAWN_WORD("range while", integers, exactly, looped(d, x)),
};

const UndrawnWord undrawn[] = {
    {"dot_scaled", "rounds as its sums do: scaled_products_test.cpp draws formats and scales"},
    {"return", "ends the program before it stores: while_test.cpp"},
    {"device_print", "gives no value: print_test.cpp"},
    {"device_assert", "gives no value, and ends a launch: check_asserts_test.cpp"},
    {"static_range", "is a loop of C++"},
    {"static_print", "is C++'s"},
    {"static_assert", "is C++'s"},
    {"constexpr", "is a number of C++"},
    {"tuple", "is a std::vector"},
    {"debug_barrier", "is not needed: the barriers that the compiler places are proved"},
    {"multiple_of", "is derived"},
    {"max_contiguous", "is derived"},
    {"max_constancy", "is derived"},
    {"assume", "is derived"},
    {"condition", "says to the compiler what it derives"},
    {"target_info", "is not needed: code for each target is made anew"},
    {"const", "is known of what is only read"},
    {"num_stages", "is chosen: knobs of launches are drawn by kernel_knobs_test.cpp"},
    {"warp_specialize", "is chosen, as num_stages"},
    {"range", "stands for the word in the table"},
    {"extern_elementwise", "calls by symbol what has words here"},
    {"float2int_rd", "is a cast with a Rounding"},
};

}  // namespace

std::span<const DrawnWord> drawn_words() { return words; }
std::span<const UndrawnWord> undrawn_words() { return undrawn; }

}  // namespace tilewright::dsl
