// Makes the graph of one cell of the table of ops (op_cell.h): operands of the cell's dtype, size
// and layout, and the node itself. A generator says what operands its rule wants; how they lie in
// memory is decided here, so that every op meets every layout.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/ir.h"
#include "tests/property/graph_generator.h"
#include "tests/property/op_cell.h"

namespace tilewright::graph {

class OpCellMaker {
 public:
  OpCellMaker(const OpCell& cell, std::uint64_t number);
  Op op() const { return cell_.op; }
  DType dtype() const { return cell_.dtype; }
  Dice& dice() { return dice_; }
  bool is_scalar() const { return cell_.size == SizeClass::scalar; }
  // A shape of up to three axes, one of which, `axis()`, has the size of the class.
  const Shape& shape() const { return shape_; }
  int axis() const { return axis_; }
  std::int64_t size() const { return size_; }
  void move_axis_last();
  // So many sizes, one of which, at `place()`, is that of the class; the others are small.
  Shape some_sizes(int count);
  int place() const { return place_; }
  Attributes along_axis() const;

  NodeId input(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 9,
               const Strides& strides = {});
  // In the layout of the cell. Integers are from low to below high.
  NodeId operand(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 9);
  std::vector<NodeId> alike(int count);  // operands of the cell's dtype and shape
  int random_arity();
  NodeId row_numbers(const Shape& shape, std::int64_t rows);
  NodeId distinct_rows(std::int64_t count, std::int64_t rows);

  // The node; attributes that its row reads and that are not given are drawn.
  NodeId append(const std::vector<NodeId>& operands, Attributes attributes = {},
                std::optional<DType> dtype = std::nullopt);
  NodeId append_as(Op op, const std::vector<NodeId>& operands, const Attributes& attributes = {},
                   std::optional<DType> dtype = std::nullopt);
  RandomGraph finish(NodeId result);  // with all results of that node

 private:
  OpCell cell_;
  Dice dice_;
  RandomGraph made_;
  Shape shape_;
  int axis_ = 0, place_ = 0;
  std::int64_t size_ = 1;
};

}  // namespace tilewright::graph
