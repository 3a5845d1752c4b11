#include "graph/compile/segments/segment_weights.h"

#include <algorithm>

#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

constexpr std::size_t most_spans = 16;

void SegmentWeights::begin_call(const std::vector<Tensor>& arguments) {
  arguments_.clear();
  for (const Tensor& argument : arguments) arguments_.push_back(argument.body()->buffer.get());
  begin_ = Buffer::latest_serial();
}

// Calls between which nothing was made are one span. The oldest of many spans are joined: weights
// that were made between these calls are not frozen.
void SegmentWeights::end_call() {
  const std::uint64_t end = Buffer::latest_serial();
  if (!made_.empty() && made_.back().second == begin_)
    made_.back().second = end;
  else if (end > begin_)
    made_.emplace_back(begin_ + 1, end);
  if (made_.size() <= most_spans) return;
  made_[1].first = made_[0].first;
  made_.erase(made_.begin());
}

bool SegmentWeights::is_written(const Buffer& buffer) const {
  const auto known = written_.find(&buffer);
  return known != written_.end() && !known->second.expired();
}

bool SegmentWeights::is_weight(const Tensor& tensor) const {
  const TensorBody& body = *tensor.body();
  const std::uint64_t serial = body.buffer->serial();
  auto holds = [&](const auto& span) { return span.first <= serial && serial <= span.second; };
  return serial <= begin_ && !body.is_setting && body.token.count == nullptr &&
         std::ranges::find(arguments_, body.buffer.get()) == arguments_.end() &&
         std::ranges::none_of(made_, holds) && !is_written(*body.buffer);
}

std::vector<bool> SegmentWeights::of(const Graph& segment, const std::vector<Mutation>& mutations,
                                     const std::vector<Tensor>& inputs) {
  std::vector<bool> result;
  for (const Tensor& input : inputs) result.push_back(is_weight(input));
  for (const Mutation& mutation : mutations)
    result[static_cast<std::size_t>(std::ranges::find(segment.inputs, mutation.input) -
                                    segment.inputs.begin())] = false;
  return result;
}

void SegmentWeights::note_written(const std::shared_ptr<Buffer>& buffer) {
  if (is_written(*buffer)) return;
  std::erase_if(written_, [](const auto& entry) { return entry.second.expired(); });
  written_[buffer.get()] = buffer;
}

}  // namespace tilewright::graph
