#include "graph/compile/plans/tuned_plan.h"

#include <algorithm>
#include <cmath>

#include "autotune/choice.h"
#include "autotune/database/row/compiler_record.h"
#include "autotune/policy.h"
#include "autotune/space/random.h"
#include "graph/run/plan_body.h"
#include "graph/tune/plan_lock.h"
#include "runtime/base/error.h"
#include "runtime/base/text/number_text.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

using autotune::DecisionRounds;
using autotune::Point;
using autotune::TuningRow;

constexpr std::size_t most_single = 3;     // plans with one choice alone
constexpr double sample_seconds = 0.5e-3;  // of a plan in a round, at least
const DecisionRounds least_rounds{5, 7};
constexpr double most_tuning_seconds = 4;  // times PlanTuning::seconds
constexpr const char* knob = "choices";

// Plan 0 has no choice, plan 1 all of them, the others one each.
std::vector<TunedChoices> parts_of(const TunedChoices& all) {
  std::vector<TunedChoices> parts = {{{}, all.report}, all};
  if (all.regions.size() > 1)
    for (std::size_t i = 0; i < std::min(most_single, all.regions.size()); ++i)
      parts.push_back({{all.regions[i]}, all.report});
  return parts;
}

autotune::Space space_of(const TunedChoices& all, std::size_t parts) {
  std::vector<std::string> labels = {"none", "all"};
  for (std::size_t i = 2; i < parts; ++i)
    labels.push_back(all.regions[i - 2].region.hex().substr(0, 16));
  autotune::Space space;
  space.choose(knob, labels);
  return space;
}

autotune::TuningKey key_of(const Plan& plan) {
  Hasher hasher;
  hasher.add("whole call").add(plan.key());
  std::vector<RegionChoice> choices = plan.choices().regions;
  std::ranges::sort(choices, {}, &RegionChoice::region);
  for (const RegionChoice& choice : choices) {
    hasher.add(choice.region);
    for (const BlockSize& size : all_block_sizes()) hasher.add(choice.blocks.*size.size);
  }
  autotune::Record problem;
  problem.set("launches", plan.launches()).set("choices", std::ssize(choices));
  return {"whole call", hasher.finish(), problem, autotune::record_of(plan.device()),
          autotune::compiler_record()};
}

class CallChooser {
 public:
  CallChooser(const Graph& graph, const PlanOptions& options, std::shared_ptr<const Plan> all)
      : graph_(graph),
        options_(options),
        choices_(all->choices()),
        parts_(parts_of(choices_)),
        space_(space_of(choices_, parts_.size())),
        key_(key_of(*all)),
        plans_(parts_.size()) {
    plans_[1] = std::move(all);
  }

  // What the database says.
  std::optional<TunedPlan> known() {
    std::vector<TuningRow> rows = autotune::shared_tuning_database().rows(key_);
    if (rows.empty()) return std::nullopt;
    Point point = autotune::choice_of(space_, {0}, rows, least_rounds.again);
    return chosen(static_cast<std::size_t>(point[0]), "known");
  }

  TunedPlan measure(StepMemory& memory) {
    TraceSpan span("compile", "whole calls");
    StepTrial trial(memory, options_.tune->stop);
    for (std::size_t i = 0; i < 2; ++i) trial.add(plan(i));
    trial.seconds(0, 0), trial.seconds(1, 0);  // the first ones pay for what is not in caches
    double seconds = std::max(trial.seconds(0, 0), trial.seconds(1, 0));
    CallRounds rounds = call_rounds(parts_.size(), seconds, options_.tune->seconds);
    if (rounds.rounds.first <= least_rounds.first) parts_.resize(2);
    if (!rounds.is_worthwhile) return {plan(1), "calls are too long to be timed often enough"};
    for (std::size_t i = 2; i < parts_.size(); ++i) trial.add(plan(i));
    autotune::Random random(1);
    autotune::Verdict verdict = autotune::decide(
        parts_.size(), [&](std::size_t i) { return trial.seconds(i, sample_seconds); },
        rounds.rounds, random);
    store(verdict);
    double ratio = verdict.challenger != 0 ? verdict.again.ratio : verdict.first.ratio;
    return chosen(verdict.chosen, ratio_text(ratio));
  }

 private:
  std::shared_ptr<const Plan> plan(std::size_t i) {
    if (!plans_[i]) {
      PlanOptions options = options_;
      options.choices = parts_[i];
      plans_[i] = make_plan(graph_, options);
    }
    return plans_[i];
  }

  static std::string ratio_text(double ratio) {
    return fixed_text(ratio, 2) + " of the default's time";
  }

  TunedPlan chosen(std::size_t i, const std::string& how) {
    std::string text = i == 0   ? "the default's blocks stay"
                       : i == 1 ? "all choices hold"
                                : "the choice of one region holds";
    return {plan(i), concat("in whole calls ", text, " (", how, ")")};
  }

  void store(const autotune::Verdict& verdict) const {
    std::vector<autotune::Finding> findings;
    for (std::size_t i = 0; i < verdict.timings.size(); ++i) {
      bool is_repeated = verdict.was_confirmed && i == verdict.challenger;
      const autotune::Timing& timing = is_repeated ? verdict.repeated[1] : verdict.timings[i];
      const autotune::Timing& beside = is_repeated ? verdict.repeated[0] : verdict.timings[0];
      if (timing.failed()) continue;
      autotune::Finding finding{{static_cast<int>(i)}};
      finding.samples = autotune::beside(timing, beside, verdict.timings[0].seconds());
      // Plans that did not win twice keep too few samples to be chosen (choice_of).
      auto few = static_cast<std::size_t>(least_rounds.again - 1);
      if (i != 0 && !is_repeated) finding.samples.resize(std::min(finding.samples.size(), few));
      findings.push_back(std::move(finding));
    }
    autotune::shared_tuning_database().store(autotune::rows_of(key_, space_, {0}, findings));
  }

  const Graph& graph_;
  const PlanOptions& options_;
  TunedChoices choices_;
  std::vector<TunedChoices> parts_;
  autotune::Space space_;
  autotune::TuningKey key_;
  std::vector<std::shared_ptr<const Plan>> plans_;
};

}  // namespace

CallRounds call_rounds(std::size_t plans, double call_seconds, double tuning_seconds) {
  double seconds = std::max(call_seconds, sample_seconds);
  auto fits = [&](double programs, int least, int most) {
    double rounds = tuning_seconds / 2 / (programs * seconds);
    return static_cast<int>(std::clamp<double>(rounds, least, most));
  };
  DecisionRounds wanted;
  CallRounds result;
  result.rounds.first = fits(static_cast<double>(plans), least_rounds.first, wanted.first);
  result.rounds.again = fits(2, least_rounds.again, wanted.again);
  double least = 2 * (least_rounds.first + least_rounds.again) * call_seconds;
  result.is_worthwhile = least <= most_tuning_seconds * tuning_seconds;
  return result;
}

// Gives `otherwise` if there is no memory for copies.
static TunedPlan measured(CallChooser& chooser, StepInputs inputs, TunedPlan otherwise) {
  try {
    StepMemory memory(std::move(inputs), otherwise.plan->device());
    return chooser.measure(memory);
  } catch (const Error& error) {
    otherwise.whole_call = concat("whole calls were not timed: ", error.what());
    return otherwise;
  }
}

TunedPlan make_tuned_plan(const Graph& graph, const PlanOptions& options, StepInputs inputs) {
  check(options.tune.has_value(), "a tuned plan without tuning");
  PlanOptions unlocked = options;
  bool writes_lock = options.lock && !options.lock->is_locked();
  if (writes_lock) unlocked.lock = nullptr;
  TunedPlan result{make_plan(graph, unlocked)};
  // One launch was timed as it runs.
  if (!result.plan->choices().regions.empty() && result.plan->launches() > 1) {
    CallChooser chooser(graph, unlocked, result.plan);
    bool may_measure =
        options.tune->searches && autotune::tune_policy() == autotune::TunePolicy::on;
    if (std::optional<TunedPlan> known = chooser.known())
      result = std::move(*known);
    else if (may_measure)
      result = measured(chooser, std::move(inputs), std::move(result));
  }
  if (writes_lock) {
    unlocked.lock = options.lock;
    unlocked.choices = result.plan->choices();
    result.plan = make_plan(graph, unlocked);
  }
  return result;
}

}  // namespace tilewright::graph
