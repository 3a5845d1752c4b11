#include "graph/tensor/eager.h"

#include <vector>

#include "graph/ir/location.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager_plans.h"
#include "graph/tensor/memory/memory_overlap.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

struct Call {
  std::string_view name;  // for messages
  std::span<const Tensor> operands;
  std::source_location where;
  Hash key;  // of all that its graph depends on besides the operands
  bool writes_first = false;
};
// Makes the graph of a call, of its operands where they lie.
using MakeGraph = std::function<Graph(std::span<const Tensor>)>;

// Where a call runs: on the GPU that its operands lie on, or the host.
Device device_of(const Call& call) {
  DeviceMemory* memory = nullptr;
  for (const Tensor& operand : call.operands) {
    DeviceMemory* own = operand.body()->buffer->memory();
    if (own == nullptr || own == memory) continue;
    require(memory == nullptr, "[", call.name, "] operands lie on ",
            memory == nullptr ? "" : memory->name(), " and on ", own->name(), " (at ",
            At{call.where}, "); bring them to one device with to()");
    memory = own;
  }
  return Device::of(memory);
}

// Constants and single numbers may lie elsewhere, they are brought there; other operands may not.
Tensor operand_on(const Device& device, const Tensor& operand, const Call& call) {
  const TensorBody& body = *operand.body();
  if (body.buffer->memory() == device.memory()) return operand;
  bool is_number = body.buffer->size_bytes() == size_bytes(body.dtype);
  require(is_number || body.is_constant, "[", call.name, "] an operand of shape ", operand.shape(),
          " lies on ", operand.device().text(), ", another on ", device.text(), " (at ",
          At{call.where}, "); bring them to one device with to()");
  auto copy = Buffer::allocate(body.buffer->size_bytes(), device.memory());
  device.memory()->copy_from_host(copy->data(), body.buffer->data(), copy->size_bytes());
  return make_tensor(body.dtype, body.view, std::move(copy));
}

Hash key_of(const Call& call, const Device& device) {
  Hasher hasher;
  hasher.add(device.text()).add(call.key).add(call.operands.size()).add(thread_count());
  for (const Tensor& operand : call.operands) {
    const TensorBody& body = *operand.body();
    hasher.add(body.dtype).add(body.view.shape).add(body.view.strides);
    if (device.is_cuda()) hasher.add(begins_aligned(body));
  }
  return hasher.finish();
}

// One op, whose result is written over the first operand or is fresh.
struct Application {
  Op op;
  const Attributes& attributes;
  std::optional<DType> dtype;
  bool in_place;
  std::source_location where;

  Hash key() const {
    Hasher hasher;
    hasher.add(op).add(in_place).add(dtype ? 1 + static_cast<int>(*dtype) : 0);
    add_attributes(hasher, attributes);
    return hasher.finish();
  }
  Graph graph(std::span<const Tensor> operands) const {
    Graph graph;
    GraphBuilder builder(graph);
    builder.set_location(where);
    std::vector<NodeId> ids;
    for (const Tensor& operand : operands) {
      const TensorBody& body = *operand.body();
      ids.push_back(builder.input(body.dtype, body.view.shape, body.view.strides));
    }
    NodeId node =
        dtype ? builder.append(op, ids, attributes, *dtype) : builder.append(op, ids, attributes);
    if (in_place)
      graph.mutations = {{ids[0], node}};
    else
      graph.outputs = builder.results_of(node);
    return graph;
  }
};

Graph graph_of(const TensorsOfTensors& function, std::span<const Tensor> operands) {
  Capture capture;
  std::vector<Tensor> inputs;
  for (const Tensor& operand : operands) {
    const TensorBody& body = *operand.body();
    inputs.push_back(capture.placeholder(body.dtype, body.view.shape, body.view.strides));
  }
  Captured captured = capture.finish(function(inputs));
  check(captured.captured.empty(), "a function that runs at once uses more than its operands");
  return std::move(captured.graph);
}

// Operands in the memory of the first, which is written, are copied: a call reads them as they were
// before it, as a compiled one does.
std::vector<Tensor> apart_from_first(std::span<const Tensor> operands) {
  std::vector<Tensor> apart(operands.begin(), operands.end());
  auto elements_of = [](const Tensor& tensor) {
    const TensorBody& body = *tensor.body();
    return Elements{body.buffer.get(), body.dtype, body.view};
  };
  for (Tensor& other : std::span(apart).subspan(1))
    if (share_bytes(elements_of(apart[0]), elements_of(other))) other = copy_row_major(other);
  return apart;
}

// `access` holds the operands from here on.
std::vector<std::shared_ptr<Buffer>> run(const Call& given, const MakeGraph& make_graph,
                                         std::shared_ptr<const Plan>& plan, StepAccess& access) {
  for (const Tensor& operand : given.operands) {
    access.add(body_of(operand, given.name, given.where).token);
  }
  access.begin(given.name, given.where);
  Call call = given;
  Device device = device_of(call);
  std::vector<Tensor> apart, moved;
  if (call.writes_first) {
    apart = apart_from_first(call.operands);
    call.operands = apart;
  }
  if (device.is_cuda()) {
    for (const Tensor& operand : call.operands) moved.push_back(operand_on(device, operand, call));
    call.operands = moved;
  }
  Hash key = key_of(call, device);
  plan = find_eager_plan(key);
  if (!plan)
    plan = keep_eager_plan(
        key, make_plan(run_passes(make_graph(call.operands), {.target = device.target()}),
                       {.device = device, .inputs = memory_of_operands(call.operands)}));
  return run_eager_plan(*plan, call.operands);
}

std::vector<Tensor> run_for_results(const Call& call, const MakeGraph& make_graph) {
  InsideLibrary inside;
  std::shared_ptr<const Plan> plan;
  StepAccess access;
  auto buffers = run(call, make_graph, plan, access);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PlanOutput& output = plan->outputs()[i];
    // Where an operation changes nothing, as a sum of one element.
    if (output.input)
      buffers[i] =
          copy_row_major(call.operands[static_cast<std::size_t>(*output.input)]).body()->buffer;
    results.push_back(make_tensor(output.dtype, row_major(output.shape), std::move(buffers[i])));
  }
  return results;
}

}  // namespace

std::vector<Tensor> run_eager(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                              std::optional<DType> dtype, std::source_location where) {
  Application application{op, attributes, dtype, false, where};
  return run_for_results({info(op).name, operands, where, application.key()},
                         [&](std::span<const Tensor> x) { return application.graph(x); });
}

std::vector<Tensor> run_eager_function(std::string_view name, const Hash& key,
                                       std::span<const Tensor> operands,
                                       const TensorsOfTensors& function,
                                       std::source_location where) {
  Hasher hasher;
  hasher.add(name).add(key);
  return run_for_results({name, operands, where, hasher.finish()},
                         [&](std::span<const Tensor> x) { return graph_of(function, x); });
}

void run_eager_function_in_place(std::string_view name, const Hash& key,
                                 std::span<const Tensor> operands, const TensorsOfTensors& function,
                                 std::source_location where) {
  std::shared_ptr<const Plan> plan;
  StepAccess access;
  Hasher hasher;
  hasher.add("in place").add(name).add(key);
  auto make_graph = [&](std::span<const Tensor> x) {
    Graph graph = graph_of(function, x);
    graph.mutations = {{graph.inputs[0], graph.outputs[0]}};
    graph.outputs.clear();
    return graph;
  };
  run({name, operands, where, hasher.finish(), true}, make_graph, plan, access);
}

void run_eager_in_place(Op op, std::span<const Tensor> operands, const Attributes& attributes,
                        std::source_location where) {
  std::shared_ptr<const Plan> plan;
  StepAccess access;
  Application application{op, attributes, std::nullopt, true, where};
  run(
      {info(op).name, operands, where, application.key(), true},
      [&](std::span<const Tensor> x) { return application.graph(x); }, plan, access);
}

}  // namespace tilewright::graph
