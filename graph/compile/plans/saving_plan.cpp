#include "graph/compile/plans/saving_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/compile/captures/verify_gradients.h"
#include "graph/ir/options/unkept_options.h"
#include "graph/saving/choose_saved.h"
#include "graph/saving/compute_again.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {
namespace {

constexpr int tenths = 10;

// Choices from the one that keeps everything on, of which each takes less memory than the one
// before.
class Choices {
 public:
  Choices(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), problem_(saving_problem(graph)) {
    use(all_saved(problem_), graph_);
  }

  // Goes on to a choice that keeps at most so many tenths, if one takes less memory.
  void go_to(int wanted) {
    while (tenth_ > wanted && !is_least_) next();
  }
  // Goes on to a choice that takes at most so much memory. False: there is none.
  bool keep_to(std::int64_t limit) {
    while (memory() > limit && tenth_ > 0 && !is_least_) next();
    return memory() <= limit;
  }
  std::int64_t memory() const { return used_->memory.peak; }
  Graph take_graph() { return std::move(used_->graph); }

  SavingReport report() const {
    SavingReport report{.saved_bytes = used_->choice.bytes,
                        .bytes_of_all = all_saved(problem_).bytes};
    for (std::size_t i = 0; i < problem_.size(); ++i) {
      if (used_->choice.is_saved[i]) report.saved.push_back(value(i));
      if (used_->choice.is_again[i] && problem_[i].may_be_saved) report.again.push_back(value(i));
    }
    for (std::vector<SavedValue>* values : {&report.saved, &report.again})
      std::ranges::stable_sort(*values, std::ranges::greater(), &SavedValue::bytes);
    return report;
  }

 private:
  struct Used {
    SavingChoice choice;
    Graph graph;
    PlanMemory memory;
  };

  void next() {
    --tenth_;
    const std::int64_t limit = all_saved(problem_).bytes / tenths * tenth_;
    std::optional<CheapestSaving> found = cheapest_within(problem_, limit);
    is_least_ = !found;
    SavingChoice choice = found ? std::move(found->choice) : least_saved(problem_);
    if (choice.is_saved != last_saved_) use(choice, computed_again(graph_, problem_, choice));
  }

  void use(SavingChoice choice, Graph graph) {
    last_saved_ = choice.is_saved;
    const PlanMemory memory = planned_memory(graph, options_);
    const bool is_less =
        !used_ || (memory.peak <= used_->memory.peak &&
                   memory.arena + memory.loops < used_->memory.arena + used_->memory.loops);
    if (is_less) used_ = Used{std::move(choice), std::move(graph), memory};
  }

  SavedValue value(std::size_t i) const {
    const Node& node = graph_.node(problem_[i].node);
    return {std::string(word_of(node.origin)), describe(node.where), node.dtype, node.shape,
            problem_[i].bytes};
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const SavingProblem problem_;
  int tenth_ = tenths;
  bool is_least_ = false;  // no choice keeps fewer bytes than the last one
  std::vector<bool> last_saved_;
  std::optional<Used> used_;
};

void note_bodies(const Graph& graph, const SavingLimits& limits) {
  if (!has_gradients_in_bodies(graph)) return;
  constexpr const char* reason =
      "gradients inside of branches and loops keep all values that they read; take the gradient of "
      "the function around the loop, or mark parts of it with checkpoint()";
  if (limits.share < 1) UnkeptOptions::note("saved_share", reason);
}

}  // namespace

SavingReport keep_to(Graph& graph, const PlanOptions& options, const SavingLimits& limits) {
  if (limits.share == 1 && limits.memory == 0) return {};
  TraceSpan span("compile", "choose what gradients keep");
  note_bodies(graph, limits);
  Choices choices(graph, options);
  choices.go_to(static_cast<int>(std::floor(limits.share * tenths + 1e-9)));
  if (limits.memory > 0 && !choices.keep_to(limits.memory))
    raise_error(concat("[compile] memory_limit is ", limits.memory,
                       " bytes, but results and intermediate values take at least ",
                       choices.memory(),
                       " bytes, with every value that gradients read computed again where that "
                       "frees memory; a limit of that many bytes, or a smaller batch, would be "
                       "right"));
  SavingReport report = choices.report();
  graph = choices.take_graph();
  return report;
}

}  // namespace tilewright::graph
