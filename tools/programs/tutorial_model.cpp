#include "tools/programs/tutorial_model.h"

#include <random>
#include <utility>

namespace tilewright::tools {

TutorialByRegions::TutorialByRegions(std::size_t layers, Regions regions, const Options& options) {
  if (regions == Regions::marks || regions == Regions::calls) {
    auto model = std::make_unique<MarkedTutorialModel>(layers, options);
    if (regions == Regions::marks) {
      functions_.push_back(compile(*model, options));
    } else {
      functions_.push_back(compile(model->linear, options));
      functions_.insert(functions_.end(), model->regions.begin(), model->regions.end());
    }
    model_ = std::move(model);
    return;
  }
  auto model = std::make_unique<TutorialModel>(layers);
  functions_.push_back(regions == Regions::automatic ? compile(*model, options)
                                                     : compile_regions(*model, options));
  model_ = std::move(model);
}

Tensor TutorialByRegions::operator()(const Tensor& x) const {
  Tensor y = x;
  for (const Compiled& function : functions_) y = function(y);
  return y;
}

std::vector<PlanReport> TutorialByRegions::reports() const {
  std::vector<PlanReport> result;
  for (const Compiled& function : functions_) result.push_back(function.report().at(0));
  return result;
}

Tensor tutorial_input() {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> elements(100);
  for (float& x : elements) x = normal(generator);
  return Tensor::from(elements, {10, 10});
}

}  // namespace tilewright::tools
