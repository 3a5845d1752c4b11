// A graph while it is being recorded, which costs little where it is one that was recorded before.
//
// A function whose graph breaks (graph/compile/segmented_call.h) is recorded at every call, and
// nearly always does what it did before. Such a recording follows a known graph: a node that is as
// the next one there is not made again, neither its shapes are inferred nor its record is filled;
// it is counted. Where the recording does something else than the known graph, and than the others
// of the list that begin like it, it goes on as a graph of its own.
//
// Numbers (`full`) are kept apart. A number that a function reads from a tensor differs from call
// to call, so one that differs from the known graph's does not leave it.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// What tells apart two `full` nodes of one dtype and shape.
struct RecordedNumber {
  double number = 0;
  std::int64_t start = 0;
  static RecordedNumber of(const Node& full) {
    return {full.attributes.number, full.attributes.start};
  }
  bool operator==(const RecordedNumber& other) const;  // by the bits
};
// Of the `full` nodes, in their order.

void set_numbers(Graph& graph, const std::vector<RecordedNumber>& numbers);

class RecordedGraph {
 public:
  // The graphs to follow, likeliest first; to be called before the first node. They must live as
  // long as this records.
  void follow(std::vector<const Graph*> known);

  NodeId input(DType dtype, const Shape& shape, const Strides& strides);
  NodeId full(const Shape& shape, const ir::Scalar& value, std::source_location where);
  NodeId append(Op op, std::span<const NodeId> operands, Attributes attributes,
                std::optional<DType> dtype, std::source_location where);
  // Opens a mark; the nodes that follow are of the one that was set last.
  MarkId open_mark(const std::string& name);
  void set_mark(MarkId mark) { mark_ = mark; }
  // Each result of a node as a node.
  std::vector<NodeId> results_of(NodeId id, std::source_location where);

  const Node& node(NodeId id) const { return followed_ ? followed_->nodes[id] : own_.nodes[id]; }
  std::size_t size() const { return followed_ ? count_ : own_.nodes.size(); }
  const Strides& strides_of_input(std::size_t i) const {  // empty: row-major
    return followed_ ? followed_->input_strides[i] : own_.input_strides[i];
  }
  // The known graph whose nodes are those recorded, but for numbers; null: it is a new one.
  const Graph* known() const;
  // Of the `full` nodes, in their order.
  const std::vector<RecordedNumber>& numbers() const { return numbers_; }
  // The graph as one of its own, with its numbers and no outputs.
  Graph take();

 private:
  // The known graph whose next node, behind those recorded, fits; null: none, and `own_` holds all.
  template <typename Fits>
  const Node* next(Fits&& fits);
  void leave();
  std::vector<const Graph*> known_;
  const Graph* followed_ = nullptr;
  std::size_t count_ = 0, inputs_ = 0, marks_ = 0;  // nodes of it, and marks, that were recorded
  MarkId mark_ = 0;
  Graph own_;
  std::vector<RecordedNumber> numbers_;
};

}  // namespace tilewright::graph
