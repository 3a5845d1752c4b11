#include <algorithm>
#include <limits>

#include "graph/lower/frame.h"
#include "graph/lower/lower.h"
#include "graph/lower/region_key.h"
#include "runtime/base/error.h"
#include "runtime/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t query_rows = 32, most_columns = 128, least_columns = 16;
constexpr std::int64_t gpu_query_rows = 64, gpu_columns = 64;

// The largest divisor in reach: without an edge, keys are read where they lie.
std::int64_t block_of_columns(std::int64_t columns) {
  if (columns <= most_columns) return columns;
  for (std::int64_t size = most_columns; size >= least_columns; --size)
    if (columns % size == 0) return size;
  return most_columns / 2;
}

BlockSizes default_blocks(const dsl::Target& target, std::int64_t columns) {
  if (target.is_gpu()) return {gpu_query_rows, std::min(columns, gpu_columns)};
  return {query_rows, block_of_columns(columns)};
}

// softmax(q k^T * scale, masked) v, key block by key block with a running maximum and sum (Milakov
// and Gimelshein, "Online normalizer calculation for softmax", 2018): scores never reach memory.
// One program has a block of rows of one key head: rows of one query head, or, where every head has
// one row (decoding), one row of each query head that shares the key head.
class AttentionProgram {
 public:
  AttentionProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                   const BlockSizes& blocks)
      : list_(list),
        region_(region),
        target_(target),
        task_(list.tasks[region.tasks[0]]),
        tracer_("attention"),
        parameters_(tracer_, list),
        q_(task_.operands[0].view),
        k_(task_.operands[1].view),
        v_(task_.operands[2].view),
        group_(q_.shape[1] / k_.shape[1]),
        packs_heads_(q_.shape[2] == 1),
        rows_(packs_heads_ ? group_ : q_.shape[2]) {
    BlockSizes usual = default_blocks(target, k_.shape[2]);
    block_.rows = std::min(rows_, blocks.rows != 0 ? blocks.rows : usual.rows);
    block_.columns = std::min(k_.shape[2], blocks.columns != 0 ? blocks.columns : usual.columns);
  }

  LoweredRegion emit(const Node& node) {
    for (StorageId storage : storages_of(list_, region_)) parameters_.add(storage);
    open_grid();
    program(node);
    LoweredRegion result;
    result.function = tracer_.finish();
    result.kind = "attention";
    result.function.name = "attention";
    result.grid = grid_;
    result.arguments = parameters_.storages();
    result.blocks = block_;
    return result;
  }

 private:
  // Axis 0: blocks of rows; axis 1: heads of q, or of k where heads are packed; axis 2: batch.
  void open_grid() {
    ProgramGrid programs = graph::open_grid({(rows_ + block_.rows - 1) / block_.rows,
                                             packs_heads_ ? k_.shape[1] : q_.shape[1], q_.shape[0]},
                                            target_);
    grid_ = programs.grid;
    std::ranges::copy(programs.index, ids_);
    // The last block is moved back to end with the rows, so that none needs a mask.
    if (ids_[0].defined()) row_ = dsl::minimum(ids_[0] * block_.rows, rows_ - block_.rows);
    if (ids_[1].defined()) key_head_ = packs_heads_ || group_ == 1 ? ids_[1] : ids_[1] / group_;
  }

  Tile base(StorageId storage, const Placement& place, bool of_keys) const {
    Offset offset(place.offset);
    if (ids_[2].defined()) offset.add(ids_[2], place.strides[0]);
    if (of_keys && key_head_.defined()) offset.add(key_head_, place.strides[1]);
    if (!of_keys && ids_[1].defined())
      offset.add(ids_[1], packs_heads_ ? place.strides[1] * group_ : place.strides[1]);
    return parameters_.pointer(storage) + offset;
  }
  Matrix row_matrix(StorageId storage, const Placement& place) const {
    std::int64_t stride = packs_heads_ ? place.strides[1] : place.strides[2];
    return {base(storage, place, false),
            rows_,
            place.shape[3],
            stride,
            place.strides[3],
            target_.is_gpu()};
  }
  Operand row() const { return row_.defined() ? Operand(row_) : Operand(0); }

  // How many columns the last row of this program sees, and with it the end of the loop.
  Tile loop_end(const Tile& position) const {
    std::int64_t columns = k_.shape[2];
    std::int64_t rows = packs_heads_ ? 1 : block_.rows;
    Tile end = dsl::minimum(position + rows, columns);
    return row_.defined() && !packs_heads_ ? Tile(dsl::minimum(end + row_, columns)) : end;
  }

  // The position of row 0 among the columns.
  Tile position() const {
    std::int64_t at_end = k_.shape[2] - q_.shape[2];
    if (task_.operands.size() < 4) return dsl::constant(ir::Scalar::of_integer(DType::i64, at_end));
    const TaskOperand& operand = task_.operands[3];
    return dsl::cast(dsl::load(parameters_.pointer(operand.storage) + Offset(operand.view.offset)),
                     DType::i64);
  }

  void program(const Node& node) {
    bool causal = node.attributes.causal;
    std::int64_t depth = q_.shape[3], columns = k_.shape[2];
    DType carried = task_.dtype == DType::f64 ? DType::f64 : DType::f32;
    double infinity = std::numeric_limits<double>::infinity();
    Tile q = row_matrix(task_.operands[0].storage, q_).load(row(), 0, {block_.rows, depth});
    bool coalesces = target_.is_gpu();
    Matrix keys{base(task_.operands[1].storage, k_, true),
                depth,
                columns,
                k_.strides[3],
                k_.strides[2],
                coalesces};
    Matrix values{base(task_.operands[2].storage, v_, true),
                  columns,
                  depth,
                  v_.strides[2],
                  v_.strides[3],
                  coalesces};
    Tile first = causal ? position() : Tile();
    Tile end =
        causal ? loop_end(first) : dsl::constant(ir::Scalar::of_integer(DType::i64, columns));

    Var highest = dsl::full({block_.rows, 1}, -infinity, carried);
    Var total = dsl::zeros({block_.rows, 1}, carried);
    Var mixed = dsl::zeros({block_.rows, depth}, carried);
    for (Tile column : dsl::range(0, end, block_.columns)) {
      Tile k = keys.load(0, column, {depth, block_.columns});
      Tile scores = dsl::dot(q, k) * node.attributes.number;
      scores = masked(scores, column, first, carried);
      Tile top = dsl::maximum(highest, dsl::max(scores, 1, true));
      Tile weights = dsl::exp(scores - top), decay = dsl::exp(highest - top);
      Tile v = values.load(column, 0, {block_.columns, depth});
      total = total * decay + dsl::sum(weights, 1, true);
      Tile narrow = weights.dtype() == v.dtype() ? weights : dsl::cast(weights, v.dtype());
      mixed = dsl::dot(narrow, v, mixed * decay);
      highest = top;
    }
    Tile result = mixed / total;
    if (result.dtype() != task_.dtype) result = dsl::cast(result, task_.dtype);
    row_matrix(task_.storage, task_.place).store(row(), 0, result);
  }

  // Scores with those of columns that a row does not see at minus infinity.
  Tile masked(const Tile& scores, const Tile& column, const Tile& first, DType carried) const {
    std::int64_t columns = k_.shape[2];
    bool edge = columns % block_.columns != 0;
    if (!first.defined() && !edge) return scores;
    Tile at = dsl::cast(dsl::arange(0, block_.columns), DType::i64);
    at = dsl::reshape(at, {1, block_.columns}) + column;
    Tile visible;
    if (edge) visible = at < columns;
    if (first.defined()) {
      Tile limit = first;
      if (!packs_heads_ && block_.rows > 1) {
        Tile rows = dsl::cast(dsl::arange(0, block_.rows), DType::i64);
        limit = dsl::reshape(rows, {block_.rows, 1}) + first;
      }
      if (!packs_heads_ && row_.defined()) limit = limit + row_;
      Tile past = at <= limit;
      visible = visible.defined() ? visible & past : past;
    }
    Tile nothing = dsl::full({1, 1}, -std::numeric_limits<double>::infinity(), carried);
    return dsl::where(visible, scores, nothing);
  }

  const TaskList& list_;
  const Region& region_;
  const dsl::Target& target_;
  const Task& task_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  Placement q_, k_, v_;
  std::int64_t group_;
  bool packs_heads_;
  std::int64_t rows_;
  BlockSizes block_;
  Grid grid_;
  Tile ids_[3], row_, key_head_;
};

}  // namespace

LoweredRegion lower_attention(const TaskList& list, const Region& region, const Node& node,
                              const dsl::Target& target, const BlockSizes& blocks) {
  return AttentionProgram(list, region, target, blocks).emit(node);
}

}  // namespace tilewright::graph
