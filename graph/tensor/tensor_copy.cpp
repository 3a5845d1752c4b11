#include "graph/tensor/tensor_copy.h"

#include "graph/tensor/eager_plans.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/memory/strided_copy.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {
namespace {

std::int64_t bytes_of(const Tensor& tensor) { return tensor.count() * size_bytes(tensor.dtype()); }

// Both row-major.
void copy_bytes(const Tensor& to, const Tensor& from) {
  DeviceMemory *there = memory_of(to), *here = memory_of(from);
  void *target = address_of(*to.body()), *source = address_of(*from.body());
  std::int64_t bytes = bytes_of(to);
  if (here == there) return here->copy(target, source, bytes);
  if (here == nullptr) return there->copy_from_host(target, source, bytes);
  if (there == nullptr) return here->copy_to_host(target, source, bytes);
  if (there->copy_from(target, *here, source, bytes)) return;
  auto between = Buffer::allocate(bytes);
  here->copy_to_host(between->data(), source, bytes);
  there->copy_from_host(target, between->data(), bytes);
}

// By a kernel, on the one device where both lie.
void copy_by_plan(const Tensor& to, const Tensor& from) {
  const Tensor operands[2] = {to, from};
  Device device = to.device();
  Hasher hasher;
  hasher.add("copy").add(device.text()).add(to.dtype()).add(to.shape());
  for (const Tensor& operand : operands)
    hasher.add(operand.strides()).add(begins_aligned(*operand.body()));
  Hash key = hasher.finish();
  std::shared_ptr<const Plan> plan = find_eager_plan(key);
  if (!plan) {
    Graph graph;
    GraphBuilder builder(graph);
    NodeId target = builder.input(to.dtype(), to.shape(), to.strides());
    NodeId source = builder.input(from.dtype(), from.shape(), from.strides());
    graph.mutations = {{target, source}};
    plan = keep_eager_plan(
        key, make_plan(graph, {.device = device, .inputs = memory_of_operands(operands)}));
  }
  run_eager_plan(*plan, operands);
}

}  // namespace

void copy_elements(const Tensor& to, const Tensor& from) {
  if (to.count() == 0) return;
  const TensorBody &target = *to.body(), &source = *from.body();
  if (memory_of(to) == nullptr && memory_of(from) == nullptr)
    return copy_elements(target.buffer->data(), target.view, source.buffer->data(), source.view,
                         size_bytes(target.dtype));
  if (to.is_contiguous() && from.is_contiguous()) return copy_bytes(to, from);
  if (memory_of(to) == memory_of(from)) return copy_by_plan(to, from);
  if (!from.is_contiguous()) return copy_elements(to, copy_to(from, from.device()));
  copy_elements(to, copy_to(from, to.device()));
}

Tensor copy_to(const Tensor& from, const Device& device) {
  auto buffer = Buffer::allocate(from.count() * size_bytes(from.dtype()), device.memory());
  Tensor to = make_tensor(from.dtype(), row_major(from.shape()), std::move(buffer));
  copy_elements(to, from);
  return to;
}

Tensor host_copy(const Tensor& from, std::string_view operation,
                 std::optional<std::source_location> where) {
  StepAccess access(from.body()->token, operation, where);
  return copy_to(from, Device::cpu());
}

Tensor copy_row_major(const Tensor& concrete) { return copy_to(concrete, concrete.device()); }

static const TensorBody* root_of(const Tensor& tensor) {
  const TensorBody* root = tensor.body().get();
  while (!root->buffer && root->base) root = root->base.get();
  return root;
}

bool are_of_one_memory(const Tensor& a, const Tensor& b) {
  const TensorBody *x = root_of(a), *y = root_of(b);
  return x == y || (x->buffer != nullptr && x->buffer == y->buffer);
}

}  // namespace tilewright::graph
