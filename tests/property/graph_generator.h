// Grows one random graph (random_graph.h), node by node, at one or several sizes side by side.
//
// Choices are made on an outline, a graph without values whose sizes may have names
// (named_sizes.h); each node is added to the outline and to the graph of each sizes, or to none.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tests/property/error_bound.h"
#include "tests/property/named_sizes.h"
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

// Elements of a random input; integers from low to below high.
HostTensor random_tensor(Dice& dice, DType dtype, const Shape& shape, std::int64_t low,
                         std::int64_t high);
// Axes from the innermost in memory to the outermost.
std::vector<int> random_order(Dice& dice, std::size_t axes);
// The strides of a dense tensor whose axes lie in memory in that order.
Strides strides_of(const std::vector<int>& order, const Shape& shape);

class GraphGenerator {
 public:
  explicit GraphGenerator(std::uint64_t seed) : seed_(seed), dice_(seed), made_(1) {}
  GraphGenerator(std::uint64_t seed, std::span<const NamedSizes> sizes)
      : seed_(seed), dice_(seed), has_names_(true) {
    for (const NamedSizes& one : sizes) made_.push_back({one, {}, {}});
  }
  std::vector<RandomGraph> run();  // one for each of the sizes

 private:
  struct Made {
    NamedSizes sizes;
    RandomGraph random;
    std::vector<BoundedTensor> values;
  };
  const Node& node(NodeId id) const { return outline_.node(id); }
  NodeId size() const { return static_cast<NodeId>(outline_.nodes.size()); }
  std::int64_t most_elements() const;
  std::int64_t least(std::int64_t size) const;  // of what it stands for
  bool is_small(const Shape& shape, std::int64_t most) const;
  HostTensor random_values(Made& made, DType dtype, const Shape& shape, std::int64_t low,
                           std::int64_t high);
  bool append_to(Made& made, Op op, const std::vector<NodeId>& operands,
                 const Attributes& attributes, std::optional<DType> dtype);

  NodeId input(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 8);
  std::optional<NodeId> add(Op op, const std::vector<NodeId>& operands,
                            const Attributes& attributes = {},
                            std::optional<DType> dtype = std::nullopt);

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
  void grow_grouped_matmul();
  void grow_embedding();
  void grow_index_copy();
  void grow_scatter_reduce();
  void grow_cat();
  NodeId grow_mask(const Shape& scores);
  Graph score_function(DType carried, std::optional<DType> read);
  void grow_attention(Op op);
  void grow_argsort();
  void grow_cumulate();
  void grow_convolution();
  void grow_control(Op op);
  void grow_composite(Op op);
  void add_results(NodeId id);
  void grow_constant(Op op);
  void write_inputs();
  void finish();

  std::uint64_t seed_;
  Dice dice_;
  bool has_names_ = false;
  Graph outline_;
  std::vector<Made> made_;
};

}  // namespace tilewright::graph
