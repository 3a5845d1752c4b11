// Errors and graph breaks of functions that are made of others name the user's line, and breaks the
// function.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "include/tilewright/tilewright.h"

namespace tilewright::user_lines_test {
namespace {

namespace tw = tilewright;
using indexing::Slice;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
#define EXPECT_NAMES_THIS_LINE(...)                                                \
  EXPECT_NE(error_of([&] {                                                         \
              __VA_ARGS__;                                                         \
            }).find(" (at user_lines_test.cpp:" + std::to_string(__LINE__) + ")"), \
            std::string::npos)                                                     \
      << #__VA_ARGS__ << ": " << error_of([&] { __VA_ARGS__; })

TEST(UserLines, ErrorsNameTheCallersLine) {
  const Tensor x = tw::ones({2, 3}), y = tw::ones(4), i = Tensor::from<std::int64_t>({7});
  const Tensor mask = tw::ones(5) > 0;
  EXPECT_NAMES_THIS_LINE(Tensor z = x[i]);
  EXPECT_NAMES_THIS_LINE(Tensor z = x[mask]);
  EXPECT_NAMES_THIS_LINE(x[i].sum());
  EXPECT_NAMES_THIS_LINE(x[i] + 1);
  EXPECT_NAMES_THIS_LINE(x[i].to_vector<float>());
  EXPECT_NAMES_THIS_LINE(x[7]);
  EXPECT_NAMES_THIS_LINE(Tensor::empty({-1}));
  EXPECT_NAMES_THIS_LINE(Tensor::from({1.f, 2.f}, {3}));
  EXPECT_NAMES_THIS_LINE(tw::solve(x, x));
  EXPECT_NAMES_THIS_LINE(tw::inverse(x));
  EXPECT_NAMES_THIS_LINE(tw::svd(y));
  EXPECT_NAMES_THIS_LINE(tw::cholesky(x));
  EXPECT_NAMES_THIS_LINE(tw::determinant(x));
  EXPECT_NAMES_THIS_LINE(tw::pinv(y));
  EXPECT_NAMES_THIS_LINE(tw::rfft(tw::ones(0)));
  EXPECT_NAMES_THIS_LINE(tw::fft(x, {}, 7));
  EXPECT_NAMES_THIS_LINE(tw::stft(y, 99));
}

// The error where the function may not break, and the report where it may.
void expect_break(std::string_view name, std::string_view advice,
                  const std::function<Tensor(const Tensor&)>& function) {
  const Tensor x = tw::ones({3, 4});
  const std::string error = error_of([&] { tw::compile(function, {.fullgraph = true})(x); });
  EXPECT_NE(error.find("[" + std::string(name) + "] the value is not known"), std::string::npos)
      << error;
  EXPECT_NE(error.find("user_lines_test.cpp:"), std::string::npos) << error;
  EXPECT_NE(error.find(advice), std::string::npos) << error;
  auto compiled = tw::compile(function);
  compiled(x);
  const std::string report = compiled.explain();
  EXPECT_NE(report.find(std::string(name) + " at user_lines_test.cpp:"), std::string::npos)
      << report;
}

TEST(UserLines, BreaksNameTheFunctionThatReads) {
  auto integers = [](const Tensor& x) { return (x.reshape({-1}) * 2).to(tw::i64); };
  expect_break("index", "where() and masked_fill()",
               [](const Tensor& x) -> Tensor { return x[x > 0]; });
  expect_break("nonzero", "how many elements there are is data",
               [](const Tensor& x) { return (x > 0).nonzero(); });
  expect_break("unique", "how many results there are is data",
               [](const Tensor& x) { return (x * 2).unique(); });
  expect_break("bincount", "bincount reads the greatest element",
               [=](const Tensor& x) { return tw::bincount(integers(x)); });
  expect_break("one_hot", "the number of classes",
               [=](const Tensor& x) { return tw::one_hot(integers(x)); });
  expect_break("nms", "how many results there are is data",
               [](const Tensor& x) { return tw::nms(x * 2, x.select(1, 0), 0.5); });
  expect_break("equal", "return isclose() or the comparison",
               [](const Tensor& x) { return tw::equal(x * 2, x) ? x : x + 1; });
}

}  // namespace
}  // namespace tilewright::user_lines_test
