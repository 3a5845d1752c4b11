#include "graph/functions/custom/formulas.h"

#include <optional>

#include "dsl/language/tracer.h"
#include "graph/custom/elementwise.h"
#include "graph/ir/location.h"
#include "graph/passes/passes.h"
#include "graph/passes/splice.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// A straight program of scalars as nodes of one shape.
class ElementwiseTranslation {
 public:
  ElementwiseTranslation(const std::string& name, const ir::Function& function,
                         GraphBuilder& builder, Shape shape)
      : name_(name), function_(function), builder_(builder), shape_(std::move(shape)) {
    nodes_.resize(function.types.size());
  }

  void set(ir::Value value, NodeId node) { nodes_[value] = node; }
  NodeId of(ir::Value value) const { return nodes_[value]; }

  void run() {
    for (const ir::Inst& inst : function_.body.insts)
      if (inst.op != ir::Op::yield_) {
        NodeId node = translated(inst);
        nodes_[inst.results[0]] = node;
      }
  }

 private:
  NodeId translated(const ir::Inst& inst) {
    std::vector<NodeId> operands;
    for (ir::Value operand : inst.operands) operands.push_back(nodes_[operand]);
    const bool is_scalar = inst.results.size() == 1 && function_.type(inst.results[0]).is_scalar();
    std::optional<NodeId> node;
    if (is_scalar)
      node = append_elementwise(builder_, function_, inst, std::move(operands), shape_);
    require(node.has_value(), "[", name_, "] ", describe(inst.where),
            ": an elementwise function uses ", ir::info(inst.op).name,
            ", which graphs have no operation for; implement the op by a kernel");
    return *node;
  }

  const std::string& name_;
  const ir::Function& function_;
  GraphBuilder& builder_;
  Shape shape_;
  std::vector<NodeId> nodes_;
};

NodeId broadcast(GraphBuilder& builder, NodeId id, const Shape& shape) {
  if (builder.node(id).shape == shape) return id;
  if (builder.node(id).shape.rank() < shape.rank()) {
    const Shape& own = builder.node(id).shape;
    Attributes sizes;
    sizes.sizes = Shape(static_cast<std::size_t>(shape.rank() - own.rank()), 1);
    sizes.sizes.insert(sizes.sizes.end(), own.begin(), own.end());
    id = builder.append(Op::reshape, {id}, std::move(sizes));
  }
  if (builder.node(id).shape == shape) return id;
  Attributes sizes;
  sizes.sizes = shape;
  return builder.append(Op::expand, {id}, std::move(sizes));
}

Shape common_shape(const std::string& name, GraphBuilder& builder,
                   const std::vector<NodeId>& operands) {
  std::optional<Shape> shape = Shape{};
  std::string text;
  for (NodeId id : operands) {
    text += concat(text.empty() ? "" : ", ", "[", builder.node(id).shape, "]");
    shape = broadcast_shapes(*shape, builder.node(id).shape);
    require(shape.has_value(), "[", name, "] shapes do not broadcast: ", text, " (at ",
            At{builder.location()}, "); sizes must be equal or 1, counted from the last axis");
  }
  return *shape;
}

void require_types(const std::string& name, const ShapeRule& rule, GraphBuilder& builder,
                   const std::vector<NodeId>& operands, const std::vector<NodeId>& results) {
  std::vector<TensorType> types;
  for (NodeId id : operands) types.push_back({builder.node(id).dtype, builder.node(id).shape});
  const std::vector<TensorType> said = rule(types);
  require(said.size() == results.size(), "[", name, "] the function gives ", results.size(),
          " results, and the shape rule ", said.size(), "; both must say the same");
  for (std::size_t i = 0; i < said.size(); ++i) {
    const Node& node = builder.node(results[i]);
    require(said[i].dtype == node.dtype && said[i].shape == node.shape, "[", name,
            "] the function gives ", node.dtype, " [", node.shape, "] as result ", i,
            ", and the shape rule says ", said[i].dtype, " [", said[i].shape,
            "]; both must say the same");
  }
}

}  // namespace

CustomDefinition::Formula formula_of(const std::string& name, ElementwiseFunction elementwise) {
  return [name, elementwise = std::move(elementwise)](
             GraphBuilder& builder, const std::vector<NodeId>& operands, const dsl::Target&) {
    require(operands.size() == elementwise.operands, "[", name, "] there are ", operands.size(),
            " operands (at ", At{builder.location()}, "); the function takes ",
            elementwise.operands);
    const Shape shape = common_shape(name, builder, operands);
    dsl::Tracer tracer(name);
    std::vector<dsl::Tile> tiles;
    for (std::size_t i = 0; i < operands.size(); ++i)
      tiles.push_back(tracer.scalar_param(concat("x", i), builder.node(operands[i]).dtype));
    const dsl::Tile result = elementwise.function(tiles);
    require(result.defined(), "[", name,
            "] the elementwise function gives nothing; it must give "
            "the tile of its results");
    const ir::Function& function = tracer.function();
    ElementwiseTranslation translation(name, function, builder, shape);
    for (std::size_t i = 0; i < operands.size(); ++i)
      translation.set(function.params[i].value, broadcast(builder, operands[i], shape));
    translation.run();
    return std::vector{translation.of(result.value())};
  };
}

CustomDefinition::Formula formula_of(const std::string& name, ShapeRule rule,
                                     GraphFunction function, Composites composites) {
  return
      [name, rule = std::move(rule), function = std::move(function), composites](
          GraphBuilder& builder, const std::vector<NodeId>& operands, const dsl::Target& target) {
        const CapturePause pause;
        const AutocastPause no_autocast;
        Capture capture;
        std::vector<Tensor> inputs;
        for (NodeId id : operands)
          inputs.push_back(capture.placeholder(builder.node(id).dtype, builder.node(id).shape));
        Captured captured = capture.finish(function(inputs));
        require(captured.captured.empty(), "[", name,
                "] the function uses a tensor that is not an operand; pass it as one");
        require(captured.graph.mutations.empty(), "[", name,
                "] the function writes an operand; return the value as a result");
        // The graph that replaces a composite contains no composite.
        const Graph graph = composites == Composites::decomposed ? decompose(captured.graph, target)
                                                                 : std::move(captured.graph);
        const std::vector<NodeId> ids = splice(graph, builder, operands);
        std::vector<NodeId> results;
        for (NodeId id : graph.outputs) results.push_back(ids[id]);
        require_types(name, rule, builder, operands, results);
        return results;
      };
}

}  // namespace tilewright::graph
