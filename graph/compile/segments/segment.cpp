#include "graph/compile/segments/segment.h"

#include <algorithm>

#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

constexpr std::size_t most_followers = 6;  // that are remembered of a segment

void Followers::put(const std::shared_ptr<Segment>& segment) {
  if (!segments_.empty() && segments_.front() == segment) [[likely]]
    return;
  remove(*segment);
  if (segments_.size() == most_followers) segments_.pop_back(), graphs_.pop_back();
  segments_.insert(segments_.begin(), segment);
  graphs_.insert(graphs_.begin(), &segment->graph);
}

void Followers::remove(const Segment& segment) {
  std::erase(graphs_, &segment.graph);
  std::erase_if(segments_, [&](const auto& other) { return other.get() == &segment; });
}

// Shapes and strides of the inputs are those of the graph that was followed.
bool Segment::is(const std::vector<NodeId>& outputs, const std::vector<Mutation>& mutations,
                 const std::vector<Tensor>& given, const std::vector<bool>& given_weights) const {
  auto fits = [](const ArgumentType& input, const Tensor& tensor) {
    return input.memory == memory_of(tensor) &&
           (!input.is_aligned || begins_aligned(*tensor.body()));
  };
  auto is_same = [](const Mutation& a, const Mutation& b) {
    return a.input == b.input && a.value == b.value;
  };
  return weights == given_weights && graph.outputs == outputs &&
         std::ranges::equal(graph.mutations, mutations, is_same) &&
         std::ranges::equal(inputs, given, fits);
}

}  // namespace tilewright::graph
