// The strategies that learn nothing but which points were fast.
#include <algorithm>
#include <cmath>

#include "autotune/search/strategies.h"

namespace tilewright::autotune {
namespace {

constexpr std::int64_t most_listed = 20'000;

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const Problem& problem)
      : points_(problem.space->legal_points(std::numeric_limits<std::int64_t>::max())) {}
  std::vector<Proposal> propose(const History& history, int count) override {
    std::vector<Proposal> result;
    for (; position_ < points_.size() && static_cast<int>(result.size()) < count; ++position_)
      if (!history.knows(points_[position_])) result.push_back({points_[position_]});
    return result;
  }

 private:
  std::vector<Point> points_;
  std::size_t position_ = 0;
};

class RandomSearch : public Strategy {
 public:
  RandomSearch(const Problem& problem, std::uint64_t seed) : fresh_(*problem.space, seed) {}
  std::vector<Proposal> propose(const History& history, int count) override {
    std::vector<Proposal> result;
    while (static_cast<int>(result.size()) < count) {
      std::optional<Point> point = fresh_.next(history, result);
      if (!point) break;
      result.push_back({*point});
    }
    return result;
  }

 private:
  FreshPoints fresh_;
};

// Children of two of the best eight, each better one more likely, with one or two knobs changed.
class Evolutionary : public Strategy {
 public:
  Evolutionary(const Problem& problem, std::uint64_t seed)
      : space_(*problem.space), fresh_(*problem.space, seed) {}
  std::vector<Proposal> propose(const History& history, int count) override {
    std::vector<const Trial*> parents = history.ranked();
    std::erase_if(parents, [](const Trial* trial) { return !std::isfinite(trial->seconds); });
    std::vector<Proposal> result;
    while (static_cast<int>(result.size()) < count) {
      std::optional<Point> point;
      bool has_parents = parents.size() >= 4;
      for (int tries = 0; has_parents && !point && tries < 20; ++tries) {
        Point child = crossed(pick(parents), pick(parents));
        std::optional<Point> changed = space_.changed(child, 2, fresh_.random());
        if (changed && !history.knows(*changed) && !is_taken(result, *changed)) point = changed;
      }
      if (!point) point = fresh_.next(history, result);
      if (!point) break;
      result.push_back({*point});
    }
    return result;
  }

 private:
  const Point& pick(const std::vector<const Trial*>& parents) {
    std::uniform_int_distribution<std::size_t> among(0,
                                                     std::min<std::size_t>(parents.size(), 8) - 1);
    return parents[std::min(among(fresh_.random()), among(fresh_.random()))]->point;
  }
  Point crossed(const Point& a, const Point& b) {
    Point child = a;
    for (std::size_t i = 0; i < child.size(); ++i)
      if (fresh_.random()() % 2 == 0) child[i] = b[i];
    return child;
  }

  const Space& space_;
  FreshPoints fresh_;
};

// Brackets of sixteen points at an eighth of the effort; half of them, the faster, go on at twice
// that. Jamieson and Talwalkar, "Non-stochastic best arm identification", 2016.
class SuccessiveHalving : public Strategy {
 public:
  SuccessiveHalving(const Problem& problem, std::uint64_t seed) : fresh_(*problem.space, seed) {}
  std::vector<Proposal> propose(const History& history, int count) override {
    if (position_ == bracket_.size()) next_rung(history);
    std::vector<Proposal> result;
    for (; position_ < bracket_.size() && static_cast<int>(result.size()) < count; ++position_)
      result.push_back(bracket_[position_]);
    return result;
  }

 private:
  static constexpr std::size_t width = 16;
  static constexpr double least_effort = 0.125;

  void next_rung(const History& history) {
    position_ = 0;
    if (bracket_.empty() || bracket_[0].effort == 1) {
      bracket_.clear();
      while (bracket_.size() < width) {
        std::optional<Point> point = fresh_.next(history, bracket_);
        if (!point) break;
        bracket_.push_back({*point, least_effort});
      }
      return;
    }
    std::ranges::stable_sort(bracket_, {}, [&](const Proposal& proposal) {
      const Trial* trial = history.find(proposal.point);
      return trial ? trial->seconds : std::numeric_limits<double>::infinity();
    });
    bracket_.resize((bracket_.size() + 1) / 2);
    double effort = std::min(1.0, bracket_[0].effort * 2);
    for (Proposal& proposal : bracket_) proposal.effort = effort;
  }

  FreshPoints fresh_;
  std::vector<Proposal> bracket_;
  std::size_t position_ = 0;
};

}  // namespace

bool is_taken(const std::vector<Proposal>& taken, const Point& point) {
  return std::ranges::find(taken, point, &Proposal::point) != taken.end();
}

FreshPoints::FreshPoints(const Space& space, std::uint64_t seed) : space_(space), random_(seed) {
  if (space.product() > most_listed) return;
  listed_ = space.legal_points(most_listed);
  std::ranges::shuffle(listed_, random_);
}

std::optional<Point> FreshPoints::next(const History& history, const std::vector<Proposal>& taken) {
  while (position_ < listed_.size()) {
    const Point& point = listed_[position_++];
    if (!history.knows(point) && !is_taken(taken, point)) return point;
  }
  if (space_.product() <= most_listed) return std::nullopt;
  for (int tries = 0; tries < 100; ++tries) {
    std::optional<Point> point = space_.random_point(random_);
    if (!point) return std::nullopt;
    if (!history.knows(*point) && !is_taken(taken, *point)) return point;
  }
  return std::nullopt;
}

std::unique_ptr<Strategy> make_exhaustive(const Problem& problem, std::uint64_t) {
  return std::make_unique<Exhaustive>(problem);
}
std::unique_ptr<Strategy> make_random(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<RandomSearch>(problem, seed);
}
std::unique_ptr<Strategy> make_evolutionary(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<Evolutionary>(problem, seed);
}
std::unique_ptr<Strategy> make_successive_halving(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<SuccessiveHalving>(problem, seed);
}

}  // namespace tilewright::autotune
