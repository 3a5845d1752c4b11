#include "models/onnx/attention/heads.h"

#include <cmath>
#include <limits>

#include "models/onnx/program/value.h"
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

// For fewer heads than queries have: each serves several of these.
Tensor for_each_query(const Tensor& x, std::int64_t heads) {
  if (x.size(1) == heads) return x;
  const Shape spread = {x.size(0), x.size(1), heads / x.size(1), x.size(2), x.size(3)};
  return x.unsqueeze(2).expand(spread).reshape({x.size(0), heads, x.size(2), x.size(3)});
}

DType wide_of(const Operands& o, const Scores& s) {
  const DType own = size_bytes(o.q.dtype()) == 2 ? f32 : o.q.dtype();
  return s.softmax_in && size_bytes(*s.softmax_in) > size_bytes(own) ? *s.softmax_in : own;
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
  const bool is_usual = s.softcap >= 0 && o.q.size(3) == o.v.size(3) &&
                        o.q.dtype() == o.v.dtype() && wide_of(o, s) == wide_of(o, {});
  if (!is_usual) return weighed(weighing(o, s).weights, o);
  AttentionOptions options{
      .causal = s.first_place.has_value(), .scale = s.scale, .mask = s.mask, .cap = s.softcap};
  if (s.first_place == o.past())
    options.alignment = CausalAlignment::bottom_right;
  else if (s.first_place.value_or(0) != 0)
    options.position = constant_of(std::vector<std::int64_t>{*s.first_place}, {1});
  return scaled_dot_product_attention(o.q, o.k, o.v, options);
}

Weighing weighing(const Operands& o, const Scores& s) {
  require_operands(o);
  const double factor = s.scale.value_or(1 / std::sqrt(static_cast<double>(o.q.size(3))));
  const DType own = wide_of(o, {}), wide = wide_of(o, s);
  const Tensor k = for_each_query(o.k, o.q.size(1));
  Weighing w;
  w.products = matmul(o.q, k.transpose(-2, -1), own) * factor;
  w.bent = s.softcap == 0 ? w.products : tanh(w.products / s.softcap) * s.softcap;
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  w.masked = w.bent;
  if (s.mask.defined() && is_boolean(s.mask.dtype()))
    w.masked = where(s.mask, w.masked, nothing).to(own);
  else if (s.mask.defined())
    w.masked = w.masked + s.mask.to(own);
  if (s.first_place) {
    const Tensor places = arange(*s.first_place, *s.first_place + o.steps()).unsqueeze(1);
    w.masked = where(arange(0, o.total()) > places, nothing, w.masked).to(own);
  }
  const Tensor sees_none = amax(w.masked, {-1}, true) == nothing;
  w.weights = where(sees_none, 0, softmax(w.masked.to(wide), -1)).to(wide);
  return w;
}
Tensor weighed(const Tensor& weights, const Operands& o) {
  return matmul(weights.to(o.v.dtype()), for_each_query(o.v, o.q.size(1)));
}

Tensor behind(const Tensor& past, const Tensor& x, std::string_view what) {
  if (!past.defined()) return x;
  require(past.rank() == 4 && past.size(0) == x.size(0) && past.size(1) == x.size(1) &&
              past.size(3) == x.size(3) && past.dtype() == x.dtype(),
          "[onnx] former ", what, " [", past.shape(), "] before [", x.shape(),
          "]; the same batch, heads and sizes are wanted");
  return cat({past, x}, 2);
}

Tensor turned(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool interleaved) {
  const std::int64_t half = cosines.rank() == 3 ? cosines.size(2) : 0, size = x.size(3);
  require(sines.shape() == cosines.shape() && half >= 1 && 2 * half <= size &&
              (cosines.size(0) == 1 || cosines.size(0) == x.size(0)) &&
              cosines.size(1) == x.size(2),
          "[onnx] cosines [", cosines.shape(), "] and sines [", sines.shape(), "] for [", x.shape(),
          "]; it must be [batch, steps, half of the rotated size]");
  const Tensor cos = cosines.unsqueeze(1), sin = sines.unsqueeze(1);
  const Tensor turning = x.slice(3, 0, 2 * half);
  Tensor result;
  if (interleaved) {
    const Shape shape = turning.shape();
    const Tensor pairs = turning.reshape({shape[0], shape[1], shape[2], half, 2});
    const Tensor a = pairs.select(4, 0), b = pairs.select(4, 1);
    result =
        cat({(a * cos - b * sin).unsqueeze(4), (b * cos + a * sin).unsqueeze(4)}, 4).reshape(shape);
  } else {
    const Tensor a = turning.slice(3, 0, half), b = turning.slice(3, half, 2 * half);
    result = cat({a * cos - b * sin, b * cos + a * sin}, 3);
  }
  return 2 * half == size ? result : cat({result, x.slice(3, 2 * half, size)}, 3);
}
Tensor rotated(const Tensor& x, const Tensor& places, const Rotation& by) {
  require(by.cos.rank() == 2 && by.sin.shape() == by.cos.shape(), "[onnx] tables of cosines [",
          by.cos.shape(), "] and sines [", by.sin.shape(), "] for [", x.shape(), "]");
  return turned(x, embedding(places, by.cos), embedding(places, by.sin), by.interleaved);
}

}  // namespace tilewright::onnx
