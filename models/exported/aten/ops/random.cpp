// Random tensors, and dropout: drawn from the default generator, whose numbers are not those of
// PyTorch's on the host (graph/functions/random/random.h says whose they are).
#include "graph/functions/random/random.h"

#include <cmath>
#include <numbers>

#include "graph/functions/indexing/searching.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/cumulative.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace random_rows {
namespace {

DType dtype_like(const Call& call) { return call.dtype().value_or(call.tensor("self").dtype()); }
DType float_of(const Call& call) { return call.dtype().value_or(f32); }

// PyTorch's default generator is all that a program can name.
void refuse_generator(const Call& call) {
  if (call.has("generator")) call.refuse("generator", "is given; programs draw from the default");
}

Tensor uniform_numbers(const Call& call) {
  refuse_generator(call);
  return rand(call.integers("size"), float_of(call));
}
Tensor normal_numbers(const Call& call) {
  refuse_generator(call);
  return randn(call.integers("size"), float_of(call));
}
Tensor integers_between(const Call& call) {
  refuse_generator(call);
  return randint(call.integer("low", 0), call.integer("high"), call.integers("size"),
                 call.dtype().value_or(i64));
}
Tensor integers_like(const Call& call) {
  return randint_like(call.tensor("self"), call.integer("low", 0), call.integer("high"),
                      dtype_like(call));
}
Tensor permutation(const Call& call) {
  refuse_generator(call);
  return randperm(call.integer("n"), call.dtype().value_or(i64));
}

// Of the tensor's own elements as probabilities, or of one number for all.
Tensor trials(const Call& call) {
  refuse_generator(call);
  return bernoulli(call.tensor("self"));
}
Tensor trials_of_one(const Call& call) {
  refuse_generator(call);
  Tensor x = call.tensor("self");
  return bernoulli(full(x.shape(), call.number("p", 0.5), x.dtype()));
}
Tensor trials_of_each(const Call& call) {
  refuse_generator(call);
  Tensor x = call.tensor("self");
  return bernoulli(call.tensor("p").expand(x.shape())).to(x.dtype());
}

Tensor uniform_between(const Call& call) {
  refuse_generator(call);
  Tensor x = call.tensor("self");
  double low = call.number("from", 0), high = call.number("to", 1);
  return uniform(x.shape(), low, high, x.dtype());
}
Tensor normal_around(const Call& call) {
  refuse_generator(call);
  Tensor x = call.tensor("self");
  return normal(call.number("mean", 0), call.number("std", 1), x.shape(), x.dtype());
}

// By the inverse of each distribution's function, of numbers in (0, 1].
Tensor above_zero(const Call& call) {
  refuse_generator(call);
  return 1.0 - rand(call.tensor("self").shape());
}
Tensor exponential_numbers(const Call& call) {
  const double rate = call.number("lambd", 1);
  if (!(rate > 0)) call.refuse("lambd", concat("is ", rate, "; it must be positive"));
  return (log(above_zero(call)) / -rate).to(call.tensor("self").dtype());
}
Tensor geometric_numbers(const Call& call) {
  const double p = call.number("p");
  if (!(p > 0 && p < 1)) call.refuse("p", concat("is ", p, "; it must be between 0 and 1"));
  Tensor trials = ceil(log(above_zero(call)) / std::log1p(-p));
  return maximum(trials, 1.0).to(call.tensor("self").dtype());
}
Tensor cauchy_numbers(const Call& call) {
  Tensor angle = (above_zero(call) - 0.5) * std::numbers::pi;
  return (tan(angle) * call.number("sigma", 1) + call.number("median", 0))
      .to(call.tensor("self").dtype());
}
Tensor log_normal_numbers(const Call& call) {
  refuse_generator(call);
  Tensor x = call.tensor("self");
  return exp(normal(call.number("mean", 1), call.number("std", 2), x.shape())).to(x.dtype());
}

// In place its argument has another name.
Tensor dropped_of(const Call& call) { return call.tensor(call.has("input") ? "input" : "self"); }
Tensor dropped(const Call& call) {
  return dropout(dropped_of(call), call.number("p"), call.flag("train", false));
}
std::pair<Tensor, Tensor> dropped_with_mask(const Call& call) {
  return native_dropout(call.tensor("input"), call.number("p"), call.flag("train", true));
}

Tensor normal_of_each(const Call& call) {
  refuse_generator(call);
  return normal(call.operand("mean"), call.operand("std"));
}
// Numbers of elements, drawn with the elements of a row as their weights. Without replacement by
// weights over exponential numbers, of which the greatest are taken: that is a draw one after the
// other (P. Efraimidis and P. Spirakis: Weighted random sampling with a reservoir).
Tensor drawn_by_weight(const Call& call) {
  refuse_generator(call);
  Tensor weights = call.tensor("self");
  const std::int64_t count = call.integer("num_samples");
  if (weights.rank() < 1 || weights.rank() > 2 || !is_floating(weights.dtype()))
    call.refuse("self", concat("is ", weights.dtype(), " [", weights.shape(),
                               "]; floats with one axis or two are wanted"));
  const std::int64_t size = weights.size(-1);
  const bool repeats = call.flag("replacement", false);
  if (count < 1 || size < 1 || (!repeats && count > size))
    call.refuse("num_samples", concat("is ", count, ", of ", size, " elements"));
  weights = weights.to(f32);
  if (!repeats) {
    Tensor waits = maximum(-log(1.0 - rand(weights.shape())), 1e-30);
    return topk(where(weights > 0.0, weights / waits, -1.0), count, -1).second;
  }
  Shape sizes = weights.shape();
  sizes[weights.rank() - 1] = count;
  Tensor sums = cumsum(weights, -1);
  Tensor at = rand(sizes) * sums.slice(-1, size - 1, size);
  return minimum(searchsorted(sums, at, {.right = true}), size - 1);
}

// Forms of which a program that is run drops nothing.
Tensor dropped_otherwise(const Call& call) {
  if (call.flag("train", false) && call.number("p") != 0)
    call.refuse("train", "is true, which is not supported for this form of dropout");
  call.number("p");
  return dropped_of(call);
}

constexpr Operator rows[] = {
    {"aten.multinomial.default", by<drawn_by_weight>},
    {"aten.rand.default", by<uniform_numbers>},
    {"aten.randn.default", by<normal_numbers>},
    {"aten.randint.default", by<integers_between>},
    {"aten.randint.low", by<integers_between>},
    {"aten.randperm.default", by<permutation>},
    {"aten.rand_like.default",
     [](const Call& c) { return rand_like(c.tensor("self"), dtype_like(c)); }},
    {"aten.randn_like.default",
     [](const Call& c) { return randn_like(c.tensor("self"), dtype_like(c)); }},
    {"aten.randint_like.default", by<integers_like>},
    {"aten.randint_like.low_dtype", by<integers_like>},
    {"aten.bernoulli.default", by<trials>},
    {"aten.bernoulli.p", by<trials_of_one>},
    {"aten.bernoulli.Tensor", by<trials_of_each>},
    {"aten.uniform.default", by<uniform_between>},
    {"aten.cauchy.default", by<cauchy_numbers>},
    {"aten.exponential.default", by<exponential_numbers>},
    {"aten.geometric.default", by<geometric_numbers>},
    {"aten.log_normal.default", by<log_normal_numbers>},
    {"aten.normal_functional.default", by<normal_around>},
    {"aten.normal.Tensor_Tensor", by<normal_of_each>},
    {"aten.normal.Tensor_float", by<normal_of_each>},
    {"aten.normal.float_Tensor", by<normal_of_each>},
    {"aten.normal.float_float",
     [](const Call& c) {
       refuse_generator(c);
       return normal(c.number("mean"), c.number("std"), c.integers("size"), float_of(c));
     }},
    {"aten.dropout.default", by<dropped>},
    {"aten.alpha_dropout.default", by<dropped_otherwise>},
    {"aten.feature_dropout.default", by<dropped_otherwise>},
    {"aten.feature_alpha_dropout.default", by<dropped_otherwise>},
    {"aten.native_dropout.default", by<dropped_with_mask>},
};

}  // namespace
}  // namespace random_rows

std::span<const Operator> random_operators() { return random_rows::rows; }

}  // namespace tilewright::exported
