#include "graph/derivatives/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "graph/ir/location.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

bool has_custom(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    bool is_custom = info(node.op).kind == Kind::custom;
    for (std::size_t i = 0; i < node.attributes.bodies.size(); ++i)
      is_custom = is_custom || has_custom(node.attributes.bodies[i]);
    return is_custom;
  });
}

class Comparison {
 public:
  Comparison(const Graph& graph, const GradientRequest& request, std::span<const HostTensor> inputs,
             const dsl::Target& target, const GradientCheck& check)
      : graph_(graph),
        request_(request),
        inputs_(inputs.begin(), inputs.end()),
        check_(check),
        random_(check.seed),
        // Code of the user's computes in its own dtype.
        noise_(has_custom(graph) ? 1e-7 : 1e-15) {
    std::vector<HostTensor> given = inputs_;
    for (std::size_t i : request.outputs) {
      const Node& output = graph.node(graph.outputs[i]);
      weights_.push_back(drawn(output.dtype, output.shape));
      given.push_back(weights_.back());
    }
    const Graph joint = decompose(gradient_graph(graph, request, target), target);
    std::vector<HostTensor> outputs = evaluate(joint, given, Rounding::double_).outputs;
    gradients_.assign(outputs.begin() + std::ssize(graph.outputs), outputs.end());
  }

  std::optional<GradientMismatch> mismatch() {
    for (std::size_t k = 0; k < request_.inputs.size(); ++k) {
      const std::size_t input = request_.inputs[k];
      const HostTensor direction = drawn(inputs_[input].dtype, inputs_[input].shape);
      double slope = 0, size = 0;
      for (std::size_t i = 0; i < direction.floating.size(); ++i) {
        const double part = gradients_[k].floating[i] * direction.floating[i];
        slope += part;
        size += std::abs(part);
      }
      const Differences found = differences(input, direction);
      size += std::abs(found.slope);
      const bool settles = found.error <= 1e-4 * size + found.noise;
      if (std::isfinite(found.slope) && settles &&
          !(std::abs(slope - found.slope) <=
            check_.tolerance * size + 10 * (found.error + found.noise)))
        return GradientMismatch{input, text_of(direction), slope, found.slope, {}};
    }
    return std::nullopt;
  }

 private:
  struct Differences {
    double slope, error, noise;
  };

  HostTensor drawn(DType dtype, const Shape& shape) {
    HostTensor tensor(dtype, shape);
    std::uniform_real_distribution<double> element(-1, 1);
    for (double& x : tensor.floating) x = element(random_);
    return tensor;
  }

  static std::string text_of(const HostTensor& direction) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, direction.floating.size()); ++i)
      text += concat(i == 0 ? "" : ", ", direction.floating[i]);
    return direction.floating.size() > 4 ? text + ", .." : text;
  }

  // The sum of the outputs times their weights; `size` becomes that of its parts.
  double total(std::size_t input, const HostTensor& direction, double step, double& size) const {
    std::vector<HostTensor> moved = inputs_;
    for (std::size_t i = 0; i < direction.floating.size(); ++i)
      moved[input].floating[i] += step * direction.floating[i];
    const std::vector<HostTensor> outputs = evaluate(graph_, moved, Rounding::double_).outputs;
    double sum = 0;
    size = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      const HostTensor& output = outputs[request_.outputs[k]];
      for (std::size_t i = 0; i < output.floating.size(); ++i) {
        const double part = output.floating[i] * weights_[k].floating[i];
        sum += part;
        size += std::abs(part);
      }
    }
    return sum;
  }

  // Central differences at three steps, extrapolated (Richardson); the error is what the last step
  // changes. At a kink they settle, too, halfway between the slopes of its sides: these differ by
  // as much at each step, where those of a smooth function approach each other.
  Differences differences(std::size_t input, const HostTensor& direction) const {
    double largest = 0;
    for (double x : inputs_[input].floating) largest = std::max(largest, std::abs(x));
    double step = std::pow(noise_, 0.2) * std::max(largest, 1e-3), slopes[3], gaps[3], size = 0;
    const double middle = total(input, direction, 0, size);
    for (std::size_t i = 0; i < 3; ++i, step /= 2) {
      const double above = total(input, direction, step, size);
      const double below = total(input, direction, -step, size);
      slopes[i] = (above - below) / (2 * step);
      gaps[i] = std::abs(above + below - 2 * middle) / step;
    }
    const double noise = 2 * noise_ * size / step;
    const double first = (4 * slopes[1] - slopes[0]) / 3, last = (4 * slopes[2] - slopes[1]) / 3;
    const bool is_kink = gaps[2] > 10 * noise && gaps[2] > 0.7 * gaps[0];
    const double error = is_kink ? std::numeric_limits<double>::infinity() : std::abs(last - first);
    return {last, error, noise};
  }

  const Graph& graph_;
  const GradientRequest& request_;
  const std::vector<HostTensor> inputs_;
  const GradientCheck check_;
  std::mt19937_64 random_;
  const double noise_;  // relative, of the outputs
  std::vector<HostTensor> weights_, gradients_;
};

// The first node whose rule alone differs from the differences of its op.
std::string cause_of(const Graph& graph, const GradientRequest& request,
                     std::span<const HostTensor> inputs, const dsl::Target& target,
                     const GradientCheck& check) {
  const std::vector<HostTensor> values = evaluate_nodes(graph, inputs, Rounding::double_);
  std::vector<bool> is_active(graph.nodes.size());
  for (std::size_t i : request.inputs) is_active[graph.inputs[i]] = true;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    Graph single;
    GraphBuilder builder(single);
    builder.set_location(node.where);
    builder.set_origin(node.origin);
    GradientRequest own;
    std::vector<HostTensor> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const NodeId operand = node.operands[i];
      operands.push_back(values[operand]);
      operands.back().others.clear();
      builder.input(graph.node(operand).dtype, graph.node(operand).shape);
      if (is_active[operand] && is_floating(graph.node(operand).dtype)) own.inputs.push_back(i);
    }
    is_active[id] = !own.inputs.empty();
    if (!is_active[id] || node.op == Op::result) continue;
    single.outputs = builder.results_of(append_like(builder, node, single.inputs));
    for (std::size_t i = 0; i < single.outputs.size(); ++i)
      if (is_floating(single.node(single.outputs[i]).dtype)) own.outputs.push_back(i);
    if (!own.outputs.empty() && Comparison(single, own, operands, target, check).mismatch())
      return concat(word_of(node.origin), " at ", At{node.where});
  }
  return {};
}

}  // namespace

std::optional<GradientMismatch> gradient_mismatch(const Graph& graph,
                                                  const GradientRequest& request,
                                                  std::span<const HostTensor> inputs,
                                                  const dsl::Target& target,
                                                  const GradientCheck& check) {
  const Graph expanded = differentiate(graph, target);
  auto found = Comparison(expanded, request, inputs, target, check).mismatch();
  if (found) found->cause = cause_of(expanded, request, inputs, target, check);
  return found;
}

}  // namespace tilewright::graph
