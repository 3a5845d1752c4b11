// Programs of a few operators each, against what PyTorch makes of them (tools/operator_cases.py
// writes the folder operators), with run_decompositions() and without.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"
#include "tests/source_folder.h"

namespace tilewright::exported_cases_test {
namespace {

using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::OneCall;
using testing::tensors_of;

const std::filesystem::path folder = source_folder() / "tests/models/operators";

constexpr const char* elementary_names[] = {
    "exp",        "expm1", "log",   "log1p", "log2",  "log10",  "sqrt", "rsqrt",
    "reciprocal", "sin",   "cos",   "tan",   "sinh",  "cosh",   "tanh", "asin",
    "acos",       "atan",  "asinh", "acosh", "atanh", "sigmoid"};

class OperatorPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(OperatorPrograms, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam();
  const auto call = case_of(folder, name);
  for (const std::string& file : {name + ".pt2", name + "_decomposed.pt2"}) {
    SCOPED_TRACE(file);
    std::vector<Tensor> inputs = tensors_of(call["inputs"]);
    auto module = load_exported(folder / file);
    expect_near(module->forward(inputs), call["outputs"]);
    expect_near(inputs, call["after"]);
    auto fast = compile(*module, {.tell_breaks = false});
    inputs = tensors_of(call["inputs"]);
    expect_near(fast(inputs), call["outputs"]);
    expect_near(inputs, call["after"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, OperatorPrograms,
                         ::testing::Values("given", "bits", "spectra", "complex", "gamma",
                                           "factors", "equations", "convolutions", "histograms",
                                           "matrices", "norms", "eigenvalues", "gradients",
                                           "window_gradients"),
                         [](const auto& of) { return std::string(of.param); });

// Each byte as PyTorch rounds it, along both axes.
TEST(OperatorPrograms, ResampleBytesToTheLastBit) {
  const auto call = case_of(folder, "bytes");
  const std::vector<Tensor> inputs = tensors_of(call["inputs"]),
                            right = tensors_of(call["outputs"]);
  auto module = load_exported(folder / "bytes.pt2");
  for (const std::vector<Tensor>& got :
       {module->forward(inputs), compile(*module, {.fullgraph = true})(inputs)}) {
    ASSERT_EQ(got.size(), right.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].dtype(), u8);
      ASSERT_EQ(got[i].shape(), right[i].shape());
      EXPECT_EQ(got[i].to_vector<std::uint8_t>(), right[i].to_vector<std::uint8_t>()) << i;
    }
  }
}

// True if a part is as expected: infinities and NaN alike, and zeros of the same sign where there
// is one that C's functions have.
bool is_same(double got, double right, bool has_sign) {
  if (std::isnan(right)) return std::isnan(got);
  if (!has_sign) got = std::abs(got), right = std::abs(right);
  if (right == 0 || std::isinf(right))
    return got == right && std::signbit(got) == std::signbit(right);
  return std::abs(got - right) <= 1e-6 * std::max(1.0, std::abs(right));
}

// For special values each part is that of PyTorch, except for signs where an angle or a part is
// NaN. For numbers the error is at most 4e-7 of the magnitude in complex64, and 2e-15 in
// complex128, where 4e-16 is a unit of the last place.
TEST(ComplexFunctions, AreWithinFewUnitsOfTheLastPlace) {
  const auto call = case_of(folder, "elementary");
  const std::size_t special = call["special"];
  const std::vector<Tensor> inputs = tensors_of(call["inputs"]);
  const std::vector<double> z = inputs[0].to_vector<double>();
  for (const char* file : {"elementary.pt2", "elementary_decomposed.pt2"}) {
    auto module = load_exported(folder / file);
    const std::vector<Tensor> got = compile(*module)(inputs);
    std::size_t output = 0;
    for (const auto& name : elementary_names)
      for (const double bound : {2e-15, 4e-7}) {
        SCOPED_TRACE(concat(file, ", ", name, ", bound ", bound));
        const auto y = got.at(output++).to(f64).to_vector<double>();
        const auto right = testing::tensor_of(call["references"][name]).to_vector<double>();
        ASSERT_EQ(y.size(), right.size());
        for (std::size_t i = 0; i < y.size() / 2; ++i) {
          const double a = y[2 * i], b = y[2 * i + 1], c = right[2 * i], d = right[2 * i + 1];
          const double re = z[2 * i], im = z[2 * i + 1];
          const std::string at = concat(re, " + ", im, "i: ", a, ", ", b, " for ", c, ", ", d);
          if (i >= special) {
            EXPECT_LE(std::hypot(a - c, b - d), bound * std::hypot(c, d)) << at;
            continue;
          }
          const bool has_sign = !std::isnan(re + im) && !std::isnan(c) && !std::isnan(d) &&
                                !(std::isinf(re) && std::isinf(im));
          EXPECT_TRUE(is_same(a, c, has_sign) && is_same(b, d, has_sign)) << at;
        }
      }
  }
}

// For whole a, Q(a, x) is the sum of the first a terms of exp(x), times exp(-x); and P(1/2, x^2) is
// erf(x).
TEST(IncompleteGamma, IsWithin2e13OfFiniteSums) {
  std::vector<double> a, x, right;
  for (int n : {1, 2, 7, 30, 49, 50, 51, 80, 300})
    for (double ratio : {0.3, 0.69, 0.71, 0.95, 1.0, 1.05, 1.29, 1.31, 2.0}) {
      a.push_back(n), x.push_back(ratio * n);
      double sum = 0;
      for (int k = n - 1; k >= 0; --k)
        sum += std::exp(k * std::log(x.back()) - x.back() - std::lgamma(k + 1.0));
      right.push_back(sum);
    }
  for (double root : {1e-3, 0.2, 0.9, 1.2, 1.3, 3.0, 7.0}) {
    a.push_back(0.5), x.push_back(root * root);
    right.push_back(std::erfc(root));
  }
  const Shape shape{static_cast<std::int64_t>(a.size())};
  auto of_both = [&](const char* target) {
    return OneCall(target)
        .with("self", Tensor::from(a, shape))
        .with("other", Tensor::from(x, shape))
        .one()
        .to_vector<double>();
  };
  const auto lower = of_both("aten.special_gammainc.default"),
             upper = of_both("aten.igammac.default");
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(upper[i], right[i], 2e-13) << a[i] << ", " << x[i];
    EXPECT_NEAR(lower[i], 1 - right[i], 2e-13) << a[i] << ", " << x[i];
    EXPECT_NEAR(upper[i], right[i], 2e-12 * right[i]) << a[i] << ", " << x[i];
  }
}

TEST(ExportedFactors, AreOfShapesThatFit) {
  EXPECT_THAT(error_of([] {
                OneCall("aten.linalg_polar.default").with("A", ones({2, 3})).all();
              }),
              HasSubstr("[linalg_polar] the operand is [2x3]"));
  EXPECT_THAT(
      error_of([] {
        OneCall("aten.igamma.default").with("self", ones({2})).with("other", ones({3})).one();
      }),
      HasSubstr("[igamma] the operands are [2] and [3]"));
}

TEST(ExportedHistograms, HaveEdgesForEachAxis) {
  auto said = [](const OneCall& call) { return error_of([&] { call.all(); }); };
  const Tensor x = ones({4, 2});
  auto of_counts = [&](const std::vector<std::int64_t>& bins) {
    return OneCall("aten.histogramdd.default")
        .with("self", x)
        .with("bins", testing::integers(bins));
  };
  EXPECT_EQ(said(of_counts({2, 3})), "no error");
  EXPECT_THAT(said(of_counts({2})), HasSubstr("[histogramdd] the bins are [2]"));
  EXPECT_THAT(said(of_counts({1 << 14, 1 << 14})), HasSubstr("at most 67108864 are supported"));
  EXPECT_THAT(said(of_counts({2, 3}).with("range", std::vector<double>{0, 1})),
              HasSubstr("\"range\" has 2 numbers; 4 are wanted"));
  EXPECT_THAT(said(OneCall("aten.histogram.bins_tensor").with("self", x).with("bins", ones({1}))),
              HasSubstr("[histogram] edges are [1]"));
  EXPECT_THAT(said(OneCall("aten.histogramdd.default")
                       .with("self", ones({4}))
                       .with("bins", testing::integers({2}))),
              HasSubstr("[histogramdd] the points are f32 [4]"));
  EXPECT_THAT(said(OneCall("aten.histogramdd.TensorList_bins")
                       .with("self", x)
                       .with_list("bins", {ones({3})})),
              HasSubstr("[histogramdd] edges of 1 axes"));
}

TEST(GivenTensors, HaveTheShapeOfTheResultOrNoElements) {
  auto sum = [](const Tensor& out) {
    return OneCall("aten.add.out").with("self", ones({2, 3})).with("other", 1.0).with("out", out);
  };
  const Tensor room = zeros({2, 3}, i64).clone(), result = sum(room).one();
  EXPECT_EQ(result.data(), room.data());
  EXPECT_EQ(room.to_vector<std::int64_t>(), std::vector<std::int64_t>(6, 2));
  EXPECT_EQ(sum(zeros({0}, f64)).one().to_vector<double>(), std::vector<double>(6, 2));
  EXPECT_THAT(error_of([&] {
                sum(zeros({3, 3}).clone()).one();
              }),
              HasSubstr("aten.add.out writes to a tensor [3x3] a value of another shape, [2x3]"));
}

// All are looked up by their functions' names; lists of results have no place to be written to.
TEST(GivenTensors, StandForTheOverloadsThatMakeNewOnes) {
  for (const char* name :
       {"aten.div.out", "aten.div.out_mode", "aten.divide.out", "aten.exp.out",
        "aten.eq.Scalar_out", "aten.sum.IntList_out", "aten.max.dim_max", "aten.sort.values_stable",
        "aten.where.self_out", "aten.special_xlogy.out", "aten.clamp.Tensor_out"}) {
    const auto op = exported::find_operator(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_TRUE(op->writes()) << name;
  }
  for (const char* name :
       {"aten.unbind_copy.int_out", "aten.split_copy.Tensor_out", "aten.out.out"})
    EXPECT_FALSE(exported::find_operator(name).has_value()) << name;
}

}  // namespace
}  // namespace tilewright::exported_cases_test
