// Graph as a model of Boost.Graph's VertexListGraph, EdgeListGraph and BidirectionalGraph concepts,
// so that its algorithms (topological order, dominators, cuts, drawing) work on it directly.
//
// A vertex is a NodeId; an edge goes from an operand to its user, one for each operand place. Since
// a Graph keeps operands only, users are indexed once by `Edges`, which must outlive the use and
// sees the graph as it was when made. Includes Boost: only sources include this header.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/range/irange.hpp>
#include <utility>
#include <vector>

#include "graph/ir/ir.h"

namespace tilewright::graph {

struct Edge {
  NodeId from, to;
  std::uint32_t place;  // which operand of `to`
  auto operator<=>(const Edge&) const = default;
};

class Edges {
 public:
  explicit Edges(const Graph& graph) : in_(graph.nodes.size()), out_(graph.nodes.size()) {
    for (NodeId to = 0; to < graph.nodes.size(); ++to)
      for (std::uint32_t place = 0; place < graph.node(to).operands.size(); ++place) {
        Edge edge{graph.node(to).operands[place], to, place};
        all_.push_back(edge);
        in_[to].push_back(edge);
        out_[edge.from].push_back(edge);
      }
  }
  std::size_t size() const { return in_.size(); }
  const std::vector<Edge>& all() const { return all_; }
  const std::vector<Edge>& in(NodeId id) const { return in_[id]; }
  const std::vector<Edge>& out(NodeId id) const { return out_[id]; }

 private:
  std::vector<Edge> all_;
  std::vector<std::vector<Edge>> in_, out_;
};

using VertexRange = boost::integer_range<NodeId>;
using EdgeIterator = std::vector<Edge>::const_iterator;
struct EdgesCategory : boost::bidirectional_graph_tag,
                       boost::vertex_list_graph_tag,
                       boost::edge_list_graph_tag {};

inline std::pair<VertexRange::iterator, VertexRange::iterator> vertices(const Edges& g) {
  auto range = boost::irange(NodeId{0}, static_cast<NodeId>(g.size()));
  return {range.begin(), range.end()};
}
inline std::size_t num_vertices(const Edges& g) { return g.size(); }
inline std::pair<EdgeIterator, EdgeIterator> edges(const Edges& g) {
  return {g.all().begin(), g.all().end()};
}
inline std::size_t num_edges(const Edges& g) { return g.all().size(); }
inline NodeId source(const Edge& e, const Edges&) { return e.from; }
inline NodeId target(const Edge& e, const Edges&) { return e.to; }
inline std::pair<EdgeIterator, EdgeIterator> out_edges(NodeId v, const Edges& g) {
  return {g.out(v).begin(), g.out(v).end()};
}
inline std::pair<EdgeIterator, EdgeIterator> in_edges(NodeId v, const Edges& g) {
  return {g.in(v).begin(), g.in(v).end()};
}
inline std::size_t out_degree(NodeId v, const Edges& g) { return g.out(v).size(); }
inline std::size_t in_degree(NodeId v, const Edges& g) { return g.in(v).size(); }
inline std::size_t degree(NodeId v, const Edges& g) { return in_degree(v, g) + out_degree(v, g); }
inline boost::identity_property_map get(boost::vertex_index_t, const Edges&) { return {}; }

}  // namespace tilewright::graph

template <>
struct boost::graph_traits<tilewright::graph::Edges> {
  using vertex_descriptor = tilewright::graph::NodeId;
  using edge_descriptor = tilewright::graph::Edge;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  using traversal_category = tilewright::graph::EdgesCategory;
  using vertex_iterator = tilewright::graph::VertexRange::iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using edge_iterator = tilewright::graph::EdgeIterator;
  using out_edge_iterator = tilewright::graph::EdgeIterator;
  using in_edge_iterator = tilewright::graph::EdgeIterator;
  static vertex_descriptor null_vertex() { return ~vertex_descriptor{0}; }
};
template <>
struct boost::property_map<tilewright::graph::Edges, boost::vertex_index_t> {
  using type = boost::identity_property_map;
  using const_type = boost::identity_property_map;
};
