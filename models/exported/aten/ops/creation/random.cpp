// Random tensors, and dropout: drawn from the default generator, whose numbers are not those of
// PyTorch's on the host (graph/functions/random/random.h says whose they are).
#include "graph/functions/random/random.h"

#include "graph/functions/random/distributions.h"
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

Tensor exponential_numbers(const Call& call) {
  refuse_generator(call);
  const Tensor x = call.tensor("self");
  const double rate = call.number("lambd", 1);
  if (!(rate > 0)) call.refuse("lambd", concat("is ", rate, "; it must be positive"));
  return exponential(x.shape(), rate, x.dtype());
}
Tensor geometric_numbers(const Call& call) {
  refuse_generator(call);
  const Tensor x = call.tensor("self");
  const double p = call.number("p");
  if (!(p > 0 && p < 1)) call.refuse("p", concat("is ", p, "; it must be between 0 and 1"));
  return geometric(x.shape(), p, x.dtype());
}
Tensor cauchy_numbers(const Call& call) {
  refuse_generator(call);
  const Tensor x = call.tensor("self");
  return cauchy(x.shape(), call.number("median", 0), call.number("sigma", 1), x.dtype());
}
Tensor log_normal_numbers(const Call& call) {
  refuse_generator(call);
  const Tensor x = call.tensor("self");
  return log_normal(x.shape(), call.number("mean", 1), call.number("std", 2), x.dtype());
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
Tensor drawn_by_weight(const Call& call) {
  refuse_generator(call);
  return multinomial(call.tensor("self"), call.integer("num_samples"),
                     call.flag("replacement", false));
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
