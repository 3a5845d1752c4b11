// Cumulation on a GPU. A row that one program takes in a few blocks is one launch; a longer one, of
// which there are few, is cut into chunks: their totals first, and then each chunk with what those
// before it come to. Along another axis a program has some columns.
#include <algorithm>
#include <bit>

#include "dsl/language/words/folding.h"
#include "graph/lower/cumulation/cumulation_programs.h"
#include "graph/lower/frame.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t block_elements = 1024;  // of a program at once
constexpr std::int64_t block_columns = 128;
constexpr std::int64_t least_chunk = 4096, least_column_chunk = 64;
constexpr std::int64_t most_chunks = 1024;  // whose totals one program joins
constexpr std::int64_t programs_a_multiprocessor = 4;

std::int64_t power_above(std::int64_t size) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
}

// Tiles are rows x places along the axis, or places (one) x columns.
class GpuCumulation {
 public:
  explicit GpuCumulation(const CumulationSite& site) : site_(site), shape_(site.shape) {
    const bool is_row = shape_.columns.size == 1;
    along_ = is_row ? std::min(power_above(shape_.along.size), block_elements) : 1;
    across_ = is_row ? std::min(power_above(shape_.rows), block_elements / 2 / along_)
                     : std::min(power_above(shape_.columns.size), block_columns);
    across_ = std::max<std::int64_t>(across_, 1);
    const std::int64_t programs = is_row ? divide_up(shape_.rows, across_)
                                         : shape_.rows * divide_up(shape_.columns.size, across_);
    const std::int64_t wanted =
        programs_a_multiprocessor * site.target.gpu().multiprocessors / programs;
    const std::int64_t least = is_row ? least_chunk : least_column_chunk;
    chunks_ = Chunks::of(shape_.along.size, std::min(wanted, most_chunks), least);
    if (chunks_.count == 1) chunks_.length = shape_.along.size;
  }

  LoweredRegion lower() {
    LoweredRegion result;
    result.kind = "cumulation";
    if (chunks_.count > 1) {
      result.scratch.push_back(totals());
      result.programs.push_back(program("totals", true, chunks_.count - 1));
    }
    result.programs.push_back(program("cumulate", false, chunks_.count));
    return result;
  }

 private:
  // One side of a tile's places in memory: elements across and along.
  struct Part {
    Tile from, to, totals;
    Tile across, exists;  // [across]: its places, and which there are
    Tile first, chunk;    // along the axis; undefined where there is one chunk
  };

  bool is_row() const { return shape_.columns.size == 1; }
  Scratch totals() const {
    return {site_.carried, shape_.rows * shape_.columns.size * (chunks_.count - 1)};
  }
  // The totals of the chunks of each row, or of each column of all rows, lie side by side.
  Tile total_at(const Part& part) const { return part.totals + part.across * (chunks_.count - 1); }

  LoweredProgram program(const std::string& name, bool takes_totals, std::int64_t chunks) {
    dsl::Tracer tracer(name);
    Parameters parameters(tracer, site_.list, site_.region);
    parameters.add(site_.task.operands[0].storage);
    if (!takes_totals) parameters.add(site_.task.storage);
    Part part;
    if (chunks_.count > 1) part.totals = parameters.add_scratch(0, totals());
    const std::int64_t size = is_row() ? shape_.rows : shape_.columns.size;
    ProgramGrid programs =
        open_grid({divide_up(size, across_), chunks, is_row() ? 1 : shape_.rows}, site_.target);
    part.across = dsl::cast(dsl::arange(0, across_), DType::i64);
    if (programs.index[0].defined()) part.across = part.across + programs.index[0] * across_;
    part.exists = part.across < size;
    part.from = parameters.pointer(site_.task.operands[0].storage) + shape_.from;
    if (!takes_totals) part.to = parameters.pointer(site_.task.storage);
    if (chunks_.count > 1) {
      part.chunk = programs.index[1].defined() ? programs.index[1] : integer(0);
      part.first = part.chunk * chunks_.length;
    }
    if (is_row()) {
      place_rows(part);
    } else {
      place_columns(part, programs.index[2]);
    }
    if (takes_totals)
      take_total(part);
    else
      go_along(part);
    return {tracer.finish(), programs.grid, parameters.memory()};
  }

  // Makes the pointers those to the first element of each row.
  void place_rows(Part& part) const {
    Tile from = part.across * 0, to = from;
    Tile rest = part.across;
    for (std::size_t i = shape_.others.size(); i-- > 0;) {
      const CumulationShape::Mode& mode = shape_.others[i];
      const Tile place = i == 0 ? rest : rest % mode.size;
      from = from + place * mode.operand;
      to = to + place * mode.result;
      if (i > 0) rest = rest / mode.size;
    }
    part.from = part.from + from;
    if (part.to.defined()) part.to = part.to + to;
  }
  void place_columns(Part& part, const Tile& row) const {
    Offset from, to;
    if (row.defined()) shape_.move_to_row(row, from, to);
    part.from = part.from + from + part.across * shape_.columns.operand;
    if (part.to.defined()) part.to = part.to + to + part.across;
    if (row.defined() && part.totals.defined())
      part.totals = part.totals + row * (shape_.columns.size * (chunks_.count - 1));
  }

  Shape tile() const { return {across_, along_}; }
  // Places along the axis from `start` on, and which elements of a tile there are.
  struct Block {
    Tile places, exists;  // [across, along]
  };
  Block block_at(const Part& part, const Tile& start) const {
    Tile places = dsl::cast(dsl::arange(0, along_), DType::i64) + start;
    if (part.first.defined()) places = places + part.first;
    Tile inside = places < shape_.along.size;
    return {dsl::broadcast_to(dsl::expand_dims(places, 0), tile()),
            dsl::broadcast_to(dsl::expand_dims(inside, 0), tile()) &
                dsl::broadcast_to(dsl::expand_dims(part.exists, 1), tile())};
  }
  Tile at(const Tile& pointers, const Block& block, std::int64_t stride) const {
    return dsl::broadcast_to(dsl::expand_dims(pointers, 1), tile()) + block.places * stride;
  }
  // Missing elements are the neutral one.
  Tile load(const Part& part, const Block& block) const {
    Tile x = site_.widened(dsl::load(at(part.from, block, shape_.along.operand), block.exists));
    return dsl::where(block.exists, x, site_.identity(tile()));
  }

  void take_total(const Part& part) const {
    Var all = site_.identity(tile());
    for (Tile start : dsl::range(0, chunks_.length, along_))
      all = site_.join(all, load(part, block_at(part, start)));
    Tile total = dsl::reduce(all, site_.kind, 1);
    dsl::store(total_at(part) + part.chunk, total, part.exists);
  }

  Tile before(const Part& part) const {
    if (!part.chunk.defined()) return site_.identity({across_});
    const Shape whole{across_, power_above(chunks_.count - 1)};
    Tile chunk = dsl::cast(dsl::arange(0, whole[1]), DType::i64);
    Tile exists = dsl::broadcast_to(dsl::expand_dims(chunk < part.chunk, 0), whole) &
                  dsl::broadcast_to(dsl::expand_dims(part.exists, 1), whole);
    Tile place = dsl::broadcast_to(dsl::expand_dims(total_at(part), 1), whole) +
                 dsl::broadcast_to(dsl::expand_dims(chunk, 0), whole);
    Tile totals = dsl::where(exists, dsl::load(place, exists), site_.identity(whole));
    return dsl::reduce(totals, site_.kind, 1);
  }

  void go_along(const Part& part) const {
    Var carry = before(part);
    const bool is_long = chunks_.length > along_;
    auto go = [&](const Tile& start) {
      Block block = block_at(part, start);
      Tile x = load(part, block);
      Tile all = along_ == 1 ? x : dsl::associative_scan(x, 1, [&](const Tile& a, const Tile& b) {
        return site_.join(a, b);
      });
      Tile offset = dsl::broadcast_to(dsl::expand_dims(carry, 1), tile());
      dsl::store(at(part.to, block, shape_.along.result), site_.narrowed(site_.join(offset, all)),
                 block.exists);
      if (is_long) carry = site_.join(carry, dsl::reduce(x, site_.kind, 1));
    };
    if (!is_long) return go(integer(0));
    for (Tile start : dsl::range(0, chunks_.length, along_)) go(start);
  }

  const CumulationSite& site_;
  const CumulationShape& shape_;
  std::int64_t along_ = 1, across_ = 1;
  Chunks chunks_;
};

}  // namespace

LoweredRegion gpu_cumulation(const CumulationSite& site) { return GpuCumulation(site).lower(); }

}  // namespace tilewright::graph
