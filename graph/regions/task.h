// The work of a graph with all indirection resolved: what fusion groups and lowering emits.
//
// A Task computes one value. Views, constants and in-place semantics are gone: an operand is a
// number or a strided view in a Storage, and a task knows where its value goes. Three things that
// are nodes of the graph become strided views here:
//
//   view          operands carry the composed strided view; where a reshape has no strides, a copy
//                 task makes a row-major value first
//   cat           one copy task a part, each writing its slice of one storage. A part's producer
//                 and its copy fuse like any other pair, and the part is then written in place. A
//                 part that is a cat itself is made where it will lie.
//   index_copy    a scatter task that writes rows of a storage at positions loaded at run time. If
//                 the storage belongs to an input that the graph mutates and nobody reads its old
//                 value later, it writes there; otherwise a copy is made first. An accumulation is
//                 an opaque task that changes its storage alike.
//
// Order is explicit: `after` lists the tasks that must have run: writers of the memory that is
// read, and readers and writers of the memory that is overwritten. Tasks are in such an order.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/immediates.h"
#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"
#include "graph/regions/storage.h"

namespace tilewright::graph {

struct TaskOperand {
  std::optional<ir::Scalar> number;  // everywhere; else:
  StorageId storage = 0;
  StridedView view;  // of the operand in the storage
  // The task whose value this is: the storage holds that value, row-major, and nothing else.
  std::optional<TaskId> producer;

  // Elements in memory: those that an axis of stride 0 repeats are read once.
  std::int64_t elements_read() const {
    std::int64_t elements = 1;
    for (int axis = 0; axis < view.shape.rank(); ++axis)
      if (view.strides[axis] != 0) elements *= view.shape[axis];
    return elements;
  }
};

enum class TaskKind : std::uint8_t {
  pointwise,    // `tile_op` of the operands; none: the operand itself (a copy)
  reduction,    // over the axes [axis_begin, axis_end) of the operand
  contraction,  // operands [.., M, K] and [.., K, N]
  gather,       // operands table [V, C] and ids; of a table with one column as free as pointwise
  scatter,  // a copy to places that depend on operand 1, row numbers; of single elements as free
  // `op` of the operands, all in memory: a region by itself, or with the tasks that join it there
  // (opaque_region.h), with its own lowering; it alone may have several results
  opaque
};

// Results 1, 2, ... of an opaque task, each all of a storage of its own.
struct TaskResult {
  StorageId storage = 0;
  DType dtype = DType::f32;
  Shape shape;
};

struct Task {
  TaskKind kind;
  NodeId node;  // that it computes, for names and source lines
  std::optional<ir::Op> tile_op;
  DType dtype;
  Shape shape;  // of the value
  std::vector<TaskOperand> operands;
  int axis_begin = 0, axis_end = 0;
  ir::ReduceKind reduce = ir::ReduceKind::sum;
  StorageId storage = 0;  // where the value goes
  StridedView place;      // and how it lies there
  // Scatter: element (.., row i, ..) goes to place + operand1[i] * scatter_stride, if
  // 0 <= operand1[i] < scatter_size. The row axis has stride 0 in `place`. Operand 1 may differ
  // along axis 0, too.
  int scatter_axis = 0;
  std::int64_t scatter_stride = 0, scatter_size = 0;
  // Opaque: the computation. The lowering of the op (lower/lowering.h) sees nothing of the graph.
  std::optional<Op> op;
  Attributes attributes;
  std::vector<TaskResult> others;
  std::vector<TaskId> after;

  bool is_opaque() const { return kind == TaskKind::opaque; }
  // True if each element is found by itself, in a table with one column.
  bool gathers_elements() const { return kind == TaskKind::gather && shape[-1] == 1; }
  // True if each element goes to a place of its own.
  bool scatters_elements() const {
    return kind == TaskKind::scatter && shape[scatter_axis] == count();
  }
  // True if it changes a part of its place, where others write all of it.
  bool is_update() const {
    return kind == TaskKind::scatter || (is_opaque() && !operands.empty() && !operands[0].number &&
                                         operands[0].storage == storage);
  }
  std::int64_t count() const { return element_count(shape); }
  std::int64_t bytes() const { return count() * size_bytes(dtype); }
};

struct TaskList {
  std::vector<Task> tasks;
  std::vector<Storage> storages;
  struct Output {
    std::optional<int> input;  // the memory of this input; else
    StorageId storage = 0;
  };
  std::vector<Output> outputs;  // as Graph::outputs
  // The treatment of f32 operands by products: the caller's choice, where the target has one.
  ir::InputPrecision f32_products = ir::InputPrecision::ieee;
  bool transforms_rows = false;  // Winograd for convolutions of f32, where it pays (winograd.h)
  // On hosts products of up to 16 rows sum each as one row alone (ir::Function::row_invariant).
  bool row_invariant = false;
  ir::InputPrecision precision_of(DType operand) const {
    return operand == DType::f32 ? f32_products : ir::InputPrecision::ieee;
  }
  // True if a GPU's tensor cores multiply elements of this type.
  bool on_tensor_cores(DType operand) const {
    return (is_floating(operand) && bit_width(operand) <= 16) ||
           precision_of(operand) == ir::InputPrecision::tf32;
  }
};

// `gives_written_inputs`: an output that an input is to hold when the call is over is that input's
// memory; otherwise it has memory of its own. Raises `InternalError` for composite ops.
TaskList make_tasks(const Graph& graph, bool gives_written_inputs = false);

}  // namespace tilewright::graph
