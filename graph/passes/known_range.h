// Which integers a node can be, whatever the inputs are: the places of a sort, the row numbers of
// an `arange`, what is clamped or masked. What an index is compared with is then often decided
// before anything runs (decide_by_ranges), and an index that is known to lie inside what it is an
// index of needs no look when it has been computed (graph/tensor/checks/index_sites.h).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct KnownRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
};

// Of the nodes of one graph, which outlives this and may grow. Not thread-safe.
class KnownRanges {
 public:
  explicit KnownRanges(const Graph& graph) : graph_(graph) {}
  // All integers of its dtype, if nothing better is known; elements that are no integers have none.
  KnownRange of(NodeId id) { return of(id, 0); }
  // What a condition always is, if that is known.
  std::optional<bool> truth_of(NodeId condition) { return truth_of(condition, 0); }

 private:
  KnownRange of(NodeId id, int depth);
  KnownRange computed(const Node& node, int depth);
  KnownRange places_along(NodeId id, int axis) const;
  KnownRange of_full(const Node& node, int depth);
  KnownRange of_arange(const Node& node, int depth);
  KnownRange of_places(const Node& node, int depth);
  KnownRange of_result(const Node& node, int depth);
  KnownRange of_conversion(const Node& node, int depth);
  KnownRange of_parts(const Node& node, int depth);
  KnownRange of_first_operand(const Node& node, int depth);
  KnownRange of_rows(const Node& node, int depth);
  KnownRange of_bound(const Node& node, int depth);
  KnownRange of_arithmetic(const Node& node, int depth);
  KnownRange of_division(const Node& node, int depth);
  KnownRange of_mask(const Node& node, int depth);
  KnownRange of_choice(const Node& node, int depth);
  std::optional<bool> truth_of(NodeId condition, int depth);
  std::optional<bool> of_comparison(const Node& node, int depth);

  const Graph& graph_;
  std::map<NodeId, KnownRange> known_;
};

}  // namespace tilewright::graph
