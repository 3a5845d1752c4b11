#include "tests/property/rounding_units.h"

namespace tilewright::graph {

// The bounds of the sums are such sums too: of what operands are off by, and of their magnitudes,
// which a sum of so many products and the bias rounds.
std::vector<double> convolution_error(const Graph& graph, NodeId id, const HostTensor& y,
                                      const Operands& x) {
  const Node& node = graph.node(id);
  std::vector<HostTensor> sizes, errors;
  for (const BoundedTensor* operand : x) {
    HostTensor size = operand->value, error = operand->value;
    for (std::int64_t i = 0; i < size.count(); ++i) {
      size.set_number(i, magnitude(*operand, i));
      error.set_number(i, operand->error[static_cast<std::size_t>(i)]);
    }
    sizes.push_back(std::move(size));
    errors.push_back(std::move(error));
  }
  auto sums = [&](const HostTensor& of_x, const HostTensor& of_filters, const HostTensor* bias) {
    std::vector<const HostTensor*> operands = {&of_x, &of_filters};
    HostTensor none;
    if (x.size() > 2) {
      if (bias == nullptr) none = HostTensor(node.dtype, x[2]->value.shape);
      operands.push_back(bias == nullptr ? &none : bias);
    }
    return evaluate_node(graph, id, operands, Rounding::double_);
  };
  const HostTensor* bias_size = x.size() > 2 ? &sizes[2] : nullptr;
  const HostTensor* bias_error = x.size() > 2 ? &errors[2] : nullptr;
  const HostTensor by_x = sums(errors[0], sizes[1], bias_error);
  const HostTensor by_filters = sums(sizes[0], errors[1], nullptr);
  const HostTensor size = sums(sizes[0], sizes[1], bias_size);
  const auto terms = static_cast<double>(x[1]->value.count() / x[1]->value.shape[0] + 1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < y.count(); ++i) {
    double error = by_x.number(i) + by_filters.number(i) +
                   gamma(terms, accumulator_unit(node.dtype)) * size.number(i);
    result.push_back(error + rounding(node.dtype, std::abs(y.number(i)) + error));
  }
  return result;
}

}  // namespace tilewright::graph
