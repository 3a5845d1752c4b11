#include "graph/compile/plans/frozen_values.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "graph/tensor/tensor_body.h"
#include "runtime/device_pool.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

Tensor tensor_of(const Graph& graph, std::size_t output, std::shared_ptr<Buffer> buffer) {
  const Node& node = graph.node(graph.outputs[output]);
  return make_tensor(node.dtype, row_major(node.shape), std::move(buffer));
}

// What some function of the process has, while it has it.
struct Known {
  // What is computed and how, and of the weights the buffers and addresses: memory of the user's
  // may be wrapped again, with something else in it.
  using Key = std::tuple<Hash, std::vector<const Buffer*>, std::vector<void*>>;
  struct Entry {
    std::vector<std::weak_ptr<Buffer>> from;  // other memory may lie at the address of what is gone
    std::vector<std::weak_ptr<Buffer>> values;

    bool is_gone() const {
      auto is_expired = [](const std::weak_ptr<Buffer>& buffer) { return buffer.expired(); };
      return std::ranges::any_of(from, is_expired) || std::ranges::any_of(values, is_expired);
    }
    // None, where one of them is gone.
    std::vector<Tensor> tensors(const Graph& graph) const {
      std::vector<Tensor> result;
      for (const std::weak_ptr<Buffer>& value : values)
        if (std::shared_ptr<Buffer> buffer = value.lock())
          result.push_back(tensor_of(graph, result.size(), std::move(buffer)));
      if (result.size() < values.size()) result.clear();
      return result;
    }
  };
  std::mutex mutex;
  std::map<Key, Entry> entries;

  static Known& of_process() {
    static Known known;
    return known;
  }
};

PlanOptions options_for(const PlanOptions& of_function, const std::vector<std::size_t>& from) {
  PlanOptions options = of_function;
  options.blocks = {};
  options.sizes_vary = false;
  options.tune.reset();
  options.choices.reset();
  options.lock = nullptr;
  options.inputs.clear();
  for (std::size_t input : from)
    options.inputs.push_back({.is_aligned = of_function.inputs.at(input).is_aligned});
  return options;
}

}  // namespace

FrozenValues::FrozenValues(Graph values, std::vector<std::size_t> from, const PlanOptions& options)
    : values_(std::move(values)), from_(std::move(from)), options_(options_for(options, from_)) {
  key_ = Hasher()
             .add(content_hash(values_))
             .add(std::string_view(options_.device.text()))
             .add(static_cast<int>(options_.matmul_precision))
             .add(options_.interpret)
             .finish();
}

std::vector<Tensor> FrozenValues::of(
    const std::function<const Tensor&(std::size_t input)>& tensor_of) const {
  std::vector<std::shared_ptr<Buffer>> weights;
  std::vector<const Buffer*> buffers;
  std::vector<void*> addresses;
  for (std::size_t input : from_) {
    const TensorBody& body = *tensor_of(input).body();
    weights.push_back(body.buffer);
    buffers.push_back(body.buffer.get());
    addresses.push_back(address_of(body));
  }
  Known& known = Known::of_process();
  std::lock_guard lock(known.mutex);
  std::erase_if(known.entries, [](const auto& entry) { return entry.second.is_gone(); });
  Known::Entry& entry = known.entries[{key_, std::move(buffers), addresses}];
  std::vector<Tensor> values = entry.tensors(values_);
  if (!values.empty()) return values;
  for (const std::shared_ptr<Buffer>& weight : weights) weight->freeze();
  values = computed(addresses);
  entry.from.assign(weights.begin(), weights.end());
  entry.values.clear();
  for (const Tensor& value : values) entry.values.push_back(value.body()->buffer);
  return values;
}

std::vector<Tensor> FrozenValues::computed(const std::vector<void*>& addresses) const {
  TraceSpan span("compile", "compute what follows from frozen weights");
  MemoryOwner owner("what follows from frozen weights");
  const std::vector<std::shared_ptr<Buffer>> buffers = make_plan(values_, options_)->run(addresses);
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i]->freeze();
    values.push_back(graph::tensor_of(values_, i, buffers[i]));
  }
  return values;
}

}  // namespace tilewright::graph
