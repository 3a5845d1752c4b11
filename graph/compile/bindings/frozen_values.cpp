#include "graph/compile/bindings/frozen_values.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "graph/passes/frozen_bodies.h"
#include "graph/passes/frozen_part.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/device_pool.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

Tensor tensor_of(const Graph& graph, std::size_t output, std::shared_ptr<Buffer> buffer) {
  const Node& node = graph.node(graph.outputs[output]);
  return make_tensor(node.dtype, row_major(node.shape), std::move(buffer));
}

// The values that some function of the process has, as long as it lives.
struct Known {
  // The computation, and the buffers and addresses of the weights: the user may wrap the same
  // memory again, with something else in it.
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

FrozenValues::FrozenValues(Graph& graph, PlanOptions& options,
                           const std::function<bool(std::size_t)>& may_be_read) {
  std::vector<bool> is_frozen;
  for (std::size_t i = 0; i < options.inputs.size(); ++i)
    is_frozen.push_back(options.inputs[i].is_frozen && may_be_read(i));
  if (std::ranges::find(is_frozen, true) == is_frozen.end()) return;
  OpenedBodies opened = open_frozen_bodies(graph, is_frozen, options.device.target());
  graph = std::move(opened.graph);
  std::optional<FrozenPart> part = split_frozen_part(graph, is_frozen, opened.values);
  if (!part) return;
  values_ = std::move(part->values);
  from_ = std::move(part->from);
  options_ = options_for(options, from_);
  key_ = Hasher()
             .add(content_hash(values_))
             .add(std::string_view(options_.device.text()))
             .add(static_cast<int>(options_.matmul_precision))
             .add(options_.row_invariant)
             .add(options_.interpret)
             .finish();
  graph = std::move(part->rest);
  options.inputs.resize(graph.inputs.size(), {.is_frozen = true});
}

void FrozenValues::bind(const WeightOf& weight_of) {
  if (values_.outputs.empty()) return;
  std::vector<std::shared_ptr<Buffer>> weights;
  std::vector<const Buffer*> buffers;
  std::vector<void*> addresses;
  for (std::size_t input : from_) {
    const TensorBody& body = *weight_of(input).body();
    weights.push_back(body.buffer);
    buffers.push_back(body.buffer.get());
    addresses.push_back(address_of(body));
  }
  Known& known = Known::of_process();
  std::lock_guard lock(known.mutex);
  std::erase_if(known.entries, [](const auto& entry) { return entry.second.is_gone(); });
  Known::Entry& entry = known.entries[{key_, std::move(buffers), addresses}];
  tensors_ = entry.tensors(values_);
  if (!tensors_.empty()) return;
  for (const std::shared_ptr<Buffer>& weight : weights) weight->forbid_writes();
  tensors_ = computed(addresses);
  entry.from.assign(weights.begin(), weights.end());
  entry.values.clear();
  for (const Tensor& value : tensors_) entry.values.push_back(value.body()->buffer);
}

std::vector<Tensor> FrozenValues::computed(const std::vector<void*>& addresses) const {
  TraceSpan span("compile", "compute what follows from frozen weights");
  MemoryOwner owner("what follows from frozen weights");
  if (plan_ == nullptr) plan_ = make_plan(values_, options_);
  const std::vector<std::shared_ptr<Buffer>> buffers = plan_->run(addresses);
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i]->forbid_writes();
    values.push_back(graph::tensor_of(values_, i, buffers[i]));
  }
  return values;
}

bool has_values_of(const Buffer& weight) {
  Known& known = Known::of_process();
  std::lock_guard lock(known.mutex);
  return std::ranges::any_of(known.entries, [&](const auto& entry) {
    return !entry.second.is_gone() && std::ranges::count(std::get<1>(entry.first), &weight) > 0;
  });
}

}  // namespace tilewright::graph
