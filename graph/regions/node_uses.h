// The users of a node's data, seen through views, and the in-place writes that may really be in
// place.
//
// Separate from making tasks because these are questions about the graph as a whole: an index_copy
// may overwrite its operand's memory only if no later node, and no output, still wants the old
// value.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

class NodeUses {
 public:
  explicit NodeUses(const Graph& graph);
  // A cat whose one use is as the source of a scatter along another axis.
  bool goes_only_to_scatter(NodeId id) const { return only_scattered_[id]; }
  // For a cat: the first one that it is a part of, if all its users are cats and slices; it may
  // then lie in that one's memory from the beginning.
  std::optional<NodeId> whole_of(NodeId cat) const { return whole_[cat]; }
  // A scatter or a loop's result that is written to the memory of a mutated input directly; its
  // value is that memory.
  bool is_in_place(NodeId id) const { return in_place_[id]; }
  // True if this value that a loop carries may lie in its operand, a mutated input, all the time.
  bool is_updated_by_loop(NodeId loop, std::size_t carried) const {
    return updated_.contains({loop, carried});
  }
  bool is_mutated(NodeId input) const { return mutation_[input].has_value(); }
  NodeId mutation_of(NodeId input) const { return *mutation_[input]; }

 private:
  void find_last_uses(const Graph& graph);
  void find_in_place(const Graph& graph);
  void find_loops(const Graph& graph);
  void find_scattered(const Graph& graph);
  void find_wholes(const Graph& graph);
  // True if a scatter into the input's memory would read the value there while it writes.
  bool is_read_as_written(const Graph& graph, NodeId value, NodeId input) const;
  bool is_kind(const Graph& graph, NodeId id, Kind kind) const {
    return info(graph.node(id).op).kind == kind;
  }
  std::vector<NodeId> last_use_;  // of the node's data, views followed; outputs: past the end
  std::vector<bool> in_place_, only_scattered_;
  std::vector<std::optional<NodeId>> mutation_;  // of inputs: the value that is left in them
  std::vector<std::optional<NodeId>> whole_;     // of cats
  std::set<std::pair<NodeId, std::size_t>> updated_;
};

// True for a value that a scan carries, of one element at least, and whose turns only add to it: it
// can be written where it is read, without a copy.
bool is_sum_of_turns(const Node& loop, std::size_t carried);

}  // namespace tilewright::graph
