#include "graph/compile/segments/segmented_call.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/compile/segments/graph_one_by_one.h"
#include "graph/compile/segments/held_symbols.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

std::string text_of(const Break& at) {
  if (!at.node.empty()) return concat(at.operation, " in ", at.node);
  if (at.where.line() == 0) return std::string(at.operation);
  return concat(at.operation, " at ", describe(at.where));
}

SegmentedCall::SegmentedCall(SegmentTable& table, const ResolvedOptions& options,
                             const Signature& signature, const std::vector<Tensor>& arguments,
                             std::vector<Break>& breaks, Followers& first, LoggedValues& logged)
    : table_(table),
      scratch_(table.scratch()),
      options_(options),
      signature_(signature),
      arguments_(arguments),
      breaks_(breaks),
      followers_(&first),
      logged_(logged),
      capture_() {
  if (options.weights_are_frozen) {
    table_.weights().begin_call(arguments);
    capture_.may_unfreeze([this](const auto& written) { table_.unfreeze(written); });
  }
  capture_.may_end_early(scratch_.spare_bodies);
  if (!options.breaks_are_errors) capture_.may_break([this](const Break& at) { settle(&at); });
}

SegmentedCall::~SegmentedCall() {
  if (options_.weights_are_frozen) table_.weights().end_call();
}

std::vector<Tensor> SegmentedCall::begin() {
  std::vector<Tensor> symbols;
  symbols.reserve(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    symbols.push_back(capture_.placeholder(signature_[i].dtype, signature_[i].shape,
                                           signature_[i].strides, arguments_[i]));
  return symbols;
}

// A function that is refused for a break leaves nothing done.
TensorResults SegmentedCall::call(const TensorFunction& function,
                                  const std::vector<Tensor>& symbols) {
  try {
    return function(symbols);
  } catch (const GraphBreak&) {
    throw;
  } catch (...) {
    try {
      capture_.begin_in_segments();
      settle(nullptr);
      take_logged();
    } catch (const std::exception&) {  // the function's own exception counts
    }
    throw;
  }
}

TensorResults SegmentedCall::run(const TensorFunction& function, bool is_measured) {
  is_measured_ = is_measured;
  capture_.begin_in_segments();
  capture_.follow(followers_->graphs());
  TensorResults results = call(function, begin());
  end(results);
  return results;
}

// Changes by the function that outlive it: of handles, or of an object that holds a handle made by
// it, such as an optional or a list.
std::optional<GraphBreak> SegmentedCall::lasting_state(TensorResults& returned,
                                                       const std::vector<Tensor>& symbols) {
  if (auto assigned = capture_.lasting_assignment(returned.tensors)) return assigned;
  const long copies = returned.around != nullptr ? 2 : 1;  // of each result
  auto known = [&](const std::shared_ptr<TensorBody>& body) {
    return copies * std::ranges::count(returned.tensors, body, &Tensor::body) +
           std::ranges::count(symbols, body, &Tensor::body);
  };
  return capture_.kept_tensor(known);
}

std::optional<Captured> SegmentedCall::attempt(const TensorFunction& function,
                                               CapturedResults& results) {
  TensorResults& returned = results.around;
  const std::vector<Tensor> symbols = begin();
  returned = call(function, symbols);
  capture_.note_results(returned.tensors);
  capture_.own_results(returned.tensors);
  if (!capture_.is_broken()) {
    const std::optional<GraphBreak> lasting = lasting_state(returned, symbols);
    if (!lasting) {
      Returned tensors(returned.tensors, symbols);
      Captured captured = capture_.finish(std::exchange(returned.tensors, {}));
      results.origins = tensors.origins(captured);
      return captured;
    }
    if (!capture_.can_break()) throw GraphBreak(*lasting);
    capture_.break_here(lasting->at);
  }
  end(returned);
  return std::nullopt;
}

static std::shared_ptr<Buffer> on_host(const Buffer& buffer) {
  auto copy = Buffer::allocate(buffer.size_bytes());
  buffer.memory()->copy_to_host(copy->data(), buffer.data(), copy->size_bytes());
  return copy;
}

static bool are_of_host(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& t) { return memory_of(t) == nullptr; });
}

// Tensors that share memory share it on the host, too. Results of a function with steps of its own
// stay as they are, since they may be overwritten by now.
static void bring_to_host(std::vector<Tensor>& results) {
  std::map<const Buffer*, std::shared_ptr<Buffer>> copies;
  for (Tensor& result : results) {
    if (!result.defined() || result.is_symbolic() || memory_of(result) == nullptr ||
        result.body()->token.count != nullptr)
      continue;
    const TensorBody& body = *result.body();
    auto is_of_it = [&](const Tensor& t) { return t.defined() && t.body()->buffer == body.buffer; };
    std::shared_ptr<Buffer>& copy = copies[body.buffer.get()];
    if (copy == nullptr && std::ranges::count_if(results, is_of_it) == 1) {
      result = copy_to(result, Device::cpu());
      continue;
    }
    if (copy == nullptr) copy = on_host(*body.buffer);
    result = make_tensor(body.dtype, body.view, copy);
  }
}

// Results come back to the host if all arguments are the host's, as those of whole functions do.
void SegmentedCall::end(TensorResults& results) {
  settle(nullptr);
  take_logged();
  CapturePause pause;
  if (!arguments_.empty() && are_of_host(arguments_)) bring_to_host(results.tensors);
}

void SegmentedCall::take_logged() {
  CapturePause pause;
  for (Logged& logged : capture_.take_logged()) logged_.add(std::move(logged));
}

void SegmentedCall::note(const Break& at) {
  auto is_same = [&](const Break& known) {
    return known.where.line() == at.where.line() && known.where.column() == at.where.column() &&
           known.where.file_name() == at.where.file_name() && known.operation == at.operation &&
           known.node == at.node;
  };
  if (std::ranges::none_of(breaks_, is_same)) breaks_.push_back(at);
}

namespace {

// Empties the lists when the segment ends.
struct ClearedScratch {
  SegmentScratch& scratch;
  ~ClearedScratch() {
    scratch.own.clear();
    scratch.results.clear();
    scratch.recorded.held.clear();
    scratch.recorded.placeholders.clear();
    scratch.recorded.inputs.clear();
  }
};

}  // namespace

void SegmentedCall::settle(const Break* at) {
  if (at != nullptr) note(*at);
  CapturePause pause;
  const ClearedScratch cleared{scratch_};
  Recorded& recorded = scratch_.recorded;
  capture_.take(recorded);
  for (std::size_t i = 0; i < recorded.placeholders.size(); ++i) {
    const TensorBody& argument = *arguments_[i].body();
    recorded.placeholders[i]->view = argument.view;
    give_memory(*recorded.placeholders[i], argument.buffer, argument.token);
  }
  std::vector<std::shared_ptr<TensorBody>>& own = scratch_.own;
  std::vector<PlannedView> views = plan_values(recorded, own);
  auto copies = copies_of_inputs(recorded, own, scratch_.outputs);
  run_recorded(at);
  // Results of the host's tensors lie on the host, as they do in eager mode: the function may ask
  // where they lie, or for their addresses.
  if (are_of_host(recorded.inputs))
    for (std::shared_ptr<Buffer>& value : scratch_.results)
      if (value->memory() != nullptr) value = on_host(*value);
  auto copy = copies.begin();
  auto result = scratch_.results.begin();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool is_copy = copy != copies.end() && copy->first == i;
    own[i]->view.strides = row_major_strides(own[i]->view.shape);
    give_memory(*own[i], is_copy ? (copy++)->second.body()->buffer : std::move(*result++), {});
  }
  for (PlannedView& view : views) {
    view.body->view = std::move(view.place);
    view.body->must_share = view.of->must_share;
    give_memory(*view.body, view.of->buffer, view.of->token);
  }
  capture_.follow(followers_->graphs());
}

std::shared_ptr<Segment> SegmentedCall::segment_of(const Break* at) {
  Recorded& recorded = scratch_.recorded;
  for (const auto& segment : followers_->segments())
    if (&segment->graph == recorded.known &&
        segment->is(scratch_.outputs, recorded.mutations, recorded.inputs, weights_))
      return segment;
  if (recorded.known != nullptr) {
    recorded.graph = *std::exchange(recorded.known, nullptr);
    set_numbers(recorded.graph, recorded.numbers);
  }
  recorded.graph.outputs = scratch_.outputs;
  recorded.graph.mutations = recorded.mutations;
  return table_.find(recorded.graph, recorded.inputs, weights_, options_,
                     at == nullptr ? std::string("the end") : text_of(*at));
}

void SegmentedCall::find_weights() {
  if (!options_.weights_are_frozen) return;
  const Recorded& recorded = scratch_.recorded;
  const Graph& graph = recorded.nodes();
  weights_ = table_.weights().of(graph, recorded.mutations, recorded.inputs);
}

// Fills the results of the scratch.
void SegmentedCall::run_recorded(const Break* at) {
  Recorded& recorded = scratch_.recorded;
  find_weights();
  std::shared_ptr<Segment> segment = segment_of(at);
  if (segment != nullptr && table_.admit(*segment, recorded.numbers, recorded.inputs, options_)) {
    followers_->put(segment);
    followers_ = &segment->followers;
    table_.run(*segment, recorded.numbers, recorded.inputs, is_measured_, scratch_.results);
    current_ = std::move(segment);
    return;
  }
  if (recorded.known != nullptr) {
    recorded.graph = segment->graph;
    set_numbers(recorded.graph, recorded.numbers);
  }
  scratch_.results.clear();
  for (const Tensor& result : run_one_by_one(recorded.graph, recorded.inputs))
    scratch_.results.push_back(result.body()->buffer);
}

}  // namespace tilewright::graph
