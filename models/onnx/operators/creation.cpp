// Tensors made of numbers, of the sizes of others, and of random numbers. Of these what has a seed
// gives the same in each call; what has none draws from the default generator, whose numbers are
// not those of others (graph/functions/random/random.h).
#include <bit>
#include <cmath>

#include "graph/functions/creation.h"
#include "graph/functions/random/random.h"
#include "graph/functions/signal/signal_windows.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace creation_rows {
namespace {

Value list(DType dtype, const std::vector<Number>& elements) {
  if (std::ssize(elements) <= most_known) return Known{dtype, {std::ssize(elements)}, elements};
  if (is_floating(dtype)) {
    std::vector<float> floats;
    for (const Number& each : elements) floats.push_back(static_cast<float>(each.as_double()));
    return constant_of(floats, {std::ssize(floats)});
  }
  std::vector<std::int64_t> integers;
  for (const Number& each : elements) integers.push_back(each.as_integer());
  return constant_of(integers, {std::ssize(integers)});
}

Value constant(const Call& call) {
  if (call.has("value")) return call.constant("value");
  if (call.has("value_int")) return Known{i64, {}, {Number(call.integer("value_int"))}};
  if (call.has("value_float")) return Known{f32, {}, {Number(call.number("value_float"))}};
  std::vector<Number> elements;
  if (call.has("value_ints")) {
    for (std::int64_t each : call.integers("value_ints")) elements.emplace_back(each);
    return list(i64, elements);
  }
  for (const char* name : {"value_string", "value_strings"})
    if (call.has(name)) call.refuse(name, "is text; tensors of texts are not supported");
  for (double each : call.numbers("value_floats")) elements.emplace_back(each);
  return list(f32, elements);
}
Tensor filled(const Call& call) {
  Shape shape = call.integers(0);
  for (std::int64_t size : shape)
    require(size >= 0, "[onnx] a tensor of the sizes [", shape, "]; none must be below 0");
  if (!call.has("value")) return zeros(shape);
  Tensor value = call.constant("value").tensor();
  require(value.count() == 1, "[onnx] the value is [", value.shape(), "]; one element is wanted");
  return value.reshape({}).expand(shape);
}
Tensor identity(const Call& call) {
  Tensor x = call.tensor(0);
  require(x.rank() == 2, "[onnx] [", x.shape(), "] is no matrix; two axes are wanted");
  std::int64_t height = x.size(0), width = x.size(1);
  Tensor distance = arange(0, width).reshape({1, width}) - arange(0, height).reshape({height, 1});
  return (distance == call.integer("k", 0)).to(call.dtype("dtype", x.dtype()));
}
// ONNX Runtime's may lack the step.
template <bool has_step>
Tensor range(const Call& call) {
  DType dtype = call.dtype(0);
  Number start = call.scalar(0), limit = call.scalar(1),
         step = has_step || call.has(2) ? call.scalar(2) : Number(1);
  if (is_integer(dtype))
    return arange(start.as_integer(), limit.as_integer(), step.as_integer(), dtype);
  double count = std::ceil((limit.as_double() - start.as_double()) / step.as_double());
  require(count < 0x1p31, "[onnx] a range of ", count, " elements; fewer than 2^31 are supported");
  auto size = static_cast<std::int64_t>(std::max(count, 0.0));
  return spaced(start.as_double(), step.as_double(), size, dtype);
}

// A window as options of all windows say, of one element too.
std::pair<std::int64_t, WindowOptions> window_of(const Call& call) {
  return {call.scalar(0).as_integer(),
          {.periodic = call.flag("periodic", true),
           .dtype = call.dtype("output_datatype", f32),
           .single_is_one = false}};
}
using Window = Tensor (*)(std::int64_t, const WindowOptions&, std::source_location);
template <Window window>
constexpr auto windowed = [](const Call& c) {
  const auto [size, options] = window_of(c);
  return window(size, options, std::source_location::current());
};
Tensor hamming(const Call& call) {
  const auto [size, options] = window_of(call);
  return hamming_window(size, {options, 25.0 / 46, 21.0 / 46});
}

// Of sizes, which the host always knows.
Results facts_of_sizes(const Call& call) {
  auto facts = folded(call);
  require(facts.has_value(), "[onnx] it has ", call.count(), " inputs; one is wanted");
  return *facts;
}

Generator generator_of(std::uint64_t seed) {
  Generator generator;
  generator.manual_seed(seed);
  return generator;
}
// Most seeds are floats, whose bits are as good as any.
Generator generator_of(const Call& call) {
  if (!call.has("seed")) return default_generator();
  return generator_of(std::bit_cast<std::uint32_t>(static_cast<float>(call.number("seed"))));
}

DType dtype_like(const Call& call) { return call.dtype("dtype", call.dtype(0)); }

Tensor normal_numbers(const Call& call, const Shape& shape, DType dtype) {
  return normal(call.number("mean", 0), call.number("scale", 1), shape, dtype, generator_of(call));
}
Tensor uniform_numbers(const Call& call, const Shape& shape, DType dtype) {
  double low = call.number("low", 0), high = call.number("high", 1);
  return uniform(shape, low, high, dtype, generator_of(call));
}
Tensor trials(const Call& call) {
  const DType dtype = dtype_like(call);
  return bernoulli(call.tensor(0), generator_of(call)).to(dtype);
}

// Since operator set 12 the ratio and whether the model is trained are inputs; before, it is not.
Results dropped(const Call& call) {
  double ratio = call.number("ratio", 0.5);
  if (call.has(1)) ratio = call.scalar(1).as_double();
  const bool trains = call.has(2) && call.scalar(2).as_double() != 0;
  std::optional<std::int64_t> seed;
  if (call.has("seed")) seed = call.integer("seed");
  const bool drops = trains && ratio != 0;
  const Generator generator =
      drops && seed ? generator_of(static_cast<std::uint64_t>(*seed)) : default_generator();
  auto [x, kept] = native_dropout(call.tensor(0), ratio, drops, generator);
  return {x, kept};
}

constexpr Operator rows[] = {
    {"Bernoulli", 15, by<trials>},
    {"Dropout", 7, by<dropped>},
    {"RandomNormal", 1,
     [](const Call& c) { return normal_numbers(c, c.integers("shape"), c.dtype("dtype", f32)); }},
    {"RandomNormalLike", 1,
     [](const Call& c) { return normal_numbers(c, c.shape(0), dtype_like(c)); }},
    {"RandomUniform", 1,
     [](const Call& c) { return uniform_numbers(c, c.integers("shape"), c.dtype("dtype", f32)); }},
    {"RandomUniformLike", 1,
     [](const Call& c) { return uniform_numbers(c, c.shape(0), dtype_like(c)); }},
    {"BlackmanWindow", 17, windowed<blackman_window>},
    {"Constant", 1, by<constant>},
    {"ConstantOfShape", 9, by<filled>},
    {"EyeLike", 9, by<identity>},
    {"HammingWindow", 17, by<hamming>},
    {"HannWindow", 17, windowed<hann_window>},
    {"Range", 11, by<range<true>>},
    {"com.microsoft.Range", 1, by<range<false>>},
    {"Shape", 1, by<facts_of_sizes>},
    {"Size", 1, by<facts_of_sizes>},
};

}  // namespace
}  // namespace creation_rows

std::span<const Operator> creation_operators() { return creation_rows::rows; }

}  // namespace tilewright::onnx
