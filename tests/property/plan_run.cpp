#include "tests/property/plan_run.h"

#include <cstring>

#include "runtime/plan/recording.h"
#include "tests/property/host_memory.h"

namespace tilewright::graph {
namespace {

// Input memory in buffers of the library, so that sanitizers see every access outside them, in the
// memory of the plan's device.
struct FilledInputs {
  FilledInputs(const Graph& graph, std::span<const HostTensor> inputs, DeviceMemory* device) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      bool strided = i < graph.input_strides.size();
      std::vector<std::byte> bytes =
          to_memory(inputs[i], strided ? graph.input_strides[i] : Strides{});
      auto size = static_cast<std::int64_t>(bytes.size());
      buffers.push_back(Buffer::allocate(size, device));
      if (device != nullptr)
        device->copy_from_host(buffers.back()->data(), bytes.data(), size);
      else if (!bytes.empty())
        std::memcpy(buffers.back()->data(), bytes.data(), bytes.size());
      addresses.push_back(buffers.back()->data());
    }
  }
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<void*> addresses;
};

// The contents of a buffer, on the host.
std::shared_ptr<Buffer> on_host(const std::shared_ptr<Buffer>& buffer) {
  if (buffer->memory() == nullptr) return buffer;
  auto copy = Buffer::allocate(buffer->size_bytes());
  buffer->memory()->copy_to_host(copy->data(), buffer->data(), buffer->size_bytes());
  return copy;
}

Strides strides_of_input(const Graph& graph, std::size_t i) {
  return i < graph.input_strides.size() ? graph.input_strides[i] : Strides{};
}

}  // namespace

Evaluation run_planned(const Graph& graph, std::span<const HostTensor> inputs,
                       const PlanForm& form) {
  PlanOptions options = form.options;
  // An interpreter reads the host's memory, although its program is written for the GPU.
  if (options.interpret && options.device.is_cuda())
    options.device = Device::emulated(options.device.target().cpu);
  auto plan = make_plan(graph, options);
  FilledInputs memory(graph, inputs, plan->device().memory());
  std::vector<std::shared_ptr<Buffer>> outputs;
  if (form.recorded && plan->executable()->may_be_recorded()) {
    // The first call works on memory of its own, so that the second has addresses to patch.
    FilledInputs other(graph, inputs, plan->device().memory());
    Recording recording(plan->executable());
    recording.run(other.addresses);
    outputs = recording.run(memory.addresses);
  } else {
    outputs = plan->run(memory.addresses);
  }
  Evaluation result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const PlanOutput& output = plan->outputs()[i];
    if (output.input) {
      auto input = static_cast<std::size_t>(*output.input);
      result.outputs.push_back(from_memory(output.dtype, output.shape,
                                           on_host(memory.buffers[input])->data(),
                                           strides_of_input(graph, input)));
    } else {
      result.outputs.push_back(
          from_memory(output.dtype, output.shape, on_host(outputs[i])->data()));
    }
  }
  for (const Mutation& m : graph.mutations) {
    auto input = static_cast<std::size_t>(
        std::find(graph.inputs.begin(), graph.inputs.end(), m.input) - graph.inputs.begin());
    const Node& node = graph.node(m.input);
    result.mutated.push_back(from_memory(node.dtype, node.shape,
                                         on_host(memory.buffers[input])->data(),
                                         strides_of_input(graph, input)));
  }
  return result;
}

}  // namespace tilewright::graph
