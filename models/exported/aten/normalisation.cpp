// Norms of layers, groups and batches, with what they were normalised by where a program uses it.
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// x, as [rows, elements that are normalised together].
struct Rows {
  Tensor x;
  Shape statistics;  // of the mean and of the reciprocal deviation
};

// Results 1 and 2, if anything reads them: means, and 1 / sqrt(variance + eps).
Results with_statistics(const Call& call, Tensor normalised, const Rows& rows, double eps) {
  Results results = {std::move(normalised), Value(), Value()};
  if (call.wants(1)) results[1] = mean(rows.x, {-1}).reshape(rows.statistics);
  if (call.wants(2)) results[2] = rsqrt(var(rows.x, {-1}, 0) + eps).reshape(rows.statistics);
  return results;
}

Results layer_normalised(const Call& call) {
  Tensor x = call.tensor("input"), weight = call.optional_tensor("weight"),
         bias = call.optional_tensor("bias");
  Shape last = call.integers("normalized_shape");
  double eps = call.number("eps");
  require(last.rank() <= x.rank(), "[exported] a norm is over ", last, " of a tensor ", x.shape());
  Rows rows{{}, x.shape()};
  Shape flat(x.shape().begin(), x.shape().end() - last.rank());
  for (int axis = flat.rank(); axis < x.rank(); ++axis) rows.statistics[axis] = 1;
  std::int64_t count = element_count(last);
  flat.push_back(count);
  rows.x = x.reshape(flat);
  if (bias.defined() && !weight.defined()) weight = ones({count}, x.dtype());
  Tensor result = layer_norm(rows.x, weight.defined() ? weight.reshape({count}) : weight,
                             bias.defined() ? bias.reshape({count}) : bias, eps);
  return with_statistics(call, result.reshape(x.shape()), rows, eps);
}

// [channels] as it meets a tensor [N, channels, ...].
Tensor by_channel(const Tensor& t, const Tensor& x) {
  Shape sizes(static_cast<std::size_t>(x.rank()), 1);
  sizes[1] = t.count();
  return t.reshape(sizes);
}
Tensor with_channel_weights(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) y = y * by_channel(weight, y);
  if (bias.defined()) y = y + by_channel(bias, y);
  return y;
}

Results group_normalised(const Call& call) {
  Tensor x = call.tensor("input");
  std::int64_t batch = call.integer("N"), channels = call.integer("C"),
               places = call.integer("HxW"), groups = call.integer("group");
  double eps = call.number("eps");
  require(groups > 0 && channels % groups == 0, "[exported] ", channels,
          " channels are no multiple of ", groups, " groups");
  Rows rows{x.reshape({batch, groups, channels / groups * places}), {batch, groups}};
  Tensor y = layer_norm(rows.x, {}, {}, eps).reshape(x.shape());
  y = with_channel_weights(y, call.optional_tensor("weight"), call.optional_tensor("bias"));
  return with_statistics(call, y, rows, eps);
}

// By the statistics that were learned.
Results batch_normalised(const Call& call) {
  Tensor x = call.tensor("input"), center = call.tensor("running_mean"),
         spread = call.tensor("running_var");
  call.has("momentum");
  Tensor scale = rsqrt(spread + call.number("eps"));
  Tensor y = (x - by_channel(center, x)) * by_channel(scale, x);
  y = with_channel_weights(y, call.optional_tensor("weight"), call.optional_tensor("bias"));
  return {y.to(x.dtype()), zeros({0}), zeros({0})};
}

constexpr Operator rows[] = {
    {"aten.native_layer_norm.default", by<layer_normalised>},
    {"aten.native_group_norm.default", by<group_normalised>},
    {"aten._native_batch_norm_legit_no_training.default", by<batch_normalised>},
};

}  // namespace

std::span<const Operator> normalisation_operators() { return rows; }

}  // namespace tilewright::exported
