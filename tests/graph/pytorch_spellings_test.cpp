// Calls spelled as in PyTorch's scripts. Expected values are those of PyTorch 2.15 on the host, of
// the same call.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "include/tilewright/tilewright.h"

namespace tilewright::spellings_test {
namespace {

namespace tw = tilewright;
using namespace indexing;

using Values = std::vector<double>;

void expect_values(const char* call, const Tensor& result, DType dtype, const Shape& shape,
                   const Values& values) {
  EXPECT_EQ(result.dtype(), dtype) << call;
  ASSERT_EQ(result.shape(), shape) << call;
  const auto own = result.to(Device::cpu()).to(tw::f64).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(own[i], values[i], 2e-6 * std::max(1.0, std::abs(values[i]))) << call << " " << i;
}
#define EXPECT_GIVES(call, dtype, shape, ...) \
  expect_values(#call, call, dtype, Shape shape, Values __VA_ARGS__)

Tensor x() { return Tensor::from({{-1.5f, 0.f, 2.f}, {3.f, -4.f, 5.f}}); }
Tensor integers(std::initializer_list<std::int64_t> list) { return Tensor::from(list); }

TEST(PyTorchSpellings, ArangeTakesTheDtypeOfItsNumbers) {
  EXPECT_GIVES(tw::arange(0.5, 3.5), f32, ({3}), {0.5, 1.5, 2.5});
  EXPECT_GIVES(tw::arange(0, 2.5), f32, ({3}), {0, 1, 2});
  EXPECT_GIVES(tw::arange(0.0, 1.0, 0.1), f32, ({10}),
               {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9});
  EXPECT_GIVES(tw::arange(1, 0, -0.25), f32, ({4}), {1, 0.75, 0.5, 0.25});
  EXPECT_GIVES(tw::arange(5), i64, ({5}), {0, 1, 2, 3, 4});
  EXPECT_GIVES(tw::arange(5, 0, -2), i64, ({3}), {5, 3, 1});
  EXPECT_GIVES(tw::arange(3, f32), f32, ({3}), {0, 1, 2});
  EXPECT_THROW(tw::arange(0, 2.5, 1, i64), Error);
  EXPECT_THROW(tw::arange(0.0, 1.0, 0.0), Error);
}

TEST(PyTorchSpellings, OperatorsAndSizes) {
  EXPECT_GIVES(x() % 2, f32, ({2, 3}), {0.5, 0, 0, 1, 0, 1});
  EXPECT_GIVES(integers({1, 2, 5}) << 2, i64, ({3}), {4, 8, 20});
  EXPECT_GIVES(integers({1, 2, 5}) >> 1, i64, ({3}), {0, 1, 2});
  EXPECT_GIVES(tw::cat({x(), x()}).select(0, 3), f32, ({3}), {3, -4, 5});
  EXPECT_GIVES(tw::concat({x(), x()}, 1).select(0, 0), f32, ({6}), {-1.5, 0, 2, -1.5, 0, 2});
  EXPECT_GIVES(tw::roll(x(), 1, 0), f32, ({2, 3}), {3, -4, 5, -1.5, 0, 2});
  EXPECT_GIVES(tw::pad(x(), {1, 0}, 7), f32, ({2, 4}), {7, -1.5, 0, 2, 7, 3, -4, 5});
  EXPECT_GIVES(tw::zeros(3), f32, ({3}), {0, 0, 0});
  EXPECT_GIVES(x().view(-1), f32, ({6}), {-1.5, 0, 2, 3, -4, 5});
  const Tensor image = tw::arange(16, f32).view({1, 1, 4, 4});
  EXPECT_GIVES(tw::max_pool2d(image, 2), f32, ({1, 1, 2, 2}), {5, 7, 13, 15});
  EXPECT_GIVES(tw::adaptive_avg_pool2d(image, 1), f32, ({1, 1, 1, 1}), {7.5});
  const ConvolutionOptions options{.stride = 2, .padding = 1};
  EXPECT_GIVES(tw::conv2d(image, tw::ones({1, 1, 3, 3}), {}, options), f32, ({1, 1, 2, 2}),
               {10, 24, 51, 90});
  EXPECT_EQ(tw::interpolate(image, {.scale_factor = 2}).shape(), (Shape{1, 1, 8, 8}));
  std::ostringstream text;
  text << Device::cpu();
  EXPECT_EQ(text.str(), "cpu");
}

TEST(PyTorchSpellings, ItemConvertsToTheTypeThatIsAskedFor) {
  EXPECT_EQ(Tensor::scalar(2.5f).item<double>(), 2.5);
  EXPECT_EQ(Tensor::scalar(3.0).item<int>(), 3);
  EXPECT_EQ(Tensor::scalar(std::int64_t{7}).item<float>(), 7.0f);
  EXPECT_TRUE(Tensor::scalar(std::int64_t{7}).item<bool>());
  EXPECT_THROW(Tensor::scalar(2.5f).item<std::int64_t>(), Error);
  EXPECT_THROW(Tensor::scalar(std::int64_t{300}).item<std::uint8_t>(), Error);
  EXPECT_THROW(Tensor::scalar(-1.0f).item<std::uint8_t>(), Error);
}

TEST(PyTorchSpellings, PartsByNumbersAndSlicesAreTensors) {
  const Tensor y = x();
  auto column = y[{Slice(), 0}];
  EXPECT_GIVES(column * 2, f32, ({2}), {-3, 6});
  EXPECT_GIVES((y[{Slice(), 0}].unsqueeze(-1)), f32, ({2, 1}), {-1.5, 3});
  y[{Slice(), 0}] = 1;
  y[{Slice(), 1}] += 1;
  EXPECT_GIVES(y, f32, ({2, 3}), {1, 1, 2, 1, -3, 5});
  EXPECT_GIVES((y[{integers({1, 0}), 0}].unsqueeze(0)), f32, ({1, 2}), {1, 1});
  EXPECT_GIVES(y[y > 1].view(-1), f32, ({2}), {2, 5});
}

TEST(PyTorchSpellings, MembersChangeInPlace) {
  Tensor y = x();
  EXPECT_GIVES(y.add_(tw::ones(3), 0.5), f32, ({2, 3}), {-1, 0.5, 2.5, 3.5, -3.5, 5.5});
  EXPECT_GIVES(y.sub_(1, 2), f32, ({2, 3}), {-3, -1.5, 0.5, 1.5, -5.5, 3.5});
  EXPECT_GIVES(y.mul_(2).clamp_(-4, 4).div_(4), f32, ({2, 3}), {-1, -0.75, 0.25, 0.75, -1, 1});
  EXPECT_GIVES(y.clamp_(-0.5).lerp_(tw::ones({2, 3}), 0.25), f32, ({2, 3}),
               {-0.125, -0.125, 0.4375, 0.8125, -0.125, 1});
  EXPECT_GIVES(y.addcmul_(x(), x(), 0.1), f32, ({2, 3}), {0.1, -0.125, 0.8375, 1.7125, 1.475, 3.5});
  EXPECT_GIVES(y.addcdiv_(x(), tw::full({2, 3}, 2), 2), f32, ({2, 3}),
               {-1.4, -0.125, 2.8375, 4.7125, -2.525, 8.5});
  EXPECT_GIVES(y.abs_().sqrt_().neg_().exp_(), f32, ({2, 3}),
               {0.3062921, 0.7021885, 0.1855394, 0.1140830, 0.2041246, 0.0541782});
  Tensor part = x();
  part.select(0, 1).relu_();
  EXPECT_GIVES(part, f32, ({2, 3}), {-1.5, 0, 2, 3, 0, 5});
  EXPECT_THROW(integers({1, 2}).add_(0.5), Error);
  EXPECT_THROW(tw::ones(3).mul_(x()), Error);
}

TEST(PyTorchSpellings, MembersScatterInPlace) {
  const Tensor index = Tensor::from<std::int64_t>({{0, 1, 0}, {1, 0, 1}});
  Tensor y = tw::zeros({2, 3});
  EXPECT_GIVES(y.scatter_(0, index, x()), f32, ({2, 3}), {-1.5, -4, 2, 3, 0, 5});
  EXPECT_GIVES(y.scatter_add_(0, index, x()), f32, ({2, 3}), {-3, -8, 4, 6, 0, 10});
  EXPECT_GIVES(y.index_add_(1, integers({0, 2}), tw::ones({2, 2}), 3), f32, ({2, 3}),
               {0, -8, 7, 9, 0, 13});
  EXPECT_GIVES(y.index_fill_(1, integers({1}), 9), f32, ({2, 3}), {0, 9, 7, 9, 9, 13});
  EXPECT_GIVES(y.masked_scatter_(x() > 0, Tensor::from({1.f, 2.f, 3.f, 4.f})), f32, ({2, 3}),
               {0, 9, 1, 2, 9, 3});
  // 4096 numbers of a normal distribution: mean and deviation are within 5 standard errors.
  Tensor drawn = tw::zeros(4096);
  drawn.normal_(3, 2, Generator(1));
  EXPECT_NEAR(drawn.mean().item<double>(), 3, 5 * 2 / 64.0);
  EXPECT_NEAR(drawn.stddev().item<double>(), 2, 5 * 2 / std::sqrt(2 * 4096.0));
  drawn.uniform_(1, 2, Generator(1));
  EXPECT_NEAR(drawn.mean().item<double>(), 1.5, 5 * std::sqrt(1 / 12.0) / 64);
  EXPECT_GE(drawn.min().item<float>(), 1);
}

TEST(PyTorchSpellings, ChangesAreSeenInCompiledFunctions) {
  auto f = tw::compile([](const Tensor& given) {
    Tensor y = given.clone();
    y.select(0, 0).mul_(2);
    y.clamp_(-2, 3).add_(1, 0.5);
    return y;
  });
  EXPECT_GIVES(f(x()), f32, ({2, 3}), {-1.5, 0.5, 3.5, 3.5, -1.5, 3.5});
}

TEST(PyTorchSpellings, MembersThatAreFunctions) {
  const Tensor index = Tensor::from<std::int64_t>({{2}, {0}});
  EXPECT_GIVES(x().norm(), f32, ({}), {7.5});
  EXPECT_GIVES(x().norm(1, 1), f32, ({2}), {3.5, 12});
  EXPECT_GIVES(x().quantile(0.5), f32, ({}), {1});
  EXPECT_GIVES(x().kthvalue(2, 1).first, f32, ({2}), {0, 3});
  EXPECT_GIVES(x().cummax(1).first, f32, ({2, 3}), {-1.5, 0, 2, 3, 3, 5});
  EXPECT_GIVES(x().median(1).first, f32, ({2}), {0, 3});
  EXPECT_GIVES(x().topk(2, 1, false).first, f32, ({2, 2}), {-1.5, 0, -4, 3});
  EXPECT_GIVES(x().diagonal(), f32, ({2}), {-1.5, -4});
  EXPECT_GIVES(x().unfold(1, 2, 1), f32, ({2, 2, 2}), {-1.5, 0, 0, 2, 3, -4, -4, 5});
  EXPECT_GIVES(integers({3, 1, 3}).unique(), i64, ({2}), {1, 3});
  EXPECT_GIVES(x().repeat_interleave(integers({2, 0, 1}), 1), f32, ({2, 3}),
               {-1.5, -1.5, 2, 3, 3, 5});
  EXPECT_GIVES(x().take_along_dim(index, 1), f32, ({2, 1}), {2, 3});
  EXPECT_GIVES(x().mm(x().t()), f32, ({2, 2}), {6.25, 5.5, 5.5, 50});
  EXPECT_GIVES(x().eq(0), boolean, ({2, 3}), {0, 1, 0, 0, 0, 0});
  EXPECT_GIVES(x().movedim(0, 1), f32, ({3, 2}), {-1.5, 3, 0, -4, 2, 5});
  EXPECT_GIVES(x().swapaxes(0, 1), f32, ({3, 2}), {-1.5, 3, 0, -4, 2, 5});
  EXPECT_GIVES(x().index_add(1, integers({0}), tw::ones({2, 1})), f32, ({2, 3}),
               {-0.5, 0, 2, 4, -4, 5});
  EXPECT_GIVES(Tensor::from({NAN, 1.f}).nan_to_num(2), f32, ({2}), {2, 1});
  EXPECT_GIVES(x().clamp(0), f32, ({2, 3}), {0, 0, 2, 3, 0, 5});
}

TEST(PyTorchSpellings, NamesOfLinearAlgebra) {
  const Tensor square = Tensor::from({{2.f, 1.f}, {1.f, 3.f}});
  const Tensor tall = Tensor::from({{1.f, 2.f}, {3.f, 4.f}, {5.f, 7.f}});
  EXPECT_GIVES(tw::det(square), f32, ({}), {5});
  EXPECT_GIVES(tw::slogdet(square).log_magnitude, f32, ({}), {1.6094379});
  EXPECT_GIVES(tw::pinv(tall), f32, ({2, 3}), {-2.0714286, 0.7857143, 0.1428571, 1.5, -0.5, 0});
  EXPECT_GIVES(tw::lstsq(tall, Tensor::from({{1.f}, {0.f}, {2.f}})), f32, ({2, 1}),
               {-1.7857143, 1.5});
  EXPECT_GIVES(tw::normalize(Tensor::from({{3.f, 4.f}, {0.f, 0.f}})), f32, ({2, 2}),
               {0.6, 0.8, 0, 0});
  EXPECT_GIVES(tw::cov(x()), f32, ({2, 2}), {3.0833333, 2.4166667, 2.4166667, 22.3333333});
  EXPECT_GIVES(tw::corrcoef(x()), f32, ({2, 2}), {1, 0.2912257, 0.2912257, 1});
  EXPECT_GIVES(tw::trapz(Tensor::from({1.f, 2.f, 4.f})), f32, ({}), {4.5});
  EXPECT_GIVES(tw::diag(Tensor::from({1.f, 2.f})), f32, ({2, 2}), {1, 0, 0, 2});
  EXPECT_GIVES(tw::diag(x(), 1), f32, ({2}), {0, 5});
  EXPECT_GIVES(tw::tril_indices(3, 3, -1), i64, ({2, 3}), {1, 2, 2, 0, 0, 1});
  EXPECT_GIVES(tw::triu_indices(2, 3), i64, ({2, 5}), {0, 0, 0, 1, 1, 0, 1, 2, 1, 2});
  EXPECT_TRUE(tw::allclose(x(), x() * (1 + 1e-6)));
  EXPECT_FALSE(tw::allclose(x(), x() + 1e-3));
  EXPECT_TRUE(tw::equal(x(), x()));
  EXPECT_FALSE(tw::equal(x(), x().t()));
}

TEST(PyTorchSpellings, Boxes) {
  const Tensor boxes =
      Tensor::from({{0.f, 0.f, 2.f, 2.f}, {1.f, 1.f, 3.f, 3.f}, {0.f, 0.f, 2.f, 1.f}});
  EXPECT_GIVES(tw::box_iou(boxes[Slice(0, 2)], boxes), f32, ({2, 3}),
               {1, 0.1428571, 0.5, 0.1428571, 1, 0});
  const Tensor scores = Tensor::from({0.5f, 0.6f, 0.7f});
  EXPECT_GIVES(tw::nms(boxes, scores, 0.4), i64, ({2}), {2, 1});
  EXPECT_GIVES(tw::batched_nms(boxes, scores, integers({0, 0, 1}), 0.4), i64, ({3}), {2, 1, 0});
}

}  // namespace
}  // namespace tilewright::spellings_test
