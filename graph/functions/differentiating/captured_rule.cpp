#include "graph/functions/differentiating/captured_rule.h"

#include "graph/ir/user_call.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

namespace {

// The rule's graph; `flows` becomes the operands that its outputs are the cotangents of.
Graph captured(const Differential& d, const CapturedRule& rule, std::vector<std::size_t>& flows) {
  const CapturePause pause;
  const AutocastPause no_autocast;
  Capture capture;
  auto like = [&](const Term& term) { return capture.placeholder(term.dtype(), term.shape()); };
  RuleOperands given;
  for (const Term& operand : d.operands) given.operands.push_back(like(operand));
  for (const Term& result : d.results) given.results.push_back(like(result));
  for (const auto& cotangent : d.cotangents)
    given.cotangents.push_back(cotangent ? like(*cotangent) : Tensor());
  std::vector<Tensor> outputs;
  of_user_call("derivative", d.node.where, [&] {
    const std::vector<Tensor> found = rule(given);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined() || !d.wants(i)) continue;
      flows.push_back(i);
      outputs.push_back(found[i]);
    }
  });
  given = {};
  Captured made = capture.finish(std::move(outputs));
  check(made.captured.empty() && made.graph.mutations.empty(),
        "a derivative uses more than its operands, or writes");
  return std::move(made.graph);
}

}  // namespace

Cotangents captured_rule(const Differential& d, const CapturedRule& rule) {
  std::vector<std::size_t> flows;
  const Graph graph = captured(d, rule, flows);
  std::vector<Term> inputs = d.operands;
  inputs.insert(inputs.end(), d.results.begin(), d.results.end());
  for (const auto& cotangent : d.cotangents)
    if (cotangent) inputs.push_back(*cotangent);
  const std::vector<Term> outputs = spliced(graph, d.builder(), inputs);
  Cotangents all(d.operands.size());
  for (std::size_t i = 0; i < flows.size(); ++i) all[flows[i]] = outputs[i];
  return all;
}

}  // namespace tilewright::graph
