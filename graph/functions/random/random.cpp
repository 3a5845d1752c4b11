#include "graph/functions/random/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/places.h"
#include "graph/functions/random/generator_state.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::Op;
using std::source_location;

namespace {

// The numbers that a call draws, and how.
struct Draw {
  std::string_view name;
  Shape shape;
  source_location where;
};

Formula shifted_right(const Formula& x, std::int64_t by) {
  return x.make(Op::shift_right, x.number(by));
}
Formula masked(const Formula& x, std::int64_t bits) {
  return x.make(Op::bitwise_and, x.number(bits));
}

// i64: the first two words of each element. Places are made axis by axis, so that no list of them
// is as long as the tensor.
Formula bits_of(const Draw& draw, const Tensor& seed, const Tensor& offset) {
  const source_location w = draw.where;
  Formula place = graph::spread(offset, draw.shape, w);
  std::int64_t stride = 1;
  for (int axis = draw.shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = draw.shape[axis];
    if (size > 1) {
      Shape along(draw.shape.size(), 1);
      along[axis] = size;
      Tensor steps = arange(0, size * stride, stride, DType::i64, w);
      place = place + graph::spread(graph::reshape_operand(steps, along, w), draw.shape, w);
    }
    stride *= std::max<std::int64_t>(size, 1);
  }
  return graph::spread(seed, draw.shape, w).make(Op::random_bits, place);
}

// Triton's uint_to_uniform_float of a word as i32: in [0, 1).
Formula unit_of_word(const Formula& word) {
  constexpr double scale = 4.6566127342e-10;
  return word.make(Op::bitwise_xor, shifted_right(word, 31)).to(DType::f32) * scale;
}
// As many of the leading bits as the dtype has digits, so that none rounds to 1.
Formula unit_of(const Formula& bits, DType dtype) {
  if (dtype == DType::f32) return unit_of_word(bits.to(DType::i32));
  const int count = digits(dtype);
  const std::int64_t mask = (std::int64_t{1} << count) - 1;
  if (dtype == DType::f64)
    return masked(shifted_right(bits, 64 - count), mask).to(dtype) * std::ldexp(1.0, -count);
  Formula leading = masked(shifted_right(bits.to(DType::i32), 32 - count), mask);
  return (leading.to(DType::f32) * std::ldexp(1.0, -count)).to(dtype);
}

// Box and Muller's, of two words: as in Triton, and in f64 with words of which none is 0.
Formula normal_of(const Formula& bits, DType dtype) {
  constexpr double turn = 2 * std::numbers::pi;
  if (dtype == DType::f64) {
    auto unit = [&](const Formula& word) {
      return (masked(word, UINT32_MAX).to(dtype) + 0.5) * 0x1p-32;
    };
    return sqrt(log(unit(bits)) * -2.0) * cos(unit(shifted_right(bits, 32)) * turn);
  }
  Formula first = unit_of_word(bits.to(DType::i32));
  Formula second = unit_of_word(shifted_right(bits, 32).to(DType::i32));
  Formula radius = sqrt(log(graph::greater(first, first.number(1e-7))) * -2.0);
  return (radius * cos(second * turn)).to(dtype);
}

Formula integer_of(const Formula& bits, std::int64_t low, std::uint64_t count, DType dtype) {
  constexpr std::int64_t most = std::int64_t{1} << 32;
  const bool fits = count <= static_cast<std::uint64_t>(most);
  Formula word = masked(bits, fits ? UINT32_MAX : INT64_MAX);
  Formula below = word.make(Op::fmod, word.number(static_cast<std::int64_t>(count)));
  return (below + below.number(low)).to(dtype);
}

// The result of `make` on the words, as one operation where nothing is captured; the generator
// moves on. `make` depends on the shape, the settings and the types of the operands alone. The
// operands stand before the words.
using Make = std::function<std::vector<Tensor>(std::span<const Tensor>, const Formula& bits)>;
std::vector<Tensor> drawn(const Draw& draw, const Generator& generator,
                          std::vector<Tensor> operands, std::vector<Number> settings,
                          const Make& make) {
  const source_location w = draw.where;
  auto& [seed, offset, mutex] = generator.state();
  const auto lock = generator.state().lock();
  const std::size_t own = operands.size();
  operands.push_back(seed);
  operands.push_back(offset);
  settings.insert(settings.end(), draw.shape.begin(), draw.shape.end());
  auto function = [&](std::span<const Tensor> x) {
    return make(x.first(own), bits_of(draw, x[own], x[own + 1]));
  };
  auto results = graph::apply_function(draw.name, operands, settings, function, w);
  Tensor next = offset + TensorOperand(element_count(draw.shape), w);
  Tensor(offset).copy_from(next, w);
  return results;
}

// Of a dtype, without operands except one whose place the result shares.
Tensor drawn_as(const Draw& draw, DType dtype, const Generator& generator, const Tensor& beside,
                std::vector<Number> settings, const std::function<Formula(const Formula&)>& make) {
  std::vector<Tensor> operands;
  if (beside.defined()) operands.push_back(beside);
  settings.push_back(static_cast<int>(dtype));
  return drawn(draw, generator, std::move(operands), std::move(settings),
               [&](std::span<const Tensor>, const Formula& bits) {
                 return std::vector{make(bits).tensor()};
               })[0];
}

void require_sizes(const Draw& draw) {
  for (std::int64_t size : draw.shape)
    require(size >= 0, "[", draw.name, "] the shape is ", draw.shape, " (at ", At{draw.where},
            "); sizes must not be negative");
}
void require_float(const Draw& draw, DType dtype) {
  require(is_floating(dtype) && !is_float8(dtype), "[", draw.name, "] the dtype is ", dtype,
          " (at ", At{draw.where}, "); it must be a float of 16 bits or more");
}
void require_probability(const Draw& draw, double p) {
  require(p >= 0 && p <= 1, "[", draw.name, "] the probability is ", p, " (at ", At{draw.where},
          "); it must be in [0, 1]");
}

Tensor uniform_of(const Draw& draw, DType dtype, const Generator& generator,
                  const Tensor& beside = {}) {
  require_sizes(draw);
  require_float(draw, dtype);
  return drawn_as(draw, dtype, generator, beside, {},
                  [&](const Formula& bits) { return unit_of(bits, dtype); });
}
Tensor normal_of(const Draw& draw, DType dtype, const Generator& generator,
                 const Tensor& beside = {}) {
  require_sizes(draw);
  require_float(draw, dtype);
  return drawn_as(draw, dtype, generator, beside, {},
                  [&](const Formula& bits) { return normal_of(bits, dtype); });
}
Tensor integers_of(const Draw& draw, std::int64_t low, std::int64_t high, DType dtype,
                   const Generator& generator, const Tensor& beside = {}) {
  require_sizes(draw);
  require(high > low, "[", draw.name, "] integers from ", low, " below ", high, " (at ",
          At{draw.where}, "); the upper bound must be above the lower one");
  graph::require_fits(low, dtype, draw.name, draw.where);
  graph::require_fits(high - 1, dtype, draw.name, draw.where);
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  require(count <= INT64_MAX, "[", draw.name, "] integers from ", low, " below ", high, " (at ",
          At{draw.where}, "); there must be at most 2^63 - 1 of them");
  return drawn_as(draw, dtype, generator, beside, {low, high},
                  [&](const Formula& bits) { return integer_of(bits, low, count, dtype); });
}

Draw like(std::string_view name, const TensorOperand& x) {
  return {name, graph::tensor_of(x, name).shape(), x.where};
}

}  // namespace

Tensor rand(const Sizes& shape, DType dtype, const Generator& generator, source_location w) {
  return uniform_of({"rand", shape, w}, dtype, generator);
}
Tensor randn(const Sizes& shape, DType dtype, const Generator& generator, source_location w) {
  return normal_of({"randn", shape, w}, dtype, generator);
}
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, DType dtype,
               const Generator& generator, source_location w) {
  return integers_of({"randint", shape, w}, low, high, dtype, generator);
}

Tensor rand_like(const TensorOperand& x, std::optional<DType> dtype, const Generator& generator) {
  const Draw draw = like("rand_like", x);
  return uniform_of(draw, dtype.value_or(x.tensor.dtype()), generator, x.tensor);
}
Tensor randn_like(const TensorOperand& x, std::optional<DType> dtype, const Generator& generator) {
  const Draw draw = like("randn_like", x);
  return normal_of(draw, dtype.value_or(x.tensor.dtype()), generator, x.tensor);
}
Tensor randint_like(const TensorOperand& x, std::int64_t low, std::int64_t high,
                    std::optional<DType> dtype, const Generator& generator) {
  const Draw draw = like("randint_like", x);
  return integers_of(draw, low, high, dtype.value_or(x.tensor.dtype()), generator, x.tensor);
}

Tensor uniform(const Shape& shape, double low, double high, DType dtype, const Generator& generator,
               source_location w) {
  const Draw draw{"uniform", shape, w};
  require_sizes(draw);
  require_float(draw, dtype);
  require(high >= low, "[uniform] from ", low, " below ", high, " (at ", At{w},
          "); the upper bound must not be below the lower one");
  return drawn_as(draw, dtype, generator, {}, {low, high},
                  [&](const Formula& bits) { return unit_of(bits, dtype) * (high - low) + low; });
}

Tensor normal(double mean, double deviation, const Shape& shape, DType dtype,
              const Generator& generator, source_location w) {
  const Draw draw{"normal", shape, w};
  require_sizes(draw);
  require_float(draw, dtype);
  require(deviation >= 0, "[normal] the deviation is ", deviation, " (at ", At{w},
          "); it must not be negative");
  return drawn_as(draw, dtype, generator, {}, {mean, deviation},
                  [&](const Formula& bits) { return normal_of(bits, dtype) * deviation + mean; });
}
Tensor normal(const TensorOperand& mean, const TensorOperand& deviation,
              const Generator& generator) {
  const source_location w = mean.where;
  const graph::Terms terms = graph::floating("normal", {&mean, &deviation});
  const Formula &middle = terms[0], &spread = terms[1];
  Tensor unit = normal_of({"normal_of_tensors", middle.tensor().shape(), w}, middle.dtype(),
                          generator, middle.tensor());
  return terms.result(middle + Formula(unit, w) * spread);
}

Tensor bernoulli(const TensorOperand& p, const Generator& generator) {
  const Draw draw = like("bernoulli", p);
  const DType dtype = p.tensor.dtype();
  require_float(draw, dtype);
  return drawn(draw, generator, {p.tensor}, {},
               [&](std::span<const Tensor> x, const Formula& bits) {
                 const DType wide = accumulator(dtype);
                 Formula chance(x[0].to(wide, draw.where), draw.where);
                 return std::vector{(unit_of(bits, wide) < chance).to(dtype).tensor()};
               })[0];
}

namespace {

// The tensor with elements dropped, and what was kept where that is wanted.
std::vector<Tensor> dropped(std::string_view name, const TensorOperand& x, double p, bool train,
                            const Generator& generator, bool wants_kept) {
  const Draw draw = like(name, x);
  const DType dtype = x.tensor.dtype();
  require_float(draw, dtype);
  require_probability(draw, p);
  if (!train) return {x.tensor, graph::constant(DType::boolean, draw.shape, 1, draw.where)};
  return drawn(draw, generator, {x.tensor}, {p},
               [&](std::span<const Tensor> given, const Formula& bits) -> std::vector<Tensor> {
                 Formula kept = unit_of_word(bits.to(DType::i32)) >= p;
                 Formula value = Formula(given[0], draw.where).to(accumulator(dtype));
                 Formula scale = kept.to(value.dtype()) * (p < 1 ? 1 / (1 - p) : 0);
                 Tensor result = (value * scale).to(dtype).tensor();
                 if (!wants_kept) return {result};
                 return {result, kept.tensor()};
               });
}

}  // namespace

std::pair<Tensor, Tensor> native_dropout(const TensorOperand& x, double p, bool train,
                                         const Generator& generator) {
  auto results = dropped("native_dropout", x, p, train, generator, true);
  return {results[0], results[1]};
}
Tensor dropout(const TensorOperand& x, double p, bool train, const Generator& generator) {
  return dropped("dropout", x, p, train, generator, false)[0];
}

Tensor randperm(std::int64_t n, DType dtype, const Generator& generator, source_location w) {
  require(n >= 0, "[randperm] ", n, " integers (at ", At{w}, "); the number must not be negative");
  graph::require_fits(std::max<std::int64_t>(n - 1, 0), dtype, "randperm", w);
  return drawn({"randperm", {n}, w}, generator, {}, {static_cast<int>(dtype)},
               [&](std::span<const Tensor>, const Formula& bits) {
                 return std::vector{argsort({bits.tensor(), w}).to(dtype, w)};
               })[0];
}

namespace {

// The number that rounding to nearest gives, and its neighbour on the side of x, in f32 or f64.
struct Neighbours {
  Formula nearest, other;
};
// The neighbour is the nearest number to one that lies 5/8 to 5/4 of a step beyond the first: at a
// power of two steps downwards are half as long, and it is 5/4 of such a step.
Neighbours neighbours_of(const Formula& x, DType dtype) {
  const int significand = digits(dtype);
  const double least_step = std::ldexp(1, 2 - exponent_bias(dtype) - significand);
  const Formula nearest = x.to(dtype).to(x.dtype());
  const Formula beyond = graph::greater(abs(nearest) * std::ldexp(1.25, -significand),
                                        nearest.number(0.625 * least_step));
  const Formula towards_x = choice(x < nearest, nearest - beyond, nearest + beyond);
  return {nearest, towards_x.to(dtype).to(x.dtype())};
}

}  // namespace

// The distance of neighbours is a power of two, so that the quotient is exact; it is 0 beside an
// infinite neighbour, and NaN, which is below nothing, where x is infinite or NaN.
Tensor round_stochastically(const TensorOperand& x, DType dtype, const Generator& generator) {
  const Draw draw = like("round_stochastically", x);
  const DType given = x.tensor.dtype();
  require((given == DType::f32 || given == DType::f64) && is_float16(dtype),
          "[round_stochastically] from ", given, " to ", dtype, " (at ", At{x.where},
          "); f32 or f64 is rounded to a float of 16 bits");
  return drawn(draw, generator, {x.tensor}, {static_cast<int>(dtype)},
               [&](std::span<const Tensor> t, const Formula& bits) {
                 auto rounded = [&](std::span<const Tensor> both) {
                   const Formula wide(both[0], draw.where), word(both[1], draw.where);
                   const auto [nearest, other] = neighbours_of(wide, dtype);
                   const Formula share = abs(wide - nearest) / abs(other - nearest);
                   const Formula unit = word.to(given) * 0x1p-24;
                   return choice(unit < share, other, nearest).to(dtype).tensor();
                 };
                 const Formula word = masked(shifted_right(bits.to(DType::i32), 8), 0xffffff);
                 return std::vector{graph::with_rule("straight through", {t[0], word.tensor()}, {},
                                                     rounded, draw.where)};
               })[0];
}

}  // namespace tilewright
