// Keys and values as panels, for hosts whose products go by tiles.
//
// All blocks of rows, and all heads of a group, multiply the same keys and values, which products
// by tiles read as panels (dsl/target/packed_product.h). So a program of its own makes panels of
// them first, each block of keys once, and the programs that come after multiply these where they
// lie.
#pragma once

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

class AttentionPanels {
 public:
  // Null where attention with these blocks reads keys and values as they are.
  static std::optional<AttentionPanels> of(const TaskList& list, const Task& task,
                                           const dsl::Target& target, const BlockSizes& blocks);

  std::vector<Scratch> scratch() const;
  void add_to(Parameters& parameters);
  // The program that makes the panels, a block of `columns` keys of one head at a time.
  LoweredProgram pack(const TaskList& list, const Region& region, const dsl::Target& target) const;

  // [depth, columns] of the keys and [columns, depth] of the values from key `column` on. `head`:
  // number of the head of keys, of all in the batch.
  dsl::Tile keys(const Offset& head, const dsl::Tile& column) const;
  dsl::Tile values(const Offset& head, const dsl::Tile& column) const;

 private:
  AttentionPanels(DType dtype, const AttentionShape& shape, std::int64_t columns,
                  std::int64_t width)
      : dtype_(dtype), shape_(shape), columns_(columns), width_(width) {}
  dsl::Desc key_panels(const Offset& head) const;
  dsl::Desc value_panels(const Offset& head) const;
  std::int64_t elements_of_head() const { return shape_.keys() * shape_.depth(); }

  DType dtype_;
  AttentionShape shape_;
  std::int64_t columns_, width_;  // of a block of keys, and of a panel
  dsl::Tile key_memory_, value_memory_;
};

}  // namespace tilewright::graph
