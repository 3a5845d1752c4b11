// Which integers a node can be, whatever the inputs are: the places of a sort, the row numbers of
// an `arange`, what is clamped or masked. An index that is known to lie inside what it is an index
// of needs no look when it has been computed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

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

 private:
  KnownRange of(NodeId id, int depth);
  KnownRange computed(const Node& node, int depth);
  KnownRange of_choice(const Node& node, int depth);

  const Graph& graph_;
  std::map<NodeId, KnownRange> known_;
};

}  // namespace tilewright::graph
