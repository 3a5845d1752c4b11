// The indices that a graph uses: those that the capture noted, and row numbers of other gathers and
// scatters, as in the function of a custom op.
//
// Bodies of control flow use indices of their own, in turns that are run and branches that are
// taken. What they saw is handed out with their results, where that is wanted: of each index its
// least and its greatest element, joined over the turns. An index that nobody saw has a least one
// above its greatest.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"

namespace tilewright::graph {

// Elements of an input of the graph, each so far in memory from its first one.
struct InputElements {
  std::size_t input;
  std::vector<std::int64_t> offsets;  // empty: `count` from the first one on
  std::int64_t count;
};
// Where such elements of an input of a graph lie, if that is known before it runs: itself for the
// graph of a function, memory of the function around for a body.
using FindInput =
    std::function<std::optional<InputElements>(std::size_t input, const StridedView& elements)>;

// Known about an index when the graph has run: two elements, of i64.
struct Extrema {
  IndexRange range;
  NodeId least, greatest;
};
struct IndexSites {
  struct Known {
    IndexRange range;
    InputElements elements;
  };
  std::vector<Known> known;       // before the call
  std::vector<Extrema> computed;  // nodes of the graph
};

// The sites of a captured graph, whose index_checks it takes. With `adds_nodes` it also gets what
// is computed of the other indices, and of those in its bodies, which change for that and are
// primitive, for the target, afterwards.
IndexSites sites_of_captured(Graph& graph, const FindInput& find, bool adds_nodes,
                             const dsl::Target& target);
// The sites of a graph after the passes that are not among `noted`.
IndexSites sites_of_primitive(Graph& graph, const FindInput& find, bool adds_nodes,
                              const std::vector<std::source_location>& noted);

}  // namespace tilewright::graph
