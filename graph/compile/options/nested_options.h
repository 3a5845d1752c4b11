// The options of the compiled function that runs on this thread, for those that it calls: inside
// another function a compiled one is a part of that, and is compiled with its options.
#pragma once

#include "graph/compile/options/options.h"
#include "graph/ir/options/batch_invariance.h"

namespace tilewright::graph {

class OptionsOfCall {
 public:
  explicit OptionsOfCall(const Options& options);  // which must outlive it
  ~OptionsOfCall();
  OptionsOfCall(const OptionsOfCall&) = delete;
  OptionsOfCall& operator=(const OptionsOfCall&) = delete;

 private:
  const Options* around_;
  BatchInvariance invariance_;
};

// Notes which options of a function that is called inside the running one do not hold there.
void note_nested(const Options& inner);

}  // namespace tilewright::graph
