// Cumulation on a host.
//
// Along a row that lies side by side, the elements of a vector join each other in registers, in
// log2 of the lanes steps, and then what the vectors before them come to. For a few vectors the
// prefix is known from their totals, so that from one such step to the next there is one operation
// to wait for. Along another axis a block of columns joins row by row; columns that are fewer than
// a vector's lanes and lie side by side are gone through as one row, in which an element joins
// those that many places before it, for a vector of one row would leave lanes idle and wait in each
// row.
#include <algorithm>
#include <functional>

#include "dsl/language/words/arranging.h"
#include "dsl/language/words/folding.h"
#include "graph/lower/cumulation/cumulation_programs.h"
#include "graph/lower/frame.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t programs_a_thread = 4;
constexpr std::int64_t vectors_at_once = 4;     // of a row
constexpr std::int64_t rows_at_once = 2;        // of a block of columns
constexpr std::int64_t block_vectors = 64;      // of columns
constexpr std::int64_t most_woven = 3;          // quarters of a vector; above, a row is as fast
constexpr std::int64_t cut_elements = 1 << 17;  // that are worth a second pass

class HostCumulation {
 public:
  explicit HostCumulation(const CumulationSite& site)
      : site_(site), shape_(site.shape), lanes_(site.target.lanes) {
    // A few pages of memory side by side, unless there would be too few programs; blocks alike, of
    // whole vectors.
    const std::int64_t threads = planned_threads(), columns = shape_.columns.size,
                       vectors = std::clamp<std::int64_t>(
                           columns * shape_.rows / (threads * lanes_), 1, block_vectors),
                       least = divide_up(columns, vectors * lanes_);
    block_ = std::min(columns, divide_up(divide_up(columns, least), lanes_) * lanes_);
    const std::int64_t blocks = divide_up(columns, block_),
                       quantum = is_flat() ? vectors_at_once * lanes_ : rows_at_once;
    chunks_ = {1, shape_.along.size};
    if (shape_.rows * blocks < threads && shape_.elements() >= cut_elements)
      chunks_ = Chunks::of(shape_.along.size, threads, quantum);
    row_programs_ = std::clamp<std::int64_t>(programs_a_thread * threads / (blocks * chunks_.count),
                                             1, shape_.rows);
  }

  LoweredRegion lower() {
    LoweredRegion result;
    result.kind = "cumulation";
    if (chunks_.count > 1) {
      result.scratch.push_back(
          {site_.carried, shape_.rows * (chunks_.count - 1) * shape_.columns.size});
      result.programs.push_back(program("totals", true, chunks_.count - 1));
    }
    result.programs.push_back(program("cumulate", false, chunks_.count));
    return result;
  }

 private:
  // A program's facts about its current part.
  struct Part {
    Tile from, to;        // the first element in the operand and in the result
    Operand length = 0;   // along the axis
    Operand columns = 0;  // of the block that there are
    Tile totals;          // of the chunks of this row, at the first column
    Tile chunk;           // its number; undefined where there is one
  };

  bool is_row() const { return shape_.columns.size == 1; }
  // For columns that are one row of memory.
  bool is_woven() const {
    const std::int64_t columns = shape_.columns.size;
    return !is_row() && columns <= most_woven * lanes_ / 4 && shape_.columns.operand == 1 &&
           shape_.along.operand == columns && shape_.along.result == columns;
  }
  // True if it goes along vectors, of elements that lie so far apart; places are counted in them.
  bool is_flat() const { return is_row() || is_woven(); }
  std::int64_t operand_step() const { return is_row() ? shape_.along.operand : 1; }
  std::int64_t result_step() const { return is_row() ? shape_.along.result : 1; }
  // From an element of a flat row to the next that it joins.
  std::int64_t columns() const { return shape_.columns.size; }
  Shape block() const { return {is_flat() ? lanes_ : block_}; }

  LoweredProgram program(const std::string& name, bool takes_totals, std::int64_t chunks) {
    dsl::Tracer tracer(name);
    Parameters parameters(tracer, site_.list, site_.region);
    parameters.add(site_.task.operands[0].storage);
    if (!takes_totals) parameters.add(site_.task.storage);
    Part part;
    if (chunks_.count > 1)
      part.totals = parameters.add_scratch(
          0, {site_.carried, shape_.rows * (chunks_.count - 1) * shape_.columns.size});
    const std::int64_t blocks = divide_up(shape_.columns.size, block_);
    ProgramGrid programs = open_grid({blocks, chunks, row_programs_}, site_.target);
    part.from = parameters.pointer(site_.task.operands[0].storage) + shape_.from;
    if (!takes_totals) part.to = parameters.pointer(site_.task.storage);
    part.columns = block_;
    part.length = shape_.along.size;
    if (const Tile& number = programs.index[0]; number.defined()) {
      Tile first = number * block_;
      part.from = part.from + first * shape_.columns.operand;
      if (!takes_totals) part.to = part.to + first;
      if (part.totals.defined()) part.totals = part.totals + first;
      if (shape_.columns.size % block_ != 0)
        part.columns = dsl::minimum(shape_.columns.size - first, block_);
    }
    if (chunks_.count > 1) {
      part.chunk = programs.index[1].defined() ? programs.index[1] : integer(0);
      Tile first = part.chunk * chunks_.length;
      part.from = part.from + first * shape_.along.operand;
      if (!takes_totals) part.to = part.to + first * shape_.along.result;
      const bool is_even = takes_totals || shape_.along.size % chunks_.length == 0;
      part.length = is_even ? Operand(chunks_.length)
                            : Operand(dsl::minimum(shape_.along.size - first, chunks_.length));
    }
    for_each_row(programs.index[2], part, [&](const Part& row) {
      if (takes_totals)
        take_total(row);
      else if (is_flat())
        go_along_row(row);
      else
        go_along_columns(row);
    });
    return {tracer.finish(), programs.grid, parameters.memory()};
  }

  void for_each_row(const Tile& program, const Part& part,
                    const std::function<void(const Part&)>& body) const {
    if (shape_.rows == 1) return body(part);
    auto at = [&](const Tile& row) {
      Part here = part;
      Offset from, to;
      shape_.move_to_row(row, from, to);
      here.from = part.from + from;
      if (part.to.defined()) here.to = part.to + to;
      if (part.totals.defined())
        here.totals = part.totals + row * ((chunks_.count - 1) * shape_.columns.size);
      body(here);
    };
    const std::int64_t each = divide_up(shape_.rows, row_programs_);
    if (each == 1) return at(program);
    Tile first = program.defined() ? Tile(program * each) : integer(0);
    for (Tile row : dsl::range(first, dsl::minimum(first + each, shape_.rows))) at(row);
  }

  // A vector of a row from `start` on, or a block of columns at the place `start`.
  Tile load(const Part& part, const Operand& start) const {
    const std::int64_t by = is_flat() ? operand_step() : shape_.along.operand;
    return site_.widened(dsl::load(
        array(part.from + start * by, part, is_flat() ? operand_step() : shape_.columns.operand),
        {0}, block()));
  }
  void store(const Part& part, const Operand& start, const Tile& value) const {
    const std::int64_t by = is_flat() ? result_step() : shape_.along.result;
    dsl::store(array(part.to + start * by, part, is_flat() ? result_step() : 1), {0},
               site_.narrowed(value));
  }
  dsl::Desc array(const Tile& at, const Part& part, std::int64_t stride) const {
    return dsl::make_desc(at, {is_flat() ? Operand(lanes_) : part.columns}, {stride});
  }

  // The join of all chunks before this one, at its columns or everywhere.
  Tile before(const Part& part) const {
    if (!part.chunk.defined()) return site_.identity(block());
    Var all = site_.identity(block());
    for (Tile chunk : dsl::range(0, part.chunk)) all = site_.join(all, total(part, chunk));
    return all.get();
  }
  Tile total(const Part& part, const Tile& chunk) const {
    Tile at = part.totals + chunk * shape_.columns.size;
    if (is_row()) return dsl::splat(dsl::load(at), block());
    Tile each = dsl::load(dsl::make_desc(at, {part.columns}, {1}), {0}, block());
    return is_woven() ? dsl::gather(each, lanes() % columns(), 0) : each;
  }

  // Vectors whose first lanes are of one column recur: as many as there are columns later. Each
  // keeps what it has met, and in the end its last lanes hold what that comes to.
  void take_woven_total(const Part& part) const {
    std::vector<Var> met;
    met.reserve(static_cast<std::size_t>(columns()));  // a copy would be another variable
    for (std::int64_t i = 0; i < columns(); ++i) met.emplace_back(site_.identity(block()));
    for (Tile at : dsl::range(0, length(), columns() * lanes_))
      for (std::int64_t i = 0; i < columns(); ++i) {
        Var& all = met[static_cast<std::size_t>(i)];
        all = site_.join(all, load(part, at + i * lanes_));
      }
    Tile all;
    for (std::int64_t i = 0; i < columns(); ++i) {
      // The column of lane l of vector i is (i lanes + l) mod columns.
      const std::int64_t first = columns() - (i + 1) * lanes_ % columns();
      Tile last = lanes_ - columns() + (lanes() + first) % columns();
      Tile each = dsl::gather(joined_lanes(met[static_cast<std::size_t>(i)].get()), last, 0);
      all = all.defined() ? site_.join(all, each) : each;
    }
    dsl::store(dsl::make_desc(part.totals + part.chunk * columns(), {columns()}, {1}), {0}, all);
  }

  void take_total(const Part& part) const {
    if (is_woven()) return take_woven_total(part);
    Var all = site_.identity(block());
    const std::int64_t step = is_row() ? lanes_ : 1;
    for (Tile at : dsl::range(0, part.length, step)) all = site_.join(all, load(part, at));
    Tile to = part.totals + part.chunk * shape_.columns.size;
    if (is_row()) return dsl::store(to, dsl::reduce(all, site_.kind, 0));
    dsl::store(dsl::make_desc(to, {part.columns}, {1}), {0}, all.get());
  }

  Tile lanes() const { return dsl::arange(0, lanes_); }

  // Each element and those of its column before it in the vector.
  Tile joined_lanes(const Tile& x) const {
    if (is_woven()) {
      Tile joined = x;
      for (std::int64_t by = columns(); by < lanes_; by *= 2)
        joined = dsl::where(lanes() >= by, site_.join(dsl::gather(joined, lanes() - by, 0), joined),
                            joined);
      return joined;
    }
    return dsl::associative_scan(x, 0,
                                 [&](const Tile& a, const Tile& b) { return site_.join(a, b); });
  }
  // The last of each column at the lanes of its column in the next vector.
  Tile last_everywhere(const Tile& x) const {
    if (is_woven()) return dsl::gather(x, lanes_ - columns() + lanes() % columns(), 0);
    return dsl::gather(x, dsl::full({lanes_}, lanes_ - 1, DType::i32), 0);
  }

  // The join of each lane's column, at the lanes of its column some vectors later.
  Tile carried_on(const Tile& x, std::int64_t vectors) const {
    const std::int64_t by = is_woven() ? vectors * lanes_ % columns() : 0;
    return by == 0 ? x : dsl::gather(x, (lanes() + by) % columns(), 0);
  }

  void go_along_row(const Part& part) const {
    const std::int64_t at_once = vectors_at_once * lanes_;
    if (part.length.is_number() && length() < at_once) {
      Tile carry = before(part);
      for (std::int64_t start = 0; start < length(); start += lanes_)
        carry = last_everywhere(join_vector(part, carry, start));
      return;
    }
    Var carry = before(part);
    const Operand all_elements = elements(part);
    const Operand whole = part.length.is_number()
                              ? Operand(length() / at_once * at_once)
                              : Operand(all_elements.tile() / at_once * at_once);
    for (Tile start : dsl::range(0, whole, at_once)) {
      std::vector<Tile> vectors, offsets = {carry};
      Tile all;
      for (std::int64_t i = 0; i < vectors_at_once; ++i) {
        vectors.push_back(joined_lanes(load(part, start + i * lanes_)));
        Tile last = last_everywhere(vectors.back());
        all = all.defined() ? site_.join(carried_on(all, 1), last) : last;
        offsets.push_back(site_.join(carried_on(carry, i + 1), all));
      }
      for (std::size_t i = 0; i < vectors.size(); ++i)
        store(part, start + static_cast<std::int64_t>(i) * lanes_,
              site_.join(offsets[i], vectors[i]));
      carry = offsets.back();
    }
    for (Tile start : dsl::range(whole, all_elements, lanes_))
      carry = last_everywhere(join_vector(part, carry.get(), start));
  }

  // The join of the vector at `start`, of which only the part in the row exists.
  Tile join_vector(const Part& part, const Tile& carry, const Operand& start) const {
    auto vector_of = [&](const Tile& base, std::int64_t step) {
      return dsl::make_desc(base, {elements(part)}, {step});
    };
    Tile x = dsl::load(vector_of(part.from, operand_step()), {start}, block());
    Tile all = site_.join(carry, joined_lanes(site_.widened(x)));
    dsl::store(vector_of(part.to, result_step()), {start}, site_.narrowed(all));
    return all;
  }
  // The length of a part with its own number: rows, or elements if it is flat.
  std::int64_t length() const {
    return (chunks_.count > 1 ? chunks_.length : shape_.along.size) * (is_woven() ? columns() : 1);
  }
  Operand elements(const Part& part) const {
    if (!is_woven()) return part.length;
    return part.length.is_number() ? Operand(length()) : Operand(part.length.tile() * columns());
  }

  // Some rows at once, from one to the next of which all stays in registers.
  void go_along_columns(const Part& part) const {
    Var all = before(part);
    auto join_row = [&](const Tile& joined, const Operand& at) {
      Tile next = site_.join(joined, load(part, at));
      store(part, at, next);
      return next;
    };
    const Operand whole = part.length.is_number()
                              ? Operand(length() / rows_at_once * rows_at_once)
                              : Operand(part.length.tile() / rows_at_once * rows_at_once);
    for (Tile start : dsl::range(0, whole, rows_at_once)) {
      Tile joined = all.get();
      for (std::int64_t row = 0; row < rows_at_once; ++row) joined = join_row(joined, start + row);
      all = joined;
    }
    for (Tile at : dsl::range(whole, part.length)) all = join_row(all.get(), at);
  }

  const CumulationSite& site_;
  const CumulationShape& shape_;
  std::int64_t lanes_, block_ = 1, row_programs_ = 1;
  Chunks chunks_;
};

}  // namespace

LoweredRegion host_cumulation(const CumulationSite& site) { return HostCumulation(site).lower(); }

}  // namespace tilewright::graph
