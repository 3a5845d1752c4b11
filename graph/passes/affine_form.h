// Integers that follow from where they stand: element [i, j, ..] is start + step_i * i + step_j * j
// + .., as an `arange` is, and what views, sums, concatenations and gathers make of such ones.
//
// Exporters compute masks and positions so, in dozens of operations, though they depend on nothing
// but sizes: a gather of row numbers by row numbers, compared with others. Their forms tell what is
// constant (decide_by_places) and which keys a mask lets a row see (place_masks), and nothing of it
// is computed.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"

namespace tilewright::graph {

// As a view of all integers, where the integer n lies at n. Axes of one place have the stride 0.
using AffineForm = StridedView;

// The integer that the form is everywhere, if it is one.
std::optional<std::int64_t> constant_of(const AffineForm& form);
// Of places that are counted through a shape in row-major order, their coordinates along its axes;
// nothing where one is no form, or a place lies outside.
std::optional<std::vector<AffineForm>> coordinates_of(AffineForm places, const Shape& shape);

// Of the nodes of one graph, which outlives this and does not change. Integers, and what conditions
// are everywhere (0 or 1). Reading is thread-safe.
class AffineForms {
 public:
  explicit AffineForms(const Graph& graph);
  // Nothing where none is known.
  const std::optional<AffineForm>& of(NodeId id) const { return known_[id]; }
  std::optional<std::int64_t> constant(NodeId id) const;
  // Of the rows that an embedding takes, the places of all their elements in the table; the shape
  // is that of the row numbers before reshapes, and the row's length.
  std::optional<AffineForm> places_of_gather(const Node& embedding) const;
  // a - b, of nodes of one shape.
  std::optional<AffineForm> difference(NodeId a, NodeId b) const;

 private:
  std::optional<AffineForm> computed(const Node& node) const;
  std::optional<AffineForm> of_full(const Node& node) const;
  std::optional<AffineForm> of_arange(const Node& node) const;
  std::optional<AffineForm> of_conversion(const Node& node) const;
  std::optional<AffineForm> of_negation(const Node& node) const;
  std::optional<AffineForm> of_choice(const Node& node) const;
  std::optional<AffineForm> of_arithmetic(const Node& node) const;
  std::optional<AffineForm> of_comparison(const Node& node) const;
  std::optional<AffineForm> of_junction(const Node& node) const;
  std::optional<AffineForm> of_bound(const Node& node) const;
  std::optional<AffineForm> of_division(const Node& node) const;
  std::optional<AffineForm> of_concatenation(const Node& node) const;
  std::optional<AffineForm> of_gather(const Node& node) const;
  std::optional<AffineForm> of_reduction(const Node& node) const;

  const Graph& graph_;
  std::vector<std::optional<AffineForm>> known_;
  // In the shape that their elements had before reshapes: those of two axes may have no one step
  // where they lie in a row, and may be taken apart again.
  std::vector<std::optional<AffineForm>> unshaped_;
};

}  // namespace tilewright::graph
