#include "tools/bench/adamw.h"

namespace tilewright::tools {
namespace {

constexpr double rate = 1e-3, decay = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

}  // namespace

void adamw(AdamwState& s, const Tensor& corrections) {
  Tensor m = s.first * beta1 + s.gradient * (1 - beta1);
  Tensor v = s.second * beta2 + square(s.gradient) * (1 - beta2);
  Tensor m_hat = m / corrections.slice(0, 0, 1), v_hat = v / corrections.slice(0, 1, 2);
  Tensor p = s.parameter * (1 - rate * decay) - m_hat / (sqrt(v_hat) + epsilon) * rate;
  s.first.copy_from(m);
  s.second.copy_from(v);
  s.parameter.copy_from(p);
}

std::vector<Shape> gpt2_parameter_shapes() {
  std::vector<Shape> shapes = {{50257, 768}, {1024, 768}};
  const std::vector<Shape> layer = {{768}, {768}, {768, 2304}, {2304}, {768, 768},  {768},
                                    {768}, {768}, {768, 3072}, {3072}, {3072, 768}, {768}};
  for (int i = 0; i < 12; ++i) shapes.insert(shapes.end(), layer.begin(), layer.end());
  shapes.insert(shapes.end(), {{768}, {768}});
  return shapes;
}

}  // namespace tilewright::tools
