#include "autotune/search/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

struct Weights {
  double good = 0, bad = 0;
  void add(const Sample& sample, double sign = 1) {
    (sample.is_good ? good : bad) += sign * sample.weight;
  }
  double sum() const { return good + bad; }
  // Gini's impurity times the weight: 0 where all are of a kind.
  double impurity() const { return sum() <= 0 ? 0 : 2 * good * bad / sum(); }
  // With half a sample of each kind added: a leaf of few samples is not sure.
  double probability() const { return (good + 0.25) / (sum() + 0.5); }
};

struct Split {
  int number = -1;
  double bound = 0;
  double impurity = std::numeric_limits<double>::infinity();
};

Split best_split(const std::vector<Sample>& samples, std::vector<int>& chosen,
                 const std::vector<int>& numbers) {
  Split best;
  for (int number : numbers) {
    auto n = static_cast<std::size_t>(number);
    auto value = [&](int i) { return samples[static_cast<std::size_t>(i)].numbers[n]; };
    std::ranges::stable_sort(chosen, {}, value);
    Weights below, above;
    for (int i : chosen) above.add(samples[static_cast<std::size_t>(i)]);
    for (std::size_t i = 0; i + 1 < chosen.size(); ++i) {
      const Sample& sample = samples[static_cast<std::size_t>(chosen[i])];
      below.add(sample);
      above.add(sample, -1);
      double here = value(chosen[i]), next = value(chosen[i + 1]);
      if (here == next) continue;
      double impurity = below.impurity() + above.impurity();
      if (impurity < best.impurity) best = {number, here + (next - here) / 2, impurity};
    }
  }
  return best;
}

}  // namespace

Forest::Forest(const std::vector<Sample>& samples, int trees, int depth, std::mt19937_64& random) {
  check(!samples.empty(), "a forest needs samples");
  std::uniform_int_distribution<int> any(0, static_cast<int>(samples.size()) - 1);
  for (int t = 0; t < trees; ++t) {
    std::vector<int> chosen(samples.size());
    for (int& index : chosen) index = any(random);
    trees_.emplace_back();
    grow(trees_.back(), samples, chosen, depth, random);
  }
}

int Forest::grow(Tree& tree, const std::vector<Sample>& samples, std::vector<int>& chosen,
                 int depth, std::mt19937_64& random) {
  int index = static_cast<int>(tree.size());
  tree.emplace_back();
  Weights weights;
  for (int i : chosen) weights.add(samples[static_cast<std::size_t>(i)]);
  tree.back().probability = weights.probability();
  if (depth == 0 || weights.impurity() == 0) return index;
  // Two thirds of the numbers, so that trees differ.
  std::vector<int> numbers(samples[0].numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::ranges::shuffle(numbers, random);
  numbers.resize(std::max<std::size_t>(1, (2 * numbers.size() + 2) / 3));
  Split split = best_split(samples, chosen, numbers);
  if (split.number < 0) return index;
  auto middle = std::ranges::partition(chosen, [&](int i) {
    return samples[static_cast<std::size_t>(i)].numbers[static_cast<std::size_t>(split.number)] <=
           split.bound;
  });
  std::vector<int> below(chosen.begin(), middle.begin()), above(middle.begin(), chosen.end());
  int below_at = grow(tree, samples, below, depth - 1, random);
  int above_at = grow(tree, samples, above, depth - 1, random);
  Node& node = tree[static_cast<std::size_t>(index)];
  node.number = split.number;
  node.bound = split.bound;
  node.below = below_at;
  node.above = above_at;
  return index;
}

double Forest::probability(const std::vector<double>& numbers) const {
  double sum = 0;
  for (const Tree& tree : trees_) {
    const Node* node = &tree[0];
    while (node->number >= 0)
      node = &tree[static_cast<std::size_t>(
          numbers[static_cast<std::size_t>(node->number)] <= node->bound ? node->below
                                                                         : node->above)];
    sum += node->probability;
  }
  return sum / static_cast<double>(trees_.size());
}

}  // namespace tilewright::autotune
