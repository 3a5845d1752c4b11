#include "graph/compile/segments/segmented_function.h"

#include <utility>

#include "graph/compile/segments/segmented_call.h"

namespace tilewright::graph {

SegmentedFunction::SegmentedFunction(SegmentTable& table, const ResolvedOptions& options)
    : table_(table), options_(for_segments(options)) {}

std::optional<Captured> SegmentedFunction::attempt(const Call& call, const Signature& signature,
                                                   CapturedResults& results,
                                                   std::vector<Guard>& guards,
                                                   LoggedValues& logged) {
  SegmentedCall one(table_, options_, signature, call.arguments, breaks_, first_, logged);
  std::optional<Captured> captured = one.attempt(call.function, results);
  if (captured) return captured;
  breaks_for_sharing_ = one.meets_sharing();
  guards = one.take_guards();
  found_ = std::move(results.around);
  return std::nullopt;
}

TensorResults SegmentedFunction::call(const Call& call, const Signature& signature,
                                      std::int64_t times, bool is_measured, LoggedValues& logged) {
  std::optional<TensorResults> results = std::exchange(found_, std::nullopt);
  if (results) --times;
  for (; times > 0; --times) {
    SegmentedCall one(table_, options_, signature, call.arguments, breaks_, first_, logged);
    results = one.run(call.function, is_measured);
  }
  return *std::move(results);
}

}  // namespace tilewright::graph
