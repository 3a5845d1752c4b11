#include "graph/functions/attending/general_attention.h"

#include <cmath>
#include <limits>

#include "graph/functions/pointwise/host_constants.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

constexpr double unseen = -std::numeric_limits<double>::infinity();

// Each head of keys or values as often as there are queries of it.
Tensor for_each_query(const Tensor& x, std::int64_t heads, source_location w) {
  if (x.rank() < 3 || x.size(-3) == heads) return x;
  const std::int64_t own = x.size(-3);
  require(own > 0 && heads % own == 0, "[attention] ", heads, " heads of queries share ", own,
          " heads of keys (at ", At{w}, "); the one must be a multiple of the other");
  Shape spread = x.shape(), sizes = x.shape();
  spread.insert(spread.end() - 2, heads / own);
  sizes[x.rank() - 3] = heads;
  return x.unsqueeze(-3).expand(spread).reshape(sizes);
}
std::int64_t heads_of(const Tensor& x) { return x.rank() < 3 ? 1 : x.size(-3); }

DType own_dtype(const Tensor& q) { return size_bytes(q.dtype()) == 2 ? DType::f32 : q.dtype(); }
DType softmax_dtype(const Tensor& q, const GeneralAttentionOptions& options) {
  const DType own = own_dtype(q);
  return options.softmax_dtype && size_bytes(*options.softmax_dtype) > size_bytes(own)
             ? *options.softmax_dtype
             : own;
}

void require_operands(const Tensor& q, const Tensor& k, source_location w) {
  require(
      q.rank() >= 2 && k.rank() == q.rank() && k.size(-1) == q.size(-1) && is_floating(q.dtype()),
      "[attention] queries are ", q.dtype(), " [", q.shape(), "], keys [", k.shape(), "] (at ",
      At{w}, "); floats of as many axes and of one width are wanted");
}

// Products, capped and masked; without weights.
AttentionSteps scores_of(const Tensor& q, const Tensor& given, const GeneralAttentionOptions& o,
                         source_location w) {
  require_operands(q, given, w);
  const double factor = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  const DType own = own_dtype(q);
  const Tensor k = for_each_query(given, heads_of(q), w);
  AttentionSteps steps;
  steps.products = matmul({q, w}, {k.transpose(-2, -1), w}, own) * factor;
  steps.capped = o.cap == 0 ? steps.products : tanh(steps.products / o.cap) * o.cap;
  steps.masked = steps.capped;
  if (o.mask.defined() && is_boolean(o.mask.dtype()))
    steps.masked = where(o.mask, steps.masked, unseen).to(own);
  else if (o.mask.defined())
    steps.masked = steps.masked + o.mask.to(own);
  if (o.first_place) {
    const Tensor places = arange(*o.first_place, *o.first_place + q.size(-2)).unsqueeze(1);
    steps.masked = where(arange(0, k.size(-2)) > places, unseen, steps.masked).to(own);
  }
  return steps;
}
bool hides_keys(const GeneralAttentionOptions& o) { return o.mask.defined() || o.first_place; }

AttentionSteps weighed(const Tensor& q, const Tensor& k, const GeneralAttentionOptions& o,
                       source_location w) {
  AttentionSteps steps = scores_of(q, k, o, w);
  const DType wide = softmax_dtype(q, o);
  const Tensor shares = softmax(steps.masked.to(wide), -1);
  steps.weights =
      hides_keys(o) ? where(amax(steps.masked, {-1}, true) == unseen, 0, shares).to(wide) : shares;
  return steps;
}

bool is_one_operation(const Tensor& q, const Tensor& k, const Tensor& v,
                      const GeneralAttentionOptions& o) {
  return q.rank() == 4 && k.rank() == 4 && k.shape() == v.shape() && q.size(0) == k.size(0) &&
         q.size(3) == k.size(3) && k.size(1) > 0 && q.size(1) % k.size(1) == 0 &&
         q.dtype() == v.dtype() && q.dtype() == k.dtype() && o.cap >= 0 &&
         softmax_dtype(q, o) == own_dtype(q);
}

}  // namespace

Tensor general_attention(const TensorOperand& operand, const Tensor& k, const Tensor& v,
                         const GeneralAttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", operand.where);
      cast.is_listed())
    return general_attention(cast(operand), cast(k), cast(v), options);
  const Tensor& q = graph::tensor_of(operand, "attention");
  require_operands(q, k, operand.where);
  if (!is_one_operation(q, k, v, options))
    return attention_of_weights({weighed(q, k, options, operand.where).weights, operand.where}, v);
  AttentionOptions fused{.causal = options.first_place.has_value(),
                         .scale = options.scale,
                         .mask = options.mask,
                         .cap = options.cap};
  const std::int64_t first = options.first_place.value_or(0);
  if (first != 0 && first == k.size(2) - q.size(2))
    fused.alignment = CausalAlignment::bottom_right;
  else if (first != 0)
    fused.position = graph::constant_of(std::vector<std::int64_t>{first}, {1});
  return scaled_dot_product_attention(operand, k, v, fused);
}

AttentionSteps attention_steps(const TensorOperand& q, const Tensor& k,
                               const GeneralAttentionOptions& options) {
  return weighed(graph::tensor_of(q, "attention"), k, options, q.where);
}
Tensor attention_of_weights(const TensorOperand& weights, const Tensor& v) {
  const Tensor& given = graph::tensor_of(weights, "attention");
  return matmul({given.to(v.dtype()), weights.where},
                for_each_query(v, heads_of(given), weights.where));
}
Tensor attention_logsumexp(const TensorOperand& q, const Tensor& k,
                           const GeneralAttentionOptions& options) {
  return logsumexp(scores_of(graph::tensor_of(q, "attention"), k, options, q.where).masked, {-1});
}

}  // namespace tilewright
