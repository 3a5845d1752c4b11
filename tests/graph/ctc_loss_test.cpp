// The loss of connectionist temporal classification beside PyTorch's (2.15, f64): values, gradients
// through log_softmax, targets that no alignment fits, and misuse.
#include "graph/functions/recurrent/ctc_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "tests/errors.h"

namespace tilewright::ctc_loss_test {
namespace {

using ::testing::HasSubstr;
using Doubles = std::vector<double>;

Tensor scores(const Shape& shape) {
  Doubles elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = (static_cast<double>(i * 37 % 23) - 11) / 8;
  return Tensor::from(elements, shape);
}
Tensor integers(const std::vector<std::int64_t>& elements, const Shape& shape) {
  return Tensor::from(elements, shape);
}
void expect_elements(const Tensor& got, const Doubles& wanted) {
  const Doubles elements = got.to(f64).to_vector<double>();
  ASSERT_EQ(elements.size(), wanted.size());
  const double tolerance = got.dtype() == f64 ? 2e-7 : 1e-5;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(elements[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << i;
}

const Shape shape = {6, 3, 5};
const Tensor& targets() {
  static const Tensor labels = integers({1, 1, 3, 2, 4, 0, 4, 2, 2}, {3, 3});
  return labels;
}
const Tensor& input_lengths() {
  static const Tensor lengths = integers({6, 4, 5}, {3});
  return lengths;
}
const Tensor& target_lengths() {
  static const Tensor lengths = integers({3, 2, 0}, {3});
  return lengths;
}
Tensor loss_of(const Tensor& x, LossReduction reduction = LossReduction::mean) {
  return ctc_loss(log_softmax(x, 2), targets(), input_lengths(), target_lengths(),
                  {.reduction = reduction});
}

TEST(CtcLoss, IsPyTorchsInEveryReduction) {
  for (DType dtype : {f64, f32}) {
    const Tensor x = scores(shape).to(dtype);
    expect_elements(loss_of(x, LossReduction::none), {8.9091514, 4.5370581, 11.5877314});
    expect_elements(loss_of(x), {5.6086592});
    expect_elements(loss_of(x, LossReduction::sum), {25.0339409});
    expect_elements(compile([](const Tensor& t) { return loss_of(t); })(x), {5.6086592});
  }
}

TEST(CtcLoss, HasPyTorchsGradientThroughLogSoftmax) {
  auto gradient = grad([](const Tensor& x) { return loss_of(x); });
  const Tensor x = scores(shape);
  for (const Tensor& g : {gradient(x), compile(gradient)(x)}) {
    expect_elements(g.select(0, 0), {-0.0021900, -0.0760964, 0.0090789, 0.0522457, 0.0169617,
                                     -0.0241792, 0.0419477, -0.1215796, 0.0783686, 0.0254426,
                                     -0.3187545, 0.0838954, 0.0272368, 0.1567372, 0.0508851});
    expect_elements(g.select(0, 4),
                    {-0.0170578, -0.0293639, 0.0284759, -0.0352541, 0.0532000, 0, 0, 0, 0, 0,
                     -0.2499237, 0.0270791, 0.1558297, 0.0505905, 0.0164243});
    expect_elements(sum(abs(g)), {4.5720380});
  }
}

// Three times the same label needs five steps. The second row is as usual.
TEST(CtcLoss, OfTargetsThatNoAlignmentFits) {
  const Tensor x = scores({6, 2, 5}), labels = integers({1, 1, 1, 0, 2, 3}, {2, 3}),
               steps = integers({4, 6}, {2}), lengths = integers({3, 3}, {2});
  auto loss = [&](const Tensor& t, LossReduction reduction, bool zero) {
    return ctc_loss(log_softmax(t, 2), labels, steps, lengths,
                    {.blank = 4, .reduction = reduction, .zero_infinity = zero});
  };
  const Doubles given = loss(x, LossReduction::none, false).to_vector<double>();
  EXPECT_EQ(given[0], std::numeric_limits<double>::infinity());
  EXPECT_NEAR(given[1], 7.9420880, 1e-6);
  expect_elements(loss(x, LossReduction::none, true), {0, 7.9420880});
  const Tensor g = grad([&](const Tensor& t) { return loss(t, LossReduction::sum, true); })(x);
  expect_elements(g.select(0, 3),
                  {0, 0, 0, 0, 0, 0.0366351, 0.4524157, -0.2751352, -0.0973907, -0.1165250});
  const Tensor alone = ctc_loss(log_softmax(x.select(1, 1), 1), labels.select(0, 1),
                                integers({6}, {1}), integers({3}, {1}), {.blank = 4});
  expect_elements(alone, {2.6473627});
}

TEST(CtcLoss, MisuseIsNamed) {
  const Tensor x = log_softmax(scores(shape), 2);
  auto said = [&](const Tensor& labels, const Tensor& steps, const Tensor& lengths,
                  std::int64_t blank = 0) {
    return error_of([&] { ctc_loss(x, labels, steps, lengths, {.blank = blank}); });
  };
  EXPECT_THAT(said(targets(), input_lengths(), target_lengths(), 5),
              HasSubstr("[ctc_loss] blank is 5"));
  EXPECT_THAT(said(integers({1, 2, 3}, {3}), input_lengths(), target_lengths()),
              HasSubstr("must be padded to one length"));
  EXPECT_THAT(said(targets(), integers({6, 7, 5}, {3}), target_lengths()),
              HasSubstr("[ctc_loss] length 7 is outside"));
  EXPECT_THAT(said(targets(), input_lengths(), integers({3, 2}, {2})),
              HasSubstr("[ctc_loss] target_lengths are i64 2"));
  EXPECT_THAT(said(targets() + 3, input_lengths(), target_lengths()),
              HasSubstr("[ctc_loss] target 6 is outside"));
  EXPECT_THAT(error_of([&] { ctc_loss(targets(), targets(), targets(), targets()); }),
              HasSubstr("floats [T, N, C] or [T, C] are wanted"));
}

}  // namespace
}  // namespace tilewright::ctc_loss_test
