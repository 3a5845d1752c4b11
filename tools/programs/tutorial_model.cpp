#include "tools/programs/tutorial_model.h"

#include <random>

namespace tilewright::tools {

Tensor tutorial_input() {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> elements(100);
  for (float& x : elements) x = normal(generator);
  return Tensor::from(elements, {10, 10});
}

}  // namespace tilewright::tools
