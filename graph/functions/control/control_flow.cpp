#include "graph/functions/control/control_flow.h"

#include <algorithm>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/memory/memory_overlap.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"
#include "runtime/plan/loop_stop.h"

namespace tilewright {

using graph::At;
using graph::Capture;
using graph::Captured;
using graph::Graph;
using graph::Op;
using std::source_location;

namespace {

using Function = std::function<Tensors(const Tensors&)>;

// A function as a graph: its own inputs, then those that `captured` stand for.
struct Body {
  Graph graph;
  Tensors captured;
};

void require_defined(std::string_view name, const Tensors& tensors, source_location w) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i].defined(), "[", name, "] tensor ", i, " is undefined (at ", At{w},
            "); all that functions take and give must be tensors");
}

// True if the bits of random numbers come from a place that the function advances.
bool writes_random_state(const Captured& captured) {
  return !captured.graph.mutations.empty() &&
         std::ranges::any_of(captured.graph.nodes,
                             [](const graph::Node& node) { return node.op == Op::random_bits; });
}

Body captured_body(std::string_view name, const Function& function, const Tensors& like,
                   source_location w, bool may_write = false) {
  Capture& around = *Capture::active();
  Captured captured;
  {
    Capture capture(around);
    Tensors inputs;
    for (const Tensor& tensor : like)
      inputs.push_back(capture.placeholder(tensor.dtype(), tensor.shape()));
    Tensors outputs = function(inputs);
    require_defined(name, outputs, w);
    inputs.clear();
    captured = capture.finish(std::move(outputs));
  }
  require(may_write || !writes_random_state(captured), "[", name,
          "] a function draws random numbers (at ", At{w},
          "); inside a captured function draw them before, for all turns, and take slices of them");
  require(may_write || captured.graph.mutations.empty(), "[", name,
          "] a function writes a tensor in place (at ", At{w},
          "); inside a captured function it must give the new value, to be carried");
  require(captured.logs.empty(), "[", name, "] a function prints or logs a value (at ", At{w},
          "); inside a captured function it must give that as a result");
  for (graph::Guard& guard : captured.guards) around.note_guard(std::move(guard));
  for (const Buffer* memory : captured.read) around.note_read(memory);
  std::ranges::fill(captured.graph.input_strides, Strides{});  // each is handed over row-major
  return {std::move(captured.graph), std::move(captured.captured)};
}

// Tensors that a body writes become values that it carries, behind the first `carried` of its
// inputs and outputs; they are taken from `captured`, and returned.
Tensors carry_written(Body& body, std::size_t carried, std::size_t own, source_location w) {
  Graph& graph = body.graph;
  const auto begin = [](auto& list, std::size_t at) {
    return list.begin() + static_cast<std::ptrdiff_t>(at);
  };
  std::vector<graph::NodeId> written, values;
  Tensors tensors, others;
  for (std::size_t i = own; i < graph.inputs.size(); ++i) {
    const auto found = std::ranges::find(graph.mutations, graph.inputs[i], &graph::Mutation::input);
    const Tensor& tensor = body.captured[i - own];
    if (found == graph.mutations.end()) {
      others.push_back(tensor);
      continue;
    }
    written.push_back(found->input);
    values.push_back(found->value);
    tensors.push_back(tensor);
  }
  require(written.size() == graph.mutations.size(),
          "[scan] the function writes a tensor that it is given (at ", At{w},
          "); give the new value, to be carried");
  std::erase_if(graph.inputs,
                [&](graph::NodeId id) { return std::ranges::find(written, id) != written.end(); });
  graph.inputs.insert(begin(graph.inputs, carried), written.begin(), written.end());
  graph.outputs.insert(begin(graph.outputs, carried), values.begin(), values.end());
  graph.mutations.clear();
  body.captured = std::move(others);
  return tensors;
}

// Bodies of one node take what any of them captures, each after its own `count` inputs.
Tensors join_captured(std::vector<Body>& bodies, std::size_t count) {
  Tensors all;
  for (const Body& body : bodies) all.insert(all.end(), body.captured.begin(), body.captured.end());
  std::size_t begin = 0;
  for (Body& body : bodies) {
    graph::GraphBuilder builder(body.graph);
    std::vector<graph::NodeId> inputs = body.graph.inputs;
    const auto own = inputs.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<graph::NodeId> joined(inputs.begin(), own);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_its = i >= begin && i < begin + body.captured.size();
      joined.push_back(is_its ? own[static_cast<std::ptrdiff_t>(i - begin)]
                              : builder.input(all[i].dtype(), all[i].shape()));
    }
    begin += body.captured.size();
    body.graph.inputs = std::move(joined);
    body.graph.input_strides.assign(body.graph.inputs.size(), {});
  }
  return all;
}

graph::Bodies graphs_of(std::vector<Body> bodies) {
  std::vector<Graph> graphs;
  for (Body& body : bodies) graphs.push_back(std::move(body.graph));
  return graph::Bodies(std::move(graphs));
}

void require_condition(std::string_view name, const Tensor& condition, source_location w) {
  require_defined(name, {condition}, w);
  require(is_boolean(condition.dtype()) && condition.count() == 1, "[", name, "] the condition is ",
          condition.dtype(), " ", condition.shape(), " (at ", At{w},
          "); it must be bool, of one element");
}
void require_carried(std::string_view name, const Tensors& before, const Tensors& after,
                     source_location w) {
  require_defined(name, after, w);
  require(before.size() == after.size(), "[", name, "] ", before.size(),
          " tensors are carried, and ", after.size(), " are given (at ", At{w},
          "); an iteration must return all of them");
  for (std::size_t i = 0; i < before.size(); ++i)
    require(before[i].dtype() == after[i].dtype() && before[i].shape() == after[i].shape(), "[",
            name, "] carried tensor ", i, " is ", before[i].dtype(), " ", before[i].shape(),
            ", and after a turn ", after[i].dtype(), " ", after[i].shape(), " (at ", At{w},
            "); it must keep dtype and shape");
}

}  // namespace

namespace {

// Each body has tensors of its own for what it captures.
bool are_one(const Tensor& a, const Tensor& b) {
  const TensorBody &first = *a.body(), &second = *b.body();
  if (first.buffer != second.buffer) return false;
  if (first.buffer == nullptr) return first.node == second.node;
  return first.dtype == second.dtype && first.view == second.view;
}

void require_apart(const Tensors& written, source_location w) {
  auto elements_of = [](const Tensor& tensor) {
    const TensorBody& body = *tensor.body();
    return graph::Elements{body.buffer.get(), body.dtype, body.view};
  };
  for (std::size_t i = 0; i < written.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      require(!written[i].body()->buffer ||
                  !graph::overlap(elements_of(written[i]), elements_of(written[k])),
              "[cond] the functions write to overlapping views of one tensor, ", written[k].shape(),
              " and ", written[i].shape(), " (at ", At{w},
              "); inside a captured function write to the same view in both");
}

// Tensors that a branch writes become results of both behind their own: the branch that writes one
// gives its new value, the other one the value before. Bodies take `captured` behind `count`
// inputs.
Tensors give_written(std::vector<Body>& bodies, const Tensors& captured, std::size_t count,
                     source_location w) {
  Tensors written;
  std::vector<std::size_t> places;  // of these in `captured`
  for (const Body& body : bodies)
    for (const graph::Mutation& mutation : body.graph.mutations) {
      const auto at = static_cast<std::size_t>(
          std::ranges::find(body.graph.inputs, mutation.input) - body.graph.inputs.begin());
      require(at >= count, "[cond] the function writes a tensor that it is given (at ", At{w},
              "); give the new value as a result");
      const Tensor& tensor = captured[at - count];
      auto is_it = [&](const Tensor& known) { return are_one(known, tensor); };
      if (std::ranges::any_of(written, is_it)) continue;
      written.push_back(tensor);
      places.push_back(at);
    }
  require_apart(written, w);
  for (Body& body : bodies) {
    Graph& graph = body.graph;
    for (std::size_t i = 0; i < written.size(); ++i) {
      graph::NodeId value = graph.inputs[places[i]];
      for (const graph::Mutation& mutation : graph.mutations) {
        const auto at = static_cast<std::size_t>(std::ranges::find(graph.inputs, mutation.input) -
                                                 graph.inputs.begin());
        if (are_one(captured[at - count], written[i])) value = mutation.value;
      }
      graph.outputs.push_back(value);
    }
    graph.mutations.clear();
  }
  return written;
}

}  // namespace

Tensors cond(const Tensor& condition, const Function& if_true, const Function& if_false,
             const Tensors& operands, source_location w) {
  require_condition("cond", condition, w);
  require_defined("cond", operands, w);
  if (Capture::active() == nullptr) {
    const bool is_true = condition.to(Device::cpu(), w).reshape({}, w).item<bool>(w);
    return is_true ? if_true(operands) : if_false(operands);
  }
  std::vector<Body> bodies = {captured_body("cond", if_true, operands, w, true),
                              captured_body("cond", if_false, operands, w, true)};
  Tensors all = {condition};
  all.insert(all.end(), operands.begin(), operands.end());
  const Tensors captured = join_captured(bodies, operands.size());
  const Tensors written = give_written(bodies, captured, operands.size(), w);
  all.insert(all.end(), captured.begin(), captured.end());
  graph::Attributes attributes;
  attributes.bodies = graphs_of(std::move(bodies));
  Tensors results = graph::apply_all(Op::cond, all, attributes, w);
  for (std::size_t i = written.size(); i > 0; --i) {
    Tensor(written[i - 1]).copy_from(results.back(), w);
    results.pop_back();
  }
  return results;
}

Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition, const Function& body,
                   const Tensors& carried, source_location w) {
  require_defined("while_loop", carried, w);
  require(!carried.empty(), "[while_loop] nothing is carried (at ", At{w},
          "); a loop whose condition can change carries at least one tensor");
  auto holds = [&](const Tensors& state) {
    Tensor result = condition(state);
    require_condition("while_loop", result, w);
    return result;
  };
  if (Capture::active() == nullptr) {
    Tensors state = carried;
    const LoopStop stop("while_loop");
    for (std::int64_t turns = 0; holds(state).to(Device::cpu(), w).reshape({}, w).item<bool>(w);
         ++turns) {
      stop.look(turns);
      Tensors next = body(state);
      require_carried("while_loop", state, next, w);
      state = std::move(next);
    }
    return state;
  }
  auto checked = [&](const Tensors& state) {
    Tensors next = body(state);
    require_carried("while_loop", state, next, w);
    return next;
  };
  auto as_list = [&](const Tensors& state) { return Tensors{holds(state)}; };
  std::vector<Body> bodies = {captured_body("while_loop", as_list, carried, w),
                              captured_body("while_loop", checked, carried, w)};
  Tensors all = carried;
  const Tensors captured = join_captured(bodies, carried.size());
  all.insert(all.end(), captured.begin(), captured.end());
  graph::Attributes attributes;
  attributes.bodies = graphs_of(std::move(bodies));
  attributes.carried = std::ssize(carried);
  return graph::apply_all(Op::while_loop, all, attributes, w);
}

// The number of turns is carried in front, where derivatives see it (graph/derivatives).
Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition, const Function& body,
                   const Tensors& carried, const WhileOptions& options, source_location w) {
  require(options.max_turns > 0, "[while_loop] max_turns is ", options.max_turns, " (at ", At{w},
          "); it must be at least 1");
  auto own = [](const Tensors& state) { return Tensors(state.begin() + 1, state.end()); };
  auto goes_on = [&](const Tensors& state) {
    const Tensor holds = condition(own(state));
    require_condition("while_loop", holds, w);
    return logical_and(holds, TensorOperand(state[0], w) < options.max_turns);
  };
  auto next = [&](const Tensors& state) {
    Tensors after = body(own(state));
    require_carried("while_loop", own(state), after, w);
    after.insert(after.begin(), TensorOperand(state[0], w) + 1);
    return after;
  };
  Tensors all = {graph::constant(DType::i64, {}, 0, w)};
  all.insert(all.end(), carried.begin(), carried.end());
  require(!carried.empty(), "[while_loop] nothing is carried (at ", At{w},
          "); a loop whose condition can change carries at least one tensor");
  return own(while_loop(goes_on, next, all, w));
}

namespace {

std::int64_t turns_of(const Tensors& sliced, const ScanOptions& options, source_location w) {
  for (const Tensor& each : sliced)
    require(each.rank() > 0 && each.size(0) == sliced[0].size(0), "[scan] a sliced tensor is ",
            each.shape(), ", the first ", sliced[0].shape(), " (at ", At{w},
            "); the first axes must have one size");
  require(sliced.empty() || options.turns == 0 || options.turns == sliced[0].size(0), "[scan] ",
          options.turns, " turns are asked for, and a sliced tensor is ",
          sliced.empty() ? Shape{} : sliced[0].shape(), " (at ", At{w},
          "); leave ScanOptions::turns at 0, or give the size of its first axis");
  const std::int64_t turns = sliced.empty() ? options.turns : sliced[0].size(0);
  require(turns > 0, "[scan] ", turns, " turns (at ", At{w}, "); there must be at least one");
  return turns;
}

std::pair<Tensors, Tensors> scan_one_by_one(
    const std::function<Turn(const Tensors&, const Tensors&)>& turn, const Tensors& carried,
    const Tensors& sliced, std::int64_t turns, bool reverse, source_location w) {
  Tensors state = carried;
  std::vector<Tensors> given(static_cast<std::size_t>(turns));
  const LoopStop stop("scan");
  for (std::int64_t i = 0; i < turns; ++i) {
    stop.look(i);
    const std::int64_t at = reverse ? turns - 1 - i : i;
    Tensors elements;
    for (const Tensor& each : sliced) elements.push_back(each.select(0, at, w));
    Turn result = turn(state, elements);
    require_carried("scan", state, result.carried, w);
    require_defined("scan", result.given, w);
    state = std::move(result.carried);
    given[static_cast<std::size_t>(at)] = std::move(result.given);
  }
  Tensors stacked;
  for (std::size_t k = 0; k < given[0].size(); ++k) {
    Tensors parts;
    for (Tensors& each : given) parts.push_back(each[k].unsqueeze(0, w));
    stacked.push_back(cat(parts, 0, w));
  }
  return {std::move(state), std::move(stacked)};
}

}  // namespace

std::pair<Tensors, Tensors> scan(const std::function<Turn(const Tensors&, const Tensors&)>& turn,
                                 const Tensors& carried, const Tensors& sliced,
                                 const ScanOptions& options, source_location w) {
  require_defined("scan", carried, w);
  require_defined("scan", sliced, w);
  const std::int64_t turns = turns_of(sliced, options, w);
  if (Capture::active() == nullptr || turns <= options.few_turns)
    return scan_one_by_one(turn, carried, sliced, turns, options.reverse, w);
  const auto count = static_cast<std::ptrdiff_t>(carried.size());
  auto as_one = [&](const Tensors& inputs) {
    Tensors state(inputs.begin(), inputs.begin() + count);
    Turn result = turn(state, Tensors(inputs.begin() + count, inputs.end()));
    require_carried("scan", state, result.carried, w);
    Tensors all = std::move(result.carried);
    all.insert(all.end(), result.given.begin(), result.given.end());
    return all;
  };
  Tensors like = carried, all = carried;
  for (const Tensor& each : sliced) like.push_back(each.select(0, 0, w));
  std::vector<Body> bodies = {captured_body("scan", as_one, like, w, options.writes)};
  const Tensors written = carry_written(bodies[0], carried.size(), like.size(), w);
  all.insert(all.end(), written.begin(), written.end());
  all.insert(all.end(), sliced.begin(), sliced.end());
  const Tensors captured = join_captured(bodies, like.size() + written.size());
  all.insert(all.end(), captured.begin(), captured.end());
  graph::Attributes attributes;
  attributes.bodies = graphs_of(std::move(bodies));
  attributes.carried = std::ssize(carried) + std::ssize(written);
  attributes.sliced = std::ssize(sliced);
  attributes.end = turns;
  attributes.descending = options.reverse;
  const Tensors results = graph::apply_all(Op::scan, all, attributes, w);
  const auto given = results.begin() + static_cast<std::ptrdiff_t>(attributes.carried);
  for (std::size_t i = 0; i < written.size(); ++i)
    Tensor(written[i]).copy_from(results[carried.size() + i], w);
  return {Tensors(results.begin(), results.begin() + count), Tensors(given, results.end())};
}

}  // namespace tilewright
