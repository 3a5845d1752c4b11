// Activations of networks, and what chooses along an axis: softmax and hardmax.
#include "graph/functions/pointwise/activations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/norms.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace activation_rows {
namespace {

Tensor clipped(const Call& call) {
  Tensor x = call.tensor(0), result = x;
  if (call.has(1)) result = maximum(result, call.tensor(1));
  if (call.has(2)) result = minimum(result, call.tensor(2));
  return result;
}
Tensor clipped_by_attributes(const Call& call) {
  Tensor x = call.tensor(0);
  double most = std::numeric_limits<float>::max();
  return clamp(x, call.number("min", -most), call.number("max", most)).to(x.dtype());
}

Tensor exponential(const Call& call) {
  Tensor x = call.tensor(0);
  return elu(x, call.number("alpha", 1));
}
Tensor scaled_exponential(const Call& call) {
  constexpr double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
  return elu(call.tensor(0), call.number("alpha", alpha), call.number("gamma", gamma));
}
Tensor gelu_of(const Call& call) {
  std::string form = call.text("approximate", "none");
  if (form != "none" && form != "tanh") call.refuse("approximate", "is neither none nor tanh");
  return gelu(call.tensor(0), form == "tanh" ? GeluForm::tanh : GeluForm::erf);
}
// Before operator set 13 over all axes from the named one on.
using AlongAxis = Tensor (*)(const Tensor& x, int axis);
template <AlongAxis function>
constexpr auto along_axis =
    [](const Call& c) { return function(c.tensor(0), c.axis_within("axis", -1, c.rank(0))); };
template <AlongAxis function>
constexpr auto along_rest = [](const Call& c) {
  Tensor x = c.tensor(0);
  int axis = c.axis_within("axis", 1, x.rank());
  Shape flat = {1, 1};
  for (int i = 0; i < x.rank(); ++i) flat[i < axis ? 0 : 1] *= x.shape()[i];
  return function(x.reshape(flat), 1).reshape(x.shape());
};
Tensor softmax_of(const Tensor& x, int axis) { return softmax(x, axis); }
Tensor log_softmax_of(const Tensor& x, int axis) { return log_softmax(x, axis); }
Tensor hardmax_of(const Tensor& x, int axis) { return hardmax(x, axis); }

constexpr Operator rows[] = {
    {"Celu", 12, [](const Call& c) { return celu(c.tensor(0), c.number("alpha", 1)); }},
    {"Clip", 6, by<clipped_by_attributes>},
    {"Clip", 11, by<clipped>},
    {"Elu", 6, by<exponential>},
    {"Gelu", 20, by<gelu_of>},
    {"HardSigmoid", 6,
     [](const Call& c) {
       return hardsigmoid(c.tensor(0), c.number("alpha", 0.2), c.number("beta", 0.5));
     }},
    {"HardSwish", 14, [](const Call& c) { return hardswish(c.tensor(0)); }},
    {"Hardmax", 1, along_rest<hardmax_of>},
    {"Hardmax", 13, along_axis<hardmax_of>},
    {"LeakyRelu", 6,
     [](const Call& c) { return leaky_relu(c.tensor(0), c.number("alpha", 0.01)); }},
    {"LogSoftmax", 1, along_rest<log_softmax_of>},
    {"LogSoftmax", 13, along_axis<log_softmax_of>},
    {"Mish", 18, [](const Call& c) { return mish(c.tensor(0)); }},
    {"PRelu", 7, [](const Call& c) { return prelu_kernel(c.tensor(0), c.tensor(1)); }},
    {"Selu", 6, by<scaled_exponential>},
    {"Shrink", 9,
     [](const Call& c) {
       return shrink(c.tensor(0), c.number("lambd", 0.5), c.number("bias", 0));
     }},
    {"Softmax", 1, along_rest<softmax_of>},
    {"Softmax", 13, along_axis<softmax_of>},
    {"Softplus", 1,
     [](const Call& c) {
       Tensor x = c.tensor(0);
       return softplus(x);
     }},
    {"Softsign", 1, [](const Call& c) { return softsign(c.tensor(0)); }},
    {"Swish", 24, [](const Call& c) { return swish(c.tensor(0), c.number("alpha", 1)); }},
    {"ThresholdedRelu", 10,
     [](const Call& c) { return threshold(c.tensor(0), c.number("alpha", 1), 0); }},
};

}  // namespace
}  // namespace activation_rows

std::span<const Operator> activation_operators() { return activation_rows::rows; }

}  // namespace tilewright::onnx
