// Control flow: a choice between two graphs, and graphs that run again and again.
#include <algorithm>

#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

namespace {

using Types = std::vector<ValueType>;

Types types_of(const Graph& graph, const std::vector<NodeId>& ids) {
  Types types;
  for (NodeId id : ids) types.push_back({graph.node(id).dtype, graph.node(id).shape});
  return types;
}
Types outputs_of(const Graph& body) { return types_of(body, body.outputs); }

struct Listed {
  const Types& types;
};
std::ostream& operator<<(std::ostream& out, Listed listed) {
  const char* separator = "(";
  for (const ValueType& type : listed.types) {
    out << separator << type.dtype << "[" << type.shape << "]";
    separator = ", ";
  }
  return out << (listed.types.empty() ? "()" : ")");
}

void need_bodies(const Application& a, std::size_t count) {
  a.need(a.attributes.bodies.size() == count, "has ", a.attributes.bodies.size(),
         " bodies; it takes ", count);
  const std::int64_t carried = a.attributes.carried, sliced = a.attributes.sliced;
  a.need(carried >= 0 && sliced >= 0 && carried + sliced <= std::ssize(a.operands), carried,
         " carried and ", sliced, " sliced operands of ", a.count(),
         "; there must be as many operands");
  for (std::size_t i = 0; i < a.count(); ++i)
    a.need(element_count(a.shape(i)) > 0, "operand ", i, " of shape ", a.shape(i),
           " has no elements; bodies take tensors that have some");
}
void need_types(const Application& a, const char* what, const Types& got, const Types& wanted) {
  a.need(got == wanted, what, " ", Listed{got}, "; they must be ", Listed{wanted});
}
void need_inputs(const Application& a, std::size_t body, const Types& wanted) {
  const Graph& graph = a.attributes.bodies[body];
  need_types(a, "inputs of the body are", types_of(graph, graph.inputs), wanted);
}
void need_condition(const Application& a, const ValueType& type) {
  a.need(is_boolean(type.dtype) && element_count(type.shape) == 1, "the condition is ", type.dtype,
         "[", type.shape, "]; it must be bool, of one element");
}
// As one type, the first result's, with the others.
ValueType together(const Application& a, Types results) {
  a.need(!results.empty(), "has no result; a body must give some");
  for (const ValueType& type : results)
    a.need(element_count(type.shape) > 0, "a result of shape ", type.shape,
           " has no elements; bodies give tensors that have some");
  ValueType first = results.front();
  first.others.assign(results.begin() + 1, results.end());
  return first;
}
Types first_of(std::span<const ValueType> types, std::int64_t count) {
  return {types.begin(), types.begin() + count};
}

}  // namespace

ValueType cond(const Application& a) {
  need_bodies(a, 2);
  need_condition(a, a.operands[0]);
  const Types operands(a.operands.begin() + 1, a.operands.end());
  for (std::size_t i = 0; i < 2; ++i) need_inputs(a, i, operands);
  const Types results = outputs_of(a.attributes.bodies[0]);
  need_types(a, "results of the second body are", outputs_of(a.attributes.bodies[1]), results);
  return together(a, results);
}

ValueType while_loop(const Application& a) {
  need_bodies(a, 2);
  const Types operands(a.operands.begin(), a.operands.end());
  for (std::size_t i = 0; i < 2; ++i) need_inputs(a, i, operands);
  const Types condition = outputs_of(a.attributes.bodies[0]);
  a.need(condition.size() == 1, "the condition has ", condition.size(), " results; it must be one");
  need_condition(a, condition[0]);
  const Types carried = first_of(a.operands, a.attributes.carried);
  need_types(a, "results of the body are", outputs_of(a.attributes.bodies[1]), carried);
  return together(a, carried);
}

ValueType scan(const Application& a) {
  need_bodies(a, 1);
  const Attributes& at = a.attributes;
  a.need(at.end > 0, "has ", at.end, " turns; there must be at least one");
  Types inputs(a.operands.begin(), a.operands.end());
  for (std::int64_t i = at.carried; i < at.carried + at.sliced; ++i) {
    Shape& shape = inputs[static_cast<std::size_t>(i)].shape;
    a.need(shape.rank() > 0 && shape[0] == at.end, "operand ", i, " of shape ", shape,
           " is sliced in ", at.end, " turns; its first axis must have that size");
    shape.erase(shape.begin());
  }
  need_inputs(a, 0, inputs);
  Types results = outputs_of(at.bodies[0]);
  const Types carried = first_of(a.operands, at.carried);
  a.need(std::ssize(results) >= at.carried, "the body has ", results.size(), " results; the first ",
         at.carried, " are carried");
  need_types(a, "the body gives as carried ones", first_of(results, at.carried), carried);
  for (std::size_t i = carried.size(); i < results.size(); ++i)
    results[i].shape.insert(results[i].shape.begin(), at.end);
  return together(a, results);
}

}  // namespace rules

namespace {

using Values = std::vector<HostTensor>;

// Bodies are primitive ops and composites alike; a value in double goes in and comes out so.
Values run(const Graph& body, const Values& inputs, Rounding rounding) {
  return evaluate(body, inputs, rounding).outputs;
}
HostTensor together(Values values) {
  HostTensor first = std::move(values.front());
  first.others.assign(std::make_move_iterator(values.begin() + 1),
                      std::make_move_iterator(values.end()));
  return first;
}
Values values_of(std::span<const HostTensor* const> x) {
  Values values;
  for (const HostTensor* each : x) {
    values.push_back(*each);
    values.back().others.clear();
  }
  return values;
}
bool is_true(const HostTensor& condition) { return condition.integer[0] != 0; }

// Element i of the first axis, and the other way.
HostTensor slice_of(const HostTensor& x, std::int64_t i) {
  HostTensor slice(x.dtype, Shape(x.shape.begin() + 1, x.shape.end()));
  for (std::int64_t k = 0; k < slice.count(); ++k) slice.set(k, x.get(i * slice.count() + k));
  return slice;
}
void set_slice(HostTensor& x, std::int64_t i, const HostTensor& slice) {
  for (std::int64_t k = 0; k < slice.count(); ++k) x.set(i * slice.count() + k, slice.get(k));
}

}  // namespace

HostTensor control(The<Op::cond>, const Node& node, const Operands& x, Rounding rounding) {
  const std::size_t body = is_true(*x[0]) ? 0 : 1;
  return together(run(node.attributes.bodies[body], values_of(std::span(x).subspan(1)), rounding));
}

HostTensor control(The<Op::while_loop>, const Node& node, const Operands& x, Rounding rounding) {
  Values values = values_of(x);
  while (is_true(run(node.attributes.bodies[0], values, rounding)[0])) {
    Values next = run(node.attributes.bodies[1], values, rounding);
    std::ranges::move(next, values.begin());
  }
  values.resize(static_cast<std::size_t>(node.attributes.carried));
  return together(std::move(values));
}

HostTensor control(The<Op::scan>, const Node& node, const Operands& x, Rounding rounding) {
  const Attributes& a = node.attributes;
  const auto carried = static_cast<std::size_t>(a.carried);
  Values values = values_of(x), results = values_of(std::span(x).first(carried));
  std::vector<ValueType> types = node.others;
  types.insert(types.begin(), {node.dtype, node.shape});
  for (std::size_t i = carried; i < types.size(); ++i)
    results.emplace_back(types[i].dtype, types[i].shape);
  for (std::int64_t turn = 0; turn < a.end; ++turn) {
    const std::int64_t i = a.descending ? a.end - 1 - turn : turn;
    for (std::size_t k = carried; k < carried + static_cast<std::size_t>(a.sliced); ++k)
      values[k] = slice_of(*x[k], i);
    Values given = run(a.bodies[0], values, rounding);
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (k < carried)
        values[k] = results[k] = std::move(given[k]);
      else
        set_slice(results[k], i, given[k]);
    }
  }
  return together(std::move(results));
}

}  // namespace tilewright::graph
