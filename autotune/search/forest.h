// A small forest of decision trees that tells two classes apart by numbers: which configurations
// are among the best, learned from a few dozen. Trees need no scaling of the numbers, and many of
// them, each grown on other samples and numbers, say how sure they are.
//
// Breiman, "Random forests", 2001; the weights are those of Song et al., "A general recipe for
// likelihood-free Bayesian optimization", 2022: a good sample counts by how good it is.
#pragma once

#include <random>
#include <vector>

namespace tilewright::autotune {

struct Sample {
  std::vector<double> numbers;  // as many in each sample
  bool is_good = false;
  double weight = 1;
};

class Forest {
 public:
  // Needs at least one sample; equal samples and generators give equal forests.
  Forest(const std::vector<Sample>& samples, int trees, int depth, std::mt19937_64& random);
  // How likely a sample with these numbers is a good one, 0 to 1.
  double probability(const std::vector<double>& numbers) const;

 private:
  struct Node {
    int number = -1;  // that is compared; -1: a leaf
    double bound = 0;
    int below = 0, above = 0;  // nodes for values up to the bound, and for larger ones
    double probability = 0;
  };
  using Tree = std::vector<Node>;
  int grow(Tree& tree, const std::vector<Sample>& samples, std::vector<int>& chosen, int depth,
           std::mt19937_64& random);
  std::vector<Tree> trees_;
};

}  // namespace tilewright::autotune
