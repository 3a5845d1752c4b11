#include "graph/compile/captures/verify_capture.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/ir/text.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

[[noreturn]] void raise(const std::string& what, std::source_location where) {
  raise_error(concat("[compile] verify_capture: at ", describe(where), " the function ", what,
                     "; something that it reads besides tensors has changed since it was captured. "
                     "Hold a value of the host in a Guarded, pass a number that changes often as a "
                     "tensor or a DynamicScalar, and assign to a tensor's handle rather than "
                     "exchange what points to it"));
}

// "'full {number=2}' of f32 4x8"
std::string text_of(const Node& node) {
  std::string attributes = attribute_text(node.attributes);
  return concat("'", info(node.op).name, attributes.empty() ? "" : " {", attributes,
                attributes.empty() ? "" : "}", "' of ", node.dtype, " ", node.shape);
}

bool is_same(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && a.type() == b.type() &&
         a.attributes == b.attributes;
}

std::source_location use_of(const Graph& graph, NodeId input) {
  for (const Node& node : graph.nodes)
    if (std::ranges::count(node.operands, input) > 0) return node.where;
  return graph.node(input).where;
}

// Inputs of the graph are nodes with no line of their own: they are named by their first use.
std::source_location line_of(const Graph& graph, NodeId id) {
  return graph.node(id).op == Op::input ? use_of(graph, id) : graph.node(id).where;
}

void require_same_nodes(const Graph& before, const Graph& now) {
  std::size_t both = std::min(before.nodes.size(), now.nodes.size());
  for (NodeId id = 0; id < both; ++id)
    if (!is_same(before.node(id), now.node(id)))
      raise(concat("computes ", text_of(now.node(id)), " where it was captured with ",
                   text_of(before.node(id))),
            line_of(now, id));
  if (now.nodes.size() > both)
    raise(concat("computes ", text_of(now.nodes[both]), ", which it did not when it was captured"),
          line_of(now, static_cast<NodeId>(both)));
  if (before.nodes.size() > both)
    raise(concat("was captured with ", text_of(before.nodes[both]),
                 ", which it does not compute now"),
          line_of(before, static_cast<NodeId>(both)));
}

// For tensors that a function makes of numbers of the host, or views of such tensors.
bool have_equal_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = copy_to(a, Device::cpu()), y = copy_to(b, Device::cpu());
  const auto bytes = static_cast<std::size_t>(a.count() * size_bytes(a.dtype()));
  return bytes == 0 || std::memcmp(address_of(*x.body()), address_of(*y.body()), bytes) == 0;
}

bool is_same(const Mutation& a, const Mutation& b) {
  return a.input == b.input && a.value == b.value;
}

}  // namespace

void require_same_capture(const CaptureView& before, const CaptureView& now) {
  require_same_nodes(before.graph, now.graph);
  if (before.returned != now.returned && !now.graph.outputs.empty())
    raise("returns other numbers, keys or sizes besides its tensors than when it was captured",
          now.graph.node(now.graph.outputs[0]).where);
  if (before.logs != now.logs)
    raise(concat("logs ", now.logs, " tensors and logged ", before.logs, " when it was captured"),
          now.graph.node(now.graph.outputs[0]).where);
  if (before.graph.outputs != now.graph.outputs && !now.graph.outputs.empty())
    raise("returns another value than when it was captured",
          now.graph.node(now.graph.outputs[0]).where);
  auto [was, is] =
      std::ranges::mismatch(before.graph.mutations, now.graph.mutations,
                            [](const Mutation& a, const Mutation& b) { return is_same(a, b); });
  if (was != before.graph.mutations.end() || is != now.graph.mutations.end()) {
    bool is_new = is != now.graph.mutations.end();
    raise("writes other tensors in place than when it was captured",
          is_new ? now.graph.node(is->value).where : before.graph.node(was->value).where);
  }
  std::size_t arguments = now.graph.inputs.size() - now.captured.size();
  for (std::size_t i = 0; i < now.captured.size(); ++i) {
    const TensorBody &a = *before.captured[i].body(), &b = *now.captured[i].body();
    bool is_result = b.token.count != nullptr;  // of a recorded step: kept as a copy
    if (is_result || (a.buffer == b.buffer && a.view.offset == b.view.offset)) continue;
    if (a.is_made_inside && b.is_made_inside) {
      if (have_equal_bytes(before.captured[i], now.captured[i])) continue;
      raise(concat("makes a tensor of shape ", b.view.shape,
                   " of other numbers than when it was captured"),
            use_of(now.graph, now.graph.inputs[arguments + i]));
    }
    raise(concat("uses another tensor of shape ", b.view.shape, " than when it was captured"),
          use_of(now.graph, now.graph.inputs[arguments + i]));
  }
}

SymbolicRun run_over_symbols(const TensorFunction& function, const Signature& signature) {
  TraceSpan span("compile", "capture");
  Capture capture;
  std::vector<Tensor> symbols;
  for (const ArgumentType& argument : signature)
    symbols.push_back(capture.placeholder(argument.dtype, argument.shape, argument.strides));
  SymbolicRun result{.returned = function(symbols)};
  capture.own_results(result.returned.tensors);
  Returned tensors(result.returned.tensors, symbols);
  result.captured = capture.finish(std::exchange(result.returned.tensors, {}));
  result.origins = tensors.origins(result.captured);
  return result;
}

}  // namespace tilewright::graph
