// Errors of control flow: those of its bodies, turn by turn.
#include <algorithm>
#include <limits>

#include "tests/property/error_bound.h"

namespace tilewright::graph {
namespace {

using Bounded = std::vector<BoundedTensor>;

Bounded outputs_of(const Graph& body, const Bounded& inputs, Choices choices) {
  Bounded values = bound_nodes(body, inputs, choices), outputs;
  for (NodeId id : body.outputs) outputs.push_back(values[id]);
  for (BoundedTensor& output : outputs) output.others.clear(), output.value.others.clear();
  return outputs;
}

BoundedTensor together(Bounded results) {
  BoundedTensor first = std::move(results.front());
  for (std::size_t i = 1; i < results.size(); ++i) {
    first.value.others.push_back(results[i].value);
    first.others.push_back(std::move(results[i]));
  }
  return first;
}

BoundedTensor slice_of(const BoundedTensor& x, std::int64_t i) {
  BoundedTensor slice;
  slice.value = HostTensor(x.value.dtype, Shape(x.value.shape.begin() + 1, x.value.shape.end()));
  for (std::int64_t k = 0; k < slice.value.count(); ++k) {
    const std::int64_t at = i * slice.value.count() + k;
    slice.value.set(k, x.value.get(at));
    slice.error.push_back(x.error[static_cast<std::size_t>(at)]);
  }
  return slice;
}
void set_slice(BoundedTensor& x, std::int64_t i, const BoundedTensor& slice) {
  for (std::int64_t k = 0; k < slice.value.count(); ++k) {
    const std::int64_t at = i * slice.value.count() + k;
    x.value.set(at, slice.value.get(k));
    x.error[static_cast<std::size_t>(at)] = slice.error[static_cast<std::size_t>(k)];
  }
}

// The bound where a condition may go either way.
BoundedTensor made_unknown(const BoundedTensor& like) {
  BoundedTensor result = like;
  std::ranges::fill(result.error, std::numeric_limits<double>::infinity());
  for (BoundedTensor& other : result.others)
    std::ranges::fill(other.error, std::numeric_limits<double>::infinity());
  return result;
}
bool is_true(const BoundedTensor& condition) { return condition.value.integer[0] != 0; }

BoundedTensor bound_while(const Attributes& a, Bounded values, Choices choices) {
  bool is_sure = true;
  while (true) {
    const BoundedTensor condition = outputs_of(a.bodies[0], values, choices)[0];
    is_sure = is_sure && condition.error[0] == 0;
    if (!is_true(condition)) break;
    Bounded next = outputs_of(a.bodies[1], values, choices);
    std::ranges::move(next, values.begin());
  }
  values.resize(static_cast<std::size_t>(a.carried));
  BoundedTensor result = together(std::move(values));
  return is_sure ? result : made_unknown(result);
}

BoundedTensor bound_scan(const Node& node, const Bounded& x, Choices choices) {
  const Attributes& a = node.attributes;
  const auto carried = static_cast<std::size_t>(a.carried);
  Bounded values = x, results(x.begin(), x.begin() + a.carried);
  std::vector<ValueType> types = node.others;
  types.insert(types.begin(), {node.dtype, node.shape});
  for (std::size_t i = carried; i < types.size(); ++i)
    results.push_back(
        {HostTensor(types[i].dtype, types[i].shape),
         std::vector<double>(static_cast<std::size_t>(element_count(types[i].shape)))});
  for (std::int64_t turn = 0; turn < a.end; ++turn) {
    const std::int64_t i = a.descending ? a.end - 1 - turn : turn;
    for (std::size_t k = carried; k < carried + static_cast<std::size_t>(a.sliced); ++k)
      values[k] = slice_of(x[k], i);
    Bounded given = outputs_of(a.bodies[0], values, choices);
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (k < carried)
        values[k] = results[k] = given[k];
      else
        set_slice(results[k], i, given[k]);
    }
  }
  return together(std::move(results));
}

}  // namespace

BoundedTensor bound_control(const Node& node, const std::vector<const BoundedTensor*>& operands,
                            Choices choices) {
  Bounded x;
  for (const BoundedTensor* operand : operands) {
    x.push_back(*operand);
    x.back().others.clear();
    x.back().value.others.clear();
  }
  if (node.op == Op::scan) return bound_scan(node, x, choices);
  if (node.op == Op::while_loop) return bound_while(node.attributes, std::move(x), choices);
  const BoundedTensor condition = x[0];
  x.erase(x.begin());
  BoundedTensor result =
      together(outputs_of(node.attributes.bodies[is_true(condition) ? 0 : 1], x, choices));
  return condition.error[0] == 0 ? result : made_unknown(result);
}

}  // namespace tilewright::graph
