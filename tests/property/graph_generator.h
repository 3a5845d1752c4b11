// Grows one random graph (random_graph.h), node by node.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "tests/property/error_bound.h"
#include "tests/property/random_graph.h"

namespace tilewright::graph {

// std distributions differ between libraries; these do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  template <typename List>
  auto pick(const List& list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }

 private:
  std::mt19937_64 engine_;
};

class GraphGenerator {
 public:
  explicit GraphGenerator(std::uint64_t seed) : dice_(seed), builder_(result_.graph) {}
  RandomGraph run();

 private:
  const Node& node(NodeId id) const { return result_.graph.node(id); }
  NodeId size() const { return static_cast<NodeId>(result_.graph.nodes.size()); }

  NodeId input(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 8);
  std::optional<NodeId> add(Op op, const std::vector<NodeId>& operands,
                            const Attributes& attributes = {},
                            std::optional<DType> dtype = std::nullopt);
  bool is_good(NodeId id) const;

  std::int64_t random_size();
  Shape random_shape(int most_axes);
  DType random_dtype();
  NodeId any_value();
  std::optional<NodeId> value_where(bool (*fits)(const Node&));
  NodeId floating_value(int least_axes);
  NodeId partner(NodeId of);
  NodeId expanded(NodeId id, const Shape& shape);

  void grow();
  void grow_pointwise(Op op);
  void grow_view(Op op);
  void grow_reduction(Op op);
  void grow_matmul();
  void grow_embedding();
  void grow_index_copy();
  void grow_cat();
  void grow_attention();
  void grow_composite(Op op);
  void add_results(NodeId id);
  void grow_constant(Op op);
  void finish();

  Dice dice_;
  RandomGraph result_;
  GraphBuilder builder_;
  std::vector<BoundedTensor> values_;
};

}  // namespace tilewright::graph
