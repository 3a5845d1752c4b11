// Sorting on a host: by counting how many elements come before each of few, and by digits of many.
//
// The radix sort goes from the lowest digit to the highest and keeps the order that it finds, so
// that words need be compared by the bits of their elements alone. A digit that is the same
// everywhere, as the upper ones of small integers, costs a look. Where few of many elements are
// wanted, a row is read once: a word that comes before the last of the best so far joins them, and
// when there is no more place they are sorted and cut to as many as are wanted. Of a few wanted
// ones each that joins is put where it belongs at once. Words that come too late, nearly all of a
// long row, are told by comparing vectors.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "graph/lower/sort/sort_programs.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t programs_a_thread = 2;
constexpr std::int64_t chunk = 64;  // elements that are made words at a time
// Digits of more bits take fewer turns, each of which costs the count of buckets.
constexpr std::int64_t many_words = 512;
constexpr int few_bits = 8, many_bits = 11;
// Of a selection: elements that are looked at at once, and at least how many join before the best
// are sorted.
constexpr std::int64_t glance = 16, least_joining = 128;

Tile integer(std::int64_t value) {
  return dsl::constant(ir::Scalar::of_integer(DType::i64, value));
}

class HostSort {
 public:
  HostSort(const SortSite& site, const std::string& name)
      : site_(site),
        shape_(site.shape),
        tracer_(name),
        parameters_(tracer_, site.list, site.region) {
    parameters_.add(site.task.operands[0].storage);
    parameters_.add(site.task.storage);
    programs_ = std::min<std::int64_t>(shape_.rows, programs_a_thread * thread_count());
  }

  const SortShape& shape() const { return shape_; }
  const SortOrder& order() const { return site_.order; }

  // Memory of each program for two arrays of so many words, and for counting digits.
  void add_arrays(std::int64_t words) {
    half_ = words;
    bits_ = words < many_words ? few_bits : many_bits;
    scratch_.push_back({DType::i64, programs_ * 2 * words});
    scratch_.push_back({DType::i32, programs_ * buckets()});
    if (!order().words_hold_places()) scratch_.push_back({DType::i32, programs_ * 2 * words});
    std::vector<Tile> pointers;
    for (std::size_t i = 0; i < scratch_.size(); ++i)
      pointers.push_back(parameters_.add_scratch(i, scratch_[i]));
    if (programs_ > 1) {
      Tile program = dsl::program_id(0);
      for (std::size_t i = 0; i < scratch_.size(); ++i)
        pointers[i] = pointers[i] + program * (scratch_[i].elements / programs_);
    }
    memory_.words = pointers[0];
    counts_ = pointers[1];
    if (pointers.size() > 2) memory_.places = pointers[2];
  }
  const WordMemory& memory() const { return memory_; }

  // Calls body(first element, first place of the result) for each row of this program.
  void for_each_row(const std::function<void()>& body) {
    auto row_at = [&](const Tile& row) {
      from_ = parameters_.pointer(site_.task.operands[0].storage) + shape_.operand.of_row(row);
      to_ = parameters_.pointer(site_.task.storage) + shape_.result.of_row(row);
      body();
    };
    if (shape_.rows == 1) return row_at({});
    const std::int64_t each = divide_up(shape_.rows, programs_);
    if (each == 1) return row_at(dsl::program_id(0));
    Tile first = programs_ == 1 ? integer(0) : Tile(dsl::program_id(0) * each);
    for (Tile row : dsl::range(first, dsl::minimum(first + each, shape_.rows))) row_at(row);
  }

  // The words of `block` elements from `start` on; of those beyond the row anything.
  SortWords words_at(const Operand& start, std::int64_t block) const {
    Tile elements =
        dsl::load(dsl::make_desc(from_, {shape_.size}, {shape_.operand.step}), {start}, {block});
    Tile places = dsl::arange(0, block);
    if (!start.is_number()) places = places + dsl::cast(start.tile(), DType::i32);
    return order().words_of(elements, places);
  }
  // Blocks of words in an array of `size`.
  void store_words(const WordMemory& to, std::int64_t size, const Operand& start,
                   const SortWords& words) const {
    dsl::store(dsl::make_desc(to.words, {size}, {1}), {start}, words.word);
    if (to.places.defined())
      dsl::store(dsl::make_desc(to.places, {size}, {1}), {start}, words.place);
  }

  // Puts the `length` words that begin at `begin`, of one of the two arrays, in order, and returns
  // where they lie then.
  Tile put_in_order(const Tile& begin, const Tile& length) const {
    Var from = begin;
    auto count_at = [&](const Tile& word, const Tile& shift) {
      return counts_ + order().digit(word, shift, bits_);
    };
    for (Tile shift : dsl::range(order().first_bit(), order().last_bit(), bits_)) {
      dsl::store(dsl::make_desc(counts_, {buckets()}, {1}), {0},
                 dsl::zeros({buckets()}, DType::i32));
      for (Tile i : dsl::range(0, length)) {
        Tile at = count_at(dsl::load(memory_.words + (from + i)), shift);
        dsl::store(at, dsl::load(at) + 1);
      }
      Tile alike = dsl::load(count_at(dsl::load(memory_.words + from), shift));
      dsl::if_(dsl::cast(alike, DType::i64) < length, [&] {
        Var before = dsl::constant(ir::Scalar::of_integer(DType::i32, 0));
        for (Tile bucket : dsl::range(0, buckets())) {
          Tile count = dsl::load(counts_ + bucket);
          dsl::store(counts_ + bucket, before);
          before = before + count;
        }
        Tile to = half_ - from;
        for (Tile i : dsl::range(0, length)) {
          SortWords words = memory_.load(from + i);
          Tile at = count_at(words.word, shift);
          Tile place = dsl::load(at);
          dsl::store(at, place + 1);
          memory_.store(to + dsl::cast(place, DType::i64), words);
        }
        from = to;
      });
    }
    return from.get();
  }

  // The places of the wanted words, which are in order from `begin` on.
  void store_places(const Tile& begin) const {
    const WordMemory ordered = memory_.from(begin);
    auto load = [&](const Tile& array, const Tile& start) {
      return dsl::load(dsl::make_desc(array, {shape_.count}, {1}), {start}, {chunk});
    };
    for (Tile start : dsl::range(0, shape_.count, chunk)) {
      SortWords words{load(ordered.words, start), {}};
      if (ordered.places.defined()) words.place = load(ordered.places, start);
      dsl::store(dsl::make_desc(to_, {shape_.count}, {shape_.result.step}), {start},
                 order().places_of(words));
    }
  }
  // Stores the place at[i] as number `rank[i]`, i32, where `mask` holds.
  void store_ranked(const Tile& rank, const Tile& at, const Tile& mask) const {
    dsl::store(to_ + dsl::cast(rank, DType::i64) * shape_.result.step, at, mask);
  }

  LoweredRegion finish() {
    LoweredRegion result;
    result.kind = "sort";
    result.programs.push_back({tracer_.finish(), Grid(programs_), parameters_.memory()});
    result.scratch = scratch_;
    return result;
  }

 private:
  std::int64_t buckets() const { return std::int64_t{1} << bits_; }

  const SortSite& site_;
  const SortShape& shape_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  std::int64_t programs_ = 1, half_ = 0;
  int bits_ = 0;
  std::vector<Scratch> scratch_;
  WordMemory memory_;
  Tile counts_, from_, to_;
};

}  // namespace

LoweredRegion counting_sort(const SortSite& site) {
  HostSort sort(site, "counting_sort");
  const std::int64_t size = site.shape.size;
  sort.for_each_row([&] {
    SortWords words = sort.words_at(0, size);
    auto along = [&](const Shape& shape) {
      return SortWords{dsl::reshape(words.word, shape),
                       words.place.defined() ? dsl::reshape(words.place, shape) : Tile()};
    };
    Tile before = site.order.comes_before(along({size, 1}), along({1, size}));
    Tile rank = dsl::sum(dsl::cast(before, DType::i32), 0);
    sort.store_ranked(rank, dsl::cast(dsl::arange(0, size), DType::i64), rank < site.shape.count);
  });
  return sort.finish();
}

LoweredRegion radix_sort(const SortSite& site) {
  HostSort sort(site, "radix_sort");
  const std::int64_t size = site.shape.size;
  sort.add_arrays(size);
  sort.for_each_row([&] {
    for (Tile start : dsl::range(0, size, chunk))
      sort.store_words(sort.memory(), size, start, sort.words_at(start, chunk));
    sort.store_places(sort.put_in_order(integer(0), integer(size)));
  });
  return sort.finish();
}

LoweredRegion radix_select(const SortSite& site) {
  HostSort sort(site, "radix_select");
  const std::int64_t size = site.shape.size, count = site.shape.count;
  const std::int64_t joining = std::max(count, least_joining);
  sort.add_arrays(count + joining + glance);
  sort.for_each_row([&] {
    const WordMemory& memory = sort.memory();
    // The last of the best: a word after it does not join, once as many as wanted are known. Equals
    // of it come after it too, since their places do.
    Var begin = 0, length = 0, last = std::numeric_limits<std::int64_t>::max();
    Var is_full = integer(0) > integer(0);
    auto joins_of = [&](const Tile& word) {
      return site.order.words_hold_places() ? word < last : Tile((word < last) | !is_full);
    };
    for (Tile start : dsl::range(0, size, glance)) {
      SortWords words = sort.words_at(start, glance);
      Tile joins = joins_of(words.word);
      Tile some = dsl::max(dsl::cast(joins, DType::i32), 0);
      dsl::if_(some > 0, [&] {
        Tile left = dsl::minimum(size - start, glance);
        // Behind the words, where there is always room for as many as are looked at.
        sort.store_words(memory.from(begin + length), glance, 0, words);
        Tile looked_at = begin + length;
        for (Tile i : dsl::range(0, left)) {
          SortWords one = memory.load(looked_at + i);
          memory.store(begin + length, one);
          length = length + dsl::cast(joins_of(one.word), DType::i64);
        }
        dsl::if_(length >= count + joining, [&] {
          begin = sort.put_in_order(begin, length);
          length = integer(count);
          last = memory.load(begin + (count - 1)).word;
          is_full = integer(0) == integer(0);
        });
      });
    }
    sort.store_places(sort.put_in_order(begin, length));
  });
  return sort.finish();
}

LoweredRegion insertion_select(const SortSite& site) {
  HostSort sort(site, "insertion_select");
  const std::int64_t size = site.shape.size, count = site.shape.count;
  const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  constexpr auto first = std::numeric_limits<std::int64_t>::min(),
                 last = std::numeric_limits<std::int64_t>::max();
  // What comes before all, the best in order, and words that are looked at.
  sort.add_arrays(1 + width + glance);
  sort.for_each_row([&] {
    const Tile words = sort.memory().words, best = words + 1;
    const Tile lanes = dsl::arange(0, width);
    dsl::store(words, integer(first));
    dsl::store(best + lanes, dsl::zeros({width}, DType::i64) + integer(last));
    Var worst = last;
    for (Tile start : dsl::range(0, size, glance)) {
      const SortWords some = sort.words_at(start, glance);
      dsl::if_(dsl::max(dsl::cast(some.word < worst, DType::i32), 0) > 0, [&] {
        const WordMemory looked_at = sort.memory().from(integer(1 + width));
        sort.store_words(looked_at, glance, 0, some);
        for (Tile i : dsl::range(0, dsl::minimum(size - start, glance))) {
          const Tile word = looked_at.load(i).word;
          dsl::if_(word < worst, [&] {
            const Tile now = dsl::load(best + lanes), before = dsl::load(words + lanes);
            dsl::store(best + lanes, dsl::where(now < word, now, dsl::maximum(before, word)));
            worst = dsl::load(best + (count - 1));
          });
        }
      });
    }
    sort.store_places(integer(1));
  });
  return sort.finish();
}

}  // namespace tilewright::graph
