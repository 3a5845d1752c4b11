#include "graph/lower/attention/attention_scores.h"

#include <limits>

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;

Tile masked(const Tile& scores, const Tile& mask) {
  if (is_boolean(mask.dtype()))
    return dsl::where(mask, scores,
                      dsl::full({1, 1}, -std::numeric_limits<double>::infinity(), scores.dtype()));
  return scores + (mask.dtype() == scores.dtype() ? mask : dsl::cast(mask, scores.dtype()));
}

// The value of a function of scores, by those of its inputs, which are asked for where it reads
// them.
template <typename F>
Tile value_of(const Graph& function, F&& input) {
  std::vector<std::optional<Operand>> values(function.nodes.size());
  std::vector<std::size_t> places(function.nodes.size());
  for (std::size_t i = 0; i < function.inputs.size(); ++i) places[function.inputs[i]] = i;
  auto at = [&](NodeId id) -> const Operand& {
    if (!values[id]) values[id] = input(places[id]);
    return *values[id];
  };
  for (NodeId id = 0; id < function.nodes.size(); ++id) {
    const Node& node = function.node(id);
    if (node.op == Op::input) continue;
    if (node.op == Op::full) {
      values[id] = Operand(dsl::constant(value_of_full(node)));
      continue;
    }
    Task task;
    task.tile_op = info(node.op).tile_op;
    task.dtype = node.dtype;
    std::vector<Operand> operands;
    for (NodeId operand : node.operands) operands.push_back(at(operand));
    values[id] = Operand(apply_pointwise(task, operands));
  }
  return at(function.outputs[0]).tile();
}

}  // namespace

Tile ScoreOperand::load(const Operand& row, const Tile& column, bool is_inside, Shape block) const {
  Matrix here = elements;
  Operand first_row = row, first_column = column;
  if (!rows_differ) {
    here.rows = block[0] = 1;
    first_row = 0;
  }
  if (!keys_differ) {
    here.columns = block[1] = 1;
    first_column = 0;
  } else if (is_inside) {
    here.base = here.base + column * here.column_stride.value();
    here.columns = block[1];
    first_column = 0;
  }
  return here.load(first_row, first_column, block);
}

Tile AttentionScores::load(std::size_t operand, const Operand& row, const Tile& column,
                           bool is_inside, const Shape& block) const {
  if (!keys_first_) return operands_[operand].load(row, column, is_inside, block);
  const Tile first_row =
      row.is_number() ? dsl::constant(ir::Scalar::of_integer(DType::i64, 0)) : row.tile();
  return operands_[operand].load(column, first_row, false, block);
}

Tile AttentionScores::value(const Graph& body, const Tile& scores, const Tile& more,
                            const Operand& row, const Tile& column, bool is_inside) const {
  const std::size_t inputs = task_.attributes.bodies[0].inputs.size(),
                    masks = has_mask(task_) ? 1 : 0;
  Tile result = value_of(body, [&](std::size_t i) -> Operand {
    if (i == inputs) return more;
    switch (i) {
      case ScoreInputs::score: return scores;
      case ScoreInputs::batch: return places_->batch;
      case ScoreInputs::head: return places_->head;
      case ScoreInputs::row: return places_->row;
      case ScoreInputs::key: {
        const std::int64_t keys = scores.shape()[keys_first_ ? 0 : 1];
        const Shape along = keys_first_ ? Shape{keys, 1} : Shape{1, keys};
        return dsl::reshape(dsl::arange(0, keys), along) + dsl::cast(column, DType::i32);
      }
      default:
        return load(masks + i - ScoreInputs::operands, row, column, is_inside, scores.shape());
    }
  });
  return result.shape() == scores.shape() ? result : dsl::broadcast_to(result, scores.shape());
}

Tile AttentionScores::of(const Tile& scores, const Operand& row, const Tile& column,
                         bool is_inside) const {
  Tile result = scores;
  if (has_function(task_))
    result = value(task_.attributes.bodies[0], scores, {}, row, column, is_inside);
  return has_mask(task_) ? masked(result, load(0, row, column, is_inside, scores.shape())) : result;
}

Tile AttentionScores::gradient(const Tile& scores, const Tile& of_result, const Operand& row,
                               const Tile& column) const {
  return value(task_.attributes.bodies[1], scores, of_result, row, column, false);
}

}  // namespace tilewright::graph
