#include "models/layers/multihead_attention.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "graph/functions/attending/general_attention.h"
#include "graph/functions/creation.h"
#include "graph/functions/random/random.h"
#include "graph/ir/location.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using std::source_location;

// The scores that a mask, true of keys that are hidden, adds.
Tensor added(const Tensor& mask, DType dtype) {
  if (!is_boolean(mask.dtype())) return mask.to(dtype);
  return where(mask, -std::numeric_limits<double>::infinity(), zeros({}, dtype));
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t width, std::int64_t heads,
                                       const MultiheadAttentionOptions& options, source_location w)
    : out_proj(width, width, options.bias, options.layer),
      width_(width),
      heads_(heads),
      options_(options) {
  require(width > 0 && heads > 0 && width % heads == 0, "[multihead_attention] a width of ", width,
          " for ", heads, " heads (at ", describe(w),
          "); both are above 0, and the heads divide the width");
  const std::int64_t keys = options.key_width == 0 ? width : options.key_width,
                     values = options.value_width == 0 ? width : options.value_width;
  auto make = [&](Tensor& weight, const char* name, std::int64_t out, std::int64_t in) {
    weight = Tensor::empty({out, in}, options.layer.dtype, options.layer.device);
    const double bound = std::sqrt(6 / static_cast<double>(out + in));
    if (options.layer.init == Init::random)
      fill_uniform(weight, -bound, bound, next_random_stream());
    register_parameter(name, weight);
  };
  if (keys == width && values == width) {
    make(in_proj_weight, "in_proj_weight", 3 * width, width);
  } else {
    make(q_proj_weight, "q_proj_weight", width, width);
    make(k_proj_weight, "k_proj_weight", width, keys);
    make(v_proj_weight, "v_proj_weight", width, values);
  }
  if (options.bias) {
    in_proj_bias = Tensor::empty({3 * width}, options.layer.dtype, options.layer.device);
    register_parameter("in_proj_bias", in_proj_bias);
    if (options.layer.init == Init::random) {
      fill_value(in_proj_bias, 0);
      fill_value(out_proj.bias, 0);
    }
  }
  register_module("out_proj", out_proj);
}

void MultiheadAttention::train(bool is_training) {
  is_training_ = is_training;
  Module::train(is_training);
}

// The queries, keys or values of x [N, T, ..], as [N, heads, T, width / heads].
Tensor MultiheadAttention::projected(const Tensor& x, int which, source_location w) const {
  const Tensor& own = which == 0 ? q_proj_weight : which == 1 ? k_proj_weight : v_proj_weight;
  const Tensor weight =
      is_packed() ? in_proj_weight.slice(0, which * width_, (which + 1) * width_, 1, w) : own;
  require(x.size(-1) == weight.size(1), "[multihead_attention] ", path(),
          path().empty() ? "" : ": ",
          which == 0   ? "the query"
          : which == 1 ? "the key"
                       : "the value",
          " has ", x.size(-1), " elements a row (at ", graph::At{w}, "); it must have ",
          weight.size(1));
  const Tensor bias = in_proj_bias.defined()
                          ? in_proj_bias.slice(0, which * width_, (which + 1) * width_, 1, w)
                          : Tensor();
  return linear({x, w}, weight, bias)
      .reshape({x.size(0), x.size(1), heads_, width_ / heads_}, w)
      .transpose(1, 2, w);
}

// To be added to scores [N, heads, T, S]; undefined: nothing.
Tensor MultiheadAttention::mask_of(const MultiheadAttentionCall& call, const Shape& scores,
                                   source_location w) const {
  Tensor all;
  auto add = [&](const Tensor& mask, const Shape& shape) {
    const Tensor part = added(mask, options_.layer.dtype).reshape(shape, w);
    all = all.defined() ? all + part : part;
  };
  if (call.mask.defined()) {
    const Shape one = {scores[2], scores[3]}, each = {scores[0] * heads_, scores[2], scores[3]};
    require(call.mask.shape() == one || call.mask.shape() == each,
            "[multihead_attention] the mask is ", call.mask.shape(), " (at ", graph::At{w},
            "); it must be ", one, " or ", each);
    add(call.mask, call.mask.rank() == 2 ? Shape{1, 1, scores[2], scores[3]} : scores);
  }
  if (call.key_padding_mask.defined()) {
    const Shape wanted = {scores[0], scores[3]}, alone = {scores[3]};
    const Shape& given = call.key_padding_mask.shape();
    require(given == wanted || (scores[0] == 1 && given == alone),
            "[multihead_attention] the mask of keys is ", given, " (at ", graph::At{w},
            "); it must be ", wanted);
    add(call.key_padding_mask, {scores[0], 1, 1, scores[3]});
  }
  return all;
}

MultiheadAttentionResult MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                                     const Tensor& value,
                                                     const MultiheadAttentionCall& call,
                                                     source_location w) const {
  const bool has_batch = query.rank() == 3;
  auto rows = [&](const Tensor& x) {
    require((x.rank() == 2 || x.rank() == 3) && x.rank() == query.rank(),
            "[multihead_attention] query, key and value are ", query.shape(), ", ", key.shape(),
            " and ", value.shape(), " (at ", graph::At{w},
            "); all must have two axes, or three with the batch");
    if (!has_batch) return x.unsqueeze(0, w);
    return options_.batch_first ? x : x.transpose(0, 1, w);
  };
  const Tensor q = projected(rows(query), 0, w), k = projected(rows(key), 1, w),
               v = projected(rows(value), 2, w);
  require(k.size(0) == q.size(0) && v.size(0) == q.size(0) && k.size(2) == v.size(2),
          "[multihead_attention] query, key and value are ", query.shape(), ", ", key.shape(),
          " and ", value.shape(), " (at ", graph::At{w},
          "); batches must be equal, and there must be a value for each key");
  const Shape scores = {q.size(0), heads_, q.size(2), k.size(2)};
  GeneralAttentionOptions options{.mask = mask_of(call, scores, w)};
  if (call.is_causal) options.first_place = 0;
  const bool drops = options_.dropout > 0 && is_training_.get(w);
  MultiheadAttentionResult result;
  Tensor heads;
  if (drops || call.needs_weights) {
    Tensor weights = attention_steps({q, w}, k, options).weights;
    if (drops) weights = dropout({weights, w}, options_.dropout, true);
    heads = attention_of_weights({weights, w}, v);
    if (call.needs_weights) result.weights = call.average_weights ? mean(weights, {1}) : weights;
  } else {
    heads = general_attention({q, w}, k, v, options);
  }
  result.output = out_proj(heads.transpose(1, 2, w).reshape({scores[0], scores[2], width_}, w), w);
  if (!has_batch) {
    result.output = result.output.squeeze(0, w);
    if (result.weights.defined()) result.weights = result.weights.squeeze(0, w);
  } else if (!options_.batch_first) {
    result.output = result.output.transpose(0, 1, w);
  }
  return result;
}

}  // namespace tilewright
