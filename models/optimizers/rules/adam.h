// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), as torch.optim has them.
//
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   x = x - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)
//
// Adam adds weight decay to the gradient, AdamW shrinks the parameter by 1 - lr weight_decay before
// the step. With amsgrad the greatest v so far takes the place of v.
#pragma once

#include "models/optimizers/optimizer.h"

namespace tilewright {
namespace detail {

void prepare_adam(GroupUpdate& at);
std::vector<OptimizerSetting> adam_settings(double lr, Betas betas, double eps,
                                            double weight_decay);
// The gradient with its weight decay, and the parameter with its own: one of both is as it was.
struct Decayed {
  Tensor parameter, gradient;
};
Decayed decayed(const ParameterUpdate& at, bool is_decoupled);
// The moving averages after this step, of the gradient and of its square.
Tensor next_mean(const ParameterUpdate& at, const Tensor& gradient);
Tensor next_square(const ParameterUpdate& at, const Tensor& gradient);
std::vector<StateTensor> adam_states(bool amsgrad);
Tensor update_adam(const ParameterUpdate& at, bool is_decoupled, bool amsgrad);

}  // namespace detail

struct AdamOptions {
  static constexpr const char* name = "Adam";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, decoupled_weight_decay = false, maximize = false;
  StatePrecision precision = {};

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using Adam = OptimizerBy<AdamOptions>;

struct AdamWOptions {
  static constexpr const char* name = "AdamW";
  double lr = 1e-3;
  Betas betas = {};
  double eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
  StatePrecision precision = {};

  std::vector<OptimizerSetting> settings() const;
  std::vector<StateTensor> states(const Shape&) const;
  void prepare(GroupUpdate& at) const;
  Tensor update(const ParameterUpdate& at) const;
};
using AdamW = OptimizerBy<AdamWOptions>;

}  // namespace tilewright
