// Capture: runs of a user's function over symbolic tensors that record a graph.
//
// One capture is active on a thread at a time. While it is, every operation appends a node; a
// concrete tensor that an operation uses becomes an input of the graph, one for each distinct piece
// of memory, so that weights are data and not constants. Views of concrete tensors stay concrete
// (they move nothing). Writing in place maps the written tensor to its newest node for the rest of
// the capture; `finish` turns that into Graph::mutations.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/handle_assignments.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// Something in a function that no graph can express, so that it runs op by op: a graph break.
class GraphBreak : public Error {
 public:
  GraphBreak(const std::string& message, std::string operation, std::string deed,
             std::source_location where);
  std::string operation;
  std::string deed;            // what the function does there: "reads data"
  std::source_location where;  // of line 0 where the operation is not given the user's
};
// A read of data that a capture does not know.
class DataReadError : public GraphBreak {
 public:
  DataReadError(std::string_view operation, std::source_location where);
};

// Takes a value that the function looks at (graph/functions/log.h): a tensor on the host.
using LogCallback = std::function<void(const Tensor&)>;

struct Captured {
  Graph graph;
  std::vector<Tensor> captured;  // the graph's inputs after the placeholders, in order
  // The memory of these and of all other concrete tensors that the function looked at.
  std::vector<const Buffer*> read;
  std::vector<Guard> guards;      // on values of the host that it read and that outlive it
  std::vector<LogCallback> logs;  // of the last outputs of the graph, which are not returned
};

class Capture {
 public:
  Capture();  // becomes the active capture of this thread; raises `Error` if there is one
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  static Capture* active();
  // The function looks at a tensor over this memory.
  void note_read(const Buffer* memory) { read_.insert(memory); }
  void note_guard(Guard guard);                     // the first of each value counts
  std::uint64_t serial() const { return serial_; }  // of all captures of this process, from 1

  // An argument of the function. All placeholders come before the first operation.
  Tensor placeholder(DType dtype, const Shape& shape, const Strides& strides = {});
  Tensor append(Op op, std::span<const Tensor> operands, Attributes attributes,
                std::optional<DType> dtype, std::source_location where);
  // Each result of an op that has several.
  std::vector<Tensor> append_all(Op op, std::span<const Tensor> operands, Attributes attributes,
                                 std::source_location where);
  NodeId constant(const ir::Scalar& value, const Shape& shape, std::source_location where);
  // From now on `target` stands for the value of `value` (of the same type).
  void write(const Tensor& target, const Tensor& value, std::string_view operation,
             std::source_location where);
  bool is_written(const TensorBody& concrete) const;
  // The value that the tensor has now is for `callback`, when a call is over.
  void log(const Tensor& tensor, LogCallback callback, std::string_view operation,
           std::source_location where);
  // Operations from here to `close_mark` are a marked region of that name, but for those in a mark
  // that is opened within it.
  MarkId open_mark(std::string name);
  void close_mark(MarkId mark) { std::erase(open_marks_, mark); }
  std::size_t operations() const { return graph_.nodes.size(); }  // recorded so far
  HandleAssignments& assignments() { return assignments_; }
  // Ends the capture: the graph with the given outputs. The capture is of no further use. Raises
  // `GraphBreak` where the function assigned a handle that is still there.
  Captured finish(std::vector<Tensor> outputs);

  // The node that stands for the tensor now; a concrete tensor is captured.
  NodeId node_of(const Tensor& tensor, std::string_view operation, std::source_location where);
  Tensor symbolic(NodeId node) const;

 private:
  struct Input {
    std::shared_ptr<TensorBody> body;  // keeps the memory
    NodeId node, newest;
    std::source_location written;
  };
  using Identity = std::tuple<const Buffer*, std::int64_t, DType, Shape, Strides>;
  GraphBuilder builder(std::source_location where);
  static Identity identity_of(const TensorBody& body);
  Input& input_of(const Tensor& concrete, std::string_view operation, std::source_location where);
  void require_no_overlap() const;
  void require_no_lasting_assignment() const;
  std::source_location use_of(const TensorBody& body) const;
  void end();

  std::uint64_t serial_;
  Graph graph_;
  std::vector<std::shared_ptr<TensorBody>> placeholders_;
  std::vector<Input> inputs_;  // captured tensors in order
  std::map<Identity, std::size_t> index_of_;
  std::set<const Buffer*> read_;
  std::vector<Guard> guards_;
  std::vector<MarkId> open_marks_;  // the innermost last
  std::vector<NodeId> logged_;
  std::vector<LogCallback> logs_;  // of each of these
  HandleAssignments assignments_;
};

// A mark in the active capture, where there is one and the name is not empty, until it is closed or
// the capture is over.
class MarkScope {
 public:
  MarkScope() = default;  // none
  explicit MarkScope(const std::string& name) {
    if (!name.empty()) [[unlikely]]
      open(name);
  }
  ~MarkScope() {
    if (mark_ != 0) [[unlikely]]
      close();
  }
  MarkScope(const MarkScope&) = delete;
  MarkScope& operator=(const MarkScope&) = delete;
  void open(const std::string& name);  // where none is open
  void close();
  bool is_open() const { return mark_ != 0; }

 private:
  MarkId mark_ = 0;           // none is open
  std::uint64_t serial_ = 0;  // of the capture
};

// Raises `Error` unless a symbolic tensor belongs to the active capture and is no stale view.
void require_usable(const TensorBody& symbolic, std::string_view operation,
                    std::source_location where);

}  // namespace tilewright::graph
