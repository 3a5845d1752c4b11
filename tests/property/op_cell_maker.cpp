#include "tests/property/op_cell_maker.h"

#include <algorithm>
#include <numeric>

namespace tilewright::graph {
namespace {

std::int64_t size_of(SizeClass size, Dice& dice) {
  static constexpr std::int64_t primes[] = {2, 3, 5, 7, 11, 13, 19, 23, 37, 61};
  const std::int64_t power = std::int64_t{2} << dice.below(6);  // 2 to 64
  switch (size) {
    case SizeClass::scalar:
    case SizeClass::one: return 1;
    case SizeClass::none: return 0;
    case SizeClass::prime: return dice.pick(std::span(primes));
    case SizeClass::below: return 2 * power - 1;
    case SizeClass::power: return power;
    case SizeClass::above: return power + 1;
  }
  __builtin_unreachable();
}

}  // namespace

OpCellMaker::OpCellMaker(const OpCell& cell, std::uint64_t number) : cell_(cell), dice_(number) {
  size_ = size_of(cell.size, dice_);
  if (cell.size == SizeClass::scalar) return;
  const std::int64_t rank = 1 + dice_.below(3);
  axis_ = static_cast<int>(dice_.below(rank));
  for (int i = 0; i < rank; ++i) shape_.push_back(i == axis_ ? size_ : 1 + dice_.below(4));
}

void OpCellMaker::move_axis_last() {
  if (shape_.empty()) return;
  std::swap(shape_[axis_], shape_[-1]);
  axis_ = shape_.rank() - 1;
}

Shape OpCellMaker::some_sizes(int count) {
  place_ = static_cast<int>(dice_.below(count));
  Shape sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(i == place_ ? size_ : 1 + dice_.below(5));
  return sizes;
}

Attributes OpCellMaker::along_axis() const {
  Attributes attributes;
  attributes.axes = {axis_};
  return attributes;
}

NodeId OpCellMaker::input(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high,
                          const Strides& strides) {
  if (!is_signed(dtype) && !is_floating(dtype)) low = std::max<std::int64_t>(low, 0);
  high = std::max(high, low + 1);
  made_.inputs.push_back(random_tensor(dice_, dtype, shape, low, high));
  return GraphBuilder(made_.graph).input(dtype, shape, strides);
}

NodeId OpCellMaker::operand(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  Attributes attributes;
  if (shape.empty()) {
    if (cell_.layout == Layout::plain) return input(dtype, shape, low, high);
    attributes = {.axes = {0}, .start = 1, .end = 2};
    NodeId one = append_as(Op::slice, {input(dtype, {3}, low, high)}, attributes);
    return append_as(Op::reshape, {one});
  }
  const int axis = static_cast<int>(dice_.below(shape.rank()));
  Shape wider = shape;
  switch (cell_.layout) {
    case Layout::plain: return input(dtype, shape, low, high);
    case Layout::broadcast:
      for (int i = 0; i < shape.rank(); ++i)
        if (i == axis || dice_.chance(40)) wider[i] = 1;
      attributes.sizes = shape;
      return append_as(Op::expand, {input(dtype, wider, low, high)}, attributes);
    case Layout::strided:
      if (shape.rank() > 1 && dice_.chance(50))
        return input(dtype, shape, low, high, strides_of(random_order(dice_, shape.size()), shape));
      wider[axis] = 2 * shape[axis] + dice_.below(2);
      attributes = {.axes = {axis}, .start = wider[axis] % 2, .end = wider[axis], .step = 2};
      break;
    case Layout::offset:
      attributes = {.axes = {axis}, .start = 1 + dice_.below(3)};
      attributes.end = attributes.start + shape[axis];
      wider[axis] = attributes.end + dice_.below(3);
      break;
  }
  return append_as(Op::slice, {input(dtype, wider, low, high)}, attributes);
}

std::vector<NodeId> OpCellMaker::alike(int count) {
  std::vector<NodeId> operands;
  for (int i = 0; i < count; ++i) operands.push_back(operand(cell_.dtype, shape_));
  return operands;
}
int OpCellMaker::random_arity() {
  const OpInfo& row = info(cell_.op);
  const int most = row.max_operands < 0 ? row.min_operands + 2 : row.max_operands;
  return row.min_operands + static_cast<int>(dice_.below(most - row.min_operands + 1));
}

NodeId OpCellMaker::row_numbers(const Shape& shape, std::int64_t rows) {
  return operand(dice_.chance(50) ? i32 : i64, shape, 0, rows);
}
NodeId OpCellMaker::distinct_rows(std::int64_t count, std::int64_t rows) {
  NodeId index = input(dice_.chance(50) ? i32 : i64, {count}, 0, std::max<std::int64_t>(rows, 1));
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  HostTensor& numbers = made_.inputs.back();
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(all[static_cast<std::size_t>(i)],
              all[static_cast<std::size_t>(i + dice_.below(rows - i))]);
    numbers.set_number(i, static_cast<double>(all[static_cast<std::size_t>(i)]));
  }
  return index;
}

NodeId OpCellMaker::append_as(Op op, const std::vector<NodeId>& operands,
                              const Attributes& attributes, std::optional<DType> dtype) {
  GraphBuilder builder(made_.graph);
  return dtype ? builder.append(op, operands, attributes, *dtype)
               : builder.append(op, operands, attributes);
}

NodeId OpCellMaker::append(const std::vector<NodeId>& operands, Attributes attributes,
                           std::optional<DType> dtype) {
  const AttributeFields reads = info(cell_.op).reads;
  auto is_open = [&](AttributeField field) {
    return reads.has(field) && is_default(field, attributes);
  };
  if (is_open(AttributeField::threshold)) {
    attributes.threshold = 20;
    attributes.number = dice_.between(0.5, 2);
  }
  if (is_open(AttributeField::tanh_form)) attributes.tanh_form = dice_.chance(50);
  return append_as(cell_.op, operands, attributes, dtype);
}

RandomGraph OpCellMaker::finish(NodeId result) {
  made_.graph.outputs = GraphBuilder(made_.graph).results_of(result);
  return std::move(made_);
}

}  // namespace tilewright::graph
