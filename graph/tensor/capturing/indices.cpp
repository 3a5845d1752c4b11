// Indices that a captured function uses: noted as operations take them, and found among the inputs
// of the graph when it is whole.
#include <algorithm>
#include <utility>

#include "graph/tensor/capture.h"
#include "graph/tensor/recording/graph_break.h"

namespace tilewright::graph {

// A computed value has its node already. Memory has one if it was used before; else it will have
// one at its first use, since the order of the inputs is that of uses.
void Capture::note_index(const Tensor& index, IndexRange range) {
  range.node = ForeignNode::current_with_file();
  const std::shared_ptr<TensorBody>& body = index.body();
  if (!body->buffer && body->capture == segment_serial_) {
    if (!is_stale(*body)) index_checks_.push_back({body->node, std::move(range)});
    return;
  }
  const Input* known = body->buffer ? find_input(*body) : nullptr;
  if (known != nullptr)
    index_checks_.push_back({known->newest, std::move(range)});
  else
    late_indices_.push_back({body, std::move(range)});
}

std::vector<IndexCheck> Capture::take_index_checks() {
  for (LateIndex& late : std::exchange(late_indices_, {})) {
    const TensorBody& body = *late.body;
    auto is_over_it = [&](const Input& input) {
      return body.buffer ? input.body->buffer == body.buffer && input.body->dtype == body.dtype
                         : input.body == late.body;
    };
    // Another tensor over its memory only where it is no input: a segment that is found again may
    // get tensors that lie elsewhere.
    auto input = std::ranges::find_if(
        inputs_, [&](const Input& one) { return is_over_it(one) && one.body->view == body.view; });
    if (input == inputs_.end()) input = std::ranges::find_if(inputs_, is_over_it);
    if (input == inputs_.end()) continue;  // nothing was made of it
    IndexCheck check{input->node, std::move(late.range)};
    if (body.buffer && input->body->view != body.view)
      for (std::int64_t offset : element_offsets(body.view))
        check.offsets.push_back(offset - input->body->view.offset);
    index_checks_.push_back(std::move(check));
  }
  return std::exchange(index_checks_, {});
}

}  // namespace tilewright::graph
