// What PyTorch makes of the cases of tools/pytorch_cases.py, in pytorch_cases.json beside this
// file, is what comes of them here: dtype, shape and elements, or an Error where PyTorch raises.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

double number_of(const json& j) {
  if (!j.is_string()) return j.get<double>();
  double infinity = std::numeric_limits<double>::infinity();
  return j == "nan" ? std::nan("") : j == "inf" ? infinity : -infinity;
}
Shape shape_of(const json& j) {
  Shape shape;
  for (const json& size : j) shape.push_back(size.get<std::int64_t>());
  return shape;
}
std::vector<int> axes_of(const json& options) {
  return options.contains("axes") ? options["axes"].get<std::vector<int>>() : std::vector<int>();
}

Tensor tensor_of(const json& j) {
  DType dtype = *parse_dtype(j["d"].get<std::string>());
  Shape shape = shape_of(j["s"]);
  Tensor tensor = Tensor::empty(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* elements = static_cast<T*>(tensor.data());
    for (std::size_t i = 0; i < j["v"].size(); ++i)
      if constexpr (std::is_same_v<T, bool>)
        elements[i] = j["v"][i] != 0;
      else if constexpr (std::is_integral_v<T>)
        elements[i] = j["v"][i].get<T>();
      else if constexpr (std::is_same_v<T, double>)
        elements[i] = number_of(j["v"][i]);
      else
        elements[i] = T(static_cast<float>(number_of(j["v"][i])));
  });
  if (j.contains("x")) tensor = tensor.expand(shape_of(j["x"]));
  return j.contains("p") ? tensor.permute(j["p"].get<std::vector<int>>()) : tensor;
}

// A case, and its tensors where they are concrete.
struct Case {
  json text;
  Tensors tensors() const {
    Tensors result;
    for (const json& a : text["a"])
      if (a.is_object()) result.push_back(tensor_of(a));
    return result;
  }
  std::size_t results() const { return text["r"].is_array() ? text["r"].size() : 1; }
  bool raises() const { return text["r"] == "error"; }
  bool writes() const { return text["f"] == "copy_from" || text["f"] == "index_copy_"; }
};

// The arguments of a case, those that are tensors from a list.
struct Arguments {
  const json& text;
  const json options;
  std::vector<TensorOperand> operands;

  Arguments(const Case& c, const Tensors& tensors)
      : text(c.text), options(c.text.contains("o") ? c.text["o"] : json::object()) {
    std::size_t next = 0;
    for (const json& a : text["a"]) {
      if (a.is_object())
        operands.emplace_back(tensors[next++]);
      else if (a.is_boolean())
        operands.emplace_back(a.get<bool>());
      else if (a.is_number_integer())
        operands.emplace_back(a.get<std::int64_t>());
      else
        operands.emplace_back(number_of(a));
    }
  }
  const TensorOperand& operator[](std::size_t i) const { return operands[i]; }
  template <typename T>
  T option(const char* name, T otherwise) const {
    return options.contains(name) ? options[name].get<T>() : otherwise;
  }
  std::vector<int> axes() const { return axes_of(options); }
  bool keep() const { return option("keep", false); }
  std::optional<int> axis() const {
    bool named = options.contains("axis") && !options["axis"].is_null();
    return named ? std::optional(options["axis"].get<int>()) : std::nullopt;
  }
  std::optional<DType> dtype() const {
    return options.contains("dtype") ? parse_dtype(options["dtype"].get<std::string>())
                                     : std::nullopt;
  }
};

using Function = Tensors (*)(const Arguments&);

// clang-format off
#define TILEWRIGHT_ROW(name, ...) {#name, [](const Arguments& a) { return Tensors{__VA_ARGS__}; }}
#define TILEWRIGHT_PAIR(name, ...) {#name, [](const Arguments& a) { return both(__VA_ARGS__); }}
#define TILEWRIGHT_OPERATOR(name, symbol) TILEWRIGHT_ROW(name, a[0] symbol a[1])
#define TILEWRIGHT_OF_ONE(name) TILEWRIGHT_ROW(name, name(a[0]))
#define TILEWRIGHT_OF_TWO(name) TILEWRIGHT_ROW(name, name(a[0], a[1]))
#define TILEWRIGHT_REDUCTION(name) TILEWRIGHT_ROW(name, name(a[0], a.axes(), a.keep()))
#define TILEWRIGHT_SPREAD(name) \
  TILEWRIGHT_ROW(name, name(a[0], a.axes(), a.option<std::int64_t>("correction", 1), a.keep()))
#define TILEWRIGHT_PLACE(name) TILEWRIGHT_ROW(name, name(a[0], a.axis(), a.keep()))
#define TILEWRIGHT_ALONG(name) TILEWRIGHT_ROW(name, name(a[0], a.axis().value_or(0)))
// clang-format on

Tensors both(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }
Tensor attention_of(const Arguments& a) {
  AttentionOptions options{.causal = a.option("causal", false)};
  if (a.options.contains("scale")) options.scale = a.options["scale"].get<double>();
  if (a.option<std::string>("alignment", "top_left") == "bottom_right")
    options.alignment = CausalAlignment::bottom_right;
  return scaled_dot_product_attention(a[0], a[1].tensor, a[2].tensor, options);
}
Tensor full_of(const Arguments& a) { return full({2}, a[0].number, *a.dtype()); }
Tensor arange_of(const Arguments& a) {
  return arange(a.option<std::int64_t>("start", 0), a.option<std::int64_t>("end", 0),
                a.option<std::int64_t>("step", 1), a.dtype().value_or(i64));
}
Tensor slice_of(const Arguments& a) {
  return a[0].tensor.slice(a.axis().value_or(0), a.option<std::int64_t>("start", 0),
                           a.option<std::int64_t>("end", 0), a.option<std::int64_t>("step", 1));
}
Tensor copied_into(const Arguments& a) {
  Tensor to = a[0].tensor;
  to.copy_from(a[1].tensor);
  return to;
}
Tensor index_copied_into(const Arguments& a) {
  Tensor to = a[0].tensor;
  return to.index_copy_(0, a[1].tensor, a[2].tensor);
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = {
      TILEWRIGHT_OPERATOR(add, +),
      TILEWRIGHT_OPERATOR(sub, -),
      TILEWRIGHT_OPERATOR(mul, *),
      TILEWRIGHT_OPERATOR(eq, ==),
      TILEWRIGHT_OPERATOR(ne, !=),
      TILEWRIGHT_OPERATOR(lt, <),
      TILEWRIGHT_OPERATOR(le, <=),
      TILEWRIGHT_OPERATOR(gt, >),
      TILEWRIGHT_OPERATOR(ge, >=),
      TILEWRIGHT_OF_TWO(div),
      TILEWRIGHT_OF_TWO(floor_divide),
      TILEWRIGHT_OF_TWO(remainder),
      TILEWRIGHT_OF_TWO(fmod),
      TILEWRIGHT_OF_TWO(maximum),
      TILEWRIGHT_OF_TWO(minimum),
      TILEWRIGHT_OF_TWO(bitwise_and),
      TILEWRIGHT_OF_TWO(bitwise_or),
      TILEWRIGHT_OF_TWO(bitwise_xor),
      TILEWRIGHT_OF_TWO(logical_and),
      TILEWRIGHT_OF_TWO(logical_or),
      TILEWRIGHT_OF_TWO(matmul),
      TILEWRIGHT_OF_ONE(neg),
      TILEWRIGHT_OF_ONE(abs),
      TILEWRIGHT_OF_ONE(floor),
      TILEWRIGHT_OF_ONE(ceil),
      TILEWRIGHT_OF_ONE(round),
      TILEWRIGHT_OF_ONE(square),
      TILEWRIGHT_OF_ONE(relu),
      TILEWRIGHT_OF_ONE(tanhshrink),
      TILEWRIGHT_REDUCTION(sum),
      TILEWRIGHT_REDUCTION(prod),
      TILEWRIGHT_REDUCTION(mean),
      TILEWRIGHT_REDUCTION(amax),
      TILEWRIGHT_REDUCTION(amin),
      TILEWRIGHT_REDUCTION(any),
      TILEWRIGHT_REDUCTION(all),
      TILEWRIGHT_SPREAD(var),
      TILEWRIGHT_SPREAD(stddev),
      TILEWRIGHT_PLACE(argmax),
      TILEWRIGHT_PLACE(argmin),
      TILEWRIGHT_PAIR(max, max(a[0], a.axis().value_or(0), a.keep())),
      TILEWRIGHT_PAIR(min, min(a[0], a.axis().value_or(0), a.keep())),
      TILEWRIGHT_PAIR(aminmax, aminmax(a[0], a.axis(), a.keep())),
      TILEWRIGHT_PAIR(var_mean,
                      var_mean(a[0], a.axes(), a.option<std::int64_t>("correction", 1), a.keep())),
      TILEWRIGHT_ALONG(softmax),
      TILEWRIGHT_ALONG(log_softmax),
      TILEWRIGHT_ROW(div_trunc, div(a[0], a[1], RoundingMode::trunc)),
      TILEWRIGHT_ROW(div_floor, div(a[0], a[1], RoundingMode::floor)),
      TILEWRIGHT_ROW(where, where(a[0], a[1], a[2])),
      TILEWRIGHT_ROW(embedding, embedding(a[0], a[1].tensor)),
      TILEWRIGHT_ROW(attention, attention_of(a)),
      TILEWRIGHT_ROW(full, full_of(a)),
      TILEWRIGHT_ROW(arange, arange_of(a)),
      TILEWRIGHT_ROW(slice, slice_of(a)),
      TILEWRIGHT_ROW(copy_from, copied_into(a)),
      TILEWRIGHT_ROW(index_copy_, index_copied_into(a))};
  return table;
}

Tensors computed(const Case& c, const Tensors& tensors) {
  return functions().at(c.text["f"])(Arguments(c, tensors));
}

std::vector<double> elements_of(const Tensor& tensor) { return tensor.to(f64).to_vector<double>(); }

void expect_equal(const Case& c, const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.shape(), expected.shape());
  if (!is_floating(expected.dtype())) {
    EXPECT_EQ(actual.to(i64).to_vector<std::int64_t>(), expected.to(i64).to_vector<std::int64_t>());
    return;
  }
  std::vector<double> x = elements_of(actual), y = elements_of(expected);
  double tolerance = c.text.value("tol", 0.0), largest = 0;
  for (double number : y)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < y.size(); ++i) {
    bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                std::abs(x[i] - y[i]) <= tolerance * largest;
    EXPECT_TRUE(same) << "element " << i << " is " << x[i] << ", PyTorch's " << y[i];
  }
}

void expect_results(const Case& c, const Tensors& actual, const char* how) {
  SCOPED_TRACE(testing::Message() << how << ": " << c.text.dump());
  const json& said = c.text["r"];
  const json expected = said.is_array() ? said : json::array({said});
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    expect_equal(c, actual[i], tensor_of(expected[i]));
}

// Each function in one compiled function for many cases, but for those that write or raise.
void expect_compiled(const std::vector<const Case*>& cases) {
  Tensors arguments;
  std::vector<std::size_t> counts;
  for (const Case* c : cases) {
    Tensors own = c->tensors();
    counts.push_back(own.size());
    arguments.insert(arguments.end(), own.begin(), own.end());
  }
  CompiledFunction compiled(
      [&](const Tensors& all) {
        Tensors results;
        auto at = all.begin();
        for (std::size_t i = 0; i < cases.size(); ++i) {
          auto end = at + static_cast<std::ptrdiff_t>(counts[i]);
          Tensors own = computed(*cases[i], {at, end});
          results.insert(results.end(), own.begin(), own.end());
          at = end;
        }
        return results;
      },
      {.fullgraph = true});
  Tensors results = compiled.call(arguments);
  auto at = results.begin();
  for (const Case* c : cases) {
    auto end = at + static_cast<std::ptrdiff_t>(c->results());
    expect_results(*c, {at, end}, "compiled");
    at = end;
  }
}

void expect_error(const Case& c) {
  SCOPED_TRACE(c.text.dump());
  EXPECT_THROW(computed(c, c.tensors()), Error);
  CompiledFunction compiled([&](const Tensors& all) { return computed(c, all); }, {});
  EXPECT_THROW(compiled.call(c.tensors()), Error);
}

std::vector<Case> all_cases() {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/graph/pytorch_cases.json");
  std::vector<Case> cases;
  const json whole = json::parse(file);
  for (const json& c : whole["cases"]) cases.push_back({c});
  return cases;
}

TEST(PyTorchCases, AreManyOfEachFunction) {
  std::map<std::string, int> count;
  for (const Case& c : all_cases()) ++count[c.text["f"]];
  EXPECT_GE(all_cases().size(), 500u);
  for (const auto& [name, function] : functions()) EXPECT_GE(count[name], 4) << name;
}

class PyTorchCases : public testing::TestWithParam<std::string> {};

TEST_P(PyTorchCases, AgreeAtOnceAndCompiled) {
  constexpr std::size_t at_once = 50;
  std::vector<Case> cases = all_cases();
  std::vector<const Case*> together;
  for (const Case& c : cases) {
    if (c.text["f"] != GetParam()) continue;
    if (c.raises()) {
      expect_error(c);
      continue;
    }
    expect_results(c, computed(c, c.tensors()), "at once");
    if (c.writes()) {
      expect_compiled({&c});
      continue;
    }
    together.push_back(&c);
    if (together.size() < at_once) continue;
    expect_compiled(together);
    together.clear();
  }
  if (!together.empty()) expect_compiled(together);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, function] : functions()) result.push_back(name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Of, PyTorchCases, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tilewright
