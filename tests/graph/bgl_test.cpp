#include "graph/ir/bgl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/topological_sort.hpp>

namespace tilewright::graph::bgl_test {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Edges>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<Edges>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<Edges>));

Graph diamond() {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {4});
  NodeId left = builder.append(Op::exp, {x}), right = builder.append(Op::abs, {x});
  graph.outputs = {builder.append(Op::add, {left, right})};
  return graph;
}

TEST(Bgl, TopologicalSortPutsOperandsBeforeUsers) {
  Graph graph = diamond();
  Edges edges(graph);
  std::vector<NodeId> order;
  boost::topological_sort(edges, std::back_inserter(order));
  std::ranges::reverse(order);
  ASSERT_EQ(order.size(), 4U);
  auto place = [&](NodeId id) { return std::ranges::find(order, id) - order.begin(); };
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    for (NodeId operand : graph.node(id).operands) EXPECT_LT(place(operand), place(id));
}

TEST(Bgl, TheInputDominatesWhereBothBranchesMeet) {
  Graph graph = diamond();
  Edges edges(graph);
  std::vector<NodeId> dominator(edges.size(), boost::graph_traits<Edges>::null_vertex());
  boost::lengauer_tarjan_dominator_tree(
      edges, NodeId{0},
      boost::make_iterator_property_map(dominator.begin(), boost::identity_property_map()));
  EXPECT_EQ(dominator[3], 0U);
  EXPECT_EQ(dominator[1], 0U);
}

TEST(Bgl, AnOperandUsedTwiceMakesTwoEdges) {
  Graph graph;
  GraphBuilder builder(graph);
  NodeId x = builder.input(f32, {4});
  builder.append(Op::mul, {x, x});
  Edges edges(graph);
  EXPECT_EQ(out_degree(0, edges), 2U);
  EXPECT_EQ(edges.in(1)[0].place, 0U);
  EXPECT_EQ(edges.in(1)[1].place, 1U);
}

}  // namespace
}  // namespace tilewright::graph::bgl_test
