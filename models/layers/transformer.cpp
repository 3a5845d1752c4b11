#include "models/layers/transformer.h"

namespace tilewright {

using std::source_location;

static NormKind norm_of(const TransformerEncoderLayerOptions& options) {
  return options.bias ? NormKind::layer : NormKind::layer_no_bias;
}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t width, std::int64_t heads,
                                                 const TransformerEncoderLayerOptions& options,
                                                 source_location w)
    : self_attn(width, heads,
                {.bias = options.bias,
                 .batch_first = options.batch_first,
                 .dropout = options.dropout,
                 .layer = options.layer},
                w),
      linear1(width, options.inner, options.bias, options.layer, WeightOrder::out_in, w),
      linear2(options.inner, width, options.bias, options.layer, WeightOrder::out_in, w),
      norm1(norm_of(options), width, options.eps, options.layer, w),
      norm2(norm_of(options), width, options.eps, options.layer, w),
      options_(options),
      dropout_(options.dropout, default_generator(), w),
      dropout1_(options.dropout, default_generator(), w),
      dropout2_(options.dropout, default_generator(), w) {
  register_module("self_attn", self_attn);
  register_module("linear1", linear1);
  register_module("dropout", dropout_);
  register_module("linear2", linear2);
  register_module("norm1", norm1);
  register_module("norm2", norm2);
  register_module("dropout1", dropout1_);
  register_module("dropout2", dropout2_);
}

Tensor TransformerEncoderLayer::attended(const Tensor& x, const TransformerEncoderCall& call,
                                         source_location w) const {
  const MultiheadAttentionCall own{
      .key_padding_mask = call.key_padding_mask, .mask = call.mask, .is_causal = call.is_causal};
  return dropout1_(self_attn(x, x, x, own, w).output, w);
}

Tensor TransformerEncoderLayer::fed_forward(const Tensor& x, source_location w) const {
  return dropout2_(linear2(dropout_(activate(options_.activation, linear1(x, w)), w), w), w);
}

Tensor TransformerEncoderLayer::forward(const Tensor& x, const TransformerEncoderCall& call,
                                        source_location w) const {
  if (options_.norm_first) {
    const Tensor y = x + attended(norm1(x, w), call, w);
    return y + fed_forward(norm2(y, w), w);
  }
  const Tensor y = norm1(x + attended(x, call, w), w);
  return norm2(y + fed_forward(y, w), w);
}

}  // namespace tilewright
