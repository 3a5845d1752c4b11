// A graph while it is being recorded, which costs little where it is one that was recorded before.
//
// A function whose graph breaks (graph/compile/segments/segmented_call.h) is recorded at every
// call, and nearly always does what it did before. Such a recording follows a known graph: a node
// that equals the next one there is only counted, its shapes are not inferred and its record is not
// filled. If the recording departs from the known graph, and from the others of the list that begin
// like it, it goes on as a graph of its own.
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

// The number of a `full` node: the difference between two of one dtype and shape.
struct RecordedNumber {
  double number = 0;
  std::int64_t start = 0;
  static RecordedNumber of(const Node& full) {
    return {full.attributes.number, full.attributes.start};
  }
  bool operator==(const RecordedNumber& other) const;  // by the bits
};
// `numbers` are those of the `full` nodes, in their order.
void set_numbers(Graph& graph, const std::vector<RecordedNumber>& numbers);

class RecordedGraph {
 public:
  // The graphs to follow, likeliest first; to be called before the first node. They, and the list,
  // must live as long as this records.
  void follow(std::span<const Graph* const> known);

  NodeId input(DType dtype, const Shape& shape, const Strides& strides);
  NodeId full(const Shape& shape, const ir::Scalar& value, std::source_location where);
  NodeId append(Op op, std::span<const NodeId> operands, Attributes attributes,
                std::optional<DType> dtype, std::source_location where);
  // Operations from here on are of a mark of that name, but for those in a mark that is opened
  // within it, until it is closed by the number that this gives.
  std::uint32_t open_mark(const std::string& name);
  void close_mark(std::uint32_t number);
  // Nothing is recorded any more. A mark that is open is one of what follows from its first
  // operation there.
  void clear();
  // Each result of a node as a node.
  std::vector<NodeId> results_of(NodeId id, std::source_location where);

  const Node& node(NodeId id) const { return followed_ ? followed_->nodes[id] : own_.nodes[id]; }
  std::size_t size() const { return followed_ ? count_ : own_.nodes.size(); }
  const Strides& strides_of_input(std::size_t i) const {  // empty: row-major
    return followed_ ? followed_->input_strides[i] : own_.input_strides[i];
  }
  // The known graph whose nodes are those recorded, but for numbers; null: it is a new one.
  const Graph* known() const;
  // The numbers of the `full` nodes, in their order.
  const std::vector<RecordedNumber>& numbers() const { return numbers_; }
  // The graph as one of its own, with its numbers and no outputs.
  Graph take();
  Graph so_far() const { return RecordedGraph(*this).take(); }

 private:
  // The known graph whose next node, behind those recorded, fits; null: none, and `own_` holds all.
  template <typename Fits>
  const Node* next(Fits&& fits);
  void leave();
  std::span<const Graph* const> known_;
  const Graph* followed_ = nullptr;
  std::size_t count_ = 0, inputs_ = 0, marks_ = 0;  // nodes of it, and marks, that were recorded
  struct OpenMark {
    std::uint32_t number;  // of all that were opened, from 1
    std::string name;
    MarkId id;  // in the graph; 0: none since `clear`
  };
  MarkId add_mark(const std::string& name);
  MarkId innermost_mark();
  std::vector<OpenMark> open_marks_;  // the innermost last
  std::uint32_t opened_ = 0;
  Graph own_;
  std::vector<RecordedNumber> numbers_;
};

}  // namespace tilewright::graph
