#include "graph/functions/reducing/norms.h"

#include <cmath>
#include <limits>

#include "graph/functions/named/rules.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::FunctionCall;
using std::source_location;

namespace {

// The operand of one norm, and how its statistics and parameters are spread over it.
struct NormOperand {
  std::string_view name;
  Tensor x;
  source_location where;

  NormOperand(std::string_view name_of_op, const TensorOperand& given)
      : name(name_of_op), x(graph::tensor_of(given, name_of_op)), where(given.where) {
    require(is_floating(x.dtype()), "[", name, "] the operand is ", x.dtype(), " (at ", At{where},
            "); it must be floating: convert with to(f32)");
  }
  Formula term(const Tensor& tensor) const { return {tensor, where}; }
  DType statistics() const { return accumulator(x.dtype()); }
  // Statistics as they are given back: those of x, or f32 where a parameter is.
  Tensor given_back(const Formula& statistic, const Tensor& weight, const Tensor& bias,
                    const Shape& sizes) const {
    bool is_mixed = false;
    for (const Tensor& parameter : {weight, bias})
      is_mixed = is_mixed || (parameter.defined() && parameter.dtype() != x.dtype());
    Formula rounded = is_mixed ? statistic : statistic.to(x.dtype());
    return rounded.tensor().reshape(sizes, where);
  }
  Formula wide(const Tensor& tensor) const { return term(tensor).to(statistics()); }
  Formula reshaped(const Tensor& tensor, const Shape& sizes) const {
    return term(graph::reshape_operand(tensor, sizes, where));
  }
  Formula spread(const Formula& by, const Shape& sizes) const {
    return term(graph::broadcast_to(by.tensor(), sizes, name, where));
  }
  std::int64_t channels() const {
    require(x.rank() >= 2, "[", name, "] the operand has shape ", x.shape(), " (at ", At{where},
            "); it must be [N, C, ..], with channels as axis 1");
    return x.size(1);
  }
  // Sizes in which a parameter a channel lies beside x.
  Shape beside() const {
    Shape sizes(x.shape().size(), 1);
    sizes[1] = channels();
    return sizes;
  }
  void require_shape(const Tensor& parameter, const Shape& sizes, std::string_view what) const {
    if (!parameter.defined()) return;
    require(parameter.shape() == sizes, "[", name, "] the ", what, " is ", parameter.shape(),
            ", the operand ", x.shape(), " (at ", At{where}, "); it must be ", sizes);
  }
  // y weight + bias, both laid out as `sizes`, in the dtype of x.
  Tensor scaled(Formula y, const Tensor& weight, const Tensor& bias, const Shape& sizes) const {
    const Shape shape = y.tensor().shape();
    if (weight.defined()) y = y * spread(reshaped(wide(weight).tensor(), sizes), shape);
    if (bias.defined()) y = y + spread(reshaped(wide(bias).tensor(), sizes), shape);
    return y.to(x.dtype()).tensor();
  }
};

struct Normal {
  Formula output, mean, rstd;
};
// Over some axes of x, which stay with size 1. The variance is that of deviations from the mean.
struct Statistics {
  Formula mean, variance, deviations;
};
Statistics statistics_of(const NormOperand& site, const Formula& x, const std::vector<int>& axes) {
  auto mean_of = [&](const Formula& of) {
    return site.term(mean({of.tensor(), site.where}, axes, true));
  };
  Formula middle = mean_of(x), deviations = x - site.spread(middle, x.tensor().shape());
  return {middle, mean_of(deviations * deviations), deviations};
}

// The rows of a table over its last axis.
Normal normal_rows(const NormOperand& site, const Formula& rows, double eps) {
  Statistics of = statistics_of(site, rows, {rows.tensor().rank() - 1});
  Formula rstd = rsqrt(of.variance + eps);
  return {of.deviations * site.spread(rstd, rows.tensor().shape()), of.mean, rstd};
}

// Leading sizes, and all others as one.
Shape with_last_as_one(const Shape& shape, int leading) {
  Shape sizes(shape.begin(), shape.begin() + leading);
  sizes.push_back(element_count(Shape(shape.begin() + leading, shape.end())));
  return sizes;
}
int leading_axes(const NormOperand& site, const Shape& normalized) {
  const int leading = site.x.rank() - normalized.rank();
  bool fits = normalized.rank() > 0 && leading >= 0 &&
              Shape(site.x.shape().begin() + leading, site.x.shape().end()) == normalized;
  require(fits, "[", site.name, "] the operand has shape ", site.x.shape(),
          ", the normalized shape is ", normalized, " (at ", At{site.where},
          "); that must be the operand's last sizes, one at least");
  return leading;
}

}  // namespace

namespace {

std::vector<Tensor> all_of(const NormResult& result) {
  return {result.output, result.mean, result.rstd};
}
NormResult norm_result(const std::vector<Tensor>& all) { return {all[0], all[1], all[2]}; }

NormResult layer_norm_of(const TensorOperand& x, const Shape& normalized_shape,
                         const Tensor& weight, const Tensor& bias, double eps) {
  NormOperand site("layer_norm", x);
  const int leading = leading_axes(site, normalized_shape);
  site.require_shape(weight, normalized_shape, "weight");
  site.require_shape(bias, normalized_shape, "bias");
  const Shape table = with_last_as_one(site.x.shape(), leading);
  Normal normal = normal_rows(site, site.reshaped(site.wide(site.x).tensor(), table), eps);
  Shape kept(site.x.shape().begin(), site.x.shape().begin() + leading);
  kept.resize(site.x.shape().size(), 1);
  Tensor output = site.scaled(normal.output, weight, bias, {table[-1]});
  return {output.reshape(site.x.shape(), x.where), site.given_back(normal.mean, weight, bias, kept),
          site.given_back(normal.rstd, weight, bias, kept)};
}

std::vector<Tensor> layer_norm_body(const FunctionCall& call) {
  const Shape& all = call[0].shape();
  const Shape normalized(all.end() - call.settings.integer("axes"), all.end());
  return all_of(layer_norm_of({call[0], call.where}, normalized, call[1], call[2],
                              call.settings.number("eps")));
}

}  // namespace

namespace graph::named {
extern const NamedFunction native_layer_norm_function;
const NamedFunction native_layer_norm_function("native_layer_norm", layer_norm_body);
}  // namespace graph::named

NormResult native_layer_norm(const TensorOperand& x, const Shape& normalized_shape,
                             const Tensor& weight, const Tensor& bias, double eps) {
  if (const graph::AutocastCall cast("layer_norm", x.where); cast.is_listed())
    return native_layer_norm(cast(x), normalized_shape, cast(weight), cast(bias), eps);
  leading_axes(NormOperand("layer_norm", x), normalized_shape);  // the axes fit
  return norm_result(graph::named::native_layer_norm_function(
      {x.tensor, weight, bias}, {{"eps", eps}, {"axes", std::int64_t{normalized_shape.rank()}}},
      x.where));
}

// By the op of the last axis where its parameters are those of x, which is one kernel.
Tensor layer_norm(const TensorOperand& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  if (const graph::AutocastCall cast("layer_norm", x.where); cast.is_listed())
    return layer_norm(cast(x), normalized_shape, cast(weight), cast(bias), eps);
  NormOperand site("layer_norm", x);
  auto of_own_dtype = [&](const Tensor& parameter) {
    return !parameter.defined() || parameter.dtype() == site.x.dtype();
  };
  bool is_plain =
      of_own_dtype(weight) && of_own_dtype(bias) && (weight.defined() || !bias.defined());
  if (!is_plain) return native_layer_norm(x, normalized_shape, weight, bias, eps).output;
  const Shape table = with_last_as_one(site.x.shape(), leading_axes(site, normalized_shape));
  site.require_shape(weight, normalized_shape, "weight");
  site.require_shape(bias, normalized_shape, "bias");
  auto flat = [&](const Tensor& parameter) {
    return parameter.defined() ? site.reshaped(parameter, {table[-1]}).tensor() : Tensor();
  };
  Tensor rows = site.reshaped(site.x, table).tensor();
  return layer_norm({rows, x.where}, flat(weight), flat(bias), eps)
      .reshape(site.x.shape(), x.where);
}

Tensor rms_norm(const TensorOperand& x, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  if (const graph::AutocastCall cast("rms_norm", x.where); cast.is_listed())
    return rms_norm(cast(x), normalized_shape, cast(weight), eps);
  NormOperand site("rms_norm", x);
  const Shape table = with_last_as_one(site.x.shape(), leading_axes(site, normalized_shape));
  site.require_shape(weight, normalized_shape, "weight");
  const double step = std::ldexp(1.0, 1 - digits(site.statistics()));
  if (weight.defined() && weight.dtype() != site.x.dtype()) {
    Formula rows = site.reshaped(site.wide(site.x).tensor(), table);
    Formula square = site.term(mean({(rows * rows).tensor(), x.where}, {-1}, true));
    Formula output = rows * site.spread(rsqrt(square + eps.value_or(step)), table);
    return site.scaled(output, weight, {}, {table[-1]}).reshape(site.x.shape(), x.where);
  }
  Tensor scale = weight.defined() ? site.reshaped(weight, {table[-1]}).tensor() : Tensor();
  Tensor rows = site.reshaped(site.x, table).tensor();
  return rms_norm({rows, x.where}, scale, eps.value_or(step)).reshape(site.x.shape(), x.where);
}

namespace {

NormResult group_norm_of(const TensorOperand& x, std::int64_t groups, const Tensor& weight,
                         const Tensor& bias, double eps) {
  NormOperand site("group_norm", x);
  const std::int64_t channels = site.channels(), count = site.x.size(0);
  require(groups > 0 && channels % groups == 0, "[group_norm] there are ", channels,
          " channels in ", groups, " groups (at ", At{x.where},
          "); the groups must have equally many channels each");
  site.require_shape(weight, {channels}, "weight");
  site.require_shape(bias, {channels}, "bias");
  const std::int64_t places = count * channels == 0 ? 0 : site.x.count() / (count * channels);
  const std::int64_t together = channels / groups;
  Formula wide = site.wide(site.x);
  Statistics of =
      statistics_of(site, site.reshaped(wide.tensor(), {count, groups, together * places}), {2});
  Formula rstd = rsqrt(of.variance + eps);
  // The deviations are those of another shape, and so computed again: to keep them would be a copy
  // of x in memory.
  const Shape apart = {count, groups, together, places}, parameters = {1, groups, together, 1};
  auto spread = [&](const Formula& statistic) {
    return site.spread(site.reshaped(statistic.tensor(), {count, groups, 1, 1}), apart);
  };
  Formula output = (site.reshaped(wide.tensor(), apart) - spread(of.mean)) * spread(rstd);
  Tensor scaled = site.scaled(output, weight, bias, parameters);
  return {scaled.reshape(site.x.shape(), x.where),
          site.given_back(of.mean, weight, bias, {count, groups}),
          site.given_back(rstd, weight, bias, {count, groups})};
}

}  // namespace

namespace graph::named {
extern const NamedFunction group_norm_function;
const NamedFunction group_norm_function("group_norm", [](const FunctionCall& call) {
  return all_of(group_norm_of({call[0], call.where}, call.settings.integer("groups"), call[1],
                              call[2], call.settings.number("eps")));
});
}  // namespace graph::named

NormResult native_group_norm(const TensorOperand& x, std::int64_t groups, const Tensor& weight,
                             const Tensor& bias, double eps) {
  if (const graph::AutocastCall cast("group_norm", x.where); cast.is_listed())
    return native_group_norm(cast(x), groups, cast(weight), cast(bias), eps);
  return norm_result(
      graph::named::group_norm_function({graph::tensor_of(x, "group_norm"), weight, bias},
                                        {{"eps", eps}, {"groups", groups}}, x.where));
}
Tensor group_norm(const TensorOperand& x, std::int64_t groups, const Tensor& weight,
                  const Tensor& bias, double eps) {
  return native_group_norm(x, groups, weight, bias, eps).output;
}
Tensor instance_norm(const TensorOperand& x, const Tensor& weight, const Tensor& bias, double eps) {
  NormOperand site("instance_norm", x);
  return native_group_norm(x, site.channels(), weight, bias, eps).output;
}

namespace {

Tensor normal_by(const NormOperand& site, const Formula& mean, const Formula& rstd,
                 const Tensor& weight, const Tensor& bias) {
  const Shape sizes = site.beside(), &shape = site.x.shape();
  auto spread = [&](const Formula& of) {
    return site.spread(site.reshaped(of.tensor(), sizes), shape);
  };
  return site.scaled((site.wide(site.x) - spread(mean)) * spread(rstd), weight, bias, sizes);
}

// Statistics and parameters become a factor and an addend for a channel's elements, as PyTorch
// computes it: an element then costs two operations.
Tensor normal_by_known(const NormOperand& site, const Formula& mean, const Formula& rstd,
                       const Tensor& weight, const Tensor& bias) {
  const Shape sizes = site.beside(), &shape = site.x.shape();
  auto spread = [&](const Formula& of) {
    return site.spread(site.reshaped(of.tensor(), sizes), shape);
  };
  const Formula factor = weight.defined() ? rstd * site.wide(weight) : rstd;
  const Formula taken = bias.defined() ? mean * factor - site.wide(bias) : mean * factor;
  return (site.wide(site.x) * spread(factor) - spread(taken)).to(site.x.dtype()).tensor();
}

void require_channels(const NormOperand& site, std::initializer_list<Tensor> parameters) {
  constexpr std::string_view names[] = {"weight", "bias", "mean", "variance"};
  std::size_t i = 0;
  for (const Tensor& parameter : parameters)
    site.require_shape(parameter, {site.channels()}, names[i++]);
}

}  // namespace

namespace graph::named {
extern const NamedFunction batch_norm_function;
const NamedFunction batch_norm_function("batch_norm", [](const FunctionCall& call) {
  const Tensor &mean = call[1], &variance = call[2], &weight = call[3], &bias = call[4];
  const NormOperand site("batch_norm", {call[0], call.where});
  require_channels(site, {weight, bias, mean, variance});
  const Formula rstd = rsqrt(site.wide(variance) + call.settings.number("eps"));
  return std::vector{normal_by_known(site, site.wide(mean), rstd, weight, bias)};
});
}  // namespace graph::named

Tensor batch_norm_inference(const TensorOperand& x, const Tensor& mean, const Tensor& variance,
                            const Tensor& weight, const Tensor& bias, double eps) {
  for (const Tensor& given : {x.tensor, mean, variance})
    graph::tensor_of({given, x.where}, "batch_norm");
  return graph::named::batch_norm_function({x.tensor, mean, variance, weight, bias}, {{"eps", eps}},
                                           x.where)[0];
}

namespace {

BatchNormResult batch_norm_of(const TensorOperand& x, const Tensor& weight, const Tensor& bias,
                              const Tensor& running_mean, const Tensor& running_variance,
                              const BatchNormOptions& options) {
  NormOperand site("batch_norm", x);
  require_channels(site, {weight, bias, running_mean, running_variance});
  std::vector<int> axes = {0};
  for (int axis = 2; axis < site.x.rank(); ++axis) axes.push_back(axis);
  Statistics of = statistics_of(site, site.wide(site.x), axes);
  const Shape channels = {site.channels()};
  Formula mean = site.reshaped(of.mean.tensor(), channels);
  Formula variance = site.reshaped(of.variance.tensor(), channels);
  Formula rstd = rsqrt(variance + options.eps);
  BatchNormResult result{
      normal_by(site, mean, rstd, weight, bias), mean.tensor(), rstd.tensor(), {}, {}};
  auto moved = [&](const Tensor& running, const Formula& now) {
    if (!running.defined()) return running;
    Formula before = site.wide(running);
    Formula after = before * (1 - options.momentum) + now * options.momentum;
    return after.to(running.dtype()).tensor();
  };
  const auto count =
      static_cast<double>(site.x.count() / std::max<std::int64_t>(site.channels(), 1));
  result.running_mean = moved(running_mean, mean);
  result.running_variance = moved(running_variance, variance * (count / (count - 1)));
  return result;
}

std::vector<Tensor> batch_norm_training_body(const FunctionCall& call) {
  const BatchNormResult r = batch_norm_of(
      {call[0], call.where}, call[1], call[2], call[3], call[4],
      {.momentum = call.settings.number("momentum"), .eps = call.settings.number("eps")});
  std::vector<Tensor> results = {r.output, r.mean, r.rstd};
  for (const Tensor& running : {r.running_mean, r.running_variance})
    if (running.defined()) results.push_back(running);
  return results;
}

}  // namespace

namespace graph::named {
extern const NamedFunction batch_norm_training_function;
const NamedFunction batch_norm_training_function("batch_norm_training", batch_norm_training_body,
                                                 batch_norm_training_derivative);
}  // namespace graph::named

BatchNormResult batch_norm_training(const TensorOperand& x, const Tensor& weight,
                                    const Tensor& bias, const Tensor& running_mean,
                                    const Tensor& running_variance,
                                    const BatchNormOptions& options) {
  const Tensor& given = graph::tensor_of(x, "batch_norm");
  require(!running_variance.defined() || given.rank() < 2 || given.count() != given.shape()[1],
          "[batch_norm] x is ", given.shape(), " (at ", At{x.where},
          "), one value for each channel, whose variance would make the running variance NaN; "
          "leave such a batch out of the training, or call eval()");
  const std::vector<Tensor> all = graph::named::batch_norm_training_function(
      {given, weight, bias, running_mean, running_variance},
      {{"momentum", options.momentum}, {"eps", options.eps}}, x.where);
  BatchNormResult result{all[0], all[1], all[2], {}, {}};
  std::size_t next = 3;
  if (running_mean.defined()) result.running_mean = all[next++];
  if (running_variance.defined()) result.running_variance = all[next];
  return result;
}

Tensor batch_norm(const TensorOperand& x, Tensor running_mean, Tensor running_variance,
                  const Tensor& weight, const Tensor& bias, bool training,
                  const BatchNormOptions& options) {
  if (!training)
    return batch_norm_inference(x, running_mean, running_variance, weight, bias, options.eps);
  BatchNormResult result =
      batch_norm_training(x, weight, bias, running_mean, running_variance, options);
  if (running_mean.defined()) running_mean.copy_from(result.running_mean, x.where);
  if (running_variance.defined()) running_variance.copy_from(result.running_variance, x.where);
  return result.output;
}

namespace {

Tensor local_response_of(const TensorOperand& x, std::int64_t size,
                         const LocalResponseOptions& options) {
  NormOperand site("local_response_norm", x);
  const std::int64_t channels = site.channels();
  require(size > 0, "[local_response_norm] size is ", size, " (at ", At{x.where},
          "); it must be positive");
  Formula wide = site.wide(site.x), square = wide * wide;
  auto zeros_of = [&](std::int64_t count) {
    Shape sizes = site.x.shape();
    sizes[1] = count;
    return zeros(sizes, site.statistics(), x.where);
  };
  const std::int64_t before = options.more_behind ? (size - 1) / 2 : size / 2;
  Tensor padded = cat({zeros_of(before), square.tensor(), zeros_of(size - 1 - before)}, 1, x.where);
  auto from = [&](std::int64_t start) {
    return site.term(padded.slice(1, start, start + channels, 1, x.where));
  };
  Formula total = from(0);
  for (std::int64_t i = 1; i < size; ++i) total = total + from(i);
  Formula base = total * (options.alpha / static_cast<double>(size)) + options.k;
  Formula divisor = site.term(pow({base.tensor(), x.where}, options.beta));
  return (wide / divisor).to(site.x.dtype()).tensor();
}

}  // namespace

Tensor local_response_norm(const TensorOperand& x, std::int64_t size,
                           const LocalResponseOptions& options) {
  const Tensor operands[] = {graph::tensor_of(x, "local_response_norm")};
  source_location w = x.where;
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {local_response_of({t[0], w}, size, options)};
  };
  return graph::apply_function("local_response_norm", operands,
                               {size, options.alpha, options.beta, options.k, options.more_behind},
                               function, w)
      .front();
}

Tensor softmax(const TensorOperand& x, int axis, DType dtype) {
  const graph::AutocastPause pause;
  return softmax({graph::tensor_of(x, "softmax").to(dtype, x.where), x.where}, axis);
}
Tensor log_softmax(const TensorOperand& x, int axis, DType dtype) {
  const graph::AutocastPause pause;
  return log_softmax({graph::tensor_of(x, "log_softmax").to(dtype, x.where), x.where}, axis);
}
Tensor softmin(const TensorOperand& x, int axis) {
  graph::tensor_of(x, "softmin");
  return graph::computed(
      "softmin", graph::floating("softmin", {&x}),
      [&](const graph::Terms& t) {
        return Formula(softmax({(-t[0]).tensor(), t[0].where()}, axis), t[0].where());
      },
      {axis});
}

Tensor instance_norm(const TensorOperand& x, Tensor running_mean, Tensor running_variance,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     const BatchNormOptions& options) {
  if (!use_input_stats)
    return batch_norm_inference(x, running_mean, running_variance, weight, bias, options.eps);
  const Tensor y = instance_norm(x, weight, bias, options.eps);
  if (!running_mean.defined() || !running_variance.defined()) return y;
  std::vector<int> axes;
  for (int axis = 2; axis < x.tensor.rank(); ++axis) axes.push_back(axis);
  auto [variances, means] = var_mean(x, axes, 1);
  auto move = [&](Tensor& learned, const Tensor& seen) {
    learned.copy_from(
        (learned * (1 - options.momentum) + mean(seen, {0}) * options.momentum).to(learned.dtype()),
        x.where);
  };
  move(running_mean, means);
  move(running_variance, variances);
  return y;
}
Tensor weight_norm(const TensorOperand& v, const Tensor& g, int axis) {
  const Tensor& given = graph::tensor_of(v, "weight_norm");
  std::vector<int> others;
  for (int i = 0; i < given.rank(); ++i)
    if (i != axis) others.push_back(i);
  return v * TensorOperand(g / linalg_vector_norm(v, 2, others, true), v.where);
}
Tensor safe_softmax(const TensorOperand& x, int axis) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  // Such rows are replaced before the softmax as well, whose derivative would be NaN.
  const Tensor is_masked = all({x == none, x.where}, {axis}, true);
  return where(is_masked, 0.0, softmax({where({is_masked, x.where}, 0.0, x), x.where}, axis));
}

}  // namespace tilewright
