// The strategies, by name and by their makers.
#pragma once

#include "autotune/search/strategy.h"
#include "autotune/space/random.h"

namespace tilewright::autotune {

// By a name that strategy.h lists; raises `Error` for others. The problem must outlive the
// strategy. Equal seeds and histories give equal proposals.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const Problem& problem,
                                        std::uint64_t seed);
std::vector<std::string> strategy_names();

std::unique_ptr<Strategy> make_exhaustive(const Problem& problem, std::uint64_t seed);
std::unique_ptr<Strategy> make_random(const Problem& problem, std::uint64_t seed);
std::unique_ptr<Strategy> make_evolutionary(const Problem& problem, std::uint64_t seed);
std::unique_ptr<Strategy> make_successive_halving(const Problem& problem, std::uint64_t seed);
std::unique_ptr<Strategy> make_model_guided(const Problem& problem, std::uint64_t seed);

// The points that a search may still propose: those that neither the history nor `taken` contains,
// one by one, in random order without repetition. Small spaces are enumerated, large ones sampled.
class FreshPoints {
 public:
  FreshPoints(const Space& space, std::uint64_t seed);
  // Nothing if the space is exhausted, or, for a large one, if sampling found nothing new.
  std::optional<Point> next(const History& history, const std::vector<Proposal>& taken);
  Random& random() { return random_; }
  // All legal points of a small space; empty for a large one.
  const std::vector<Point>& listed() const { return listed_; }

 private:
  const Space& space_;
  Random random_;
  std::vector<Point> listed_;
  std::size_t position_ = 0;
};

bool is_taken(const std::vector<Proposal>& taken, const Point& point);

}  // namespace tilewright::autotune
