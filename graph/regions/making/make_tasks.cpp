// The tasks of a graph: a case for each kind of node.
#include <algorithm>
#include <limits>
#include <map>

#include "dsl/ir/immediates.h"
#include "graph/custom/definition.h"
#include "graph/ir/shape_rules.h"
#include "graph/ops/reductions.h"
#include "graph/regions/access.h"
#include "graph/regions/making/task_list_builder.h"
#include "graph/regions/node_uses.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

class TaskMaker : TaskListBuilder {
 public:
  TaskMaker(const Graph& graph, bool gives_written_inputs)
      : graph_(graph), gives_written_inputs_(gives_written_inputs), uses_(graph) {}

  TaskList run() {
    values_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) input(i);
    for (NodeId id = 0; id < graph_.nodes.size(); ++id)
      if (graph_.node(id).op != Op::input) node(id);
    for (NodeId id : graph_.outputs) output(id);
    mutations();
    return std::move(list_);
  }

 private:
  void input(std::size_t i) {
    NodeId id = graph_.inputs[i];
    const Node& node = graph_.node(id);
    StridedView view = row_major(node.shape);
    if (i < graph_.input_strides.size() && !graph_.input_strides[i].empty())
      view.strides = graph_.input_strides[i];
    Storage storage;
    storage.kind = StorageKind::input;
    storage.dtype = node.dtype;
    storage.input = static_cast<int>(i);
    values_[id] = {std::nullopt, add_storage(std::move(storage)), view, {}};
  }

  TaskOperand number(DType dtype, double value, const Shape& shape) {
    return {ir::Scalar::of(dtype, value), 0, row_major(shape), {}};
  }

  void zeros(NodeId id, const Node& n) { values_[id] = number(n.dtype, 0, n.shape); }

  void node(NodeId id) {
    const Node& n = graph_.node(id);
    Kind kind = info(n.op).kind;
    if (kind == Kind::projection) return projection(id, n);
    if (element_count(n.shape) == 0 && kind != Kind::attention) return zeros(id, n);
    switch (kind) {
      case Kind::input: return;
      case Kind::constant: return constant(id, n);
      case Kind::pointwise: return pointwise(id, n);
      case Kind::view: return view(id, n);
      case Kind::reduction: return reduction(id, n);
      case Kind::contraction: return contraction(id, n);
      case Kind::gather: return gather(id, n);
      case Kind::scatter: return scatter(id, n);
      case Kind::accumulation: return accumulate(id, n);
      case Kind::concat: return concat_parts(id, n);
      case Kind::attention: return attention(id, n);
      case Kind::convolution:
      case Kind::grouped_product:
      case Kind::cumulation:
      case Kind::ordering: return opaque(id, n);
      case Kind::custom: return custom(id, n);
      case Kind::control: return control(id, n);
      case Kind::projection: return projection(id, n);
      case Kind::composite: break;
    }
    check(false, "a composite op reached planning: it must be decomposed");
  }

  static bool is_negative(std::int64_t stride) { return stride < 0; }
  // The value in memory, where the task needs it there; from its first element on.
  TaskOperand in_memory(NodeId id) {
    const TaskOperand& value = values_[id];
    const Node& n = graph_.node(id);
    if (element_count(n.shape) == 0) return {{}, new_storage(n.dtype, 0), row_major(n.shape), {}};
    const bool goes_back = !value.number && std::ranges::any_of(value.view.strides, is_negative);
    return value.number || goes_back ? add(copy_of(id, value, graph_.node(id).dtype)) : value;
  }

  void constant(NodeId id, const Node& n) {
    values_[id] = {value_of_full(n), 0, row_major(n.shape), {}};
    if (n.op == Op::full) return;
    Storage storage;
    storage.kind = StorageKind::constant;
    storage.dtype = n.dtype;
    storage.elements = element_count(n.shape);
    storage.start = n.attributes.start;
    storage.step = n.attributes.step;
    storage.data = constant_data(storage);
    values_[id] = {std::nullopt, add_storage(std::move(storage)), row_major(n.shape), {}};
  }

  void pointwise(NodeId id, const Node& n) {
    Task task = new_task(TaskKind::pointwise, id, n.dtype, n.shape);
    task.tile_op = info(n.op).tile_op;
    std::vector<ir::Scalar> numbers;
    for (NodeId operand : n.operands) {
      task.operands.push_back(values_[operand]);
      if (values_[operand].number) numbers.push_back(*values_[operand].number);
    }
    if (numbers.size() == n.operands.size()) {
      values_[id] = {ir::evaluate(*task.tile_op, numbers, n.dtype), 0, row_major(n.shape), {}};
      return;
    }
    values_[id] = add(std::move(task));
  }

  void view(NodeId id, const Node& n) {
    TaskOperand value = values_[n.operands[0]];
    if (auto viewed = view_of(n.op, n.attributes, value.view)) {
      value.view = *viewed;
    } else {
      value = add(copy_of(id, value, n.dtype));
      value.view = *view_of(n.op, n.attributes, value.view);
    }
    values_[id] = value;
  }

  // One task for each run of neighbouring axes that memory sees as one, innermost run first.
  void reduction(NodeId id, const Node& n) {
    TaskOperand value = values_[n.operands[0]];
    if (element_count(value.view.shape) == 0) {
      values_[id] = {ir::identity(kind_of_reduction(n.op), n.dtype), 0, row_major(n.shape), {}};
      return;
    }
    std::vector<int> axes = n.attributes.axes;
    bool is_arg = info(n.op).finds_index;
    if (!is_arg) std::erase_if(axes, [&](int axis) { return value.view.shape[axis] == 1; });
    if (axes.empty()) {
      values_[id] = value;
      return;
    }
    while (!axes.empty()) {
      int end = axes.back() + 1, begin = axes.back();
      axes.pop_back();
      while (!axes.empty() && axes.back() == begin - 1 &&
             index_map(value.view, begin - 1, end).modes().size() <= 1) {
        begin = axes.back();
        axes.pop_back();
      }
      if (!is_arg) value = cut_long_run(id, n, value, begin, end);
      value = add(
          reduction_task(id, n, value, begin, end, axes.empty() ? n.dtype : accumulator(n.dtype)));
    }
    value.view.shape = n.shape;
    value.view.strides = row_major_strides(n.shape);
    values_[id] = value;
  }

  void contraction(NodeId id, const Node& n) {
    if (graph_.node(n.operands[0]).shape[-1] == 0) return zeros(id, n);
    Task task = new_task(TaskKind::contraction, id, n.dtype, n.shape);
    const TaskOperand& left = values_[n.operands[0]];
    task.operands = {left.number ? left : in_memory(n.operands[0]), in_memory(n.operands[1])};
    values_[id] = add(std::move(task));
  }

  void gather(NodeId id, const Node& n) {
    Task task = new_task(TaskKind::gather, id, n.dtype, n.shape);
    if (graph_.node(n.operands[0]).shape[0] == 0) return zeros(id, n);
    task.operands = {in_memory(n.operands[0]), in_memory(n.operands[1])};
    values_[id] = add(std::move(task));
  }

  void attention(NodeId id, const Node& n) {
    const bool has_keys = element_count(graph_.node(n.operands[1]).shape) != 0;
    if (has_keys && element_count(n.shape) != 0) return opaque(id, n);
    zeros(id, n);
    const double other = n.attributes.gives_sums ? std::numeric_limits<double>::infinity() : 0;
    for (const ValueType& type : n.others)
      results_[id].push_back(number(type.dtype, other, type.shape));
  }

  void opaque(NodeId id, const Node& n) {
    Task task = opaque_task(id, n, n.type());
    for (NodeId operand : n.operands) task.operands.push_back(in_memory(operand));
    add_others(task, id, n);
    values_[id] = add(std::move(task));
  }
  void add_others(Task& task, NodeId id, const Node& n) {  // each lies alone
    for (const ValueType& type : n.others) {
      const StorageId storage = new_storage(type.dtype, element_count(type.shape));
      task.others.push_back({storage, type.dtype, type.shape});
      results_[id].push_back({std::nullopt, storage, row_major(type.shape), {}});
    }
  }
  Task opaque_task(NodeId id, const Node& n, const ValueType& type) {
    Task task = new_task(TaskKind::opaque, id, type.dtype, type.shape);
    task.op = n.op;
    task.attributes = n.attributes;
    return task;
  }

  // All operands row-major. Results lie one after the other in one storage.
  void custom(NodeId id, const Node& n) {
    Task task = opaque_task(id, n, flat_type(n.type()));
    for (NodeId operand : n.operands) task.operands.push_back(in_rows(operand));
    if (!n.attributes.custom.changes_operand()) {
      values_[id] = add(std::move(task));
      if (!n.others.empty()) values_[id] = {{}, values_[id].storage, row_major(n.shape), {}};
      return;
    }
    TaskOperand target = values_[n.operands[0]];
    bool is_row = !target.number && is_row_major(target.view.shape, target.view.strides);
    if (!is_row || !uses_.is_in_place(id)) {
      target = add(copy_of(id, target, n.dtype));
      target.producer.reset();  // from now on the storage has two writers
    }
    if (task.count() > 0) {
      task.operands[0] = target;
      task.storage = target.storage;
      task.place = target.view;
      add_into(std::move(task), next_task());
    }
    values_[id] = target;
  }
  TaskOperand in_rows(NodeId id) {
    TaskOperand value = in_memory(id);
    if (is_row_major(value.view.shape, value.view.strides)) return value;
    return add(copy_of(id, value, graph_.node(id).dtype));
  }
  // Bodies read operands that change in each turn row-major, and the rest where it lies. Each
  // result lies alone, or in the operand that the loop updates.
  void control(NodeId id, const Node& n) {
    Task task = opaque_task(id, n, n.type());
    const std::int64_t of_turns = n.attributes.carried + n.attributes.sliced;
    for (NodeId operand : n.operands)
      task.operands.push_back(std::ssize(task.operands) < of_turns ? in_rows(operand)
                                                                   : in_memory(operand));
    std::vector<TaskOperand>& results = results_[id];
    for (const ValueType& type : n.others) {
      const std::optional<StorageId> updated = updated_storage(id, task, results.size() + 1);
      const StorageId storage =
          updated ? *updated : new_storage(type.dtype, element_count(type.shape));
      task.others.push_back({storage, type.dtype, type.shape});
      results.push_back({std::nullopt, storage, row_major(type.shape), {}});
    }
    const std::optional<StorageId> updated = updated_storage(id, task, 0);
    if (!updated) {
      values_[id] = add(std::move(task));
      return;
    }
    task.storage = *updated;
    task.place = row_major(n.shape);
    values_[id] = {std::nullopt, *updated, task.place, {}};
    add_into(std::move(task), next_task());
  }
  // The storage that the loop updates from its first turn on: of the input that it leaves this
  // result in, or of a sum that begins as a number.
  std::optional<StorageId> updated_storage(NodeId loop, Task& task, std::size_t result) const {
    const Node& n = graph_.node(loop);
    if (is_sum_of_turns(n, result) && values_[n.operands[result]].number) {
      task.operands[result].producer.reset();  // the storage has two writers
      return task.operands[result].storage;
    }
    if (!uses_.is_updated_by_loop(loop, result)) return std::nullopt;
    const TaskOperand& operand = task.operands[result];
    const bool is_input = !operand.number &&
                          list_.storages[operand.storage].kind == StorageKind::input &&
                          operand.view == row_major(operand.view.shape);
    return is_input ? std::optional(operand.storage) : std::nullopt;
  }
  // A part of what the node before it left in memory: of a custom op, which leaves all its results
  // in one storage, where it begins there.
  void projection(NodeId id, const Node& n) {
    const Node& whole = graph_.node(n.operands[0]);
    if (info(whole.op).kind != Kind::custom) {
      auto results = results_.find(n.operands[0]);
      check(results != results_.end(), "a result of a composite reached planning");
      values_[id] = results->second[static_cast<std::size_t>(n.attributes.index - 1)];
      return;
    }
    if (element_count(n.shape) == 0) return zeros(id, n);
    std::int64_t offset = element_count(whole.shape);
    for (std::int64_t i = 1; i < n.attributes.index; ++i)
      offset += element_count(whole.others[static_cast<std::size_t>(i - 1)].shape);
    values_[id] = {{}, values_[n.operands[0]].storage, row_major(n.shape), {}};
    values_[id].view.offset = offset;
  }

  // Calls visit(part, where its elements lie in a value that lies at `whole`).
  template <typename Visit>
  void for_each_part(const Node& n, const StridedView& whole, Visit visit) {
    int axis = n.attributes.axes[0];
    std::int64_t begin = 0;
    for (NodeId part : n.operands) {
      StridedView place = whole;
      place.shape = graph_.node(part).shape;
      place.offset += begin * whole.strides[axis];
      begin += place.shape[axis];
      if (element_count(place.shape) > 0) visit(part, place);
    }
  }

  void concat_parts(NodeId id, const Node& n) {
    if (uses_.goes_only_to_scatter(id)) return;  // which writes the parts itself
    const TaskOperand whole = place_of_cat(id);
    TaskId first = next_task();
    for_each_part(n, whole.view, [&](NodeId part, const StridedView& place) {
      const TaskOperand& value = values_[part];
      if (!value.number && value.storage == whole.storage && value.view == place) return;
      Task task = copy_of(id, value, n.dtype);
      task.storage = whole.storage;
      task.place = place;
      take_axes_of_convolution(task);
      add_into(std::move(task), first);
    });
    values_[id] = whole;
  }
  // A copy of all that a convolution computes can be part of its epilogue if it has its axes, not
  // others of size 1.
  void take_axes_of_convolution(Task& copy) const {
    TaskOperand& value = copy.operands[0];
    if (!value.producer || list_.tasks[*value.producer].op != Op::convolution) return;
    const Shape& shape = list_.tasks[*value.producer].shape;
    const bool is_whole =
        value.view.offset == 0 && is_row_major(value.view.shape, value.view.strides);
    const auto place = is_whole ? with_axes(copy.place, shape) : std::nullopt;
    if (!place || copy.shape == shape) return;
    copy.shape = shape;
    copy.place = *place;
    value.view = row_major(shape);
  }
  // A storage of its own, or its place in the cat that it is a part of.
  TaskOperand place_of_cat(NodeId id) {
    if (auto known = places_.find(id); known != places_.end()) return known->second;
    const Node& n = graph_.node(id);
    TaskOperand place{std::nullopt, 0, row_major(n.shape), {}};
    if (auto whole = uses_.whole_of(id)) {
      const TaskOperand outer = place_of_cat(*whole);
      std::optional<StridedView> first;
      for_each_part(graph_.node(*whole), outer.view, [&](NodeId part, const StridedView& view) {
        if (part == id && !first) first = view;
      });
      place.storage = outer.storage;
      place.view = *first;
    } else {
      place.storage = new_storage(n.dtype, element_count(n.shape));
    }
    return places_[id] = place;
  }

  void scatter(NodeId id, const Node& n) {
    NodeId self = n.operands[0], source = n.operands[2];
    TaskOperand target = values_[self];
    if (element_count(graph_.node(source).shape) == 0) {
      values_[id] = target;
      return;
    }
    target = to_be_changed(id, n, target);
    TaskOperand index = in_memory(n.operands[1]);
    const Node& from = graph_.node(source);
    TaskId first = next_task();
    if (uses_.goes_only_to_scatter(source)) {
      for_each_part(from, target.view, [&](NodeId part, const StridedView& place) {
        scatter_part(id, n, values_[part], index, place, target, first);
      });
    } else {
      StridedView place = target.view;
      place.shape = from.shape;
      scatter_part(id, n, values_[source], index, place, target, first);
    }
    values_[id] = target;
  }
  // The value where it lies, if that may be changed, or in a copy.
  TaskOperand to_be_changed(NodeId id, const Node& n, TaskOperand value) {
    if (uses_.is_in_place(id)) return value;
    value = add(copy_of(id, value, n.dtype));
    value.producer.reset();  // from now on the storage has two writers
    return value;
  }

  void accumulate(NodeId id, const Node& n) {
    TaskOperand target = values_[n.operands[0]];
    if (element_count(graph_.node(n.operands[2]).shape) > 0) {
      Task task = new_task(TaskKind::opaque, id, n.dtype, n.shape);
      task.op = n.op;
      task.attributes = n.attributes;
      target = to_be_changed(id, n, target);
      task.operands = {target, in_memory(n.operands[1]), values_[n.operands[2]]};
      task.storage = target.storage;
      task.place = target.view;
      add_into(std::move(task), next_task());
    }
    values_[id] = target;
  }

  void scatter_part(NodeId id, const Node& n, const TaskOperand& source, TaskOperand index,
                    StridedView place, const TaskOperand& target, TaskId first) {
    Task task = new_task(TaskKind::scatter, id, n.dtype, place.shape);
    int axis = n.attributes.axes[0];
    task.scatter_axis = axis;
    task.scatter_stride = place.strides[axis];
    task.scatter_size = n.shape[axis];
    place.strides[axis] = 0;
    const Strides own = index.view.strides;
    index.view.shape = place.shape;
    index.view.strides = Strides(std::vector<std::int64_t>(place.shape.size(), 0));
    if (own.size() == 2) index.view.strides[0] = own[0];
    index.view.strides[axis] = own[own.size() - 1];
    task.operands = {source, index};
    task.storage = target.storage;
    task.place = place;
    add_into(std::move(task), first);
  }

  bool is_memory_of_input(const TaskOperand& value, std::optional<int>& input) const {
    if (value.number) return false;
    const Storage& storage = list_.storages[value.storage];
    if (storage.kind != StorageKind::input) return false;
    input = storage.input;
    NodeId id = graph_.inputs[static_cast<std::size_t>(storage.input)];
    return value.view == values_[id].view;
  }

  void output(NodeId id) {
    TaskOperand value = values_[id];
    TaskList::Output result;
    if (const auto written = written_input(id)) {
      result.input = *written;
      list_.outputs.push_back(result);
      return;
    }
    if (is_memory_of_input(value, result.input)) {
      NodeId node = graph_.inputs[static_cast<std::size_t>(*result.input)];
      // An input that is written later must be handed out as it was.
      if (!uses_.is_mutated(node) || uses_.mutation_of(node) == id) {
        list_.outputs.push_back(result);
        return;
      }
    }
    result.input.reset();
    bool whole = !value.number && list_.storages[value.storage].kind == StorageKind::result &&
                 value.view.offset == 0 && is_row_major(value.view.shape, value.view.strides) &&
                 element_count(value.view.shape) == list_.storages[value.storage].elements;
    if (element_count(value.view.shape) == 0)
      value.storage = new_storage(graph_.node(id).dtype, 0);
    else if (!whole)
      value = add(copy_of(id, value, graph_.node(id).dtype));
    result.storage = value.storage;
    list_.storages[value.storage].is_output = true;
    list_.outputs.push_back(result);
  }

  // The input that holds the value when the call is over, if that is where it is to be given.
  std::optional<int> written_input(NodeId value) const {
    if (!gives_written_inputs_) return std::nullopt;
    const auto found = std::ranges::find(graph_.mutations, value, &Mutation::value);
    if (found == graph_.mutations.end()) return std::nullopt;
    return static_cast<int>(std::ranges::find(graph_.inputs, found->input) - graph_.inputs.begin());
  }

  // All new values exist before the first input is overwritten, since they may be each other.
  void mutations() {
    std::vector<std::pair<const Mutation*, TaskOperand>> writes;
    for (const Mutation& m : graph_.mutations) {
      TaskOperand value = values_[m.value];
      if (m.value == m.input || element_count(graph_.node(m.input).shape) == 0) continue;
      // It lies there already, unless it is in place in another input.
      if (uses_.is_in_place(m.value) && value.storage == values_[m.input].storage) continue;
      if (!value.number && list_.storages[value.storage].kind == StorageKind::input)
        value = add(copy_of(m.value, value, graph_.node(m.value).dtype));
      writes.emplace_back(&m, value);
    }
    for (auto& [mutation, value] : writes) {
      Task task = copy_of(mutation->value, value, graph_.node(mutation->value).dtype);
      task.storage = values_[mutation->input].storage;
      task.place = values_[mutation->input].view;
      TaskId first = next_task();
      add_into(std::move(task), first);
    }
  }

  const Graph& graph_;
  const bool gives_written_inputs_;
  NodeUses uses_;
  std::vector<TaskOperand> values_;
  std::map<NodeId, TaskOperand> places_;                // of cats
  std::map<NodeId, std::vector<TaskOperand>> results_;  // 1, 2, ... of nodes that have several
};

}  // namespace

TaskList make_tasks(const Graph& graph, bool gives_written_inputs) {
  return TaskMaker(graph, gives_written_inputs).run();
}

}  // namespace tilewright::graph
