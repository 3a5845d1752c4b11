#include "graph/compile/segmented_call.h"

#include <algorithm>
#include <utility>

#include "graph/compile/plans/graph_one_by_one.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

std::string text_of(const Break& at) {
  if (at.where.line() == 0) return std::string(at.operation);
  return concat(at.operation, " at ", describe(at.where));
}

SegmentedCall::SegmentedCall(SegmentTable& table, const ResolvedOptions& options,
                             const Signature& signature, const std::vector<Tensor>& arguments,
                             std::vector<Break>& breaks, Followers& first)
    : table_(table),
      options_(options),
      signature_(signature),
      arguments_(arguments),
      breaks_(breaks),
      followers_(&first) {
  if (!options.breaks_are_errors) capture_.may_break([this](const Break& at) { settle(&at); });
}

std::vector<Tensor> SegmentedCall::begin() {
  std::vector<Tensor> symbols;
  symbols.reserve(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    symbols.push_back(capture_.placeholder(signature_[i].dtype, signature_[i].shape,
                                           signature_[i].strides, arguments_[i]));
  return symbols;
}

TensorResults SegmentedCall::call(const TensorFunction& function,
                                  const std::vector<Tensor>& symbols) {
  try {
    return function(symbols);
  } catch (...) {
    try {
      if (capture_.is_broken()) settle(nullptr);
    } catch (const std::exception&) {  // the function's own exception counts
    }
    throw;
  }
}

TensorResults SegmentedCall::run(const TensorFunction& function, bool is_measured) {
  is_measured_ = is_measured;
  capture_.begin_in_segments();
  follow();
  TensorResults results = call(function, begin());
  end(results);
  return results;
}

std::optional<Captured> SegmentedCall::attempt(const TensorFunction& function,
                                               TensorResults& returned,
                                               std::vector<ResultOrigin>& origins) {
  const std::vector<Tensor> symbols = begin();
  returned = call(function, symbols);
  if (!capture_.is_broken()) {
    std::optional<GraphBreak> lasting;
    if (capture_.can_break()) lasting = capture_.lasting_assignment(returned.tensors);
    if (!lasting) {
      Returned tensors(returned.tensors, symbols);
      Captured captured = capture_.finish(std::exchange(returned.tensors, {}));
      origins = tensors.origins(captured.captured);
      return captured;
    }
    capture_.break_here({"assignment", "changes a tensor that outlives it", lasting->where});
  }
  end(returned);
  return std::nullopt;
}

// Results come back to the host if all arguments are the host's, as those of whole functions do.
void SegmentedCall::end(TensorResults& results) {
  settle(nullptr);
  CapturePause pause;
  if (arguments_.empty() ||
      !std::ranges::all_of(arguments_, [](const Tensor& t) { return memory_of(t) == nullptr; }))
    return;
  for (Tensor& result : results.tensors)
    if (result.defined() && !result.is_symbolic() && memory_of(result) != nullptr)
      result = copy_to(result, Device::cpu());
}

void SegmentedCall::take_logged(LoggedValues& to) {
  CapturePause pause;
  for (Logged& logged : capture_.take_logged()) to.add(std::move(logged));
}

void SegmentedCall::follow() {
  candidates_ = followers_->all();
  std::vector<const Graph*> graphs;
  graphs.reserve(candidates_.size());
  for (const auto& segment : candidates_) graphs.push_back(&segment->graph);
  capture_.follow(std::move(graphs));
}

// Where the symbols that somebody holds will lie: values of their own, each in its memory, and
// views of these or of tensors that are there.
struct SegmentedCall::Values {
  struct View {
    std::shared_ptr<TensorBody> body, of;
    StridedView place;
  };
  std::vector<std::shared_ptr<TensorBody>> own;
  std::vector<View> views;

  Values(const Graph& graph, const std::vector<std::shared_ptr<TensorBody>>& held) {
    for (const auto& body : held) {
      View view{body, body, {}};
      view.place = place_of(graph, view.of);
      if (!view.of->buffer && std::ranges::find(own, view.of) == own.end()) own.push_back(view.of);
      if (view.of != body) views.push_back(std::move(view));
    }
  }
  // `body` becomes what it is a view of.
  static StridedView place_of(const Graph& graph, std::shared_ptr<TensorBody>& body) {
    if (body->buffer) return body->view;
    if (body->base) {
      std::shared_ptr<TensorBody> base = body->base;
      StridedView place = place_of(graph, base);
      const Node& node = graph.node(body->node);
      if (auto viewed = view_of(node.op, node.attributes, place)) {
        body = std::move(base);
        return *std::move(viewed);
      }
    }
    return row_major(body->view.shape);
  }
};

// A symbol becomes a tensor.
static void give_memory(TensorBody& body, const TensorBody& from, StridedView place) {
  body.view = std::move(place);
  body.buffer = from.buffer;
  body.token = from.token;
  body.is_constant = false;
  body.base = nullptr;
  body.capture = 0;
  body.views = 0;
}

static std::size_t index_in(const std::vector<NodeId>& list, NodeId id) {
  return static_cast<std::size_t>(std::ranges::find(list, id) - list.begin());
}

void SegmentedCall::settle(const Break* at) {
  auto is_known = [&](const Break& known) {
    return known.where.line() == at->where.line() && known.where.column() == at->where.column() &&
           known.where.file_name() == at->where.file_name() && known.operation == at->operation;
  };
  if (at != nullptr && std::ranges::none_of(breaks_, is_known)) breaks_.push_back(*at);
  CapturePause pause;
  Recorded recorded = capture_.take();
  for (std::size_t i = 0; i < recorded.placeholders.size(); ++i)
    give_memory(*recorded.placeholders[i], *arguments_[i].body(), arguments_[i].body()->view);
  const Graph& graph = recorded.nodes();
  const Values values(graph, recorded.held);
  // What is an input's value is copied before that is written.
  std::vector<Tensor> memory(values.own.size());
  std::vector<NodeId> outputs;
  for (std::size_t i = 0; i < values.own.size(); ++i) {
    NodeId node = values.own[i]->node;
    if (graph.node(node).op == Op::input)
      memory[i] = recorded.inputs[index_in(graph.inputs, node)].clone();
    else if (index_in(outputs, node) == outputs.size())
      outputs.push_back(node);
  }
  std::vector<Tensor> results = run_recorded(recorded, outputs, at);
  std::vector<bool> is_taken(outputs.size());
  for (std::size_t i = 0; i < values.own.size(); ++i) {
    TensorBody& body = *values.own[i];
    if (!memory[i].defined()) {
      std::size_t result = index_in(outputs, body.node);
      memory[i] = is_taken[result] ? copy_row_major(results[result]) : results[result];
      is_taken[result] = true;
    }
    give_memory(body, *memory[i].body(), memory[i].body()->view);
  }
  for (const Values::View& view : values.views) give_memory(*view.body, *view.of, view.place);
  follow();
}

std::shared_ptr<Segment> SegmentedCall::segment_of(Recorded& recorded,
                                                   const std::vector<NodeId>& outputs,
                                                   const Break* at) {
  for (const auto& segment : candidates_)
    if (&segment->graph == recorded.known &&
        segment->is(outputs, recorded.mutations, recorded.inputs))
      return segment;
  if (recorded.known != nullptr) {
    recorded.graph = *std::exchange(recorded.known, nullptr);
    set_numbers(recorded.graph, recorded.numbers);
  }
  recorded.graph.outputs = outputs;
  recorded.graph.mutations = recorded.mutations;
  Graph graph = recorded.graph;
  return table_.find(std::move(graph), recorded.inputs, options_,
                     at == nullptr ? std::string("the end") : text_of(*at));
}

std::vector<Tensor> SegmentedCall::run_recorded(Recorded& recorded,
                                                const std::vector<NodeId>& outputs,
                                                const Break* at) {
  std::shared_ptr<Segment> segment = segment_of(recorded, outputs, at);
  if (segment == nullptr || !table_.admit(*segment, recorded.numbers, recorded.inputs, options_)) {
    if (recorded.known != nullptr) {
      recorded.graph = segment->graph;
      set_numbers(recorded.graph, recorded.numbers);
    }
    return run_one_by_one(recorded.graph, recorded.inputs);
  }
  followers_->put(segment);
  followers_ = &segment->followers;
  current_ = segment;
  return table_.run(*segment, recorded.numbers, std::move(recorded.inputs), is_measured_);
}

}  // namespace tilewright::graph
