// Sorting on a host: by counting how many elements come before each of few, and by digits of many.
//
// The radix sort goes from the lowest digit to the highest and keeps the order that it finds, so
// that words need be compared by the bits of their elements alone. A digit that is the same
// everywhere, as the upper ones of small integers, costs a look. Where few of many elements are
// wanted, a row is read once: a word that comes before the last of the best so far joins them, and
// when there is no more place they are sorted and cut to as many as are wanted. A few wanted ones
// stay in registers, where each that joins takes the place of the last, and a bound that is found
// first has few of the others join. Words that come too late, nearly all of a long row, are
// recognised by comparing vectors.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "graph/lower/frame.h"
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
constexpr std::int64_t many_words = 4096;
constexpr int few_bits = 8, many_bits = 11;
constexpr std::int64_t cleared_at_once = 256;  // counts
// For a selection: elements that are looked at at once, and at least how many join before the best
// are sorted.
constexpr std::int64_t glance = 16, least_joining = 128;
// Words that are looked at for a bound of the best, in so many lanes, more where many are wanted.
constexpr std::int64_t selected_glance = 64;  // the same where the best are in registers
constexpr std::int64_t most_tried = 1024, few_inserted = 8, few_lanes = 32, many_lanes = 64;
constexpr auto least_word = std::numeric_limits<std::int64_t>::min(),
               greatest_word = std::numeric_limits<std::int64_t>::max();

class HostSort {
 public:
  HostSort(const SortSite& site, const std::string& name)
      : site_(site),
        shape_(site.shape),
        tracer_(name),
        parameters_(tracer_, site.list, site.region) {
    parameters_.add(site.task.operands[0].storage);
    parameters_.add(site.task.storage);
    programs_ = std::min<std::int64_t>(shape_.rows, programs_a_thread * planned_threads());
  }

  const SortShape& shape() const { return shape_; }
  const SortOrder& order() const { return site_.order; }

  // Memory of each program for two arrays of so many words, and for counting digits.
  void add_arrays(std::int64_t words) {
    half_ = words;
    bits_ = words < many_words ? few_bits : many_bits;
    scratch_.push_back({DType::i64, programs_ * 2 * words});
    scratch_.push_back({DType::i32, programs_ * turns() * buckets()});
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

  // `block` elements from `start` on; those beyond the row are anything.
  Tile elements_at(const Tile& start, std::int64_t block) const {
    return dsl::load(dsl::make_desc(from_, {shape_.size}, {shape_.operand.step}), {start}, {block});
  }
  SortWords words_at(const Tile& start, std::int64_t block) const {
    return order().words_of(elements_at(start, block),
                            dsl::arange(0, block) + dsl::cast(start, DType::i32));
  }
  // Blocks of words in an array of `size`.
  void store_words(const WordMemory& to, std::int64_t size, const Operand& start,
                   const SortWords& words) const {
    dsl::store(dsl::make_desc(to.words, {size}, {1}), {start}, words.word);
    if (to.places.defined())
      dsl::store(dsl::make_desc(to.places, {size}, {1}), {start}, words.place);
  }

  // Puts the `length` words that begin at `begin`, of one of the two arrays, in order, and returns
  // where they lie then. The digits of all turns are counted at once: which word has which does not
  // depend on where it lies, and sums of different tables need not wait for each other.
  Tile put_in_order(const Tile& begin, const Tile& length) const {
    const std::int64_t size = turns() * buckets();
    for (Tile start : dsl::range(0, size, cleared_at_once))
      dsl::store(dsl::make_desc(counts_, {size}, {1}), {start},
                 dsl::zeros({cleared_at_once}, DType::i32));
    for (Tile i : dsl::range(0, length)) {
      const Tile word = dsl::load(memory_.words + (begin + i));
      for (int turn = 0; turn < turns(); ++turn) {
        const Tile digit = order().digit(word, integer(order().first_bit() + turn * bits_), bits_);
        Tile at = counts_ + (digit + turn * buckets());
        dsl::store(at, dsl::load(at) + 1);
      }
    }
    Var from = begin, counts = counts_;
    for (Tile shift : dsl::range(order().first_bit(), order().last_bit(), bits_)) {
      auto count_at = [&](const Tile& word) {
        return counts.get() + order().digit(word, shift, bits_);
      };
      Tile alike = dsl::load(count_at(dsl::load(memory_.words + from)));
      dsl::if_(dsl::cast(alike, DType::i64) < length, [&] {
        Var before = dsl::constant(ir::Scalar::of_integer(DType::i32, 0));
        for (Tile bucket : dsl::range(0, buckets())) {
          Tile count = dsl::load(counts + bucket);
          dsl::store(counts + bucket, before);
          before = before + count;
        }
        Tile to = half_ - from;
        for (Tile i : dsl::range(0, length)) {
          SortWords words = memory_.load(from + i);
          Tile at = count_at(words.word);
          Tile place = dsl::load(at);
          dsl::store(at, place + 1);
          memory_.store(to + dsl::cast(place, DType::i64), words);
        }
        from = to;
      });
      counts = counts + buckets();
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
  int turns() const { return (order().last_bit() - order().first_bit() + bits_ - 1) / bits_; }

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
    SortWords words = sort.words_at(integer(0), size);
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

namespace {

// The best of the words met so far, in no order, in the lanes of one tile. Lanes that are not
// wanted come before all words.
class BestWords {
 public:
  // None has been seen yet: as if there were words of as many different places, each after `bound`.
  BestWords(const SortOrder& order, std::int64_t count, const Tile& bound)
      : order_(order),
        count_(count),
        width_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)))),
        is_wanted_(dsl::arange(0, width_) < count),
        best_(dsl::where(is_wanted_, bound - dsl::cast(dsl::arange(0, width_), DType::i64),
                         least_word)),
        worst_(bound),
        limit_(order.element_of(bound)) {}

  // Among the words of some elements, those that come before the worst of the best take their
  // places.
  void meet(const Tile& elements, const std::function<Tile()>& words) {
    const Tile may_join = order_.may_come_before(elements, limit_.get());
    dsl::if_(dsl::max(dsl::cast(may_join, DType::i32), 0) > 0, [&] {
      Var left = words(), next = dsl::min(left.get(), 0);
      dsl::while_([&] { return next < worst_; },
                  [&] {
                    best_ = dsl::where(best_.get() == worst_.get(), next.get(), best_.get());
                    worst_ = dsl::max(best_.get(), 0);
                    left = dsl::where(left.get() == next.get(), greatest_word, left.get());
                    next = dsl::min(left.get(), 0);
                  });
      limit_ = order_.element_of(worst_);
    });
  }

  const Tile& is_wanted() const { return is_wanted_; }
  Tile words() const { return best_.get(); }
  // How many of the wanted come before each.
  Tile ranks() const {
    const Tile words = best_.get();
    Tile before = dsl::reshape(words, {width_, 1}) < dsl::reshape(words, {1, width_});
    return dsl::sum(dsl::cast(before, DType::i32), 0) - (width_ - count_);
  }

 private:
  const SortOrder& order_;
  std::int64_t count_, width_;
  Tile is_wanted_;
  Var best_, worst_;
  Var limit_;  // the element of the worst
};

}  // namespace

LoweredRegion insertion_select(const SortSite& site) {
  HostSort sort(site, "insertion_select");
  const std::int64_t size = site.shape.size, count = site.shape.count;
  const std::int64_t lanes = count <= few_inserted ? few_lanes : many_lanes;
  const std::int64_t tried = std::min(size, most_tried) / lanes * lanes;
  sort.for_each_row([&] {
    // The best of each lane of some words are as many different ones; so at least as many words as
    // are wanted do not come after the last wanted one of these.
    Var firsts = sort.words_at(integer(0), lanes).word;
    for (Tile start : dsl::range(lanes, tried, lanes))
      firsts = dsl::minimum(firsts, sort.words_at(start, lanes).word);
    const Tile all = firsts.get();
    const Tile before = dsl::reshape(all, {lanes, 1}) < dsl::reshape(all, {1, lanes});
    const Tile is_among = dsl::sum(dsl::cast(before, DType::i32), 0) < count;
    const Tile bound = dsl::max(dsl::where(is_among, all, least_word), 0);
    BestWords best(site.order, count, site.order.after_all_places(bound));
    auto words_at = [&](const Tile& start) { return sort.words_at(start, selected_glance).word; };
    const std::int64_t whole = size / selected_glance * selected_glance;
    for (Tile start : dsl::range(0, whole, selected_glance))
      best.meet(sort.elements_at(start, selected_glance), [&] { return words_at(start); });
    if (whole < size) {
      const Tile start = integer(whole);
      best.meet(sort.elements_at(start, selected_glance), [&] {
        Tile is_one = dsl::arange(0, selected_glance) < size - whole;
        return dsl::where(is_one, words_at(start), greatest_word);
      });
    }
    sort.store_ranked(best.ranks(), site.order.places_of({best.words(), {}}), best.is_wanted());
  });
  return sort.finish();
}

}  // namespace tilewright::graph
