#include "graph/passes/interpolated_passes.h"

#include "graph/passes/pipeline.h"
#include "graph/sizes/graph_numbers.h"
#include "graph/sizes/interpolated.h"
#include "runtime/base/env.h"

namespace tilewright::graph {

Graph run_passes_for_sizes(const Graph& captured, const dsl::Target& target,
                           bool& is_interpolated) {
  is_interpolated = false;
  auto run = [&] { return run_passes(captured, {.target = target}); };
  const bool is_looked_at =
      !env::skip_passes().empty() || !env::dump().empty() || !env::stop_after().empty();
  if (is_looked_at || !is_made_of_numbers(captured)) return run();
  static InterpolatedValues<Graph>& graphs =
      *new InterpolatedValues<Graph>("graphs behind the passes");
  NumberReader given;
  given.form(target.hash());
  visit(given, captured);
  return graphs.value_of(given, run, is_interpolated);
}

}  // namespace tilewright::graph
