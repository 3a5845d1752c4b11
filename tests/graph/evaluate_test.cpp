#include "graph/ir/evaluate.h"

#include <cmath>
#include <limits>

#include "graph/ir/text.h"
#include "tests/errors.h"

namespace tilewright::graph::evaluate_test {
namespace {

using Numbers = std::vector<double>;
using Integers = std::vector<std::int64_t>;

HostTensor tensor(DType dtype, const Shape& shape, const Numbers& numbers) {
  HostTensor result(dtype, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    result.set_number(static_cast<std::int64_t>(i), numbers[i]);
  return result;
}
// The one output of a graph whose body, after its inputs, ends in the node that is returned.
HostTensor result_of(const std::string& body, const std::vector<HostTensor>& inputs,
                     Rounding rounding = Rounding::double_) {
  std::string text = "graph {\n", names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += concat("%", i, ": ", inputs[i].dtype, "[", inputs[i].shape, "] = input\n");
    names += concat(" %", i);
  }
  std::string last = body.substr(body.rfind('%', body.rfind(": ")));
  text += body + "\ninputs" + names + "\nreturn " + last.substr(0, last.find(':')) + "\n}\n";
  return evaluate(parse(text), inputs, rounding).outputs[0];
}

TEST(Evaluate, ComputesTheTailOfGeluWithoutCancellation) {
  HostTensor x = tensor(f64, {1}, {-6});
  double wanted = -8.439646700762297e-11;
  EXPECT_NEAR(result_of("%1: f64[1] = gelu %0 {tanh_form=1}", {x}).floating[0], wanted, 1e-23);
}

TEST(Evaluate, RoundsEachNodeOnceToItsDtypeOrNotAtAll) {
  HostTensor x = tensor(f32, {1}, {1.0}), tiny = tensor(f32, {1}, {0x1p-30});
  EXPECT_EQ(result_of("%2: f32[1] = add %0, %1", {x, tiny}).floating, (Numbers{1 + 0x1p-30}));
  EXPECT_EQ(result_of("%2: f32[1] = add %0, %1", {x, tiny}, Rounding::exact_dtype).floating,
            (Numbers{1}));
  HostTensor h = tensor(f16, {1}, {2048}), one = tensor(f16, {1}, {1});
  EXPECT_EQ(result_of("%2: f16[1] = add %0, %1", {h, one}, Rounding::exact_dtype).floating,
            (Numbers{2048}));
}

TEST(Evaluate, ArrangesElementsByViews) {
  HostTensor x = tensor(f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(result_of("%1: f32[3x2] = permute %0 {axes=1x0}", {x}).floating,
            (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of("%1: f32[2x2] = slice %0 {axes=1, end=3, step=2}", {x}).floating,
            (Numbers{0, 2, 3, 5}));
  EXPECT_EQ(result_of("%1: f32[3x2] = reshape %0 {sizes=3x2}", {x}).floating, x.floating);
  EXPECT_EQ(result_of("%1: f32[2x1] = amax %0 {axes=1}\n%2: f32[2x2] = expand %1 {sizes=2x2}", {x})
                .floating,
            (Numbers{2, 2, 5, 5}));
}

// As range in Python.
TEST(Evaluate, CountsOverAllIntegers) {
  constexpr std::int64_t quarter = std::int64_t{1} << 62;
  const HostTensor none = tensor(f32, {1}, {0});
  EXPECT_EQ(result_of("%1: i64[4] = arange {start=-9223372036854775808, end=9223372036854775807, "
                      "step=4611686018427387904}",
                      {none})
                .integer,
            (std::vector<std::int64_t>{INT64_MIN, -quarter, 0, quarter}));
}

TEST(Evaluate, ReducesOverAnyAxes) {
  HostTensor x = tensor(f32, {2, 3}, {5, 1, 5, 3, -4, 0});
  EXPECT_EQ(result_of("%1: f32[1x3] = sum %0 {axes=0}", {x}).floating, (Numbers{8, -3, 5}));
  EXPECT_EQ(result_of("%1: f32[1x1] = amin %0 {axes=0x1}", {x}).floating, (Numbers{-4}));
  EXPECT_EQ(result_of("%1: i64[2x1] = argmax %0 {axes=1}", {x}).integer,
            (std::vector<std::int64_t>{0, 0}));
  HostTensor i = tensor(i32, {2}, {2147483647, 1});
  EXPECT_EQ(result_of("%1: i32[1] = sum %0 {axes=0}", {i}).integer,
            (std::vector<std::int64_t>{-2147483648LL}));
}

TEST(Evaluate, LetsNaNThroughMaximaAndChoosesItAsTheLargest) {
  HostTensor x = tensor(f32, {3}, {1, NAN, 5});
  EXPECT_TRUE(std::isnan(result_of("%1: f32[1] = amax %0 {axes=0}", {x}).floating[0]));
  EXPECT_EQ(result_of("%1: i64[1] = argmax %0 {axes=0}", {x}).integer[0], 1);
}

TEST(Evaluate, MultipliesBatchesOfMatrices) {
  HostTensor a = tensor(f32, {2, 1, 2}, {1, 2, 3, 4}), b = tensor(f32, {2, 2, 1}, {5, 6, 7, 8});
  EXPECT_EQ(result_of("%2: f32[2x1x1] = matmul %0, %1", {a, b}).floating, (Numbers{17, 53}));
}

TEST(Evaluate, AddsUpProductsOfBytesInWords) {
  HostTensor a = tensor(DType::i8, {1, 2}, {100, -128}), b = tensor(DType::i8, {2, 1}, {100, -128});
  EXPECT_EQ(result_of("%2: i32[1x1] = matmul %0, %1", {a, b}).integer[0], 10000 + 16384);
  EXPECT_EQ(result_of("%2: i8[1x1] = matmul %0, %1", {a, b}).integer[0], 16);
}

// The largest of a row is 127 steps, here 1 and 2; of the weights 15, of 2 and of 0.5.
TEST(Evaluate, RoundsWhatAQuantisedLinearOfManyRowsMultiplies) {
  HostTensor x(f32, {5, 64}), bytes(DType::u8, {1, 32}), scales = tensor(f32, {1, 2}, {30, 7.5});
  for (std::int64_t row = 0; row < 5; ++row) {
    x.set_number(row * 64, row == 4 ? 254 : 127);
    x.set_number(row * 64 + 1, 10.75);
    x.set_number(row * 64 + 32, 3);
  }
  // Weights 3, -1 in the first group, -5 in the second, else -8, which zeros multiply.
  bytes.integer = std::vector<std::int64_t>(32, 0);
  bytes.integer[0] = 11;
  bytes.integer[1] = 7;
  bytes.integer[16] = 3;
  auto result = result_of("%3: f32[5x1] = quantized_linear %0, %1, %2 {int8_activations=1}",
                          {x, bytes, scales});
  // -5 * 7.5 is -18.75 steps of 2.
  EXPECT_EQ(result.floating[0], 127 * 90 - 11 * 30 - 3 * 38);
  EXPECT_EQ(result.floating[4], 254 * 90 - 10 * 30 - 4 * 38);
}

TEST(Evaluate, GathersScattersAndJoins) {
  HostTensor table = tensor(f32, {3, 2}, {0, 1, 2, 3, 4, 5}), ids = tensor(i64, {2}, {2, 0});
  EXPECT_EQ(result_of("%2: f32[2x2] = embedding %0, %1", {table, ids}).floating,
            (Numbers{4, 5, 0, 1}));
  HostTensor rows = tensor(f32, {2, 2}, {7, 7, 8, 8});
  EXPECT_EQ(result_of("%3: f32[3x2] = index_copy %0, %1, %2 {axes=0}", {table, ids, rows}).floating,
            (Numbers{8, 8, 2, 3, 7, 7}));
  EXPECT_EQ(result_of("%2: f32[5x2] = cat %0, %1 {axes=0}", {table, rows}).floating,
            (Numbers{0, 1, 2, 3, 4, 5, 7, 7, 8, 8}));
  ids.integer[0] = 3;
  expect_contains(error_of([&] {
                    result_of("%2: f32[2x2] = embedding %0, %1", {table, ids});
                  }),
                  "[embedding] id 3 is outside a table of 3 rows");
}

TEST(Evaluate, JoinsWhatGoesToARowOneAfterTheOther) {
  HostTensor table = tensor(f32, {3, 2}, {0, 1, 2, 3, 4, 5});
  HostTensor ids = tensor(i64, {3, 1}, {2, 2, 3}), rows = tensor(f32, {3, 1}, {7, -8, 9});
  auto joined = [&](const std::string& reduction) {
    return result_of("%3: f32[3x2] = scatter_reduce %0, %1, %2 {axes=0" + reduction + "}",
                     {table, ids, rows})
        .floating;
  };
  EXPECT_EQ(joined(""), (Numbers{0, 1, 2, 3, 3, 5}));
  EXPECT_EQ(joined(", reduction=prod"), (Numbers{0, 1, 2, 3, -224, 5}));
  EXPECT_EQ(joined(", reduction=max"), (Numbers{0, 1, 2, 3, 7, 5}));
  EXPECT_EQ(joined(", reduction=min"), (Numbers{0, 1, 2, 3, -8, 5}));
}

TEST(Evaluate, ComputesCompositesByTheirDefinitions) {
  HostTensor x = tensor(f32, {1, 2}, {1, 3});
  auto near = [&](const std::string& body, const Numbers& wanted) {
    Numbers got = result_of(body, {x}).floating;
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << body;
  };
  double e2 = std::exp(2.0);
  near("%1: f32[1x2] = softmax %0 {axes=1}", {1 / (1 + e2), e2 / (1 + e2)});
  near("%1: f32[1x2] = log_softmax %0 {axes=1}", {-std::log(1 + e2), 2 - std::log(1 + e2)});
  near("%1: f32[1x1] = mean %0 {axes=1}", {2});
  near("%1: f32[1x1] = var %0 {axes=1}", {1});
  near("%1: f32[1x2] = layer_norm %0 {number=3}", {-0.5, 0.5});
  near("%1: f32[1x2] = rms_norm %0 {number=4}", {1.0 / 3, 1});
  near("%1: f32[1x2] = gelu %0", {0.8413447460685429, 2.99595030590511});
  near("%1: f32[1x2] = gelu %0 {tanh_form=1}", {0.8411919906082768, 2.9963626079182268});
  near("%1: f32[1x2] = silu %0", {1 / (1 + std::exp(-1.0)), 3 / (1 + std::exp(-3.0))});
  near("%1: f32[1x2] = tanhshrink %0", {0.2384058440442351, 2.0049452463132443});
  near("%1: f32[1x2] = expm1 %0", {1.718281828459045, 19.085536923187668});
  near("%1: f32[1x2] = log1p %0", {0.6931471805599453, 1.3862943611198906});
  near("%1: f32[1x2] = softplus %0 {number=2, threshold=5}", {1.0634640055214861, 3});
  near("%1: f32[1x2] = reciprocal %0", {1, 1.0 / 3});
}

TEST(Evaluate, MasksAttentionByPosition) {
  HostTensor q = tensor(f32, {1, 1, 1, 1}, {0}), k = tensor(f32, {1, 1, 3, 1}, {1, 2, 3});
  HostTensor position = tensor(i64, {1}, {1});
  EXPECT_EQ(result_of("%4: f32[1x1x1x1] = attention %0, %1, %2, %3 {number=1, causal=1}",
                      {q, k, k, position})
                .floating,
            (Numbers{1.5}));
  EXPECT_EQ(result_of("%3: f32[1x1x1x1] = attention %0, %1, %2 {number=1}", {q, k, k}).floating,
            (Numbers{2}));
}

TEST(Evaluate, MasksScoresOfAttention) {
  HostTensor q = tensor(f32, {1, 1, 2, 1}, {0, 0}), k = tensor(f32, {1, 1, 3, 1}, {1, 2, 6});
  auto attended = [&](const std::string& where, const HostTensor& mask) {
    return result_of("%4: f32[1x1x2x1] = attention %0, %1, %2, %3 {" + where + "}", {q, k, k, mask})
        .floating;
  };
  const HostTensor seen = tensor(DType::boolean, {1, 1, 2, 3}, {1, 0, 1, 0, 0, 0});
  EXPECT_EQ(attended("number=1", seen), (Numbers{3.5, 0}));
  EXPECT_EQ(attended("number=1, causal=1", seen), (Numbers{1, 0}));
  EXPECT_TRUE(std::isnan(attended("number=1, nan_unseen=1", seen).at(1)));
  const double none = -std::numeric_limits<double>::infinity(), three = std::log(3.0);
  const HostTensor added = tensor(f32, {1, 1, 2, 3}, {three, 0, none, 0, 0, 0});
  const Numbers got = attended("number=1", added);
  EXPECT_NEAR(got.at(0), 1.25, 1e-6);
  EXPECT_EQ(got.at(1), 3);
}

TEST(Evaluate, CapsScoresOfAttention) {
  const HostTensor q = tensor(f32, {1, 1, 1, 1}, {1}), k = tensor(f32, {1, 1, 2, 1}, {8, -8}),
                   v = tensor(f32, {1, 1, 2, 1}, {1, 0});
  const double score = 2 * std::tanh(0.5 * 8 / 2);  // of the first key; less of the second
  EXPECT_NEAR(result_of("%3: f32[1x1x1x1] = attention %0, %1, %2 {number=0.5, cap=2}", {q, k, v})
                  .floating.at(0),
              1 / (1 + std::exp(-2 * score)), 1e-6);
}

TEST(Evaluate, HidesKeysBeforeTheWindowOfAttention) {
  HostTensor q = tensor(f32, {1, 1, 2, 1}, {0, 0}), k = tensor(f32, {1, 1, 4, 1}, {1, 2, 3, 7});
  auto attended = [&](const std::string& where) {
    return result_of("%3: f32[1x1x2x1] = attention %0, %1, %2 {" + where + "}", {q, k, k}).floating;
  };
  EXPECT_EQ(attended("start=2, number=1, causal=1, window=2"), (Numbers{2.5, 5}));
  EXPECT_EQ(attended("number=1, causal=1, window=2"), (Numbers{1, 1.5}));
  EXPECT_EQ(attended("start=-1, number=1, causal=1"), (Numbers{0, 1}));  // row 0 sees no key
}

TEST(Evaluate, RoundsQuotientsAndTheirRemaindersAlike) {
  HostTensor a = tensor(i32, {4}, {7, -7, 7, -7}), b = tensor(i32, {4}, {4, 4, -4, 0});
  EXPECT_EQ(result_of("%2: i32[4] = div %0, %1", {a, b}).integer, (Integers{1, -1, -1, 0}));
  EXPECT_EQ(result_of("%2: i32[4] = fmod %0, %1", {a, b}).integer, (Integers{3, -3, 3, 0}));
  EXPECT_EQ(result_of("%2: i32[4] = floor_divide %0, %1", {a, b}).integer,
            (Integers{1, -2, -2, 0}));
  EXPECT_EQ(result_of("%2: i32[4] = remainder %0, %1", {a, b}).integer, (Integers{3, 1, -1, 0}));
  HostTensor x = tensor(f32, {3}, {7.5, -7.5, 1}), y = tensor(f32, {3}, {2, 2, -0.75});
  EXPECT_EQ(result_of("%2: f32[3] = floor_divide %0, %1", {x, y}).floating, (Numbers{3, -4, -2}));
  EXPECT_EQ(result_of("%2: f32[3] = remainder %0, %1", {x, y}).floating, (Numbers{1.5, 0.5, -0.5}));
}

TEST(Evaluate, ReducesToProductsPlacesAndTruth) {
  HostTensor x = tensor(f32, {1, 5}, {1, -3, 5, 1, -4});
  EXPECT_EQ(result_of("%1: f32[1x1] = prod %0 {axes=1}", {x}).floating, (Numbers{60}));
  EXPECT_EQ(result_of("%1: i64[1x1] = argmin %0 {axes=1}", {x}).integer, (Integers{4}));
  EXPECT_EQ(result_of("%1: f32[1x1] = var %0 {axes=1, number=1}", {x}).floating, (Numbers{13}));
  HostTensor truth = tensor(DType::boolean, {1, 2}, {0, 1});
  EXPECT_EQ(result_of("%1: bool[1x1] = any %0 {axes=1}", {truth}).integer, (Integers{1}));
  EXPECT_EQ(result_of("%1: bool[1x1] = all %0 {axes=1}", {truth}).integer, (Integers{0}));
}

TEST(Evaluate, GivesEachResultOfANodeThatHasSeveral) {
  HostTensor x = tensor(f32, {2, 4}, {3, 7, 7, 1, 2, NAN, NAN, 9});
  auto both = [&](const std::string& node) {
    auto other = [](const std::string& type) { return "\n%2: " + type + " = result %1 {index=1}"; };
    bool places = node.find("i64") != node.npos;
    return std::pair(result_of("%1: " + node, {x}),
                     result_of("%1: " + node + other(places ? "i64[2x1]" : "f32[2x1]"), {x}));
  };
  auto [highest, at] = both("f32[2x1], i64[2x1] = max %0 {axes=1}");
  EXPECT_EQ(highest.floating[0], 7);
  EXPECT_TRUE(std::isnan(highest.floating[1]));
  EXPECT_EQ(at.integer, (Integers{1, 1}));
  EXPECT_EQ(both("f32[2x1], i64[2x1] = min %0 {axes=1}").second.integer, (Integers{3, 1}));
  x = tensor(f32, {2, 4}, {3, 7, 7, 1, 2, 4, 6, 8});
  EXPECT_EQ(both("f32[2x1], f32[2x1] = aminmax %0 {axes=1}").first.floating, (Numbers{1, 2}));
  EXPECT_EQ(both("f32[2x1], f32[2x1] = aminmax %0 {axes=1}").second.floating, (Numbers{7, 8}));
  EXPECT_EQ(both("f32[2x1], f32[2x1] = var_mean %0 {axes=1, number=2}").first.floating,
            (Numbers{13.5, 10}));
  EXPECT_EQ(both("f32[2x1], f32[2x1] = var_mean %0 {axes=1}").second.floating, (Numbers{4.5, 5}));
}

TEST(Evaluate, OrdersPlacesAlongTheLastAxis) {
  HostTensor x = tensor(f32, {2, 4}, {3, NAN, 3, 1, -0.0, 2, 0, -INFINITY});
  auto places = [&](const std::string& result, const std::string& attributes) {
    return result_of("%1: i64[" + result + "] = argsort %0 {" + attributes + "}", {x}).integer;
  };
  EXPECT_EQ(places("2x4", "end=4"), (Integers{3, 0, 2, 1, 3, 0, 2, 1}));
  EXPECT_EQ(places("2x3", "end=3, descending=1"), (Integers{1, 0, 2, 1, 0, 2}));
  x = tensor(i64, {2, 4}, {5, -1, 5, 0, 2, 2, 1, 3});
  EXPECT_EQ(places("2x2", "end=2"), (Integers{1, 3, 2, 0}));
}

TEST(Evaluate, JoinsEachElementWithAllBeforeIt) {
  HostTensor x = tensor(f32, {2, 3}, {3, NAN, 1, -2, 4, 1});
  auto of = [&](const std::string& attributes) {
    return result_of("%1: f32[2x3] = cumulate %0 {" + attributes + "}", {x}).floating;
  };
  const Numbers rows = of("axes=1, reduction=max"), columns = of("axes=0, reduction=prod");
  EXPECT_EQ(rows[0], 3);
  EXPECT_TRUE(std::isnan(rows[1]) && std::isnan(rows[2]));
  EXPECT_EQ((Numbers{rows[3], rows[4], rows[5]}), (Numbers{-2, 4, 4}));
  EXPECT_EQ((Numbers{columns[0], columns[3], columns[5]}), (Numbers{3, -6, 1}));
  x = tensor(i8, {3}, {100, 100, -3});
  EXPECT_EQ(result_of("%1: i8[3] = cumulate %0 {axes=0}", {x}).integer, (Integers{100, -56, -59}));
  EXPECT_EQ(result_of("%1: i64[3] = cumulate %0 {axes=0}", {x}).integer, (Integers{100, 200, 197}));
}

TEST(Evaluate, AddsUpWindowsTimesTheFiltersOfTheirGroup) {
  HostTensor x = tensor(f32, {1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40});
  HostTensor filters = tensor(f32, {2, 1, 2}, {1, 10, 1, -1}), bias = tensor(f32, {2}, {0.5, -1});
  const std::string attributes = "window_strides=2, dilations=2, before=1, groups=2";
  // Windows begin at -1, 1 and 3, and see their first element and the next but one.
  EXPECT_EQ(result_of("%3: f32[1x2x3] = convolution %0, %1, %2 {sizes=3, " + attributes + "}",
                      {x, filters, bias})
                .floating,
            (Numbers{20.5, 42.5, 4.5, -21, -21, 39}));
  filters = tensor(f32, {1, 2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(
      result_of("%2: f32[1x1x3] = convolution %0, %1 {sizes=3, window_strides=1, dilations=1, "
                "before=0}",
                {x, filters})
          .floating,
      (Numbers{21, 32, 43}));
}

TEST(Evaluate, RefusesInputsOfOtherTypes) {
  HostTensor x = tensor(f32, {2}, {1, 2});
  Graph graph = parse("graph {\n%0: f32[3] = input\ninputs %0\nreturn %0\n}\n");
  expect_contains(error_of([&] {
                    evaluate(graph, {&x, 1}, Rounding::double_);
                  }),
                  "[evaluate] input 0 is f32 2; it must be f32 3");
  expect_contains(error_of([&] { evaluate(graph, {}, Rounding::double_); }), "0 inputs; the graph");
}

}  // namespace
}  // namespace tilewright::graph::evaluate_test
