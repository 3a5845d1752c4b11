// Our results for the cases of tools/pytorch_cases.py, in pytorch_cases.json beside this file,
// equal PyTorch's: dtype, shape and elements, or an Error where PyTorch raises.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "graph/compile/compile.h"
#include "graph/functions/ordering/sort.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/graph/pytorch_arguments.h"
#include "tests/source_folder.h"

namespace tilewright::pytorch_cases_test {
namespace {

using namespace pytorch_cases;

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
#define TILEWRIGHT_ROW_OR_PAIR(name) \
  {#name, [](const Arguments& a) { \
     return a.axis() ? both(name(a[0], *a.axis(), a.keep())) : Tensors{name(a[0])}; }}
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
// PyTorch cuts what is no integer, which is an Error here (tensor_test.cpp).
Tensor full_of(const Arguments& a) {
  const Number& value = a[0].number;
  const bool is_cut = !value.is_integral() && is_integer(*a.dtype());
  return full({2}, is_cut ? Number(std::trunc(value.as_double())) : value, *a.dtype());
}
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

std::map<std::string, Function> own_functions() {
  return {TILEWRIGHT_OPERATOR(add, +),
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
          TILEWRIGHT_PAIR(var_mean, var_mean(a[0], a.axes(),
                                             a.option<std::int64_t>("correction", 1), a.keep())),
          TILEWRIGHT_PAIR(sort, sort(a[0], a.axis().value_or(-1), a.option("descending", false))),
          TILEWRIGHT_OF_ONE(msort),
          TILEWRIGHT_PAIR(topk, topk(a[0], a.option<std::int64_t>("k", 1), a.axis().value_or(-1),
                                     a.option("largest", true))),
          TILEWRIGHT_PAIR(kthvalue, kthvalue(a[0], a.option<std::int64_t>("k", 1),
                                             a.axis().value_or(-1), a.keep())),
          TILEWRIGHT_ROW_OR_PAIR(median),
          TILEWRIGHT_ROW_OR_PAIR(nanmedian),
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
}
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = [] {
    auto all = own_functions();
    all.insert(layer_functions().begin(), layer_functions().end());
    return all;
  }();
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

// The same elements, every second one of a memory that begins before them.
Tensors strided(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& x : tensors) {
    if (!x.defined()) {
      result.push_back(x);
      continue;
    }
    const Tensor column = x.unsqueeze(x.rank());
    const Tensor both = cat({column, column}, x.rank()).contiguous();
    result.push_back(both.slice(x.rank(), 1, 2).squeeze(x.rank()));
  }
  return result;
}

// Each function in one compiled function for many cases, but for those that write or raise.
void expect_compiled(const std::vector<const Case*>& cases, bool is_strided = false) {
  Tensors arguments;
  std::vector<std::size_t> counts;
  for (const Case* c : cases) {
    Tensors own = is_strided ? strided(c->tensors()) : c->tensors();
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
    expect_results(*c, {at, end}, is_strided ? "compiled, strided" : "compiled");
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
  std::ifstream file(source_folder() / "tests/graph/pytorch_cases.json");
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

// Runs cases of every function, in compiled functions, and some at once: every tenth case, or all
// where TILEWRIGHT_TEST_CELLS asks for more than a share.
TEST_P(PyTorchCases, AgreeOnStridedOperands) {
  constexpr std::size_t at_once = 50, share = 8;
  const std::vector<Case> cases = all_cases();
  std::vector<const Case*> together;
  const std::size_t step = env::test_cells() ? 1 : 10;
  std::size_t number = 0;
  for (const Case& c : cases) {
    if (c.text["f"] != GetParam() || c.raises() || c.writes() || number++ % step != 0) continue;
    if (together.size() % share == 0)
      expect_results(c, computed(c, strided(c.tensors())), "at once, strided");
    together.push_back(&c);
    if (together.size() < at_once) continue;
    expect_compiled(together, true);
    together.clear();
  }
  if (!together.empty()) expect_compiled(together, true);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, function] : functions()) result.push_back(name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Of, PyTorchCases, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tilewright::pytorch_cases_test
