#include "graph/functions/learners/support_vectors.h"

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::constant_of;

Tensor kernel_values(const TensorOperand& operand, const Tensor& vectors,
                     const KernelOptions& options) {
  const Tensor& x = graph::tensor_of(operand, "kernel_values");
  require(x.rank() == 2 && vectors.rank() == 2 && x.size(1) == vectors.size(1),
          "[kernel_values] rows [", x.shape(), "] and vectors [", vectors.shape(), "] (at ",
          At{operand.where}, "); both must have the same features");
  const Tensor products = matmul(x, vectors.transpose(0, 1));
  switch (options.kind) {
    case VectorKernel::linear: return products;
    case VectorKernel::polynomial:
      return pow(products * options.gamma + options.offset, options.degree);
    case VectorKernel::sigmoid: return tanh(products * options.gamma + options.offset);
    case VectorKernel::radial: {
      const Tensor apart = x.unsqueeze(1) - vectors;
      return exp(sum(apart * apart, {2}) * -options.gamma);
    }
  }
  __builtin_unreachable();
}

Tensor pairwise_scores(const TensorOperand& operand, const PairwiseMachines& machines) {
  const Tensor& kernels = graph::tensor_of(operand, "pairwise_scores");
  const auto classes = std::ssize(machines.per_class), pairs = classes * (classes - 1) / 2;
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t count : machines.per_class) starts.push_back(starts.back() + count);
  const std::int64_t vectors = starts.back();
  require(kernels.rank() == 2 && kernels.size(1) == vectors &&
              std::ssize(machines.coefficients) == (classes - 1) * vectors &&
              std::ssize(machines.offsets) == pairs,
          "[pairwise_scores] kernels [", kernels.shape(), "], ", machines.coefficients.size(),
          " coefficients and ", machines.offsets.size(), " offsets for ", vectors, " vectors of ",
          classes, " classes (at ", At{operand.where}, "); ", (classes - 1) * vectors, " and ",
          pairs, " are wanted");
  std::vector<float> weights(static_cast<std::size_t>(vectors * pairs));
  auto copy = [&](std::int64_t of, std::int64_t row, std::int64_t pair) {
    for (std::int64_t v = starts[static_cast<std::size_t>(of)];
         v < starts[static_cast<std::size_t>(of) + 1]; ++v)
      weights[static_cast<std::size_t>(v * pairs + pair)] =
          machines.coefficients[static_cast<std::size_t>(row * vectors + v)];
  };
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      copy(i, j - 1, pair);
      copy(j, i, pair);
    }
  return matmul(kernels, constant_of(weights, {vectors, pairs})) +
         constant_of(machines.offsets, {pairs});
}

Tensor pairwise_votes(const TensorOperand& operand, std::int64_t classes) {
  const Tensor& scores = graph::tensor_of(operand, "pairwise_votes");
  const std::int64_t pairs = classes * (classes - 1) / 2;
  require(scores.rank() == 2 && scores.size(1) == pairs, "[pairwise_votes] scores [",
          scores.shape(), "] (at ", At{operand.where}, "); ", pairs, " pairs of ", classes,
          " classes are wanted");
  std::vector<float> if_won(static_cast<std::size_t>(pairs * classes)),
      if_all_lost(static_cast<std::size_t>(classes));
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      if_won[static_cast<std::size_t>(pair * classes + i)] = 1;
      if_won[static_cast<std::size_t>(pair * classes + j)] = -1;
      ++if_all_lost[static_cast<std::size_t>(j)];
    }
  return matmul((scores > 0.0).to(f32), constant_of(if_won, {pairs, classes})) +
         constant_of(if_all_lost, {classes});
}

namespace {

// q [rows, classes, classes] and estimates p of which one step comes nearer to the minimum of
// p q p, the classes one after the other; rows that are near enough stay.
Tensor next_estimates(const Tensor& q, const Tensor& p, double tolerance) {
  const std::int64_t classes = p.size(1);
  Tensor product = sum(q * p.unsqueeze(1), {2}), whole = sum(p * product, {1}, true), next = p;
  const Tensor is_far = amax(abs(product - whole), {1}, true) >= tolerance;
  for (std::int64_t t = 0; t < classes; ++t) {
    auto of_class = [&](const Tensor& x) { return x.slice(1, t, t + 1); };
    const Tensor column = q.select(2, t), own = of_class(column),
                 step = (whole - of_class(product)) / own, scale = 1.0 + step;
    std::vector<float> unit(static_cast<std::size_t>(classes));
    unit[static_cast<std::size_t>(t)] = 1;
    whole = (whole + step * (step * own + of_class(product) * 2.0)) / (scale * scale);
    product = (product + step * column) / scale;
    next = (next + step * constant_of(unit, {classes})) / scale;
  }
  return where(is_far, next, p);
}

}  // namespace

Tensor coupled_probabilities(const TensorOperand& operand, const std::vector<float>& a,
                             const std::vector<float>& b, std::int64_t classes) {
  const Tensor& scores = graph::tensor_of(operand, "coupled_probabilities");
  const std::int64_t pairs = classes * (classes - 1) / 2;
  require(scores.rank() == 2 && scores.size(1) == pairs && std::ssize(a) == pairs &&
              std::ssize(b) == pairs && classes >= 2,
          "[coupled_probabilities] scores [", scores.shape(), "] with ", a.size(), " and ",
          b.size(), " numbers (at ", At{operand.where}, "); ", pairs, " pairs of ", classes,
          " classes are wanted");
  const Tensor each = 1.0 - sigmoid(scores * constant_of(a, {pairs}) + constant_of(b, {pairs}));
  const Tensor first = clamp_min(clamp_max(each, 1 - 1e-7), 1e-7);
  // q[t][j] = -r[j][t] r[t][j], and on the diagonal the sum of r[j][t]^2, r[i][j] being the
  // probability of i against j.
  auto of_pair = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t low = std::min(i, j), high = std::max(i, j);
    const std::int64_t pair = low * (2 * classes - low - 1) / 2 + high - low - 1;
    const Tensor one = first.slice(1, pair, pair + 1);
    return i < j ? one : 1.0 - one;
  };
  std::vector<Tensor> entries;
  for (std::int64_t t = 0; t < classes; ++t)
    for (std::int64_t j = 0; j < classes; ++j) {
      if (t != j) {
        entries.push_back(-(of_pair(j, t) * of_pair(t, j)));
        continue;
      }
      Tensor squares;
      for (std::int64_t other = 0; other < classes; ++other) {
        if (other == t) continue;
        const Tensor r = of_pair(other, t);
        squares = squares.defined() ? squares + r * r : r * r;
      }
      entries.push_back(squares);
    }
  const Tensor q = cat(entries, 1).reshape({scores.size(0), classes, classes});
  constexpr double most_steps = 100;
  const double tolerance = 0.005 / static_cast<double>(classes);
  auto distance = [&](const Tensor& p) {
    const Tensor product = sum(q * p.unsqueeze(1), {2});
    return amax(abs(product - sum(p * product, {1}, true)));
  };
  const Tensor start = full({scores.size(0), classes}, 1 / static_cast<double>(classes));
  return while_loop(
      [&](const Tensors& x) { return logical_and(x[0] < most_steps, distance(x[1]) >= tolerance); },
      [&](const Tensors& x) -> Tensors {
        return {x[0] + 1.0, next_estimates(q, x[1], tolerance)};
      },
      {full({}, 0.0), start})[1];
}

}  // namespace tilewright
