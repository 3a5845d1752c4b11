// A segment: what a function whose graph breaks computes between two breaks, compiled like a whole
// function.
//
// A segment is a graph with the types of its inputs: arguments, captured tensors and results of
// segments before it, all alike.
//
// Numbers of a graph are constants of its plan at first, as most of them are in the source. One
// that is another number at a later run, such as one that was read from a tensor, becomes an input:
// the segment is compiled once more, and never again for that number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/calls/signature.h"
#include "graph/compile/segments/segment_plan.h"
#include "graph/ir/ir.h"
#include "graph/tensor/recording/recorded_graph.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

struct Segment;

// The segments that came next at earlier calls, the latest first.
class Followers {
 public:
  void put(const std::shared_ptr<Segment>& segment);
  void remove(const Segment& segment);
  void clear() { segments_.clear(), graphs_.clear(); }
  const std::vector<std::shared_ptr<Segment>>& segments() const { return segments_; }
  std::span<const Graph* const> graphs() const { return graphs_; }  // of these

 private:
  std::vector<std::shared_ptr<Segment>> segments_;
  std::vector<const Graph*> graphs_;
};

struct Segment {
  Graph graph;                          // as it was recorded, with the numbers of that time
  Signature inputs;                     // of the graph
  std::vector<bool> weights;            // among them; empty: none is known
  std::vector<RecordedNumber> numbers;  // of its `full` nodes, constants of the plan
  std::vector<bool> varies;             // the number is an input of the plan instead
  std::vector<Tensor> varying;          // those numbers, behind the inputs
  std::unique_ptr<SegmentPlan> plan;    // null: there is nothing to compute
  Followers followers;
  Hash key;
  std::uint64_t used = 0;
  std::string end;                   // "item at model.cpp:12"
  std::vector<UnkeptOption> unkept;  // options that do not hold for a part of it

  bool is(const std::vector<NodeId>& outputs, const std::vector<Mutation>& mutations,
          const std::vector<Tensor>& given, const std::vector<bool>& given_weights) const;
};

}  // namespace tilewright::graph
