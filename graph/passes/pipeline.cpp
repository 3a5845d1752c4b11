#include "graph/passes/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>

#include "dsl/launch/device.h"
#include "dsl/passes/pipeline.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// A pass that is the same on every target.
template <Graph (*pass)(const Graph&)>
constexpr auto on_any = [](const Graph& graph, const dsl::Target&) { return pass(graph); };

constexpr Pass common_pass(Stage stage) {
  return {"common_subexpressions", on_any<common_subexpressions>, stage, false,
          "computes equal values once"};
}
constexpr std::array table = {
    common_pass(Stage::captured),
    Pass{"decide_by_places", on_any<decide_by_places>, Stage::captured, false,
         "writes integers that follow from their places as such"},
    Pass{"form_attention", on_any<form_attention>, Stage::captured, false,
         "makes attention of products around a softmax"},
    Pass{"place_masks", on_any<place_masks>, Stage::captured, false,
         "makes causal rows and windows of masks of attention"},
    Pass{"differentiate", differentiate, Stage::captured, true,
         "turns gradients into what they are computed by"},
    Pass{"join_losses", on_any<join_losses>, Stage::captured, false,
         "computes losses and their gradients in the same turns"},
    Pass{"decompose", decompose, Stage::primitive, true, "turns composites into the other ops"},
    Pass{"keep_channels_last", on_any<keep_channels_last>, Stage::primitive, false,
         "has what stands between convolutions of 16 bits work in their order of axes"},
    Pass{"decide_by_ranges", on_any<decide_by_ranges>, Stage::primitive, false,
         "drops what integers are compared with for nothing"},
    Pass{"canonicalise", on_any<canonicalise>, Stage::primitive, false,
         "joins views, drops what does nothing, folds constants"},
    common_pass(Stage::primitive),
    Pass{"repeat_numbers", on_any<repeat_numbers>, Stage::primitive, false,
         "computes numbers that follow from their places where elements are gathered by them"},
    Pass{"dead_code", on_any<dead_code>, Stage::primitive, false, "drops what nothing needs"},
};
static_assert(std::ranges::is_sorted(table, {}, &Pass::stage), "a graph pass leads back a stage");

struct Constraint {
  std::string_view before, after, because;
};
constexpr Constraint constraints[] = {
    {"common_subexpressions", "form_attention", "equal scores are seen to be the same"},
    {"decide_by_places", "form_attention", "masks that are constant are no masks"},
    {"form_attention", "place_masks", "masks are operands of it"},
    {"form_attention", "decompose", "a softmax is known by its name"},
    {"place_masks", "differentiate", "an attention is differentiated as a whole"},
    {"differentiate", "join_losses", "gradients are calls beside those of losses"},
    {"differentiate", "decompose", "composites have rules of their own"},
    {"join_losses", "decompose", "calls are known by their names"},
    {"common_subexpressions", "decompose", "equal composites are cheapest to find whole"},
    {"decompose", "keep_channels_last", "what is between convolutions is pointwise then"},
    {"keep_channels_last", "canonicalise", "views that meet are to go"},
    {"decide_by_ranges", "canonicalise", "a choice that is decided leaves constants behind"},
    {"decompose", "canonicalise", "decompositions leave views and constants to join"},
    {"common_subexpressions", "repeat_numbers", "what it repeats is equal"},
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

namespace {

constexpr std::string_view room = "graph.";

// Not a pass: the graph before the first.
constexpr std::string_view captured_name = "captured";

bool is_pass(std::string_view name) {
  return std::ranges::find(table, name, &Pass::name) != table.end();
}

// What the environment says of these passes; names must be right.
struct EnvironmentSettings {
  std::vector<std::string> skip, dump;
  std::string stop_after;
};
EnvironmentSettings settings() {
  auto bare = [](const char* variable, const std::string& name) {
    std::string rest = name.substr(room.size());
    require(is_pass(rest), "[", variable, "] there is no pass '", name, "'; over graphs there are ",
            names_of(table), ", each with ", room, " before it");
    return rest;
  };
  EnvironmentSettings result;
  for (const std::string& name : env::skip_passes()) {
    if (name.starts_with(room)) {
      result.skip.push_back(bare("TILEWRIGHT_SKIP_PASSES", name));
      continue;
    }
    bool is_known =
        is_pass(name) || std::ranges::find(dsl::pass_names(), name) != dsl::pass_names().end();
    require(is_known, "[TILEWRIGHT_SKIP_PASSES] there is no pass '", name,
            "'; there are, over graphs, ", names_of(table), ", and over tile programs ",
            names_of(dsl::pass_names()));
    result.skip.push_back(name);
  }
  for (const std::string& name : env::dump()) {
    if (name == "all") result.dump.push_back(name);
    if (name == concat(room, captured_name))
      result.dump.emplace_back(captured_name);
    else if (name.starts_with(room))
      result.dump.push_back(bare("TILEWRIGHT_DUMP", name));
  }
  if (std::string name = env::stop_after(); name.starts_with(room))
    result.stop_after = bare("TILEWRIGHT_STOP_AFTER", name);
  return result;
}

// What a pass breaks is seen after the last one too; to know which one it was is for debugging.
#ifdef NDEBUG
constexpr bool verifies_each = false;
#else
constexpr bool verifies_each = true;
#endif

Graph run_one(const Pass& pass, Stage stage, const Graph& graph, const dsl::Target& target,
              const std::vector<std::string>& dump, std::vector<PassTime>* times) {
  const bool dumps = contains(dump, "all") || contains(dump, pass.name);
  const Hash before = dumps || times ? content_hash(graph) : Hash{};
  auto start = std::chrono::steady_clock::now();
  Graph result = pass.run(graph, target);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (verifies_each) verify(result, stage);
  if (!dumps && !times) return result;
  const bool changed = content_hash(result) != before;
  if (times) times->push_back({pass.name, taken.count(), changed});
  if (dumps)
    std::cerr << "// after " << room << pass.name << (changed ? "" : " (no change)") << "\n"
              << print(result);
  return result;
}

}  // namespace

std::span<const Pass> passes() { return table; }

const Pass& pass_named(std::string_view name) {
  auto found = std::ranges::find(table, name, &Pass::name);
  require(found != table.end(), "[passes] there is no graph pass called ", name,
          "; the passes are ", names_of(table));
  return *found;
}

void check_pass_names() { settings(); }

void dump_captured(const Graph& graph) {
  const EnvironmentSettings set = settings();
  if (contains(set.dump, "all") || contains(set.dump, captured_name))
    std::cerr << "// " << room << captured_name << "\n" << print(graph);
}

Graph run_passes(const Graph& graph, const PassOptions& options, std::vector<PassTime>* times) {
  for (const std::string& name : options.skip)
    require(!pass_named(name).required, "[passes] ", name, " is required; it cannot be skipped");
  if (!options.stop_after.empty()) pass_named(options.stop_after);
  if (!options.dump.empty() && options.dump != "all") pass_named(options.dump);
  EnvironmentSettings set = settings();
  set.skip.insert(set.skip.end(), options.skip.begin(), options.skip.end());
  if (!options.dump.empty()) set.dump.push_back(options.dump);
  if (!options.stop_after.empty()) set.stop_after = options.stop_after;

  std::vector<Pass> run;
  for (const Pass& pass : table)
    if ((!options.after || pass.stage > *options.after) && pass.stage <= options.until)
      run.push_back(pass);
  auto last = std::ranges::find(run.rbegin(), run.rend(), set.stop_after, &Pass::name);
  if (last != run.rend()) run.erase(last.base(), run.end());
  const dsl::Target target = options.target ? *options.target : default_device().target();
  std::optional<Graph> now;
  Stage reached = Stage::captured;
  for (const Pass& pass : run) {
    if (!pass.required && contains(set.skip, pass.name)) continue;
    now = run_one(pass, pass.stage, now ? *now : graph, target, set.dump, times);
    reached = pass.stage;
  }
  if (!now) return graph;
  verify(*now, reached);
  return std::move(*now);
}

Graph run_named_passes(const Graph& graph, std::span<const std::string> names,
                       const dsl::Target& target, std::vector<PassTime>* times) {
  const EnvironmentSettings set = settings();
  Graph now = graph;
  for (const std::string& name : names)
    now = run_one(pass_named(name), Stage::captured, now, target, set.dump, times);
  verify(now);
  return now;
}

}  // namespace tilewright::graph
