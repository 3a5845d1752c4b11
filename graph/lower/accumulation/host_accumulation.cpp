// An accumulation on a host: each source changes memory.
//
// Where one program would have the whole target and there are many sources, as in a histogram, they
// are dealt out to copies of the target, which join it in the end: one for each thread, and of
// single elements several for a thread, since a processor that has seen a sum depend on the one
// stored before it has all of them wait for each other. Copies begin as what changes nothing. Sums
// of 16 bits, in which the order of many sources shows, keep it.
#include <algorithm>

#include "dsl/ir/immediates.h"
#include "graph/lower/accumulation/accumulation_program.h"
#include "graph/lower/frame.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;
using Axis = AccumulationShape::Axis;

// Neighbours that a program has: whole vectors, and lines of the cache.
constexpr std::int64_t least_columns = 32, most_host_columns = 1024;
// Sources that are worth copies of the target: for one thread, and for several.
constexpr std::int64_t few_sources = 256, many_sources = 1 << 15;
constexpr std::int64_t copies_of_elements = 4;  // for a thread
constexpr std::int64_t joined_at_once = 64, joined_by_thread = 1 << 14;

// How sources are dealt out.
struct Copies {
  std::int64_t chunks = 1;   // of sources, each of which a program has
  std::int64_t length = 0;   // of a chunk
  std::int64_t of_each = 1;  // copies that the sources of a chunk join in turn

  std::int64_t count() const { return chunks * of_each; }
  bool exist() const { return count() > 1; }
};

bool is_dense(const StridedView& view) {
  std::int64_t next = 1;
  for (int axis = view.shape.rank(); axis-- > 0;) {
    if (view.shape[axis] != 1 && view.strides[axis] != next) return false;
    next *= view.shape[axis];
  }
  return true;
}

Copies copies_for(const Task& task, const AccumulationShape& shape) {
  const std::int64_t sources = shape.rows.size;
  Copies copies{1, sources, 1};
  const bool is_coarse = is_floating(task.dtype) && bit_width(task.dtype) < 32;
  if (shape.columns.size > least_columns || !shape.others.empty() || is_boolean(task.dtype) ||
      is_coarse || !is_dense(task.place))
    return copies;
  // The cost of copies must stay below that of their sources.
  const std::int64_t affordable = 2 * sources / std::max<std::int64_t>(shape.row_count, 1);
  const std::int64_t each = shape.columns.size == 1 ? copies_of_elements : 1;
  if (sources >= few_sources && affordable >= each) copies.of_each = each;
  if (sources >= many_sources) {
    const std::int64_t chunks =
        std::clamp<std::int64_t>(affordable / copies.of_each, 1, planned_threads());
    copies.length = divide_up(divide_up(sources, chunks), copies.of_each) * copies.of_each;
    copies.chunks = divide_up(sources, copies.length);
  }
  return copies;
}

// As long runs of memory as leave each thread a program.
std::int64_t columns_for(const AccumulationShape& shape) {
  std::int64_t others = 1;
  for (const Axis& axis : shape.others) others *= axis.size;
  const std::int64_t programs = divide_up(std::int64_t{planned_threads()}, others);
  const std::int64_t share =
      divide_up(divide_up(shape.columns.size, programs), least_columns) * least_columns;
  return std::min({shape.columns.size, share, most_host_columns});
}

class HostAccumulation : AccumulationProgram {
 public:
  HostAccumulation(const std::string& name, const TaskList& list, const Region& region,
                   const dsl::Target& target, const AccumulationShape& shape, const Copies& copies)
      : AccumulationProgram(name, list, region, target, columns_for(shape), shape.row_count),
        copies_(copies),
        elements_(element_count(task_.place.shape)) {}

  // All in one program for each block of the target.
  LoweredProgram whole() {
    const Grid grid = begin();
    if (!copies_.exist()) {
      for (Tile i : dsl::range(0, shape_.rows.size, 1)) join_row(i, target_base_);
    } else {
      const Tile copies = parameters_.add_scratch(0, scratch());
      fill(copies);
      deal_out(copies, integer(0), integer(shape_.rows.size));
      join_copies(copies, 0, elements_);
    }
    return {tracer_.finish(), grid, parameters_.memory()};
  }

  // A chunk of sources.
  LoweredProgram part() {
    begin(false);
    const Tile chunk = dsl::program_id(0), first = chunk * copies_.length;
    const Tile copies =
        parameters_.add_scratch(0, scratch()) + chunk * (copies_.of_each * elements_);
    fill(copies);
    const bool is_even = shape_.rows.size % copies_.length == 0;
    const Tile next = first + copies_.length;
    deal_out(copies, first, is_even ? next : dsl::minimum(next, shape_.rows.size));
    return {tracer_.finish(), Grid(copies_.chunks), parameters_.memory()};
  }

  // All copies join the target.
  LoweredProgram last() {
    parameters_.add(task_.storage);
    target_base_ = parameters_.pointer(task_.storage) + to_;
    const Tile copies = parameters_.add_scratch(0, scratch());
    const std::int64_t programs = std::clamp<std::int64_t>(divide_up(elements_, joined_by_thread),
                                                           1, planned_threads()),
                       each = divide_up(divide_up(elements_, programs), joined_at_once) *
                              joined_at_once;
    if (programs == 1) {
      join_copies(copies, 0, elements_);
    } else {
      const Tile first = dsl::program_id(0) * each;
      join_copies(copies, first, dsl::minimum(first + each, elements_));
    }
    return {tracer_.finish(), Grid(programs), parameters_.memory()};
  }

  Scratch scratch() const { return {task_.dtype, copies_.count() * elements_}; }

 private:
  void fill(const Tile& copies) const {
    const std::int64_t size = copies_.of_each * elements_;
    const Tile nothing = dsl::splat(
        dsl::constant(ir::identity(task_.attributes.reduction, task_.dtype)), {joined_at_once});
    const dsl::Desc all = dsl::make_desc(copies, {size}, {1});
    for (Tile start : dsl::range(0, size, joined_at_once)) dsl::store(all, {start}, nothing);
  }

  void deal_out(const Tile& copies, const Tile& first, const Tile& end) {
    const std::int64_t ways = copies_.of_each;
    auto one = [&](const Tile& i, std::int64_t copy) {
      join_row(i, copy == 0 ? copies : copies + copy * elements_);
    };
    if (ways == 1) {
      for (Tile i : dsl::range(first, end)) one(i, 0);
      return;
    }
    const Tile whole = (end - first) / ways * ways + first;
    for (Tile i : dsl::range(first, whole, ways))
      for (std::int64_t way = 0; way < ways; ++way) one(way == 0 ? i : i + way, way);
    for (Tile i : dsl::range(whole, end)) one(i, 0);
  }

  void join_copies(const Tile& copies, const Operand& first, const Operand& end) const {
    const dsl::Desc target = dsl::make_desc(target_base_, {elements_}, {1});
    for (Tile start : dsl::range(first, end, joined_at_once)) {
      Tile all = dsl::load(target, {start}, {joined_at_once});
      for (std::int64_t copy = 0; copy < copies_.count(); ++copy) {
        const dsl::Desc one = dsl::make_desc(copies + copy * elements_, {elements_}, {1});
        all = joined(all, dsl::load(one, {start}, {joined_at_once}));
      }
      dsl::store(target, {start}, all);
    }
  }

  Tile is_inside(const Tile& row) const { return row >= 0 && row < shape_.row_count; }

  void join_row(const Tile& i, const Tile& target) {
    const Axis &rows = shape_.rows, &columns = shape_.columns;
    Tile index = index_base_ + i * rows.index;
    if (block_ > 1 && columns.index != 0) return join_elements(i, index, target);
    Tile row = dsl::cast(dsl::load(index), DType::i64);
    dsl::if_(is_inside(row), [&] {
      Tile place = target + row * rows.target;
      if (block_ == 1) return dsl::store(place, joined(dsl::load(place), element(i)));
      dsl::Desc block = dsl::make_desc(place, {left_}, {columns.target});
      dsl::store(block, {0}, joined(dsl::load(block, {0}, {block_}), element(i)));
    });
  }
  // Each column has a row of its own. One by one, since a vector of places that is read would wait
  // for all that were written before.
  void join_elements(const Tile& i, const Tile& index, const Tile& target) const {
    const Axis &rows = shape_.rows, &columns = shape_.columns;
    for (Tile column : dsl::range(0, left_, 1)) {
      Tile row = dsl::cast(dsl::load(index + column * columns.index), DType::i64);
      dsl::if_(is_inside(row), [&] {
        Tile place = target + (row * rows.target + column * columns.target);
        dsl::store(place, joined(dsl::load(place), element(i, column)));
      });
    }
  }

  Copies copies_;
  std::int64_t elements_;  // of the target
};

}  // namespace

LoweredRegion host_accumulation(const TaskList& list, const Region& region,
                                const dsl::Target& target) {
  const Task& task = list.tasks[region.tasks.back()];
  const AccumulationShape shape(list, region, false);
  const Copies copies = copies_for(task, shape);
  auto program = [&](const std::string& name) {
    return HostAccumulation(name, list, region, target, shape, copies);
  };
  LoweredRegion result;
  result.kind = "accumulation";
  if (copies.exist()) result.scratch.push_back(program("").scratch());
  if (copies.chunks == 1) {
    result.programs.push_back(program("scatter_reduce").whole());
  } else {
    result.programs.push_back(program("scatter_reduce_parts").part());
    result.programs.push_back(program("join_parts").last());
  }
  return result;
}

}  // namespace tilewright::graph
