#include "graph/passes/pipeline.h"

#include <algorithm>
#include <array>

#include "dsl/passes/pipeline.h"
#include "graph/passes/passes.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr Pass canonicalise_pass = {"canonicalise", canonicalise, false,
                                    "joins views, drops what does nothing, folds constants"};
constexpr Pass common_pass = {"common_subexpressions", common_subexpressions, false,
                              "computes equal values once"};
constexpr std::array table = {
    common_pass,
    Pass{"decompose", decompose, true, "turns composites into the other ops"},
    canonicalise_pass,
    common_pass,
    Pass{"dead_code", dead_code, false, "drops what nothing needs"},
};

struct Constraint {
  std::string_view before, after, because;
};
constexpr Constraint constraints[] = {
    {"common_subexpressions", "decompose", "equal composites are cheapest to find whole"},
    {"decompose", "canonicalise", "decompositions leave views and constants to join"},
    {"canonicalise", "dead_code", "joined views leave their middles behind"},
};

// Each constraint holds between the first place of `before` and the last place of `after`.
constexpr bool ordered(const Constraint& c) {
  std::size_t first = table.size(), last = 0;
  for (std::size_t i = table.size(); i-- > 0;) {
    if (table[i].name == c.before) first = i;
    if (table[i].name == c.after && last == 0) last = i;
  }
  return first < last;
}
static_assert(std::ranges::all_of(constraints, ordered), "the order of graph passes is broken");

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view name_of(const Pass& pass) { return pass.name; }
std::string_view name_of(std::string_view name) { return name; }

// Each once.
std::string names_of(const auto& passes) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& pass : passes) {
    if (contains(names, name_of(pass))) continue;
    names.emplace_back(name_of(pass));
    list += concat(list.empty() ? "" : ", ", name_of(pass));
  }
  return list;
}

}  // namespace

std::span<const Pass> passes() { return table; }

const Pass& pass_named(std::string_view name) {
  auto found = std::ranges::find(table, name, &Pass::name);
  require(found != table.end(), "[passes] there is no graph pass called ", name,
          "; the passes are ", names_of(table));
  return *found;
}

void check_skipped_names() {
  for (const std::string& name : env::skip_passes()) {
    bool is_known = std::ranges::find(table, name, &Pass::name) != table.end() ||
                    std::ranges::find(dsl::pass_names(), name) != dsl::pass_names().end();
    require(is_known, "[TILEWRIGHT_SKIP_PASSES] there is no pass '", name,
            "'; there are, over graphs, ", names_of(table), ", and over tile programs ",
            names_of(dsl::pass_names()));
  }
}

Graph run_passes(const Graph& graph, const PassOptions& options) {
  for (const std::string& name : options.skip)
    require(!pass_named(name).required, "[passes] ", name, " is required; it cannot be skipped");
  if (!options.stop_after.empty()) pass_named(options.stop_after);
  check_skipped_names();
  std::vector<std::string> skip = env::skip_passes();
  Graph now = graph;
  std::size_t end = table.size();
  if (!options.stop_after.empty())
    while (table[end - 1].name != options.stop_after) --end;
  for (const Pass& pass : std::span(table).first(end)) {
    if (!pass.required && (contains(options.skip, pass.name) || contains(skip, pass.name)))
      continue;
    now = pass.run(now);
    verify(now);
  }
  return now;
}

}  // namespace tilewright::graph
