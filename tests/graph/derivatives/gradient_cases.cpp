#include "tests/graph/derivatives/gradient_cases.h"

#include <limits>

#include "graph/differentiating/differentiate.h"
#include "graph/functions/attending/general_attention.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/padding.h"
#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/element_losses.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/functions/resampling/interpolate.h"

namespace tilewright::testing_gradients {
namespace {

CaseInput any(Shape shape) { return {std::move(shape)}; }
CaseInput positive(Shape shape) { return {std::move(shape), 0.2, 2.0}; }
CaseInput steps(Shape shape) { return {std::move(shape), -1.5, 1.5, 0.5}; }
CaseInput whole(Shape shape, double low, double high, double step = 0) {
  return {std::move(shape), low, high, step};
}
Tensor index(const std::vector<std::int64_t>& numbers, const Shape& shape) {
  return Tensor::from(numbers, shape);
}

using Cases = std::vector<GradientCase>;
using UnaryFunction = Tensor (*)(const TensorOperand&);

void add_unary(Cases& cases) {
  const std::pair<const char*, UnaryFunction> of_any[] = {{"abs", abs},
                                                          {"exp", exp},
                                                          {"exp2", exp2},
                                                          {"sin", sin},
                                                          {"cos", cos},
                                                          {"tanh", tanh},
                                                          {"erf", erf},
                                                          {"sigmoid", sigmoid},
                                                          {"expm1", expm1},
                                                          {"square", square},
                                                          {"reciprocal", reciprocal},
                                                          {"floor", floor},
                                                          {"sinh", sinh},
                                                          {"atan", atan},
                                                          {"asinh", asinh},
                                                          {"silu", silu},
                                                          {"tanhshrink", tanhshrink},
                                                          {"hardswish", hardswish}};
  const std::pair<const char*, UnaryFunction> of_positive[] = {
      {"log", log},     {"log2", log2},   {"log10", log10},   {"sqrt", sqrt},
      {"rsqrt", rsqrt}, {"log1p", log1p}, {"lgamma", lgamma}, {"digamma", digamma}};
  for (const auto& [name, f] : of_any)
    cases.push_back({name, {any({3, 5})}, [f](const Tensors& x) { return f(x[0]); }});
  for (const auto& [name, f] : of_positive)
    cases.push_back({name, {positive({3, 5})}, [f](const Tensors& x) { return f(x[0]); }});
  auto add = [&](const char* name, const CaseInput& input, std::function<Tensor(const Tensor&)> f) {
    cases.push_back({name, {input}, [f = std::move(f)](const Tensors& x) { return f(x[0]); }});
  };
  add("neg", any({3, 5}), [](const Tensor& x) { return -x; });
  add("acos", whole({3, 5}, -0.9, 0.9), [](const Tensor& x) { return acos(x); });
  add("tan", whole({3, 5}, -0.9, 0.9), [](const Tensor& x) { return tan(x); });
  add("relu_at_ties", steps({4, 5}), [](const Tensor& x) { return relu(x); });
  add("gelu", any({3, 5}), [](const Tensor& x) { return gelu(x); });
  add("gelu_tanh", any({3, 5}), [](const Tensor& x) { return gelu(x, GeluForm::tanh); });
  add("softplus", any({3, 5}), [](const Tensor& x) { return softplus(x, 2, 1.4); });
  add("elu", any({3, 5}), [](const Tensor& x) { return elu(x); });
  add("leaky_relu", any({3, 5}), [](const Tensor& x) { return leaky_relu(x, 0.1); });
  add("clamp", any({3, 5}), [](const Tensor& x) { return clamp(x, -0.7, 0.6); });
  add("pow_number", positive({3, 4}), [](const Tensor& x) { return pow(x, 2.5); });
  add("pow_square", any({3, 4}), [](const Tensor& x) { return pow(x, 2); });
  add("pow_cube", any({3, 4}), [](const Tensor& x) { return pow(x, 3); });
}

void add_binary(Cases& cases) {
  auto add = [&](const char* name, std::vector<CaseInput> inputs,
                 std::function<Tensor(const Tensor&, const Tensor&)> f) {
    cases.push_back(
        {name, std::move(inputs), [f = std::move(f)](const Tensors& x) { return f(x[0], x[1]); }});
  };
  using T = const Tensor&;
  add("add", {any({3, 1}), any({4})}, [](T a, T b) { return a + b; });
  add("sub", {any({3, 1}), any({1, 4})}, [](T a, T b) { return a - b; });
  add("mul", {any({2, 3, 1}), any({3, 4})}, [](T a, T b) { return a * b; });
  add("div", {any({3, 1}), positive({4})}, [](T a, T b) { return a / b; });
  add("fmod", {any({3, 4}), whole({3, 4}, 0.4, 0.9)}, [](T a, T b) { return fmod(a, b); });
  add("remainder", {any({3, 4}), whole({3, 4}, 0.4, 0.9)},
      [](T a, T b) { return remainder(a, b); });
  add("maximum_at_ties", {steps({4, 5}), whole({4, 5}, -1.5, 1.5, 1)},
      [](T a, T b) { return maximum(a, b); });
  add("minimum_at_ties", {steps({4, 5}), whole({4, 5}, -1.5, 1.5, 1)},
      [](T a, T b) { return minimum(a, b); });
  add("pow_tensor", {positive({3, 4}), any({3, 4})}, [](T a, T b) { return pow(a, b); });
  add("atan2", {any({3, 4}), positive({3, 4})}, [](T a, T b) { return atan2(a, b); });
  add("hypot", {any({3, 4}), positive({3, 4})}, [](T a, T b) { return hypot(a, b); });
  add("logaddexp", {any({3, 4}), any({4})}, [](T a, T b) { return logaddexp(a, b); });
  add("where", {any({3, 4}), any({4})}, [](T a, T b) { return where(a > 0.2, a * b, b); });
  add("cat", {any({2, 3}), any({2, 4})}, [](T a, T b) { return cat({a, b, sin(a)}, 1); });
  add("rms_norm", {any({3, 5}), any({5})}, [](T x, T w) { return rms_norm(x, w, 1e-5); });
  add("matmul", {any({2, 3, 4}), any({4, 2})}, [](T a, T b) { return matmul(a, b); });
  add("einsum", {any({2, 3, 4}), any({2, 4, 3})}, [](T a, T b) {
    return einsum("bij,bji->ij", {a, b});
  });
  cases.push_back({"lerp", {any({3, 4}), any({3, 4}), positive({4})}, [](const Tensors& x) {
                     return lerp(x[0], x[1], x[2]);
                   }});
}

void add_views_and_reductions(Cases& cases) {
  auto add = [&](const char* name, const CaseInput& input, std::function<Tensor(const Tensor&)> f) {
    cases.push_back({name, {input}, [f = std::move(f)](const Tensors& x) { return f(x[0]); }});
  };
  using T = const Tensor&;
  add("reshape", any({3, 4}), [](T x) { return x.reshape({2, 6}) * 2; });
  add("permute", any({2, 3, 4}), [](T x) { return sin(x.permute({2, 0, 1})); });
  add("expand", any({3, 1}), [](T x) { return sin(x.expand({2, 3, 4})); });
  add("slice", any({5, 7}), [](T x) { return sin(x.slice(0, 1, 4).slice(1, 1, 7, 2)); });
  add("flip", any({3, 4}), [](T x) { return sin(flip(x, {1})); });
  add("pad", any({2, 3}), [](T x) { return sin(pad(x, {1, 2, 0, 1})); });
  add("roll", any({3, 4}), [](T x) { return sin(roll(x, {1}, {1})); });
  add("tril", any({4, 4}), [](T x) { return sin(tril(x)); });
  add("diagonal", any({4, 4}), [](T x) { return sin(diagonal(x)); });
  add("unfold", any({2, 7}), [](T x) { return sin(unfold(x, 1, 3, 2)); });
  add("sum", any({3, 4}), [](T x) { return sin(sum(x, {1})); });
  add("mean", any({3, 4}), [](T x) { return sin(mean(x, {0}, true)); });
  add("prod", any({3, 4}), [](T x) { return prod(x, {1}); });
  add("prod_with_zeros", steps({4, 3}), [](T x) { return prod(x, {1}); });
  add("amax_at_ties", steps({4, 5}), [](T x) { return amax(x, {1}); });
  add("amin_at_ties", steps({4, 5}), [](T x) { return amin(x, {0}); });
  add("max_along", any({4, 5}), [](T x) { return max(x, 1).first; });
  add("min_along", any({4, 5}), [](T x) { return min(x, 0).first; });
  add("aminmax", any({4, 5}), [](T x) {
    auto [least, greatest] = aminmax(x, 1);
    return greatest - least;
  });
  add("var", any({3, 5}), [](T x) { return var(x, {1}); });
  add("stddev", any({3, 5}), [](T x) { return stddev(x, {1}, 0); });
  add("var_mean", any({3, 5}), [](T x) {
    auto [variance, middle] = var_mean(x, {0});
    return variance * middle;
  });
  add("logsumexp", any({3, 5}), [](T x) { return logsumexp(x, {1}); });
  add("norm", any({3, 5}), [](T x) { return norm(x, 2, {1}); });
  add("softmax", any({3, 5}), [](T x) { return softmax(x, 1); });
  add("log_softmax", any({3, 5}), [](T x) { return log_softmax(x, 0); });
  add("cumsum", any({3, 5}), [](T x) { return sin(cumsum(x, 1)); });
  add("cumprod", positive({3, 5}), [](T x) { return cumprod(x, 0); });
  add("cumprod_with_zeros", steps({3, 6}), [](T x) { return cumprod(x, 1); });
  add("cummax", any({3, 6}), [](T x) { return cummax(x, 1).first; });
  add("logcumsumexp", any({3, 6}), [](T x) { return logcumsumexp(x, 1); });
  cases.push_back({"layer_norm", {any({3, 5}), any({5}), any({5})}, [](const Tensors& x) {
                     return layer_norm(x[0], x[1], x[2]);
                   }});
  cases.push_back({"linear", {any({2, 3, 4}), any({5, 4}), any({5})}, [](const Tensors& x) {
                     return linear(x[0], x[1], x[2]);
                   }});
}

void add_indexing(Cases& cases) {
  auto add = [&](const char* name, std::vector<CaseInput> inputs,
                 std::function<Tensor(const Tensors&)> f) {
    cases.push_back({name, std::move(inputs), std::move(f)});
  };
  const std::vector<std::int64_t> places = {0, 1, 2, 2, 1, 0};
  auto scattered = [places] { return index(places, {2, 3}); };
  add("embedding", {any({5, 3})}, [](const Tensors& x) {
    return sin(embedding(index({1, 3, 1, 0}, {4}), x[0]));
  });
  add("index_select", {any({3, 5})}, [](const Tensors& x) {
    return sin(index_select(x[0], 1, index({4, 0, 4}, {3})));
  });
  add("gather", {any({3, 5})}, [](const Tensors& x) {
    return sin(gather(x[0], 1, index({0, 4, 2, 2, 1, 3}, {3, 2})));
  });
  add("index_copy", {any({4, 3}), any({2, 3})}, [](const Tensors& x) {
    return sin(index_copy(x[0], 0, index({3, 1}, {2}), x[1]));
  });
  add("index_add", {any({4, 3}), any({3, 3})}, [](const Tensors& x) {
    return sin(index_add(x[0], 0, index({3, 1, 3}, {3}), x[1]));
  });
  add("scatter_add", {any({3, 3}), any({2, 3})},
      [=](const Tensors& x) { return sin(scatter_add(x[0], 0, scattered(), x[1])); });
  add("scatter_prod", {any({3, 3}), steps({2, 3})}, [=](const Tensors& x) {
    return scatter_reduce(x[0], 0, scattered(), x[1], ScatterReduction::prod);
  });
  add("scatter_amax", {steps({3, 3}), steps({2, 3})}, [=](const Tensors& x) {
    return scatter_reduce(x[0], 0, scattered(), x[1], ScatterReduction::amax);
  });
  add("sort", {any({3, 5})}, [](const Tensors& x) { return sort(x[0], 1).first; });
  add("topk", {any({3, 5})}, [](const Tensors& x) { return topk(x[0], 2, 1).first; });
}

void add_attention(Cases& cases) {
  const CaseInput part = any({1, 2, 3, 4});
  cases.push_back({"attention", {part, part, part}, [](const Tensors& x) {
                     return scaled_dot_product_attention(x[0], x[1], x[2]);
                   }});
  cases.push_back({"attention_causal", {part, part, part}, [](const Tensors& x) {
                     return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true});
                   }});
  cases.push_back({"attention_grouped", {any({1, 4, 3, 4}), part, part}, [](const Tensors& x) {
                     return scaled_dot_product_attention(x[0], x[1], x[2]);
                   }});
  cases.push_back({"attention_biased", {part, part, part, any({1, 2, 3, 3})}, [](const Tensors& x) {
                     return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]});
                   }});
}

void add_windows(Cases& cases) {
  auto add = [&](const char* name, std::vector<CaseInput> inputs,
                 std::function<Tensor(const Tensors&)> f) {
    cases.push_back({name, std::move(inputs), std::move(f)});
  };
  add("conv1d", {any({2, 4, 9}), any({6, 2, 3}), any({6})}, [](const Tensors& x) {
    return conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 1, .groups = 2});
  });
  add("conv2d", {any({1, 2, 6, 5}), any({3, 2, 3, 2}), any({3})}, [](const Tensors& x) {
    return conv2d(x[0], x[1], x[2], {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}});
  });
  add("conv2d_by_channel", {any({1, 3, 5, 5}), any({3, 1, 3, 3})},
      [](const Tensors& x) { return conv2d(x[0], x[1], {}, {.padding = 1, .groups = 3}); });
  add("conv2d_same", {any({1, 2, 5, 5}), any({2, 2, 2, 2})},
      [](const Tensors& x) { return conv2d(x[0], x[1], {}, {.keeps_sizes = true}); });
  add("conv3d", {any({1, 2, 4, 3, 4}), any({2, 2, 2, 2, 2})}, [](const Tensors& x) {
    return conv3d(x[0], x[1], {}, {.stride = {1, 1, 2}});
  });
  add("conv_transpose2d", {any({1, 3, 4, 3}), any({3, 2, 3, 2}), any({2})}, [](const Tensors& x) {
    return conv_transpose2d(x[0], x[1], x[2], {.stride = 2, .padding = 1, .output_padding = 1});
  });
  add("max_pool2d", {any({1, 2, 6, 6})},
      [](const Tensors& x) { return max_pool2d(x[0], 3, {.stride = 2, .padding = 1}); });
  add("max_pool1d", {any({2, 3, 7})}, [](const Tensors& x) { return max_pool1d(x[0], 2); });
  add("avg_pool2d", {any({1, 2, 6, 6})},
      [](const Tensors& x) { return avg_pool2d(x[0], 3, {.stride = 2, .padding = 1}); });
  add("adaptive_avg_pool2d", {any({1, 2, 5, 7})}, [](const Tensors& x) {
    return adaptive_avg_pool2d(x[0], {2, 3});
  });
  add("batch_norm", {any({3, 2, 4}), any({2}), any({2})},
      [](const Tensors& x) { return batch_norm_training(x[0], x[1], x[2]).output; });
  add("group_norm", {any({2, 4, 3}), any({4}), any({4})},
      [](const Tensors& x) { return group_norm(x[0], 2, x[1], x[2]); });
  add("instance_norm", {any({2, 3, 4})}, [](const Tensors& x) { return instance_norm(x[0]); });
  add("interpolate", {any({1, 2, 3, 4})}, [](const Tensors& x) {
    return interpolate(x[0], {.size = {5, 6}, .mode = InterpolateMode::bilinear});
  });
}

void add_losses(Cases& cases) {
  auto add = [&](const char* name, std::vector<CaseInput> inputs,
                 std::function<Tensor(const Tensors&)> f) {
    cases.push_back({name, std::move(inputs), std::move(f)});
  };
  auto targets = [] { return index({1, 0, 3, 1}, {4}); };
  add("cross_entropy", {any({4, 5})},
      [=](const Tensors& x) { return cross_entropy(x[0], targets()); });
  add("cross_entropy_smooth", {any({4, 5})}, [=](const Tensors& x) {
    return cross_entropy(x[0], targets(), {.ignore_index = 0, .label_smoothing = 0.1});
  });
  add("cross_entropy_weighted", {any({4, 5}), positive({5})}, [=](const Tensors& x) {
    return cross_entropy(x[0], targets(), stop_gradient(x[1]), {.reduction = LossReduction::sum});
  });
  add("nll_loss", {any({4, 5})},
      [=](const Tensors& x) { return nll_loss(log_softmax(x[0], 1), targets()); });
  add("mse_loss", {any({4, 5}), any({4, 5})},
      [](const Tensors& x) { return mse_loss(x[0], x[1]); });
  add("l1_loss", {any({4, 5}), any({4, 5})}, [](const Tensors& x) { return l1_loss(x[0], x[1]); });
  add("smooth_l1_loss", {any({4, 5}), positive({4, 5})},
      [](const Tensors& x) { return smooth_l1_loss(x[0], x[1]); });
  add("huber_loss", {any({4, 5}), positive({4, 5})},
      [](const Tensors& x) { return huber_loss(x[0], x[1]); });
  add("bce", {whole({4, 5}, 0.1, 0.9), whole({4, 5}, 0.1, 0.8)},
      [](const Tensors& x) { return binary_cross_entropy(x[0], x[1]); });
  add("bce_with_logits", {any({4, 5}), whole({4, 5}, 0.1, 0.8)},
      [](const Tensors& x) { return binary_cross_entropy_with_logits(x[0], x[1]); });
  add("kl_div", {any({4, 5}), positive({4, 5})}, [](const Tensors& x) {
    return kl_div(log_softmax(x[0], 1), x[1], {.reduction = DivergenceReduction::batchmean});
  });
}

Tensor near_identity(const Tensor& x) { return x * 0.2 + eye(x.size(-1), {}, x.dtype()); }
Tensor definite(const Tensor& x) {
  return matmul(x, x.transpose(-2, -1)) + eye(x.size(-1), {}, x.dtype());
}

void add_matrices(Cases& cases) {
  auto add = [&](const char* name, std::vector<CaseInput> inputs,
                 std::function<Tensor(const Tensors&)> f) {
    cases.push_back({name, std::move(inputs), std::move(f)});
  };
  add("inverse", {any({2, 3, 3})}, [](const Tensors& x) { return inverse(near_identity(x[0])); });
  for (const char* name : {"solve", "solve_vector"}) {
    const bool is_vector = std::string(name) == "solve_vector";
    add(name,
        {any(is_vector ? Shape{3, 3} : Shape{2, 3, 3}), any(is_vector ? Shape{3} : Shape{2, 3, 2})},
        [](const Tensors& x) { return solve(near_identity(x[0]), x[1]); });
  }
  add("solve_triangular", {any({3, 3}), any({3, 2})},
      [](const Tensors& x) { return solve_triangular(near_identity(x[0]), x[1], {}); });
  add("determinant", {any({2, 3, 3})},
      [](const Tensors& x) { return determinant(near_identity(x[0])); });
  add("log_determinant", {any({3, 3})},
      [](const Tensors& x) { return log_determinant(near_identity(x[0])).log_magnitude; });
  add("cholesky", {any({3, 3})}, [](const Tensors& x) { return cholesky(definite(x[0])); });
  add("eigvalsh", {any({3, 3})}, [](const Tensors& x) { return eigvalsh(definite(x[0])); });
  add("eigh", {any({3, 3})}, [](const Tensors& x) { return square(eigh(definite(x[0])).second); });
}

// The squares of matrices, which do not depend on the signs of vectors, in one row.
Tensor in_one(const Tensors& parts) {
  Tensors rows;
  for (const Tensor& part : parts) rows.push_back(square(part).reshape({-1}));
  return cat(rows, 0);
}
// Singular values that differ.
Tensor independent(const Tensor& x) {
  const Tensor places = arange(1, x.size(1) + 1).to(x.dtype());
  return x * 0.2 + eye(x.size(0), x.size(1), x.dtype()) * places;
}

void add_factors(Cases& cases) {
  auto add = [&](const char* name, const Shape& shape, std::function<Tensor(const Tensor&)> f) {
    cases.push_back({name, {any(shape)}, [f = std::move(f)](const Tensors& x) {
                       return f(independent(x[0]));
                     }});
  };
  auto singular = [](const Tensor& x) {
    const SingularValues parts = svd(x, false);
    return in_one({parts.left, parts.values, parts.right.transpose(0, 1)});
  };
  auto triangular = [](const Tensor& x) {
    const auto [q, r] = qr(x, false);
    return in_one({q, r});
  };
  add("svd_tall", {4, 3}, singular);
  add("svd_wide", {3, 4}, singular);
  add("qr_tall", {4, 3}, triangular);
  add("qr_wide", {3, 4}, triangular);
  add("svdvals", {3, 4}, [](const Tensor& x) { return svdvals(x); });
}

Tensor mlp(const Tensors& x) {
  const Tensor hidden = tanh(linear(x[0], x[1], x[2]));
  return cross_entropy(linear(hidden, x[3], x[4]), index({1, 0, 3, 1}, {4}));
}

Tensor cnn(const Tensors& x) {
  Tensor y = max_pool2d(relu(conv2d(x[0], x[1], x[2], {.padding = 1})), 2);
  y = batch_norm_training(conv2d(y, x[5], {}, {.padding = 1}), x[3], x[4]).output;
  return cross_entropy(linear(silu(y).reshape({2, 18}), x[6]), index({1, 2}, {2}));
}

// With its attention written out.
Tensor transformer_block(const Tensors& x) {
  const std::int64_t rows = x[0].size(1), width = x[0].size(2);
  const Tensor all = linear(layer_norm(x[0], x[3], x[4]), x[1]);
  auto heads = [&](std::int64_t part) {
    return all.slice(2, part * width, (part + 1) * width)
        .reshape({1, rows, 2, width / 2})
        .permute({0, 2, 1, 3});
  };
  const Tensor scores =
      matmul(heads(0), heads(1).transpose(2, 3)) / std::sqrt(static_cast<double>(width / 2));
  const Tensor row = arange(0, rows).reshape({rows, 1}), key = arange(0, rows);
  const Tensor seen = where(key <= row, scores, -std::numeric_limits<double>::infinity());
  const Tensor mixed = matmul(softmax(seen, 3), heads(2)).permute({0, 2, 1, 3});
  const Tensor y = x[0] + linear(mixed.reshape({1, rows, width}), x[2]);
  return y + linear(gelu(linear(y, x[5])), x[6]);
}

void add_models(Cases& cases) {
  cases.push_back({"mlp", {any({4, 6}), any({5, 6}), any({5}), any({4, 5}), any({4})}, mlp});
  cases.push_back({"cnn",
                   {any({2, 1, 6, 6}), any({3, 1, 3, 3}), any({3}), any({2}), any({2}),
                    any({2, 3, 3, 3}), any({3, 18})},
                   cnn});
  cases.push_back(
      {"transformer_block",
       {any({1, 5, 8}), any({24, 8}), any({8, 8}), any({8}), any({8}), any({16, 8}), any({8, 16})},
       transformer_block});
}

}  // namespace

std::vector<GradientCase> gradient_cases() {
  Cases cases;
  add_unary(cases);
  add_binary(cases);
  add_views_and_reductions(cases);
  add_indexing(cases);
  add_attention(cases);
  add_windows(cases);
  add_losses(cases);
  add_matrices(cases);
  add_factors(cases);
  add_models(cases);
  return cases;
}

}  // namespace tilewright::testing_gradients
