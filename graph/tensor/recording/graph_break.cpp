#include "graph/tensor/recording/graph_break.h"

#include "graph/ir/location.h"
#include "graph/ir/user_call.h"

namespace tilewright::graph {

// Advice, by the operation.
static std::string_view remedy(std::string_view operation) {
  if (operation == "item")
    return "express a choice with where(), or return the tensor and read it outside the compiled "
           "function; print() and log_callback() show a value without reading it here";
  if (operation == "to_string" || operation == "to_vector")
    return "print() and log_callback() show a value without reading it here; or return the tensor "
           "and read it outside the compiled function";
  if (operation == "launch")
    return "a launch that is part of a graph writes tensors of one element type that the function "
           "is given, computes or made before it, takes tensors and numbers alone, and runs where "
           "they lie; launch others outside the compiled function";
  if (operation == "data" || operation == "const_data" || operation == "to_dlpack")
    return "a captured function has no memory yet: hand addresses to kernels and libraries outside "
           "the compiled function";
  if (operation == "index" || operation == "masked_select" || operation == "nonzero")
    return "how many elements there are is data; where() and masked_fill() take a mask without "
           "reading it";
  if (operation == "bincount")
    return "bincount reads the greatest element; index_add of ones to zeros of a known length "
           "reads nothing";
  if (operation == "one_hot")
    return "one_hot reads the greatest class unless it is given the number of classes";
  if (operation == "unique" || operation == "unique_consecutive" || operation == "nms" ||
      operation == "batched_nms" || operation == "non_max_suppression" ||
      operation == "repeat_interleave")
    return "how many results there are is data; call it outside the compiled function";
  if (operation == "allclose" || operation == "equal")
    return "return isclose() or the comparison and read it outside the compiled function";
  return "return the tensor and read it outside the compiled function";
}

static std::string_view called(std::string_view operation) {
  const UserCall* call = UserCall::current();
  return call == nullptr ? operation : call->operation;
}

Break::Break(std::string_view operation, std::string_view reason, std::source_location where)
    : operation(called(operation)), reason(reason), where(UserCall::line(where)) {}

static std::string at_line(std::source_location where) {
  return where.line() > 0 ? concat(" (at ", At{where}, ")") : "";
}

static thread_local const ForeignNode* innermost = nullptr;

ForeignNode::ForeignNode(const void* node, Text text, std::string_view file)
    : node_(node), text_(text), file_(file), outer_(innermost) {
  innermost = this;
}
ForeignNode::~ForeignNode() { innermost = outer_; }
std::string ForeignNode::current() {
  return innermost == nullptr ? "" : innermost->text_(innermost->node_, {});
}
std::string ForeignNode::current_with_file() {
  return innermost == nullptr ? "" : innermost->text_(innermost->node_, innermost->file_);
}

static thread_local RecorderOf* watching = nullptr;

RecorderOf::RecorderOf(std::uint32_t node) : node_(node), outer_(watching) { watching = this; }
RecorderOf::~RecorderOf() { watching = outer_; }
void RecorderOf::note(std::uint32_t node) {
  if (watching == nullptr) [[likely]]
    return;
  if (watching->node_ == node) watching->text_ = ForeignNode::current_with_file();
}

DataReadError::DataReadError(std::string_view operation, std::source_location where)
    : GraphBreak(
          concat("[", called(operation), "] the value is not known while the function is captured",
                 at_line(where), "; ", remedy(called(operation))),
          {operation, "reads data", where}) {}

PlacingError::PlacingError(std::string_view operation, std::source_location where)
    : GraphBreak(
          concat("[", called(operation),
                 "] the tensor has no memory while the function is captured", at_line(where), "; ",
                 operation == "to_string" ? remedy(operation)
                                          : "ask where tensors lie outside the compiled function"),
          {operation, "asks for memory", where}) {}

}  // namespace tilewright::graph
