#include "models/onnx/control/running.h"

#include "graph/tensor/recording/graph_break.h"
#include "models/files/reader.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::onnx {
namespace {

Value& value_of(ValueId id, Execution& execution) {
  return execution.values[static_cast<std::size_t>(id)];
}

// Values of a body must not outlive it: inside compile() they may belong to a graph of its own.
class BodyValues {
 public:
  BodyValues(const Graph& body, Execution& execution) : body_(body), execution_(execution) {}
  ~BodyValues() {
    for (ValueId id : body_.inputs) value_of(id, execution_) = Value();
    for (const Node& node : body_.nodes)
      for (ValueId id : node.outputs)
        if (id != no_value) value_of(id, execution_) = Value();
  }
  BodyValues(const BodyValues&) = delete;
  BodyValues& operator=(const BodyValues&) = delete;

 private:
  const Graph& body_;
  Execution& execution_;
};

std::string name_of_node(const void* node, std::string_view file) {
  const auto* named = static_cast<const Node*>(node);
  return concat("node \"", json::excerpt(named->name), "\" (", json::excerpt(named->op), ")",
                file.empty() ? "" : " of ", file);
}

}  // namespace

void compute(const Node& node, Execution& execution) {
  graph::ForeignNode running(&node, name_of_node, execution.program.file);
  try {
    Call call(node, execution);
    auto known = folded(call);
    Results results =
        known ? std::move(*known) : while_doing({"onnx", "computing", node.op}, [&] {
          return find_operator(node.op, call.opset())->compute(call);
        });
    call.refuse_unread();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == no_value) continue;
      require(i < results.size(), "[onnx] its result ", i, " is not supported");
      execution.program.require_as_declared(node.outputs[i], results[i]);
      value_of(node.outputs[i], execution) = std::move(results[i]);
    }
  } catch (const graph::GraphBreak&) {
    throw;
  } catch (const graph::ForeignNodeError&) {
    throw;
  } catch (const Error& error) {
    raise_error(concat(error.what(), "\n  in ", name_of_node(&node, execution.program.file)));
  }
}

std::vector<Value> run(const Graph& body, std::vector<Value> inputs, Execution& execution) {
  require(inputs.size() == body.inputs.size(), "[onnx] the body \"", json::excerpt(body.name),
          "\" takes ", body.inputs.size(), " values and is given ", inputs.size(),
          "; it must take as many");
  BodyValues owned(body, execution);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    execution.program.require_as_declared(body.inputs[i], inputs[i]);
    value_of(body.inputs[i], execution) = std::move(inputs[i]);
  }
  for (const Node& node : body.nodes) compute(node, execution);
  std::vector<Value> outputs;
  for (const Output& output : body.outputs) {
    const Value& value = value_of(output.value, execution);
    require(value.defined(), "[onnx] the body \"", json::excerpt(body.name), "\" gives \"",
            json::excerpt(output.name), "\", which was not computed");
    outputs.push_back(value);
  }
  return outputs;
}

}  // namespace tilewright::onnx
