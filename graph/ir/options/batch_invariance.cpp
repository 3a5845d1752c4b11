#include "graph/ir/options/batch_invariance.h"

#include <utility>

namespace tilewright::graph {
namespace {

thread_local bool asked = false;

}  // namespace

BatchInvariance::BatchInvariance(bool is_asked) : around_(std::exchange(asked, is_asked)) {}
BatchInvariance::~BatchInvariance() { asked = around_; }
bool BatchInvariance::is_asked() { return asked; }

}  // namespace tilewright::graph
