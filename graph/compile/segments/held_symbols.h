// The symbols that somebody still holds when a segment ends, and that become tensors with its run.
//
// A view of a value is one of its memory; only where a reshape has to copy it is one more value.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "graph/ir/strided_view.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

// A symbol becomes a tensor over this memory.
void give_memory(TensorBody& body, std::shared_ptr<Buffer> buffer, const StepToken& token);

// A symbol that is a view of `of`, once that has memory.
struct PlannedView {
  std::shared_ptr<TensorBody> body, of;
  StridedView place;
};

// `own` become the held symbols that are values, or that views of them need; the others are views.
std::vector<PlannedView> plan_values(const Recorded& recorded,
                                     std::vector<std::shared_ptr<TensorBody>>& own);
// The nodes of values that are computed become outputs. One that is the value of an input is
// copied, before that is written: the copies of these, by their places among `own`.
std::vector<std::pair<std::size_t, Tensor>> copies_of_inputs(
    const Recorded& recorded, const std::vector<std::shared_ptr<TensorBody>>& own,
    std::vector<NodeId>& outputs);

}  // namespace tilewright::graph
