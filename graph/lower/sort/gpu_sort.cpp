// Sorting on a GPU: blocks are sorted by counting, and then neighbours are merged, two by two.
//
// In a merge each word finds its own place: behind those that come before it in its own run, which
// is known, and those of the other run, which a binary search counts. So no program waits for
// another one, a row of any length has as many programs as it has blocks, and each turn of the
// merging is a launch of the same program with other numbers (Satish, Harris and Garland,
// "Designing efficient sorting algorithms for manycore GPUs", 2009).
#include <algorithm>
#include <bit>

#include "graph/lower/sort/sort_programs.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

using dsl::Tile;
using dsl::Var;

constexpr std::int64_t counted = 64;        // elements of a row that a program sorts by counting
constexpr std::int64_t merged_block = 256;  // words that a program moves

Tile numbers_from(const Tile& start, std::int64_t count) {
  return dsl::cast(dsl::arange(0, count), DType::i64) + start;
}

// A program that has a block of a row.
class GpuSort {
 public:
  GpuSort(const SortSite& site, const std::string& name, std::int64_t block)
      : site_(site),
        shape_(site.shape),
        tracer_(name),
        parameters_(tracer_, site.list, site.region),
        sizes_(tracer_, true),
        block_(block) {}

  const SortOrder& order() const { return site_.order; }

  // One of the two arrays of all rows' words.
  static std::vector<Scratch> arrays(const SortSite& site) {
    const std::int64_t words = site.shape.rows * site.shape.size;
    std::vector<Scratch> scratch(2, {DType::i64, words});
    if (!site.order.words_hold_places()) scratch.insert(scratch.end(), 2, {DType::i32, words});
    return scratch;
  }
  WordMemory add_array(std::size_t number) {
    std::vector<Scratch> scratch = arrays(site_);
    WordMemory memory{parameters_.add_scratch(number, scratch[number]), {}};
    if (scratch.size() > 2)
      memory.places = parameters_.add_scratch(number + 2, scratch[number + 2]);
    return memory;
  }
  Tile add_operand() { return add(site_.task.operands[0].storage); }
  Tile add_result() { return add(site_.task.storage); }
  Tile add_size(std::int64_t size) { return sizes_.add(size); }

  void open_grid() {
    programs_ = graph::open_grid({divide_up(shape_.size, block_), shape_.rows, 1}, site_.target);
    start_ = programs_.index[0].defined() ? Tile(programs_.index[0] * block_)
                                          : dsl::constant(ir::Scalar::of_integer(DType::i64, 0));
  }
  Tile start() const { return start_; }
  Tile row_of(const Tile& pointer, const SortShape::Side& side) const {
    return pointer + side.of_row(programs_.index[1]);
  }
  WordMemory row_of(const WordMemory& memory) const {
    return programs_.index[1].defined() ? memory.from(programs_.index[1] * shape_.size) : memory;
  }
  // Stores the places of words that are the rank-th of their row, if they are wanted.
  void store_places(const Tile& pointer, const Tile& rank, const SortWords& words,
                    const Tile& exists) const {
    Tile at = row_of(pointer, shape_.result) + rank * shape_.result.step;
    dsl::store(at, order().places_of(words), exists & (rank < shape_.count));
  }

  LoweredProgram finish() {
    return {tracer_.finish(), programs_.grid, parameters_.memory(), sizes_.sizes()};
  }

 private:
  Tile add(StorageId storage) {
    parameters_.add(storage);
    return parameters_.pointer(storage);
  }

  const SortSite& site_;
  const SortShape& shape_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  SizeArguments sizes_;
  std::int64_t block_;
  ProgramGrid programs_;
  Tile start_;
};

LoweredProgram sort_blocks(const SortSite& site, std::int64_t block) {
  const bool is_all = block >= site.shape.size;
  GpuSort sort(site, "sort_blocks", block);
  Tile operand = sort.add_operand(), result = is_all ? sort.add_result() : Tile();
  WordMemory memory = is_all ? WordMemory() : sort.add_array(0);
  sort.open_grid();
  Tile at = numbers_from(sort.start(), block), exists = at < site.shape.size;
  Tile from = sort.row_of(operand, site.shape.operand) + at * site.shape.operand.step;
  SortWords words = site.order.words_of(dsl::load(from, exists), dsl::cast(at, DType::i32));
  auto along = [&](const Shape& shape) {
    return SortWords{dsl::reshape(words.word, shape),
                     words.place.defined() ? dsl::reshape(words.place, shape) : Tile()};
  };
  Tile before = site.order.comes_before(along({block, 1}), along({1, block})) &
                dsl::reshape(exists, {block, 1});
  Tile rank = dsl::cast(dsl::sum(dsl::cast(before, DType::i32), 0), DType::i64) + sort.start();
  if (is_all)
    sort.store_places(result, rank, words, exists);
  else
    sort.row_of(memory).store(rank, words, exists);
  return sort.finish();
}

// Merges runs of `run` words, a power of two, of the array `from` into the other one, or, where
// `is_last`, their places into the result.
LoweredProgram merge_runs(const SortSite& site, std::int64_t run, std::size_t from, bool is_last) {
  const std::int64_t size = site.shape.size;
  GpuSort sort(site, is_last ? "merge_last_runs" : "merge_runs", merged_block);
  WordMemory source = sort.add_array(from);
  WordMemory target = is_last ? WordMemory() : sort.add_array(1 - from);
  Tile result = is_last ? sort.add_result() : Tile();
  const int bits = std::countr_zero(static_cast<std::uint64_t>(run));
  Tile run_bits = sort.add_size(bits), run_size = sort.add_size(run);
  sort.open_grid();
  source = sort.row_of(source);
  Tile at = numbers_from(sort.start(), merged_block), exists = at < size;
  SortWords mine = source.load(at, exists);
  Tile number = at >> run_bits;
  Tile sibling = (number ^ 1) << run_bits;
  Var low = dsl::zeros({merged_block}, DType::i64);
  Var high = dsl::maximum(dsl::minimum(size - sibling, run_size), 0);
  // Halves [low, high), of at most `run` words, until nothing is left.
  for ([[maybe_unused]] Tile turn : dsl::range(0, run_bits + 1)) {
    Tile middle = (low + high) >> 1, is_open = exists & (low < high);
    Tile before = site.order.comes_before(source.load(sibling + middle, is_open), mine);
    low = dsl::where(is_open & before, middle + 1, low);
    high = dsl::where(is_open & !before, middle, high);
  }
  Tile place = ((number >> 1) << (run_bits + 1)) + (at - (number << run_bits)) + low;
  if (is_last)
    sort.store_places(result, place, mine, exists);
  else
    sort.row_of(target).store(place, mine, exists);
  return sort.finish();
}

}  // namespace

LoweredRegion merge_sort(const SortSite& site) {
  const std::int64_t size = site.shape.size;
  const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
  const std::int64_t block = std::min(counted, whole);
  LoweredRegion result;
  result.kind = "sort";
  result.programs.push_back(sort_blocks(site, block));
  std::size_t from = 0;
  for (std::int64_t run = block; run < size; run *= 2, from = 1 - from)
    result.programs.push_back(merge_runs(site, run, from, 2 * run >= size));
  if (size > block) result.scratch = GpuSort::arrays(site);
  return result;
}

}  // namespace tilewright::graph
