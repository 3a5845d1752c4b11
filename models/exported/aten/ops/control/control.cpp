// Higher-order operators: choices and loops, whose bodies are graphs of the program.
#include <algorithm>
#include <string>

#include "graph/functions/control/control_flow.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/ops/control/autocast.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace control_rows {
namespace {

// What the graph makes of these values, within autocast for a dtype or not.
Results run_values(const Subgraph& graph, const Results& inputs,
                   std::optional<DType> cast_to = {}) {
  const std::string_view name = graph.name;
  require(inputs.size() == graph.inputs.size(), "[exported] the graph \"", json::excerpt(name),
          "\" takes ", graph.inputs.size(), " tensors and is given ", inputs.size());
  std::vector<Value> values(graph.value_names.size());
  auto is_used = std::make_unique<bool[]>(values.size());
  for (const Node& node : graph.nodes)
    for_each_used(node, [&](ValueId id) { is_used[static_cast<std::size_t>(id)] = true; });
  for (ValueId id : graph.outputs) is_used[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  const bool writes = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return find_operator(node.target)->writes(); });
  for (const Node& node : graph.nodes) {
    std::vector<std::pair<ValueId, Value>> cast;
    if (cast_to) cast = autocast(node, values, *cast_to);
    auto exchange_cast = [&] {
      for (auto& [id, value] : cast) std::swap(values[static_cast<std::size_t>(id)], value);
    };
    exchange_cast();
    Call call(node, values, {is_used.get(), values.size()});
    Results results = find_operator(node.target)->compute(call, writes);
    call.refuse_unread();
    exchange_cast();
    require(results.size() == node.results.size(), "[exported] ", json::excerpt(node.target),
            " has ", results.size(), " results; the graph \"", json::excerpt(name), "\" names ",
            node.results.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      values[static_cast<std::size_t>(node.results[i])] = std::move(results[i]);
  }
  Results outputs;
  for (ValueId id : graph.outputs) {
    const Value& value = values[static_cast<std::size_t>(id)];
    auto* tensor = std::get_if<Tensor>(&value);
    require(
        std::holds_alternative<ComplexTensor>(value) || (tensor != nullptr && tensor->defined()),
        "[exported] the graph \"", json::excerpt(name), "\" gives what is no tensor");
    outputs.push_back(value);
  }
  return outputs;
}

// The same, which gives real tensors, as branches and loops carry them.
Tensors run(const Subgraph& graph, const Results& inputs) {
  Tensors outputs;
  for (const Value& value : run_values(graph, inputs)) {
    auto* tensor = std::get_if<Tensor>(&value);
    require(tensor != nullptr, "[exported] the graph \"", json::excerpt(graph.name),
            "\" gives a complex tensor; branches and loops of real ones are supported");
    outputs.push_back(*tensor);
  }
  return outputs;
}

template <typename First, typename Second>
Results joined(const First& first, const Second& second) {
  Results all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// Tensors and numbers, of which the graph is given the tensors and gives others for them; numbers
// stay what they are.
Tensors tensors_among(const Results& values) {
  Tensors tensors;
  for (const Value& value : values)
    if (auto* tensor = std::get_if<Tensor>(&value)) tensors.push_back(*tensor);
  return tensors;
}
Results with_tensors(Results values, const Tensors& tensors) {
  auto next = tensors.begin();
  for (Value& value : values)
    if (std::holds_alternative<Tensor>(value)) value = *next++;
  return values;
}

// (condition, graph, graph, operands); the condition is a tensor, or a flag that sizes decide.
Tensors chosen(const Call& call) {
  const Subgraph &if_true = call.graph("1"), &if_false = call.graph("2");
  const TensorOperand condition = call.operand("0");
  const Results operands = call.values("3");
  if (!condition.tensor.defined())
    return run(condition.number.as_double() != 0 ? if_true : if_false, operands);
  return cond(
      condition.tensor, [&](const Tensors& x) { return run(if_true, with_tensors(operands, x)); },
      [&](const Tensors& x) { return run(if_false, with_tensors(operands, x)); },
      tensors_among(operands));
}

// (graph, graph, carried, others)
Tensors looped(const Call& call) {
  const Subgraph &condition = call.graph("0"), &body = call.graph("1");
  const Results others = call.values("3");
  auto holds = [&](const Tensors& state) {
    Tensors results = run(condition, joined(state, others));
    require(results.size() == 1, "[exported] the graph \"", json::excerpt(condition.name),
            "\" gives ", results.size(), " tensors; a condition is one");
    return results[0];
  };
  return while_loop(
      holds, [&](const Tensors& state) { return run(body, joined(state, others)); },
      call.tensors("2"));
}

// (graph, carried, sliced, others)
Results scanned(const Call& call) {
  const Subgraph& body = call.graph("0");
  const Tensors carried = call.tensors("1");
  const Results others = call.values("3");
  const auto count = static_cast<std::ptrdiff_t>(carried.size());
  auto turn = [&](const Tensors& state, const Tensors& elements) -> Turn {
    Tensors results = run(body, joined(joined(state, elements), others));
    require(std::ssize(results) >= count, "[exported] the graph \"", json::excerpt(body.name),
            "\" gives ", results.size(), " tensors; ", count, " are carried");
    return {Tensors(results.begin(), results.begin() + count),
            Tensors(results.begin() + count, results.end())};
  };
  auto [last, all] = scan(turn, carried, call.tensors("2"));
  return joined(last, all);
}

// (graph, sliced, others): a loop that carries nothing on.
Tensors mapped(const Call& call) {
  const Subgraph& body = call.graph("0");
  const Results others = call.values("2");
  auto turn = [&](const Tensors&, const Tensors& elements) -> Turn {
    return {{}, run(body, joined(elements, others))};
  };
  return scan(turn, {}, call.tensors("1")).second;
}

// Arguments from a number on, which are tensors.
Results operands_from(const Call& call, std::size_t first) {
  Results operands;
  for (std::size_t i = first; i < call.node().arguments.size(); ++i)
    operands.push_back(call.any_value(std::to_string(i)));
  return operands;
}
// (whether derivatives are wanted, graph, operands...)
Results with_or_without_derivatives(const Call& call) {
  call.flag("0", false);
  return run_values(call.graph("1"), operands_from(call, 2));
}
// (device, dtype, whether it is on, whether casts are kept, graph, operands...)
Results with_autocast(const Call& call) {
  const std::string device = call.text("0", "");
  const std::optional<DType> dtype = call.dtype("1");
  const bool is_on = call.flag("2", false);
  call.flag("3", false);
  if (!is_on) return run_values(call.graph("4"), operands_from(call, 5));
  if (device != "cpu")
    call.refuse("0", concat("is ", json::excerpt(device),
                            ": torch.autocast is supported for \"cpu\"; export without it"));
  if (!dtype || size_bytes(*dtype) != 2 || !is_floating(*dtype))
    call.refuse("1", "is no float of 16 bits, as torch.autocast is for");
  return run_values(call.graph("4"), operands_from(call, 5), *dtype);
}

constexpr Operator rows[] = {
    {"higher_order.wrap_with_set_grad_enabled", by<with_or_without_derivatives>},
    {"higher_order.wrap_with_autocast", by<with_autocast>},
    {"higher_order.cond", by<chosen>},
    {"higher_order.while_loop", by<looped>},
    {"higher_order.scan", by<scanned>},
    {"higher_order.map_impl", by<mapped>},
};

}  // namespace
}  // namespace control_rows

std::span<const Operator> control_operators() { return control_rows::rows; }

}  // namespace tilewright::exported
