#include "graph/regions/reference/evaluate_tasks.h"

#include <algorithm>
#include <cstring>

#include "dsl/ir/immediates.h"
#include "graph/ir/index_space.h"
#include "graph/regions/reference/overlap.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The contents of a storage, and which of them were written.
struct Memory {
  HostTensor elements;
  std::vector<bool> is_known;
};

// The graph's op that a reduction is.
Op op_of(ir::ReduceKind kind) {
  using Kind = ir::ReduceKind;
  static constexpr std::pair<Kind, Op> ops[] = {
      {Kind::sum, Op::sum},  {Kind::prod, Op::prod},     {Kind::max, Op::amax},
      {Kind::min, Op::amin}, {Kind::argmax, Op::argmax}, {Kind::argmin, Op::argmin},
      {Kind::any, Op::any},  {Kind::all, Op::all}};
  const auto* found = std::ranges::find(ops, kind, &std::pair<Kind, Op>::first);
  check(found != std::end(ops), "a task has a reduction that graphs do not have");
  return found->second;
}

template <typename T>
double number_of(T element) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(element);
  else
    return static_cast<double>(static_cast<float>(element));
}

class TaskEvaluator {
 public:
  TaskEvaluator(const Graph& graph, const TaskList& list, std::span<const HostTensor> inputs,
                Rounding rounding)
      : graph_(graph), list_(list), rounding_(rounding) {
    require(inputs.size() == graph.inputs.size(), "[evaluate] ", inputs.size(),
            " inputs; the graph has ", graph.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Node& node = graph.node(graph.inputs[i]);
      require(inputs[i].dtype == node.dtype && inputs[i].shape == node.shape, "[evaluate] input ",
              i, " is ", inputs[i].dtype, " ", inputs[i].shape, "; it must be ", node.dtype, " ",
              node.shape);
    }
    for (const Storage& storage : list.storages) add_memory(storage, inputs);
  }

  Evaluation run(std::span<const TaskId> order) {
    if (order.empty())
      for (const Task& task : list_.tasks) run(task);
    for (TaskId id : order) run(list_.tasks[id]);
    Evaluation result;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const TaskList::Output& output = list_.outputs[i];
      const Node& node = graph_.node(graph_.outputs[i]);
      result.outputs.push_back(output.input ? input(static_cast<std::size_t>(*output.input))
                                            : values_at(output.storage, row_major(node.shape)));
    }
    for (const Mutation& m : graph_.mutations) {
      auto at = std::ranges::find(graph_.inputs, m.input) - graph_.inputs.begin();
      result.mutated.push_back(input(static_cast<std::size_t>(at)));
    }
    return result;
  }

 private:
  StridedView place_of_input(std::size_t i) const {
    StridedView place = row_major(graph_.node(graph_.inputs[i]).shape);
    if (i < graph_.input_strides.size() && !graph_.input_strides[i].empty())
      place.strides = graph_.input_strides[i];
    return place;
  }

  void add_memory(const Storage& storage, std::span<const HostTensor> inputs) {
    std::int64_t count = storage.elements;
    if (storage.kind == StorageKind::input) {
      auto i = static_cast<std::size_t>(storage.input);
      StridedView place = place_of_input(i);
      if (element_count(place.shape) > 0) count = extent_of(place).last + 1;
      memory_.push_back(empty_memory(storage.dtype, count));
      write(memory_.back(), place, inputs[i]);
      return;
    }
    check(storage.kind != StorageKind::packed, "packed weights have no meaning of their own");
    memory_.push_back(empty_memory(storage.dtype, count));
    if (storage.kind == StorageKind::constant) fill(memory_.back(), storage.data);
  }
  static Memory empty_memory(DType dtype, std::int64_t count) {
    return {HostTensor(dtype, {count}), std::vector<bool>(static_cast<std::size_t>(count))};
  }
  static void fill(Memory& memory, const std::vector<std::byte>& data) {
    dispatch(memory.elements.dtype, [&](auto host) {
      for (std::int64_t i = 0; i < memory.elements.count(); ++i) {
        std::memcpy(&host, data.data() + i * std::int64_t{sizeof host}, sizeof host);
        if constexpr (std::is_integral_v<decltype(host)>)
          memory.elements.set(i, {memory.elements.dtype, static_cast<std::int64_t>(host), 0});
        else
          memory.elements.set_number(i, number_of(host));
        memory.is_known[static_cast<std::size_t>(i)] = true;
      }
    });
  }

  static void set(Memory& memory, std::int64_t offset, const ir::Scalar& value) {
    check(offset >= 0 && offset < memory.elements.count(), "a task writes outside its storage");
    memory.elements.set(offset, value);
    memory.is_known[static_cast<std::size_t>(offset)] = true;
  }
  static void write(Memory& memory, const StridedView& place, const HostTensor& value) {
    std::vector<std::int64_t> offsets = element_offsets(place);
    for (std::int64_t i = 0; i < value.count(); ++i)
      set(memory, offsets[static_cast<std::size_t>(i)], value.get(i));
  }

  HostTensor values_at(StorageId storage, const StridedView& view) const {
    const Memory& memory = memory_[storage];
    HostTensor result(memory.elements.dtype, view.shape);
    std::vector<std::int64_t> offsets = element_offsets(view);
    for (std::int64_t i = 0; i < result.count(); ++i) {
      std::int64_t offset = offsets[static_cast<std::size_t>(i)];
      check(offset >= 0 && offset < memory.elements.count(), "a task reads outside its storage");
      check(memory.is_known[static_cast<std::size_t>(offset)],
            "a task reads memory that was never written");
      result.set(i, memory.elements.get(offset));
    }
    return result;
  }
  HostTensor value(const TaskOperand& operand) const {
    if (!operand.number) return values_at(operand.storage, operand.view);
    HostTensor result(operand.number->dtype, operand.view.shape);
    for (std::int64_t i = 0; i < result.count(); ++i) result.set(i, *operand.number);
    return result;
  }
  HostTensor input(std::size_t i) const {
    for (StorageId id = 0; id < list_.storages.size(); ++id)
      if (list_.storages[id].kind == StorageKind::input &&
          list_.storages[id].input == static_cast<int>(i))
        return values_at(id, place_of_input(i));
    raise_internal_error("an input has no storage", std::source_location::current());
  }

  void run(const Task& task) {
    std::vector<HostTensor> values;
    for (const TaskOperand& operand : task.operands) values.push_back(value(operand));
    std::vector<const HostTensor*> operands;
    for (const HostTensor& x : values) operands.push_back(&x);
    switch (task.kind) {
      case TaskKind::pointwise: return store(task, pointwise(task, operands));
      case TaskKind::reduction: {
        Attributes over;
        for (int axis = task.axis_begin; axis < task.axis_end; ++axis) over.axes.push_back(axis);
        return store(task, as_node(task, op_of(task.reduce), over, operands));
      }
      case TaskKind::contraction: return store(task, as_node(task, Op::matmul, {}, operands));
      case TaskKind::gather: return store(task, as_node(task, Op::embedding, {}, operands));
      case TaskKind::scatter: return scatter(task, values[0], values[1]);
      case TaskKind::opaque: return store(task, as_node(task, *task.op, task.attributes, operands));
    }
  }

  void store(const Task& task, const HostTensor& value) {
    write(memory_[task.storage], task.place, value);
    for (std::size_t i = 0; i < task.others.size(); ++i)
      write(memory_[task.others[i].storage], row_major(task.others[i].shape), value.others[i]);
  }

  // In double floating elements are those of f64, as in graph/ir/evaluate.h.
  DType widened(DType dtype) const {
    return rounding_ == Rounding::double_ && is_floating(dtype) ? f64 : dtype;
  }
  HostTensor pointwise(const Task& task, const std::vector<const HostTensor*>& operands) const {
    if (!task.tile_op) return *operands[0];
    HostTensor result(task.dtype, task.shape);
    std::vector<ir::Scalar> elements(operands.size());
    for (std::int64_t i = 0; i < result.count(); ++i) {
      for (std::size_t k = 0; k < operands.size(); ++k) {
        elements[k] = operands[k]->get(i);
        elements[k].dtype = widened(elements[k].dtype);
      }
      result.set(i, ir::evaluate(*task.tile_op, elements, widened(task.dtype)));
    }
    if (rounding_ == Rounding::exact_dtype) round_to(result, task.dtype);
    return result;
  }
  HostTensor as_node(const Task& task, Op op, const Attributes& attributes,
                     const std::vector<const HostTensor*>& operands) const {
    Graph alone;
    alone.nodes.push_back({op, {}, task.dtype, task.shape, attributes, {}});
    for (const TaskResult& other : task.others)
      alone.nodes.back().others.push_back({other.dtype, other.shape});
    return evaluate_node(alone, 0, operands, rounding_);
  }
  void scatter(const Task& task, const HostTensor& source, const HostTensor& rows) {
    std::vector<std::int64_t> offsets = element_offsets(task.place);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      std::int64_t row = rows.integer[i];
      if (row >= 0 && row < task.scatter_size)
        set(memory_[task.storage], offsets[i] + row * task.scatter_stride,
            source.get(static_cast<std::int64_t>(i)));
    }
  }

  const Graph& graph_;
  const TaskList& list_;
  Rounding rounding_;
  std::vector<Memory> memory_;  // by storage
};

}  // namespace

Evaluation evaluate(const Graph& graph, const TaskList& list, std::span<const HostTensor> inputs,
                    Rounding rounding, std::span<const TaskId> order) {
  return TaskEvaluator(graph, list, inputs, rounding).run(order);
}

}  // namespace tilewright::graph
