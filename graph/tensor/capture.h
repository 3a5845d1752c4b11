// Capture: runs of a user's function over symbolic tensors that record a graph.
//
// One capture is active on a thread at a time. While it is, every operation appends a node; a
// concrete tensor that an operation uses becomes an input of the graph, one for each distinct piece
// of memory, so that weights are data and not constants. Views of concrete tensors stay concrete
// (they move nothing). Writing in place maps the written tensor to its newest node for the rest of
// the capture; `finish` turns that into Graph::mutations.
//
// An operation that no graph can express, above all a read of data, is a graph break: an exception,
// or, where the capture may break, the end of a segment. What was recorded is then taken away, run
// by whoever made the capture, and the tensors that somebody still holds are given their memory;
// the capture goes on with nothing recorded, and the function with ordinary tensors. From the first
// break on what a whole graph cannot have ends a segment too (a write to memory that is used by
// another name), and the function's handles are its own: it runs at every call.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/handle_assignments.h"
#include "graph/tensor/recording/graph_break.h"
#include "graph/tensor/recording/recorded_graph.h"
#include "graph/tensor/recording/running_captures.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// Takes a value that the function looks at (graph/functions/log.h): a tensor on the host.
using LogCallback = std::function<void(const Tensor&)>;
struct Logged {
  std::shared_ptr<TensorBody> value;  // no handle, which would be one that is read
  LogCallback callback;
};

struct Captured {
  Graph graph;
  std::vector<Tensor> captured;  // the graph's inputs after the placeholders, in order
  // The memory of these and of all other concrete tensors that the function looked at.
  std::vector<const Buffer*> read;
  std::vector<Guard> guards;      // on values of the host that it read and that outlive it
  std::vector<LogCallback> logs;  // of the last outputs of the graph, which are not returned
};

// The recording up to a break, or to the end.
struct Recorded {
  // The known graph with these nodes, but for numbers; null: they are in `graph`.
  const Graph* known = nullptr;
  Graph graph;                          // without outputs and mutations
  std::vector<RecordedNumber> numbers;  // of its `full` nodes
  std::vector<Mutation> mutations;
  std::vector<Tensor> inputs;  // of the graph: the arguments, captured tensors
  std::vector<std::shared_ptr<TensorBody>> placeholders;
  // Symbolic tensors besides these that somebody holds, in the order in which they were made.
  std::vector<std::shared_ptr<TensorBody>> held;
  const Graph& nodes() const { return known != nullptr ? *known : graph; }
};

class Capture {
 public:
  // Becomes the active capture of this thread; raises `Error` if there is one.
  Capture();
  // Captures a body of control flow within a function that is being captured: becomes the active
  // capture until it ends. Values of the function around that it uses are captured like concrete
  // tensors.
  explicit Capture(Capture& around);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  static Capture* active();
  // The function looks at a tensor over this memory.
  void note_read(const Buffer* memory) { read_.insert(memory); }
  void note_guard(Guard guard);  // the first of each value counts
  // Reads of data are answered by `look`: it computes the output of a graph, which begins like the
  // recording, from the placeholders' values and these captured tensors, its inputs after them.
  using Look = std::function<Tensor(Graph so_far, const std::vector<Tensor>& captured)>;
  void may_look(Look look) { look_ = std::move(look); }
  bool knows_values() const { return look_ != nullptr; }
  // The value that the tensor has now, as a concrete tensor; undefined where the capture may not
  // look.
  Tensor looked_at(const Tensor& tensor, std::string_view operation, std::source_location where);
  std::uint64_t serial() const { return serial_; }  // of all captures of this process, from 1
  // The mark of handles that are read now: for bodies the serial of the function around, since the
  // handles in a body's closure may end with that.
  std::uint64_t reader() const { return around_ == nullptr ? serial_ : around_->reader(); }

  // The recording may be run before the function's end. `spare` keeps bodies of symbols for
  // later ones, also of other captures.
  void may_end_early(std::vector<std::shared_ptr<TensorBody>>& spare) { spare_ = &spare; }
  // Breaks call this from now on, which must `take` what was recorded and give the tensors that are
  // held their memory. Where it raises, they stay without, and using them is an Error.
  void may_break(std::function<void(const Break&)> settle) { settle_ = std::move(settle); }
  // Before the function writes memory, or has an address to write to: segments that have taken it
  // for a weight may forget copies of it.
  using Unfreeze = std::function<void(const std::shared_ptr<Buffer>&)>;
  void may_unfreeze(Unfreeze unfreeze) { unfreeze_ = std::move(unfreeze); }
  // The function breaks, or ends by an exception: handles that it reads and assigns are its own
  // matter from now on.
  void begin_in_segments();
  bool is_broken() const { return is_broken_; }
  bool can_break() const { return settle_ != nullptr; }
  // The function would have broken later, if at all, with arguments that share no elements with
  // what it writes.
  bool meets_sharing() const { return meets_sharing_; }
  void break_here(const Break& at);  // where it may
  // Handles of the function's were assigned and are still there, besides those of its outputs.
  std::optional<GraphBreak> lasting_assignment(std::vector<Tensor>& outputs);
  // A symbolic tensor is held by others than the capture and so many known handles of each.
  std::optional<GraphBreak> kept_tensor(
      const std::function<long(const std::shared_ptr<TensorBody>&)>& known) const;
  // The function returns these: they are outputs, or inputs, of what was recorded from now on.
  void note_results(std::span<const Tensor> results);
  // Breaks where one of the tensors lies in memory that the function has written by another name,
  // or is a view of a value that it has written since.
  void break_before_use(std::span<const Tensor> operands, std::string_view operation,
                        std::source_location where);
  std::vector<Guard> take_guards();
  // `recorded` becomes what was recorded; the capture goes on with nothing.
  void take(Recorded& recorded);
  // The next recording is likely one of these (RecordedGraph::follow).
  void follow(std::span<const Graph* const> known) { graph_.follow(known); }

  // The host is about to look at elements of the tensor, to read values or by an address that it
  // may keep; or wants to know where it lies. Breaks where that is needed, or raises
  // `DataReadError` or `PlacingError`.
  void before_values(const TensorBody& body, std::string_view operation,
                     std::source_location where);
  void before_address(const TensorBody& body, std::string_view operation,
                      std::source_location where);
  void before_const_address(const TensorBody& body, std::string_view operation,
                            std::source_location where);  // to read only
  // Where the function is in segments, the tensor is concrete afterwards.
  void before_placing(const TensorBody& body, std::string_view operation,
                      std::source_location where);

  // An argument of the function. All placeholders come before the first operation. `argument` is
  // what it stands for, where the capture may break.
  Tensor placeholder(DType dtype, const Shape& shape, const Strides& strides = {},
                     const Tensor& argument = {});
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
  // The function is differentiated by this tensor, which it refers to: captured now, it has the
  // node that this gives, and views of its memory are taken in the graph from now on, so that they
  // follow from it.
  NodeId differentiate_by(const Tensor& tensor, std::source_location where);
  bool is_differentiated(const TensorBody& concrete) const;
  // True if the value's elements would be contiguous if the function ran eagerly.
  bool is_row_major(const TensorBody& symbolic) const;
  // The value that the tensor has now is for `callback`, when a call is over.
  void log(const Tensor& tensor, LogCallback callback, std::string_view operation,
           std::source_location where);
  // The logged values of a function that has broken, after its end.
  std::vector<Logged> take_logged() { return std::exchange(logged_, {}); }
  // An operation takes elements of this index as numbers of elements, rows, ... of another tensor.
  void note_index(const Tensor& index, IndexRange range);
  // Memory that the function has allocated, and memory that it has filled with numbers of the host.
  // Each call has some of its own: what is read only may be the first call's, but before it is
  // written `make_own` has the tensor be a value of the function, those numbers so far, or zeros.
  // False: it is not of the function, or somebody may have its address, or a view of it.
  void note_empty(const std::shared_ptr<TensorBody>& body) { empties_.push_back(body); }
  void note_made(const std::shared_ptr<TensorBody>& body) { made_.push_back(body->buffer); }
  bool is_made(const TensorBody& concrete) const;
  bool make_own(const Tensor& concrete, std::source_location where);
  // True for memory that was there before the function ran.
  bool is_from_outside(const TensorBody& concrete) const {
    const Capture& function = around_ == nullptr ? *this : *around_;
    return concrete.buffer->serial() <= function.first_buffer_;
  }
  // Results in memory that the function made become copies, which a caller may write.
  void own_results(std::vector<Tensor>& results);
  // Marks of regions of the function (RecordedGraph).
  std::uint32_t open_mark(const std::string& name) { return graph_.open_mark(name); }
  void close_mark(std::uint32_t mark) { graph_.close_mark(mark); }
  std::size_t operations() const { return graph_.size(); }  // recorded since the last break
  // A tensor of its own with the value that this one has now.
  Tensor copy(const Tensor& tensor, std::string_view operation, std::source_location where);
  HandleAssignments& assignments() { return assignments_; }
  // Ends the capture: the graph with the given outputs. The capture is of no further use. Raises
  // `GraphBreak` where the function assigned a handle that is still there.
  Captured finish(std::vector<Tensor> outputs);

  // The node that stands for the tensor now; a concrete tensor is captured.
  NodeId node_of(const Tensor& tensor, std::string_view operation, std::source_location where);
  Tensor symbolic(NodeId node);

 private:
  struct Input {
    std::shared_ptr<TensorBody> body;  // keeps the memory
    NodeId node, newest;
    std::source_location written;
    bool is_differentiated = false;
    bool is_written() const { return newest != node; }
  };
  Input* find_input(const TensorBody& body) {
    return const_cast<Input*>(std::as_const(*this).find_input(body));
  }
  const Input* find_input(const TensorBody& body) const;
  Input& input_of(const Tensor& concrete, std::string_view operation, std::source_location where);
  static bool overlap(const TensorBody& a, const TensorBody& b);  // memory_overlap.h
  static bool may_overlap(const TensorBody& a, const TensorBody& b);
  static bool share_bytes(const TensorBody& a, const TensorBody& b);
  void require_no_overlap() const;

  // capturing/views.cpp
  const Node& operation_of(const TensorBody& view) const;
  StridedView place_of(const TensorBody& body) const;
  bool step_into(StridedView& place, const TensorBody& view) const;
  std::vector<std::shared_ptr<TensorBody>> owners_of(const std::shared_ptr<TensorBody>& body) const;
  bool follows_its_base(const TensorBody& view) const;
  bool is_spread(const TensorBody& view) const;
  void require_may_copy(const TensorBody& copy, std::string_view operation,
                        std::source_location where) const;
  void detach(TensorBody& copy);
  void take_view_anew(TensorBody& view, std::string_view operation, std::source_location where);
  NodeId with_view_replaced(const TensorBody& view, NodeId value, std::source_location where);
  void record_write_to_view(const Tensor& target, NodeId node, std::string_view operation,
                            std::source_location where);
  bool overlaps_written(const TensorBody& concrete);
  NodeId settled_node_of(const Tensor& tensor, std::string_view operation,
                         std::source_location where);
  // The nodes of operands, in `few` if they fit.
  std::span<const NodeId> nodes_of(std::span<const Tensor> operands, std::string_view operation,
                                   std::source_location where, std::span<NodeId> few,
                                   std::vector<NodeId>& many);
  std::shared_ptr<TensorBody> empty_body();
  void keep_spare_bodies();
  void require_own(const TensorBody& symbolic, std::string_view operation,
                   std::source_location where) const;
  std::vector<Mutation> mutations(const Graph& graph) const;
  std::vector<IndexCheck> take_index_checks();
  struct Exposed {
    const Buffer* memory;
    bool may_be_written;  // through the address
  };
  void expose(const TensorBody& body, bool may_be_written, std::string_view operation,
              std::source_location where);
  void forget_empty(const TensorBody& body);  // something happens to its memory
  bool can_own(const TensorBody& concrete) const;
  void require_of_all_calls(const TensorBody& concrete, std::string_view operation,
                            std::source_location where) const;
  bool is_exposed(const Buffer* memory, bool may_be_written) const;
  bool must_break_before(const Tensor& operand);
  bool can_record_write(const Tensor& target, const Tensor& value);
  bool can_record_first_write(const TensorBody& target, std::size_t own_argument,
                              const TensorBody* value);
  bool shares_with_argument(const TensorBody& place, std::size_t own_argument);
  void record_write(const Tensor& target, const Tensor& value, std::string_view operation,
                    std::source_location where);
  // An address of what was recorded as an operand is in the hands of the function.
  void break_after_exposed(std::string_view operation, std::source_location where);
  std::source_location use_of(const TensorBody& body) const;
  void end();

  NodeId node_of_value_around(const Tensor& symbolic);

  Capture* around_ = nullptr;  // of a body: that of the function
  std::uint64_t serial_;
  std::uint64_t segment_serial_;  // of its symbolic tensors
  RunningCapture running_;
  RecordedGraph graph_;
  Unfreeze unfreeze_;
  Look look_;
  std::size_t placeholders_ = 0;                          // of `bodies_`, the first
  std::vector<std::shared_ptr<TensorBody>> arguments_;    // that they stand for, if it may break
  std::vector<std::shared_ptr<TensorBody>> bodies_;       // that were made since the last break
  std::vector<TensorBody*> views_of_memory_;              // of these, views of concrete tensors
  std::vector<Input> inputs_;                             // captured tensors in order
  std::vector<const Buffer*> memory_of_inputs_;           // of these
  std::uint64_t first_buffer_ = Buffer::latest_serial();  // later ones are made by the function
  std::size_t written_ = 0;                               // writes to these
  bool has_differentiated_ = false;                       // among these
  std::set<const Buffer*> read_;
  std::vector<Guard> guards_;
  std::vector<Logged> logged_;
  std::vector<IndexCheck> index_checks_;
  // Indices that are concrete tensors, for which the graph had no input when they were noted.
  struct LateIndex {
    std::shared_ptr<TensorBody> body;
    IndexRange range;
  };
  std::vector<LateIndex> late_indices_;
  std::vector<std::weak_ptr<TensorBody>> empties_;
  std::vector<std::weak_ptr<Buffer>> made_;
  HandleAssignments assignments_;
  std::function<void(const Break&)> settle_;
  std::vector<std::shared_ptr<TensorBody>>* spare_ = nullptr;
  bool is_broken_ = false;
  bool meets_sharing_ = false;
  std::vector<bool> sharing_arguments_;  // those that share bytes with another; empty: not known
  std::vector<Exposed> exposed_;         // memory of which the function has addresses
  bool uses_exposed_ = false;            // what was recorded last does
};

// The reason why a tensor that is not concrete cannot be an argument of a call outside of captures:
// " is undefined; every argument must be a tensor".
std::string_view flaw_of(const Tensor& argument);
// True if the base of a symbolic view was written since the view was taken.
bool is_stale(const TensorBody& symbolic);
// Raises `Error` unless a symbolic tensor belongs to the active capture and is no stale view.
void require_usable(const TensorBody& symbolic, std::string_view operation,
                    std::source_location where);

}  // namespace tilewright::graph
