#include "graph/functions/indexing/embedding_bag.h"

#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using std::source_location;

namespace {

// Which bag each of `count` indices is in.
Formula bag_of_each(const Tensor& offsets, std::int64_t count, std::int64_t bags,
                    source_location w) {
  Tensor starts = graph::constant(DType::i64, {count + 1}, 0, w);
  Tensor first = offsets.slice(0, 0, bags, 1, w);
  starts = index_add({starts, w}, 0, first, graph::constant(DType::i64, {bags}, 1, w));
  Formula begun(cumsum({starts.slice(0, 0, count, 1, w), w}, 0), w);
  return begun - begun.number(1);
}

void require_bags(const Tensor& indices, const Tensor& table, const Tensor& offsets,
                  const BagOptions& options, source_location w) {
  auto is_index = [](const Tensor& x) {
    return x.dtype() == DType::i32 || x.dtype() == DType::i64;
  };
  require(is_index(indices) && (!offsets.defined() || is_index(offsets)),
          "[embedding_bag] indices and offsets (at ", At{w}, ") must be i32 or i64");
  require(table.rank() == 2 && is_floating(table.dtype()), "[embedding_bag] the table is ",
          table.dtype(), " ", table.shape(), " (at ", At{w},
          "); it must be floating [rows, columns]");
  require(indices.rank() == (offsets.defined() ? 1 : 2), "[embedding_bag] the indices are ",
          indices.shape(), " (at ", At{w},
          "); they must have one axis with offsets, and two without");
  require(!offsets.defined() ||
              (offsets.rank() == 1 && (!options.has_last_offset || offsets.count() > 0)),
          "[embedding_bag] the offsets are ", offsets.defined() ? offsets.shape() : Shape{},
          " (at ", At{w}, "); they must have one axis, and a last one where the options say so");
  const Tensor& weights = options.weights;
  require(
      !weights.defined() || (options.mode == BagMode::sum && weights.shape() == indices.shape() &&
                             weights.dtype() == table.dtype()),
      "[embedding_bag] weights (at ", At{w},
      ") must be as many as indices, of the table's dtype, and are for sums alone");
}

// [bags, C] of indices [n] that are in these bags; those of bag `bags`, if there are such, in none.
Tensor bags_of_rows(const Tensor& indices, const Tensor& table, const Formula& bag,
                    const Tensor& weights, std::int64_t bags, bool has_ignored, BagMode mode) {
  const source_location w = bag.where();
  const DType carried = mode == BagMode::max ? table.dtype() : accumulator(table.dtype());
  const std::int64_t count = indices.count(), width = table.size(1);
  Formula rows(embedding({indices, w}, table).to(carried, w), w);
  if (weights.defined()) {
    Tensor each = graph::reshape_operand(weights.to(carried, w), {count, 1}, w);
    rows = rows * Formula(graph::broadcast_to(each, {count, width}, "embedding_bag", w), w);
  }
  Tensor none = graph::constant(carried, {bags + (has_ignored ? 1 : 0), width}, 0, w);
  ScatterReduction reduction = ScatterReduction::sum;
  if (mode == BagMode::mean) reduction = ScatterReduction::mean;
  if (mode == BagMode::max) reduction = ScatterReduction::amax;
  Tensor all =
      index_reduce({none, w}, 0, bag.tensor(), rows.tensor(), reduction, mode == BagMode::sum);
  return all.slice(0, 0, bags, 1, w).to(table.dtype(), w);
}

}  // namespace

Tensor embedding_bag(const TensorOperand& operand, const Tensor& table, const Tensor& offsets,
                     const BagOptions& options) {
  const Tensor& indices = graph::tensor_of(operand, "embedding_bag");
  const source_location w = operand.where;
  graph::tensor_of({table, w}, "embedding_bag");
  require_bags(indices, table, offsets, options, w);
  const std::int64_t count = indices.count();
  const std::int64_t bags =
      offsets.defined() ? offsets.count() - (options.has_last_offset ? 1 : 0) : indices.size(0);
  if (count == 0 || bags == 0) return graph::constant(table.dtype(), {bags, table.size(1)}, 0, w);
  using Noun = graph::IndexRange::Noun;
  graph::require_inside(indices, {"embedding_bag", Noun::id, 0, table.size(0), w});
  if (offsets.defined())
    graph::require_inside(offsets, {"embedding_bag", Noun::index, 0, count + 1, w});
  const BagMode mode = options.mode;
  const std::optional<std::int64_t> ignored = options.ignored_row;
  auto function = [mode, ignored, bags, count, w](std::span<const Tensor> tensors) {
    Tensor rows = graph::reshape_operand(tensors[0].to(DType::i64, w), {count}, w);
    Formula bag = [&] {
      if (tensors[2].defined()) return bag_of_each(tensors[2], count, bags, w);
      Formula number(arange(0, count, 1, DType::i64, w), w);
      return number.make(graph::Op::floor_divide, number.number(count / bags));
    }();
    if (ignored) {
      Formula row(rows, w);
      bag = choice(row == row.number(*ignored), bag.number(bags), bag);
    }
    Tensor weights =
        tensors[3].defined() ? graph::reshape_operand(tensors[3], {count}, w) : Tensor();
    return std::vector{
        bags_of_rows(rows, tensors[1], bag, weights, bags, ignored.has_value(), mode)};
  };
  return graph::apply_function(
      "embedding_bag", std::vector{indices, table, offsets, options.weights},
      {static_cast<int>(mode), ignored.has_value(), ignored.value_or(0), options.has_last_offset},
      function, w)[0];
}

Tensor embedding_renorm(const TensorOperand& operand, const Tensor& indices, double most,
                        double order) {
  return graph::of_user_call("embedding_renorm", operand.where, [&] {
    const Tensor& table = graph::tensor_of(operand, "embedding_renorm");
    const Tensor scaled = renorm(table, order, 0, most),
                 none = zeros({table.size(0)}, DType::boolean),
                 is_named = index_fill(none, 0, indices.to(i64).reshape({indices.count()}), true);
    return where(is_named.unsqueeze(1), scaled, table);
  });
}

}  // namespace tilewright
