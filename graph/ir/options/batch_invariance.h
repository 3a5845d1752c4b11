// Options::batch_invariant of the function that is captured on this thread. Functions that could
// compute few rows and many in different ways, such as products by quantised weights, ask for it,
// and then compute the rows of a step (dsl/target/step_rows.h) in one way.
#pragma once

namespace tilewright::graph {

class BatchInvariance {
 public:
  explicit BatchInvariance(bool is_asked);  // until the end of the scope
  ~BatchInvariance();
  BatchInvariance(const BatchInvariance&) = delete;
  BatchInvariance& operator=(const BatchInvariance&) = delete;
  static bool is_asked();  // outside of any scope, as in eager mode, false

 private:
  bool around_;
};

}  // namespace tilewright::graph
