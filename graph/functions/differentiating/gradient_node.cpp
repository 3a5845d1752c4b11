#include "graph/functions/differentiating/gradient_node.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <mutex>
#include <optional>

#include "graph/custom/definition.h"
#include "graph/ir/text.h"
#include "graph/ops/derivatives/differential.h"
#include "graph/passes/passes.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/splice.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The body with its gradients, made when it is first needed and kept for its target.
class Expansion {
 public:
  Expansion(Graph body, GradientRequest request)
      : body_(std::move(body)), request_(std::move(request)) {}

  std::shared_ptr<const Graph> of(const dsl::Target& target) {
    std::lock_guard lock(mutex_);
    if (graph_ == nullptr || target != target_) {
      graph_ = std::make_shared<const Graph>(gradient_graph(rewritten(target), request_, target));
      target_ = target;
    }
    return graph_;
  }

  std::vector<TensorType> result_types() const {
    std::vector<TensorType> types;
    for (NodeId id : body_.outputs) types.push_back({body_.node(id).dtype, body_.node(id).shape});
    for (std::size_t i : request_.inputs) {
      const Node& input = body_.node(body_.inputs[i]);
      types.push_back({input.dtype, input.shape});
    }
    return types;
  }

 private:
  // After the passes that the captured graph around goes through before its gradients are expanded.
  Graph rewritten(const dsl::Target& target) const {
    const std::array<std::string, 4> names = {"common_subexpressions", "decide_by_places",
                                              "form_attention", "place_masks"};
    return run_named_passes(body_, names, target);
  }

  const Graph body_;
  const GradientRequest request_;
  std::mutex mutex_;
  std::shared_ptr<const Graph> graph_;
  dsl::Target target_;
};

// As `splice`, but nodes keep the lines and the words that they have.
std::vector<NodeId> with_own_lines(const Graph& graph, GraphBuilder& builder,
                                   const std::vector<NodeId>& inputs) {
  std::vector<NodeId> ids(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) ids[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<NodeId> operands;
    for (NodeId operand : node.operands) operands.push_back(ids[operand]);
    builder.set_location(node.where);
    builder.set_origin(node.origin);
    ids[id] = chooses_dtype(node.op)
                  ? builder.append(node.op, std::move(operands), node.attributes, node.dtype)
                  : builder.append(node.op, std::move(operands), node.attributes);
  }
  std::vector<NodeId> outputs;
  for (NodeId id : graph.outputs) outputs.push_back(ids[id]);
  return outputs;
}

std::string text_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t number : numbers) text += concat(text.empty() ? "" : "x", number);
  return text;
}

std::vector<std::size_t> numbers_of(std::string_view text) {
  std::vector<std::size_t> numbers;
  while (!text.empty()) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    require(error == std::errc(), "[gradient] \"", text, "\" is no list of numbers; it must be ",
            "numbers with x between them");
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('x')) text.remove_prefix(1);
  }
  return numbers;
}

// The text between two others, which goes, with all before it.
std::string_view taken(std::string_view& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  const std::size_t to =
      from == std::string_view::npos ? from : text.find(end, from + begin.size());
  require(to != std::string_view::npos, "[gradient] \"", text, "\" has no part between ", begin,
          " and ", end, "; it must be inputs=.., outputs=.., body=<..>");
  const std::string_view part = text.substr(from + begin.size(), to - from - begin.size());
  text.remove_prefix(to);
  return part;
}

}  // namespace

CustomReference gradient_of(Graph body, GradientRequest request) {
  std::string text = print(body);
  std::ranges::replace(text, '\n', ';');
  CustomDefinition definition;
  definition.name = gradient_name;
  definition.settings = concat("inputs=", text_of(request.inputs),
                               ", outputs=", text_of(request.outputs), ", body=<", text, ">");
  definition.identity = Hasher().add(gradient_name).add(definition.settings).finish();
  auto expansion = std::make_shared<Expansion>(std::move(body), std::move(request));
  definition.rule = [types = expansion->result_types()](std::span<const TensorType>) {
    return types;
  };
  definition.is_gradient = true;
  definition.composites = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                      const dsl::Target& target) {
    return with_own_lines(*expansion->of(target), builder, operands);
  };
  definition.formula = [expansion](GraphBuilder& builder, const std::vector<NodeId>& operands,
                                   const dsl::Target& target) {
    return with_own_lines(decompose(*expansion->of(target), target), builder, operands);
  };
  return CustomReference(std::make_shared<const CustomDefinition>(std::move(definition)));
}

CustomReference gradient_from_text(std::string_view text) {
  GradientRequest request;
  request.inputs = numbers_of(taken(text, "inputs=", ", outputs="));
  request.outputs = numbers_of(taken(text, "outputs=", ", body=<"));
  text.remove_prefix(text.find('<') + 1);
  require(text.ends_with('>'), "[gradient] the body \"", text, "\" does not end; it must be <..>");
  std::string body(text.substr(0, text.size() - 1));
  int depth = 0;
  for (char& c : body) {
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c == ';' && depth == 0) c = '\n';
  }
  return gradient_of(parse(body), std::move(request));
}

CustomReference stop_gradient_op() {
  CustomDefinition definition;
  definition.name = "stop_gradient";
  definition.identity = Hasher().add("named").add(definition.name).finish();
  definition.rule = [](std::span<const TensorType> operands) {
    return std::vector<TensorType>(operands.begin(), operands.end());
  };
  definition.formula = [](GraphBuilder&, const std::vector<NodeId>& operands, const dsl::Target&) {
    return operands;
  };
  definition.derivative = [](const Differential& d) {
    return std::vector<std::optional<NodeId>>(d.operands.size());
  };
  return CustomReference(std::make_shared<const CustomDefinition>(std::move(definition)));
}

}  // namespace tilewright::graph
