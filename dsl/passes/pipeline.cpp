#include "dsl/passes/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>

#include "dsl/ir/text/text.h"
#include "dsl/passes/passes.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

constexpr bool required = true, optional = false;

constexpr std::array table = {
#define TILEWRIGHT_TILE_PASS(name, from, to, need, what) \
  Pass{#name, run_pass<name>, ir::Stage::from, ir::Stage::to, need, what},
#include "dsl/passes/passes.def"
};

// Those that back ends run, too.
constexpr std::array all_names = std::to_array<std::string_view>({
#define TILEWRIGHT_TILE_PASS(name, from, to, need, what) #name,
#define TILEWRIGHT_HOST_PASS(name, from, to, need, what) #name,
#define TILEWRIGHT_GPU_PASS(name, from, to, need, what) #name,
#include "dsl/passes/passes.def"
});

struct Constraint {
  std::string_view first, then, because;
};
constexpr std::array constraints = {
    Constraint{"drop_asserts", "dead_code", "values that only an assert used become unused"},
    Constraint{"expand_math", "simplify",
               "an expansion brings constants and splats that fold with their neighbours"},
    Constraint{"widen_reductions", "common_subexpressions",
               "two sums of one tile bring the same cast"},
    Constraint{"split_products", "common_subexpressions",
               "two products of one operand split it alike"},
    Constraint{"expand_math", "hoist_invariants",
               "coefficients that an expansion puts into a loop belong outside"},
    Constraint{"simplify", "hoist_invariants",
               "carried values found constant make their users invariant"},
    Constraint{"hoist_invariants", "common_subexpressions",
               "equal instructions of two loops meet only once they are outside"},
    Constraint{"simplify", "dead_code", "simplify leaves unused instructions behind"},
    Constraint{"common_subexpressions", "dead_code", "values whose twins went may be unused"},
    Constraint{"dead_code", "form_loop_nests", "unused values would get loops too"},
    Constraint{"form_loop_nests", "tabulate", "kept values are read, and not computed again"},
    Constraint{"form_loop_nests", "pack_products", "kept values are multiplied in place"},
    Constraint{"dead_code", "specialise_warps", "only loads with one user are staged"},
    Constraint{"specialise_warps", "assign_layouts", "roles say how many warps hold the tiles"},
    Constraint{"assign_layouts", "pipeline_loads", "staging depends on the warps' products"},
    Constraint{"pipeline_loads", "insert_conversions", "staged values come as products want them"},
    Constraint{"insert_conversions", "allocate_shared", "conversions take most of the scratch"},
    Constraint{"allocate_shared", "insert_barriers", "threads meet for values that have a place"},
};

constexpr std::size_t place(std::string_view name) {
  for (std::size_t i = 0; i < all_names.size(); ++i)
    if (all_names[i] == name) return i;
  return all_names.size();
}
constexpr bool holds(const Constraint& c) {
  return place(c.first) < place(c.then) && place(c.then) < all_names.size();
}
static_assert(std::ranges::all_of(constraints, holds),
              "the pipeline breaks one of its constraints, or one names no pass");

std::string names() {
  std::string list;
  for (std::string_view name : all_names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

// The passes to run and to print, from the options and the environment.
struct Plan {
  std::vector<std::string> skip, dump;
  std::string stop_after;

  bool skips(const Pass& pass) const {
    return std::ranges::find(skip, pass.name) != skip.end() && !pass.required;
  }
  bool dumps(const Pass& pass) const {
    return std::ranges::any_of(
        dump, [&](const std::string& name) { return name == "all" || name == pass.name; });
  }
  // True if the last pass that is wanted comes before this one.
  bool stops_before(const Pass& pass) const {
    return !stop_after.empty() && place(stop_after) < place(pass.name);
  }
};

void require_name(const char* from, const std::string& name, const char* others) {
  require(place(name) < all_names.size(), "[", from, "] there is no pass '", name, "'; there are ",
          others, names());
}

// A pass of another room, which that room knows and checks: graph.decompose.
bool is_elsewhere(const std::string& name) { return name.find('.') != name.npos; }

// Names must be right; those of TILEWRIGHT_SKIP_PASSES may mean passes over graphs too, and are
// checked with them.
Plan plan_of(std::span<const Pass> passes, const PipelineOptions& options) {
  for (const std::string& name : options.skip) {
    require_name("passes", name, "");
    auto pass = std::ranges::find(passes, name, &Pass::name);
    require(pass == passes.end() || !pass->required, "[run_passes] the pass '", name,
            "' cannot be skipped; code generation needs it");
  }
  if (!options.stop_after.empty()) require_name("passes", options.stop_after, "");
  if (!options.dump.empty() && options.dump != "all") require_name("passes", options.dump, "");
  Plan plan{options.skip, env::dump(), options.stop_after};
  for (std::string& name : env::skip_passes()) plan.skip.push_back(std::move(name));
  std::erase_if(plan.dump, is_elsewhere);
  for (const std::string& name : plan.dump)
    if (name != "all") require_name("TILEWRIGHT_DUMP", name, "all, ");
  if (!options.dump.empty()) plan.dump.push_back(options.dump);
  if (std::string name = env::stop_after(); !name.empty() && !is_elsewhere(name)) {
    require_name("TILEWRIGHT_STOP_AFTER", name, "");
    if (plan.stop_after.empty()) plan.stop_after = name;
  }
  return plan;
}

PassTime run_one(const Pass& pass, ir::Function& function, const Target& target, const Plan& plan) {
  require(function.stage == pass.from, "[", pass.name, "] @", function.name, " is ",
          name_of(function.stage), "; the pass takes a function that is ", name_of(pass.from));
  auto start = std::chrono::steady_clock::now();
  bool changed = pass.run(function, target);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  check(function.stage == pass.to, "a pass leaves a function at another stage than its row says");
  ir::verify(function);
  if (plan.dumps(pass))
    std::cerr << "// after " << pass.name << (changed ? "" : " (no change)") << "\n"
              << ir::print(function);
  return {pass.name, taken.count(), changed};
}

}  // namespace

std::span<const Pass> passes() { return table; }
std::span<const std::string_view> pass_names() { return all_names; }

const Pass& pass_named(std::string_view name) {
  auto found = std::ranges::find(table, name, &Pass::name);
  require(found != table.end(), "[passes] there is no pass '", name, "'; there are ", names());
  return *found;
}

std::vector<PassTime> run_passes(std::span<const Pass> passes, ir::Function& function,
                                 const PipelineOptions& options) {
  Plan plan = plan_of(passes, options);
  std::vector<PassTime> times;
  for (const Pass& pass : passes) {
    if (plan.skips(pass) || function.stage > pass.from) continue;
    if (plan.stops_before(pass) && !(options.for_code && pass.required)) continue;
    times.push_back(run_one(pass, function, options.target, plan));
  }
  return times;
}

std::vector<PassTime> run_passes(ir::Function& function, const PipelineOptions& options) {
  return run_passes(passes(), function, options);
}

std::vector<PassTime> run_passes(std::span<const Pass* const> some, ir::Function& function,
                                 const Target& target) {
  Plan plan = plan_of({}, {});
  std::vector<PassTime> times;
  for (const Pass* pass : some) times.push_back(run_one(*pass, function, target, plan));
  return times;
}

std::vector<PassTime> run_passes(ir::Function& function, std::span<const std::string> names,
                                 const Target& target) {
  std::vector<const Pass*> some;
  for (const std::string& name : names) some.push_back(&pass_named(name));
  return run_passes(some, function, target);
}

}  // namespace tilewright::dsl
