// What training programs have for derivatives: from the gradient of a result to those of operands,
// of functions of elements, norms, losses, lookups and parts. Those of windows are in
// window_gradients.cpp.
#include <cmath>
#include <functional>
#include <numbers>

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/tensor/index_ranges.h"
#include "models/exported/aten/gradients.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace gradient_rows {
namespace {

// The gradient of a function of elements: `slope` of the operand or of the result, both in the
// accumulator's dtype.
template <typename Slope>
Tensor by_slope(const Call& call, std::string_view operand, const Slope& slope) {
  Tensor gradient = call.tensor("grad_output"), x = call.tensor(operand);
  const DType wide = accumulator(x.dtype());
  return (gradient.to(wide) * slope(x.to(wide))).to(gradient.dtype());
}
// The gradient where the condition holds, 0 elsewhere, also of infinities.
template <typename Condition>
Tensor by_condition(const Call& call, const Condition& condition) {
  return where(condition(call.tensor("self")), call.tensor("grad_output"), 0);
}

Tensor gelu_gradient(const Call& call) {
  const std::string approximation = call.text("approximate", "none");
  if (approximation != "none" && approximation != "tanh")
    call.refuse("approximate", "is neither none nor tanh");
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  if (approximation == "none")
    return by_slope(call, "self", [](const Tensor& x) {
      Tensor below = (erf(x * (1 / std::numbers::sqrt2)) + 1.0) * 0.5;
      return below + x * exp(x * x * -0.5) * (root / 2);
    });
  return by_slope(call, "self", [](const Tensor& x) {
    Tensor square = x * x, t = tanh((x + square * x * cubic) * root);
    return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * ((square * (3 * cubic) + 1.0) * root);
  });
}

Tensor elu_gradient(const Call& call) {
  const double alpha = call.number("alpha"), scale = call.number("scale"),
               inner = call.number("input_scale");
  const bool of_result = call.flag("is_result", false);
  return by_slope(call, "self_or_result", [&](const Tensor& x) {
    Tensor below =
        of_result ? (x + alpha * scale) * inner : exp(x * inner) * (inner * alpha * scale);
    return where(x <= 0.0, below, scale);
  });
}
Tensor softplus_gradient(const Call& call) {
  const double beta = call.number("beta"), threshold = call.number("threshold");
  return by_slope(call, "self", [&](const Tensor& x) {
    return where(x * beta > threshold, 1.0, sigmoid(x * beta));
  });
}

// To where it is below 0, and to what it is multiplied by there.
std::pair<Tensor, Tensor> prelu_gradients(const Call& call) {
  Tensor gradient = call.tensor("grad_output"), x = call.tensor("self"),
         weight = call.tensor("weight");
  return {where(x > 0.0, gradient, weight * gradient), where(x > 0.0, 0, x * gradient)};
}

// Of a sum along an axis, and what is made of it for each element. A tensor without axes has one of
// one element.
template <typename Gradient>
Tensor along_axis(const Call& call, const Gradient& gradient_of) {
  Tensor gradient = call.tensor("grad_output"), y = call.tensor("output");
  const int axis = call.axis("dim");
  const DType dtype = call.dtype("input_dtype").value_or(gradient.dtype()),
              wide = accumulator(y.dtype());
  const Shape shape = y.shape();
  auto open = [&](const Tensor& x) { return (shape.rank() == 0 ? x.reshape({1}) : x).to(wide); };
  return gradient_of(open(gradient), open(y), axis).reshape(shape).to(dtype);
}

std::vector<int> axes_between(int begin, int end) {
  std::vector<int> axes;
  for (int axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

// Of x normalised along `axes` by a mean and a deviation's inverse; `gradient` with the weight.
Tensor norm_gradient(const Tensor& gradient, const Tensor& normalised, const Tensor& inverse,
                     const std::vector<int>& axes) {
  return inverse * (gradient - mean(gradient, axes, true) -
                    normalised * mean(gradient * normalised, axes, true));
}

Results layer_norm_gradients(const Call& call) {
  const Tensor x = call.tensor("input"), given = call.tensor("grad_out"),
               weight = call.optional_tensor("weight"), bias = call.optional_tensor("bias");
  const Shape last = call.integers("normalized_shape");
  const int outer = x.rank() - last.rank();
  if (outer < 0 || !std::equal(last.begin(), last.end(), x.shape().begin() + outer))
    call.refuse("normalized_shape", concat("is [", last, "], of a tensor [", x.shape(), "]"));
  const DType wide = accumulator(x.dtype());
  Shape of_rows(x.shape().begin(), x.shape().begin() + outer);
  of_rows.resize(x.shape().size(), 1);
  Tensor inverse = call.tensor("rstd").to(wide).reshape(of_rows), gradient = given.to(wide),
         normalised = (x.to(wide) - call.tensor("mean").to(wide).reshape(of_rows)) * inverse;
  const std::vector<int> rows = axes_between(0, outer), elements = axes_between(outer, x.rank());
  auto over_rows = [&](const Tensor& all, const Tensor& like) {
    Tensor total = rows.empty() ? all : sum(all, rows);
    return total.to(like.defined() ? like.dtype() : x.dtype());
  };
  return wanted_gradients(
      call, {[&] {
               Tensor weighted = weight.defined() ? gradient * weight.to(wide) : gradient;
               return norm_gradient(weighted, normalised, inverse, elements).to(x.dtype());
             },
             [&] { return over_rows(gradient * normalised, weight); },
             [&] { return over_rows(gradient, bias.defined() ? bias : weight); }});
}

Results group_norm_gradients(const Call& call) {
  const Tensor x = call.tensor("input"), weight = call.optional_tensor("weight");
  const std::int64_t batch = call.integer("N"), channels = call.integer("C"),
                     places = call.integer("HxW"), groups = call.integer("group");
  if (groups < 1 || channels % groups != 0 || batch * channels * places != x.count())
    call.refuse("group", concat("is ", groups, ", of ", batch, " times ", channels, " channels of ",
                                places, " elements, for a tensor [", x.shape(), "]"));
  const DType wide = accumulator(x.dtype());
  const Shape parts = {batch, groups, channels / groups, places};
  auto apart = [&](const Tensor& all) { return all.to(wide).reshape(parts); };
  auto of_groups = [&](std::string_view name) {
    return call.tensor(name).to(wide).reshape({batch, groups, 1, 1});
  };
  Tensor gradient = apart(call.tensor("grad_out")), inverse = of_groups("rstd"),
         normalised = (apart(x) - of_groups("mean")) * inverse;
  auto of_channels = [&](const Tensor& all) {
    return sum(all, {0, 3}).reshape({channels}).to(weight.defined() ? weight.dtype() : x.dtype());
  };
  return wanted_gradients(
      call,
      {[&] {
         Tensor by = weight.defined()
                         ? gradient * weight.to(wide).reshape({groups, channels / groups, 1})
                         : gradient;
         return norm_gradient(by, normalised, inverse, {2, 3}).reshape(x.shape()).to(x.dtype());
       },
       [&] { return of_channels(gradient * normalised); }, [&] { return of_channels(gradient); }});
}

// In training by the statistics of the batch, else by those that were learned, which are constants.
Results batch_norm_gradients(const Call& call) {
  const Tensor x = call.tensor("input"), weight = call.optional_tensor("weight");
  const bool is_training = call.flag("train", false);
  const double eps = call.number("eps");
  const DType wide = accumulator(x.dtype());
  Shape of_channels(x.shape().size(), 1);
  of_channels[1] = x.size(1);
  auto channel = [&](const Tensor& all) { return all.to(wide).reshape(of_channels); };
  Tensor center, inverse;
  if (is_training) {
    call.has("running_mean");
    call.has("running_var");
    center = channel(call.tensor("save_mean"));
    inverse = channel(call.tensor("save_invstd"));
  } else {
    call.has("save_mean");
    call.has("save_invstd");
    center = channel(call.tensor("running_mean"));
    inverse = rsqrt(channel(call.tensor("running_var")) + eps);
  }
  std::vector<int> others = axes_between(2, x.rank());
  others.insert(others.begin(), 0);
  Tensor gradient = call.tensor("grad_out").to(wide), normalised = (x.to(wide) - center) * inverse;
  auto summed = [&](const Tensor& all) {
    return sum(all, others).to(weight.defined() ? weight.dtype() : x.dtype());
  };
  return wanted_gradients(
      call, {[&] {
               Tensor by = weight.defined() ? gradient * channel(weight) : gradient;
               return (is_training ? norm_gradient(by, normalised, inverse, others) : by * inverse)
                   .to(x.dtype());
             },
             [&] { return summed(gradient * normalised); }, [&] { return summed(gradient); }});
}

// Of attention over keys [.., keys, width], by what it gave and the logarithms of the sums of its
// weights, from which the weights are computed again.
Results attention_gradients(const Call& call) {
  const Tensor query = call.tensor("query"), key = call.tensor("key"), value = call.tensor("value"),
               mask = call.optional_tensor("attn_mask");
  if (call.number("dropout_p", 0) != 0) call.refuse("dropout_p", "is not 0");
  const DType dtype = query.dtype(), wide = accumulator(dtype);
  const std::int64_t rows = query.size(-2), columns = key.size(-2);
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor q = query.to(wide), k = key.to(wide), v = value.to(wide),
         gradient = call.tensor("grad_out").to(wide);
  Tensor scores = matmul(q, k.transpose(-1, -2)) * scale;
  if (mask.defined() && mask.dtype() != dtype)
    call.refuse("attn_mask", concat("is ", mask.dtype(), ", for queries of ", dtype));
  if (mask.defined()) scores = scores + mask.to(wide);
  Tensor weights = exp(scores - call.tensor("logsumexp").to(wide).unsqueeze(-1));
  if (call.flag("is_causal", false))
    weights = where(arange(0, rows).unsqueeze(1) >= arange(0, columns), weights, 0);
  Tensor share = sum(gradient * call.tensor("out").to(wide), {-1}, true),
         change = weights * (matmul(gradient, v.transpose(-1, -2)) - share);
  return {(matmul(change, k) * scale).to(dtype),
          (matmul(change.transpose(-1, -2), q) * scale).to(dtype),
          matmul(weights.transpose(-1, -2), gradient).to(dtype)};
}

// By how much a loss of elements, of which it is the mean or the sum, changes with each.
double share_of(const Call& call, const Tensor& elements) {
  const std::int64_t reduction = call.integer("reduction", 1);
  if (reduction < 0 || reduction > 2)
    call.refuse("reduction", "must be 0 (none), 1 (mean) or 2 (sum)");
  return reduction == 1 ? 1 / static_cast<double>(elements.count()) : 1;
}
Tensor squares_gradient(const Call& call) {
  Tensor x = call.tensor("self"), target = call.tensor("target");
  const double share = 2 * share_of(call, x - target);
  const DType wide = accumulator(x.dtype());
  return ((x.to(wide) - target.to(wide)) * share * call.tensor("grad_output").to(wide))
      .to(x.dtype());
}

// Of a loss that is a square up to a distance and a line from there on.
Tensor bent_gradient(const Call& call, double bend, double slope_of_square, double slope_of_line) {
  Tensor x = call.tensor("self"), target = call.tensor("target");
  const DType wide = accumulator(x.dtype());
  Tensor distance = x.to(wide) - target.to(wide);
  const double share = share_of(call, distance);
  Tensor line = where(distance < 0.0, -slope_of_line, slope_of_line);
  Tensor slope = where(abs(distance) < bend, distance * slope_of_square, line);
  return (slope * share * call.tensor("grad_output").to(wide)).to(x.dtype());
}
Tensor smooth_gradient(const Call& call) {
  const double beta = call.number("beta");
  return bent_gradient(call, beta, 1 / beta, 1);
}
Tensor huber_gradient(const Call& call) {
  const double delta = call.number("delta");
  return bent_gradient(call, delta, 1, delta);
}
Tensor entropy_gradient(const Call& call) {
  Tensor x = call.tensor("self"), target = call.tensor("target"),
         weight = call.optional_tensor("weight");
  const DType wide = accumulator(x.dtype());
  Tensor y = x.to(wide), slope = (y - target.to(wide)) / maximum((1.0 - y) * y, 1e-12);
  if (weight.defined()) slope = slope * weight.to(wide);
  return (slope * share_of(call, x) * call.tensor("grad_output").to(wide)).to(x.dtype());
}

// Scores [N, C, places..], or [C]; of each place the target's score alone has a gradient.
Tensor likelihood_gradient(const Call& call) {
  Tensor x = call.tensor("self"), target = call.tensor("target"),
         gradient = call.tensor("grad_output"), weight = call.optional_tensor("weight"),
         total = call.tensor("total_weight");
  const std::int64_t ignored = call.integer("ignore_index", -100),
                     reduction = call.integer("reduction", 1);
  if (reduction < 0 || reduction > 2)
    call.refuse("reduction", "must be 0 (none), 1 (mean) or 2 (sum)");
  const int axis = x.rank() == 1 ? 0 : 1;
  if (x.rank() < 1 || target.count() * x.size(axis) != x.count())
    call.refuse("target", concat("is [", target.shape(), "], for scores [", x.shape(), "]"));
  const std::int64_t classes = x.size(axis);
  graph::require_inside(target, {"nll_loss_backward", graph::IndexRange::Noun::target, 0, classes,
                                 std::source_location::current(), ignored});
  Shape of_places = x.shape(), of_classes(x.shape().size(), 1);
  of_places[axis] = 1;
  of_classes[axis] = classes;
  Tensor named = target.to(i64).reshape(of_places);
  Tensor is_target = logical_and(arange(0, classes).reshape(of_classes) == named, named != ignored);
  Tensor change = reduction == 0 ? gradient.reshape(of_places) : gradient.reshape({});
  if (reduction == 1) change = change / total.reshape({});
  if (weight.defined()) change = change * weight.reshape(of_classes);
  return where(is_target, -change, 0).to(x.dtype());
}

Tensor lookup_gradient(const Call& call) {
  Tensor gradient = call.tensor("grad_output"), numbers = call.tensor("indices").to(i64);
  const std::int64_t rows = call.integer("num_weights"), padding = call.integer("padding_idx", -1);
  const std::int64_t width = gradient.rank() == 0 ? 1 : gradient.size(-1);
  if (gradient.count() != numbers.count() * width)
    call.refuse("indices", concat("is [", numbers.shape(), "], for gradients [", gradient.shape(),
                                  "] of rows"));
  numbers = numbers.reshape({numbers.count()});
  Tensor each = gradient.reshape({numbers.count(), width}).to(accumulator(gradient.dtype()));
  if (padding >= 0) each = where((numbers == padding).unsqueeze(1), 0, each);
  if (call.flag("scale_grad_by_freq", false)) {
    Tensor counts =
        index_add(zeros({rows}, each.dtype()), 0, numbers, ones({numbers.count()}, each.dtype()));
    each = each / index_select(counts, 0, numbers).unsqueeze(1);
  }
  return index_add(zeros({rows, width}, each.dtype()), 0, numbers, each).to(gradient.dtype());
}

std::optional<std::int64_t> bound(const Call& call, std::string_view name) {
  return call.has(name) ? std::optional(call.integer(name)) : std::nullopt;
}
Tensor slice_gradient(const Call& call) {
  Tensor gradient = call.tensor("grad_output");
  return slice_scatter(zeros(call.integers("input_sizes"), gradient.dtype()), gradient,
                       call.axis("dim"), bound(call, "start"), bound(call, "end"),
                       call.integer("step"));
}
Tensor select_gradient(const Call& call) {
  Tensor gradient = call.tensor("grad_output");
  return select_scatter(zeros(call.integers("input_sizes"), gradient.dtype()), gradient,
                        call.axis("dim"), call.integer("index"));
}

constexpr Operator rows[] = {
    {"aten.threshold_backward.default",
     [](const Call& c) {
       const TensorOperand threshold = c.operand("threshold");
       return by_condition(c, [&](const Tensor& x) { return logical_not(x <= threshold); });
     }},
    {"aten.hardtanh_backward.default",
     [](const Call& c) {
       const TensorOperand least = c.operand("min_val"), most = c.operand("max_val");
       return by_condition(
           c, [&](const Tensor& x) { return logical_not(logical_or(x <= least, x >= most)); });
     }},
    {"aten.leaky_relu_backward.default",
     [](const Call& c) {
       const double slope = c.number("negative_slope");
       c.has("self_is_result");
       return by_slope(c, "self", [&](const Tensor& x) { return where(x > 0.0, 1.0, slope); });
     }},
    {"aten.hardsigmoid_backward.default",
     [](const Call& c) {
       return by_slope(c, "self", [](const Tensor& x) {
         return where(logical_and(x > -3.0, x < 3.0), 1.0 / 6, 0.0);
       });
     }},
    {"aten.hardswish_backward.default",
     [](const Call& c) {
       return by_slope(c, "self", [](const Tensor& x) {
         return where(x <= -3.0, 0.0, where(x < 3.0, x / 3.0 + 0.5, 1.0));
       });
     }},
    {"aten.sigmoid_backward.default",
     [](const Call& c) {
       return by_slope(c, "output", [](const Tensor& y) { return (1.0 - y) * y; });
     }},
    {"aten.tanh_backward.default",
     [](const Call& c) {
       return by_slope(c, "output", [](const Tensor& y) { return 1.0 - y * y; });
     }},
    {"aten.silu_backward.default",
     [](const Call& c) {
       return by_slope(c, "self", [](const Tensor& x) {
         Tensor s = sigmoid(x);
         return s * (x * (1.0 - s) + 1.0);
       });
     }},
    {"aten.log_sigmoid_backward.default",
     [](const Call& c) {
       c.has("buffer");
       return by_slope(c, "self", [](const Tensor& x) { return sigmoid(-x); });
     }},
    {"aten.gelu_backward.default", by<gelu_gradient>},
    {"aten.elu_backward.default", by<elu_gradient>},
    {"aten.softplus_backward.default", by<softplus_gradient>},
    {"aten._prelu_kernel_backward.default", by<prelu_gradients>},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", by<attention_gradients>},
    {"aten._softmax_backward_data.default",
     [](const Call& c) {
       return along_axis(c, [](const Tensor& gradient, const Tensor& y, int axis) {
         return (gradient - sum(gradient * y, {axis}, true)) * y;
       });
     }},
    {"aten._log_softmax_backward_data.default",
     [](const Call& c) {
       return along_axis(c, [](const Tensor& gradient, const Tensor& y, int axis) {
         return gradient - exp(y) * sum(gradient, {axis}, true);
       });
     }},
    {"aten.native_dropout_backward.default",
     [](const Call& c) {
       Tensor gradient = c.tensor("grad_output");
       return (gradient * c.tensor("mask").to(gradient.dtype()) * c.number("scale"))
           .to(gradient.dtype());
     }},
    {"aten.native_layer_norm_backward.default", by<layer_norm_gradients>},
    {"aten.native_group_norm_backward.default", by<group_norm_gradients>},
    {"aten.native_batch_norm_backward.default", by<batch_norm_gradients>},
    {"aten.mse_loss_backward.default", by<squares_gradient>},
    {"aten.smooth_l1_loss_backward.default", by<smooth_gradient>},
    {"aten.huber_loss_backward.default", by<huber_gradient>},
    {"aten.binary_cross_entropy_backward.default", by<entropy_gradient>},
    {"aten.nll_loss_backward.default", by<likelihood_gradient>},
    {"aten.nll_loss2d_backward.default", by<likelihood_gradient>},
    {"aten.embedding_dense_backward.default", by<lookup_gradient>},
    {"aten.slice_backward.default", by<slice_gradient>},
    {"aten.select_backward.default", by<select_gradient>},
};

}  // namespace
}  // namespace gradient_rows

Results wanted_gradients(const Call& call, const std::vector<std::function<Tensor()>>& gradients) {
  const std::vector<bool> mask = call.flags("output_mask");
  if (mask.size() != gradients.size())
    call.refuse("output_mask",
                concat("has ", mask.size(), " flags; ", gradients.size(), " are wanted"));
  const bool names_all = call.node().results.size() == mask.size();
  Results results;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i])
      results.emplace_back(gradients[i]());
    else if (names_all)
      results.emplace_back();
  return results;
}

std::span<const Operator> gradient_operators() { return gradient_rows::rows; }

}  // namespace tilewright::exported
