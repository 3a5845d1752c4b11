// Search by a learned classifier.
//
// The first batch is chosen by the estimate: the points with the least, each at some distance from
// those already taken. From then on a forest learns from the history which points are among the
// fastest tenth (at least three), good ones weighted by how much faster they are. It judges a pool:
// all points of a small space; of a large one points near the best (several knobs changed at once),
// points with a good estimate and random ones. The most promising are taken, but each next to one
// that is already in the batch is worth less: a batch is measured before anything is learned from
// it. A part of each batch are direct neighbours of the best, since times change slowly from one
// value of a knob to the next.
#include <algorithm>
#include <cmath>

#include "autotune/search/forest.h"
#include "autotune/search/strategies.h"

namespace tilewright::autotune {
namespace {

constexpr int forest_trees = 48, forest_depth = 5;
constexpr std::size_t least_good = 3, least_learned = 6;
constexpr double good_share = 0.1;
constexpr int pool_near = 256, pool_random = 256;
constexpr double apart = 0.35;  // of the space's distance; nearer ones are worth less
constexpr double trust_in_estimate = 0.6, trials_to_halve_trust = 12;
constexpr int neighbours_a_batch = 2;

class ModelGuided : public Strategy {
 public:
  ModelGuided(const Problem& problem, std::uint64_t seed)
      : problem_(problem), space_(*problem.space), fresh_(*problem.space, seed) {}

  std::vector<Proposal> propose(const History& history, int count) override {
    std::vector<const Trial*> ranked = history.ranked();
    std::vector<Proposal> result;
    auto finite = std::ranges::count_if(
        ranked, [](const Trial* trial) { return std::isfinite(trial->seconds); });
    bool learns = ranked.size() >= least_learned && finite >= 2;
    if (learns) step_from_best(ranked, history, std::min(count, neighbours_a_batch), result);
    std::vector<Scored> pool = scored(pool_of(ranked, history), ranked, learns);
    while (static_cast<int>(result.size()) < count && !pool.empty()) {
      auto best = std::ranges::max_element(pool, {}, [&](const Scored& candidate) {
        return candidate.score - crowding(candidate.point, result);
      });
      if (!is_taken(result, best->point)) result.push_back({best->point});
      std::swap(*best, pool.back());
      pool.pop_back();
    }
    return result;
  }

 private:
  struct Scored {
    Point point;
    double score;
  };

  void step_from_best(const std::vector<const Trial*>& ranked, const History& history, int count,
                      std::vector<Proposal>& result) {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, ranked.size()); ++i) {
      std::vector<Point> near = space_.neighbours(ranked[i]->point);
      std::ranges::shuffle(near, fresh_.random());
      for (const Point& point : near) {
        if (static_cast<int>(result.size()) == count) return;
        if (!history.knows(point) && !is_taken(result, point)) result.push_back({point});
      }
    }
  }

  std::vector<Point> pool_of(const std::vector<const Trial*>& ranked, const History& history) {
    std::vector<Point> pool;
    auto offer = [&](const Point& point) {
      if (!history.knows(point)) pool.push_back(point);
    };
    if (!fresh_.listed().empty()) {
      for (const Point& point : fresh_.listed()) offer(point);
      return pool;
    }
    for (int i = 0; i < pool_near && !ranked.empty(); ++i) {
      const Trial& from =
          *ranked[static_cast<std::size_t>(i) % std::min<std::size_t>(5, ranked.size())];
      if (std::optional<Point> point = space_.changed(from.point, 3, fresh_.random()))
        offer(*point);
    }
    for (int i = 0; i < pool_random; ++i)
      if (std::optional<Point> point = space_.random_point(fresh_.random())) offer(*point);
    std::ranges::sort(pool);
    auto repeated = std::ranges::unique(pool);
    pool.erase(repeated.begin(), repeated.end());
    return pool;
  }

  std::vector<double> numbers_of(const Point& point) const {
    std::vector<double> result(point.begin(), point.end());
    if (problem_.estimate) result.push_back(std::log(problem_.estimate(point)));
    if (problem_.features) {
      std::vector<double> further = problem_.features(point);
      result.insert(result.end(), further.begin(), further.end());
    }
    return result;
  }

  std::vector<Scored> scored(std::vector<Point> pool, const std::vector<const Trial*>& ranked,
                             bool learns) {
    std::vector<Scored> result;
    for (Point& point : pool) result.push_back({std::move(point), 0});
    if (problem_.estimate && !result.empty()) {
      double trust = trust_in_estimate *
                     std::exp2(-static_cast<double>(ranked.size()) / trials_to_halve_trust);
      std::vector<double> estimates;
      for (const Scored& candidate : result)
        estimates.push_back(problem_.estimate(candidate.point));
      double least = *std::ranges::min_element(estimates);
      // A point with an estimate of twice the least time has half its worth.
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i].score += trust * least / std::max(estimates[i], least);
    }
    if (!learns) return result;
    Forest forest(samples_of(ranked), forest_trees, forest_depth, fresh_.random());
    for (Scored& candidate : result)
      candidate.score += forest.probability(numbers_of(candidate.point));
    return result;
  }

  // The fastest are good, by the weight of how much faster they are than the slowest of them; all
  // others together weigh as much as they are many.
  std::vector<Sample> samples_of(const std::vector<const Trial*>& ranked) const {
    auto share = static_cast<std::size_t>(good_share * static_cast<double>(ranked.size()));
    std::size_t good = std::min(std::max(least_good, share), ranked.size() - 1);
    double bound = ranked[good]->seconds;
    std::vector<Sample> samples;
    double weight = 0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      bool is_good = i < good && std::isfinite(ranked[i]->seconds);
      double gain = std::isfinite(bound) ? std::log(bound / ranked[i]->seconds) : 1;
      samples.push_back({numbers_of(ranked[i]->point), is_good, is_good ? gain + 0.01 : 1});
      if (is_good) weight += samples.back().weight;
    }
    double mean = weight / static_cast<double>(good);
    for (Sample& sample : samples)
      if (sample.is_good) sample.weight *= 2 / mean;
    return samples;
  }

  double crowding(const Point& point, const std::vector<Proposal>& batch) const {
    double worst = 0;
    for (const Proposal& other : batch)
      worst = std::max(worst, 1 - space_.distance(point, other.point) / apart);
    return 0.5 * worst;
  }

  const Problem& problem_;
  const Space& space_;
  FreshPoints fresh_;
};

}  // namespace

std::unique_ptr<Strategy> make_model_guided(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<ModelGuided>(problem, seed);
}

}  // namespace tilewright::autotune
