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

using ir::Stage;

// A pass that does the same for every target.
template <bool (*pass)(ir::Function& function)>
bool for_any(ir::Function& function, const Target&) {
  return pass(function);
}

constexpr std::array table = {
    Pass{"expand_math", expand_math, Stage::traced, true,
         "replaces exp, log, sin and their like by arithmetic, over instructions of the target"},
    Pass{"widen_reductions", for_any<widen_reductions>, Stage::traced, true,
         "accumulates sums of f16 and bf16 in f32"},
    Pass{"simplify", for_any<simplify>, Stage::traced, false,
         "folds constants, neutral operands, known ifs and loops"},
    Pass{"hoist_invariants", for_any<hoist_invariants>, Stage::traced, false,
         "moves out of loops what every turn computes alike"},
    Pass{"common_subexpressions", for_any<common_subexpressions>, Stage::traced, false,
         "keeps one of several equal instructions"},
    Pass{"dead_code", for_any<dead_code>, Stage::traced, false, "drops what nothing needs"},
};

struct Constraint {
  std::string_view first, then, because;
};
constexpr std::array constraints = {
    Constraint{"expand_math", "simplify",
               "an expansion brings constants and splats that fold with what is around"},
    Constraint{"widen_reductions", "common_subexpressions",
               "two sums of one tile bring the same cast"},
    Constraint{"expand_math", "hoist_invariants",
               "coefficients that an expansion puts into a loop belong outside"},
    Constraint{"simplify", "hoist_invariants",
               "carried values found constant make what uses them invariant"},
    Constraint{"hoist_invariants", "common_subexpressions",
               "equal instructions of two loops meet only once they are outside"},
    Constraint{"simplify", "dead_code", "simplify leaves behind what it made useless"},
    Constraint{"common_subexpressions", "dead_code", "values whose twins went may be unused"},
};

constexpr std::size_t place(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return i;
  return table.size();
}
constexpr bool holds(const Constraint& c) {
  return place(c.first) < place(c.then) && place(c.then) < table.size();
}
static_assert(std::ranges::all_of(constraints, holds),
              "the pipeline breaks one of its constraints, or one names no pass");

std::string names() {
  std::string list;
  for (const Pass& pass : table) list += (list.empty() ? "" : ", ") + std::string(pass.name);
  return list;
}

// What runs and what is printed, from the options and the environment.
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
};

void require_name(const char* variable, const std::string& name, const char* others) {
  require(place(name) < table.size(), "[", variable, "] there is no pass '", name, "'; there are ",
          others, names());
}

// Names must be right; those of TILEWRIGHT_SKIP_PASSES may mean passes over graphs, which
// graph/passes knows and checks.
Plan plan_of(const PipelineOptions& options) {
  for (const std::string& name : options.skip)
    require(!pass_named(name).required, "[run_passes] the pass '", name,
            "' cannot be skipped; code generation needs it");
  if (!options.stop_after.empty()) pass_named(options.stop_after);
  if (!options.dump.empty() && options.dump != "all") pass_named(options.dump);
  Plan plan{options.skip, env::dump(), options.stop_after};
  for (std::string& name : env::skip_passes()) plan.skip.push_back(std::move(name));
  for (const std::string& name : plan.dump)
    if (name != "all") require_name("TILEWRIGHT_DUMP", name, "all, ");
  if (!options.dump.empty()) plan.dump.push_back(options.dump);
  if (std::string name = env::stop_after(); !name.empty()) {
    require_name("TILEWRIGHT_STOP_AFTER", name, "");
    if (plan.stop_after.empty()) plan.stop_after = name;
  }
  return plan;
}

PassTime run_one(const Pass& pass, ir::Function& function, const Target& target, const Plan& plan) {
  auto start = std::chrono::steady_clock::now();
  bool changed = pass.run(function, target);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  ir::verify(function);
  if (plan.dumps(pass))
    std::cerr << "// after " << pass.name << (changed ? "" : " (no change)") << "\n"
              << ir::print(function);
  return {pass.name, taken.count(), changed};
}

}  // namespace

std::span<const Pass> passes() { return table; }

const Pass& pass_named(std::string_view name) {
  std::size_t at = place(name);
  require(at < table.size(), "[passes] there is no pass '", name, "'; there are ", names());
  return table[at];
}

std::vector<PassTime> run_passes(ir::Function& function, const PipelineOptions& options) {
  Plan plan = plan_of(options);
  std::vector<PassTime> times;
  for (const Pass& pass : table) {
    if (plan.skips(pass)) continue;
    times.push_back(run_one(pass, function, options.target, plan));
    if (pass.name == plan.stop_after) break;
  }
  return times;
}

std::vector<PassTime> run_passes(ir::Function& function, std::span<const std::string> names,
                                 const Target& target) {
  Plan plan = plan_of({});
  std::vector<PassTime> times;
  for (const std::string& name : names)
    times.push_back(run_one(pass_named(name), function, target, plan));
  return times;
}

}  // namespace tilewright::dsl
