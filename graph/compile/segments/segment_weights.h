// Which inputs of segments are weights (Options::freezing).
//
// A segment gets arguments of the call, results of segments before it and tensors from outside the
// function alike. Weights are those from outside: their memory was there before the call, belongs
// to no argument, was not made by an earlier call (a state that the function keeps), and is written
// by no segment. A function may turn out to write a tensor that an earlier segment has taken for a
// weight: the copies of it are dropped, and from then on it is none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

class SegmentWeights {
 public:
  // Around each call of the function.
  void begin_call(const std::vector<Tensor>& arguments);
  void end_call();
  // An entry for each input of a segment with these mutations.
  std::vector<bool> of(const Graph& segment, const std::vector<Mutation>& mutations,
                       const std::vector<Tensor>& inputs);
  // The function writes this memory.
  void note_written(const std::shared_ptr<Buffer>& buffer);

 private:
  bool is_weight(const Tensor& tensor) const;
  bool is_written(const Buffer& buffer) const;

  std::vector<const Buffer*> arguments_;  // of the call under way
  std::uint64_t begin_ = 0;               // the latest buffer before it
  // Buffers that were made while a call ran, first to last.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> made_;
  std::map<const Buffer*, std::weak_ptr<Buffer>> written_;
};

}  // namespace tilewright::graph
