// How elements are written: what PyTorch prints between the parentheses of "tensor(...)".
#include "graph/functions/tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/grouped_locale.h"
#include "tests/tensors.h"

namespace tilewright::graph::tensor_text_test {
namespace {

std::string text_of(const std::vector<float>& elements, const Shape& shape) {
  return text_of_elements(Tensor::from(elements, shape));
}

TEST(TensorText, HasOneFormatForAllElements) {
  EXPECT_EQ(text_of({1, -2, 0, 30}, {4}), "[ 1., -2.,  0., 30.]");
  EXPECT_EQ(text_of({1, -2.5, 0, 30}, {4}), "[ 1.0000, -2.5000,  0.0000, 30.0000]");
  EXPECT_EQ(text_of({1, 2000.5}, {2}), "[1.0000e+00, 2.0005e+03]");
  EXPECT_EQ(text_of({0.00001F}, {1}), "[1.0000e-05]");
  EXPECT_EQ(text_of({1e9F}, {1}), "[1.0000e+09]");
  EXPECT_EQ(text_of({0, 0}, {2}), "[0., 0.]");
}

TEST(TensorText, WritesWhatIsNoNumber) {
  float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text_of({1.5, std::nanf(""), infinite, -infinite}, {4}),
            "[1.5000,    nan,    inf,   -inf]");
}

TEST(TensorText, OfEveryKind) {
  EXPECT_EQ(text_of_elements(Tensor::from(std::vector<std::int64_t>{1, -200}, {2})),
            "[   1, -200]");
  EXPECT_EQ(text_of_elements(Tensor::from(std::vector<std::uint8_t>{7, 255}, {2})), "[  7, 255]");
  EXPECT_EQ(text_of_elements((ramp({2}) > 0).clone()), "[false, false]");
  EXPECT_EQ(text_of_elements(Tensor::from(std::vector<float>{0.5, 2}, {2}).to(bf16)),
            "[0.5000, 2.0000]");
  EXPECT_EQ(text_of_elements(Tensor::scalar(0.25)), "0.2500");
}

TEST(TensorText, NestsAxes) {
  EXPECT_EQ(text_of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}),
            "[[[1., 2.],\n"
            "  [3., 4.]],\n"
            "\n"
            " [[5., 6.],\n"
            "  [7., 8.]]]");
  EXPECT_EQ(text_of({}, {0}), "[]");
  EXPECT_EQ(text_of({}, {2, 0}), "[[],\n []]");
}

TEST(TensorText, IsIndentedBehindWhatIsBeforeIt) {
  EXPECT_EQ(text_of_elements(Tensor::from({{1.F, 2.F}, {3.F, 4.F}}), 7),
            "[[1., 2.],\n        [3., 4.]]");
}

TEST(TensorText, BreaksLinesAtEightyColumns) {
  std::vector<float> ones(20, 1.5);
  std::string text = text_of(ones, {20});
  EXPECT_EQ(text.find('\n'), 72U);
  EXPECT_EQ(text.substr(71, 3), ",\n ");
}

TEST(TensorText, LeavesOutTheMiddleOfLargeTensors) {
  EXPECT_EQ(text_of(std::vector<float>(1000, 1), {1000}).find("..."), std::string::npos);
  EXPECT_EQ(text_of(std::vector<float>(1001, 1), {1001}), "[1., 1., 1., ..., 1., 1., 1.]");
  std::vector<float> table(2002);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 1001);
  EXPECT_EQ(text_of(table, {2, 1001}),
            "[[   0.,    1.,    2., ...,  998.,  999., 1000.],\n"
            " [   0.,    1.,    2., ...,  998.,  999., 1000.]]");
  std::string tall = text_of(std::vector<float>(1400, 0), {700, 2});
  EXPECT_EQ(tall, "[[0., 0.],\n [0., 0.],\n [0., 0.],\n ...,\n [0., 0.],\n [0., 0.],\n [0., 0.]]");
}

TEST(TensorText, NoLocaleChangesIt) {
  GroupedLocale locale;
  EXPECT_EQ(text_of({1234.5, 2000}, {2}), "[1234.5000, 2000.0000]");
}

}  // namespace
}  // namespace tilewright::graph::tensor_text_test
