#include "models/onnx/attention/heads.h"

#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

void require_operands(const Operands& o) {
  const bool are_heads = o.q.rank() == 4 && o.k.rank() == 4 && o.v.rank() == 4;
  const bool fit = are_heads && o.k.size(0) == o.batch() && o.v.size(0) == o.batch() &&
                   o.k.size(1) > 0 && o.q.size(1) % o.k.size(1) == 0 &&
                   o.v.size(1) == o.k.size(1) && o.k.size(3) == o.q.size(3) &&
                   o.v.size(2) == o.total();
  require(fit, "[onnx] queries [", o.q.shape(), "], keys [", o.k.shape(), "] and values [",
          o.v.shape(), "]; the same batch, heads and sizes are wanted");
}

GeneralAttentionOptions options_of(const Scores& s) {
  return {.scale = s.scale,
          .first_place = s.first_place,
          .mask = s.mask,
          .cap = s.softcap,
          .softmax_dtype = s.softmax_in};
}

}  // namespace

Tensor in_heads(const Tensor& x, std::int64_t heads) {
  require(x.rank() == 3 && heads > 0 && x.size(2) % heads == 0, "[onnx] [", x.shape(), "] in ",
          heads, " heads; [batch, steps, a multiple of these] is wanted");
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}
Tensor out_of_heads(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}
std::int64_t heads_of(const Call& call, std::string_view name) {
  const std::int64_t heads = call.integer(name);
  if (heads < 1 || heads > 1 << 16) call.refuse(name, concat("is ", heads));
  return heads;
}

Tensor attended(const Operands& o, const Scores& s) {
  require_operands(o);
  return general_attention(o.q, o.k, o.v, options_of(s));
}
AttentionSteps weighing(const Operands& o, const Scores& s) {
  require_operands(o);
  return attention_steps(o.q, o.k, options_of(s));
}

Tensor behind(const Tensor& past, const Tensor& x, std::string_view what) {
  if (!past.defined()) return x;
  require(past.rank() == 4 && past.size(0) == x.size(0) && past.size(1) == x.size(1) &&
              past.size(3) == x.size(3) && past.dtype() == x.dtype(),
          "[onnx] former ", what, " [", past.shape(), "] before [", x.shape(),
          "]; the same batch, heads and sizes are wanted");
  return cat({past, x}, 2);
}

}  // namespace tilewright::onnx
