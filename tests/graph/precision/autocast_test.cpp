// autocast: what is cast, where it holds, and the derivatives of functions within it.
#include "graph/tensor/precision/autocast.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/fourier/transforms.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "tests/errors.h"

namespace tilewright::autocast_test {
namespace {

using Tensors = std::vector<Tensor>;

// As tools/autocast_cases.py --training makes its tensors: multiples of 1/64 in [-1/2, 1/2).
Tensor tensor_of(const Shape& shape, int k) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    values.push_back(static_cast<float>((i * 37 + k * 11) % 64) / 64 - 0.5F);
  return Tensor::from(values, shape);
}
Tensors parameters() {
  return {tensor_of({16, 8}, 0), tensor_of({16}, 1), tensor_of({4, 16}, 2), tensor_of({4}, 3)};
}
Tensor inputs() { return tensor_of({12, 8}, 7); }
Tensor classes() { return arange(12) % 4; }
Tensor loss_of(const Tensors& p, const Tensor& x, const Tensor& y) {
  return cross_entropy(linear(tanh(linear(x, p[0], p[1])), p[2], p[3]), y);
}

std::vector<float> elements_of(const Tensor& x) { return x.to(f32).to_vector<float>(); }
void expect_same(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].dtype(), b[i].dtype());
    EXPECT_EQ(elements_of(a[i]), elements_of(b[i])) << i;
  }
}

using LossAndGradients = std::pair<Tensor, Tensors>;

// Loss and gradients of PyTorch within torch.autocast("cpu", dtype): the norms of the gradients and
// their fourth elements (tools/autocast_cases.py --training).
struct Reference {
  double loss;
  double norms[4], fourth[4];
};
constexpr Reference pytorch_f32 = {1.557849050,
                                   {0.262323767, 0.301339686, 0.376475304, 0.238444149},
                                   {0.020866200, 0.054156020, 0.034396917, 0.164579332}},
                    pytorch_bf16 = {1.557982802,
                                    {0.262368083, 0.300634861, 0.376309305, 0.238079548},
                                    {0.020751953, 0.053710938, 0.034423828, 0.164062500}},
                    pytorch_f16 = {1.557917118,
                                   {0.262312621, 0.301300704, 0.376462460, 0.238407925},
                                   {0.020858765, 0.054168701, 0.034393311, 0.164550781}};

void expect_reference(const LossAndGradients& found, const Reference& wanted, double tolerance) {
  EXPECT_EQ(found.first.dtype(), f32);
  EXPECT_NEAR(found.first.item<double>(), wanted.loss, tolerance);
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor& gradient = found.second[i];
    EXPECT_EQ(gradient.dtype(), f32);
    EXPECT_NEAR(linalg_vector_norm(gradient).item<double>(), wanted.norms[i], tolerance);
    EXPECT_NEAR(gradient.reshape({-1}).select(0, 3).item<double>(), wanted.fourth[i], tolerance);
  }
}

TEST(Autocast, LossAndGradientsArePyTorchs) {
  const Tensors p = parameters();
  const Tensor x = inputs(), y = classes();
  expect_reference(value_and_grad(loss_of)(p, x, y), pytorch_f32, 2e-6);
  for (const DType dtype : {bf16, f16}) {
    const bool is_bf16 = dtype == bf16;
    // A step of the dtype at 0.16.
    const double tolerance = is_bf16 ? 1.1e-3 : 2e-4;
    const Reference& wanted = is_bf16 ? pytorch_bf16 : pytorch_f16;
    const AutocastOptions options{.dtype = dtype, .lists = AutocastLists::cpu};
    auto inner = [&](const Tensors& of, const Tensor& a, const Tensor& b) {
      return value_and_grad(autocast(loss_of, options))(of, a, b);
    };
    auto outer = [&](const Tensors& of, const Tensor& a, const Tensor& b) {
      return autocast(value_and_grad(loss_of), options)(of, a, b);
    };
    auto plain = [&](const Tensors& of, const Tensor& a, const Tensor& b) {
      return value_and_grad(loss_of)(of, a, b);
    };
    const LossAndGradients first = inner(p, x, y);
    expect_reference(first, wanted, tolerance);
    expect_same(first.second, outer(p, x, y).second);
    expect_reference(compile(inner, {.fullgraph = true})(p, x, y), wanted, tolerance);
    expect_reference(compile(outer, {.fullgraph = true})(p, x, y), wanted, tolerance);
    expect_reference(compile(autocast(plain, options))(p, x, y), wanted, tolerance);
    auto compiled = compile(plain);
    expect_reference(autocast([&] { return compiled(p, x, y); }, options)(), wanted, tolerance);
  }
}

TEST(Autocast, ARegionWithoutItIsAsItWas) {
  const Tensor x = inputs(), w = tensor_of({8, 8}, 1);
  auto plain = without_autocast([&](const Tensor& t) { return matmul(t, w); });
  auto both = [&](const Tensor& t) -> Tensors { return {matmul(t, w), plain(t), matmul(t, w)}; };
  const Tensors at_once = autocast(both, bf16)(x), compiled = compile(autocast(both, bf16))(x);
  for (const Tensors& found : {at_once, compiled}) {
    EXPECT_EQ(found[0].dtype(), bf16);
    EXPECT_EQ(found[1].dtype(), f32);
    EXPECT_EQ(found[2].dtype(), bf16);
    EXPECT_EQ(elements_of(found[1]), elements_of(matmul(x, w)));
  }
}

TEST(Autocast, ScopesNestAndEnd) {
  const Tensor x = inputs(), w = tensor_of({8, 8}, 1);
  auto dtype_now = [&] { return matmul(x, w).dtype(); };
  {
    const AutocastScope outer({.dtype = bf16});
    EXPECT_EQ(dtype_now(), bf16);
    {
      const AutocastScope inner({.dtype = f16});
      EXPECT_EQ(dtype_now(), f16);
    }
    EXPECT_EQ(dtype_now(), bf16);
    auto raises = autocast([](const Tensor&) -> Tensor { throw std::runtime_error("no"); }, f16);
    EXPECT_THROW(raises(x), std::runtime_error);
    EXPECT_EQ(dtype_now(), bf16);
    DType elsewhere = bf16;
    std::thread([&] { elsewhere = dtype_now(); }).join();
    EXPECT_EQ(elsewhere, f32);
  }
  EXPECT_EQ(dtype_now(), f32);
}

TEST(Autocast, BodiesOfLoopsAndChoicesAreCast) {
  const Tensor x = inputs(), w = tensor_of({8, 8}, 1);
  auto f = [&](const Tensor& t) -> Tensors {
    auto product = [&](const Tensors& in) -> Tensors { return {matmul(in[0], w)}; };
    auto as_it_is = [&](const Tensors& in) -> Tensors { return {matmul(in[0], w) * 0.5}; };
    const Tensor chosen = cond(sum(t) < 1e9, product, as_it_is, {t})[0];
    auto turn = [&](const Tensors& carried, const Tensors& rows) -> Turn {
      const Tensor next = matmul(rows[0].unsqueeze(0), w);
      return {{carried[0] + sum(next.to(f32))}, {next}};
    };
    const auto [carried, given] = scan(turn, {zeros({}, f32)}, {t});
    return {chosen, carried[0], given[0]};
  };
  const Tensors wanted = autocast(f, bf16)(x);
  EXPECT_EQ(wanted[0].dtype(), bf16);
  EXPECT_EQ(wanted[2].dtype(), bf16);
  expect_same(compile(autocast(f, bf16), {.fullgraph = true})(x), wanted);
  auto loss = [&](const Tensor& t) { return f(t)[1]; };
  const Tensor slope = grad(autocast(loss, bf16))(x);
  EXPECT_EQ(slope.dtype(), f32);
  // Each row has the sum of the rows of w in bf16, which holds multiples of 1/64 exactly.
  EXPECT_EQ(elements_of(slope), elements_of(sum(w, 1).expand({12, 8}).clone()));
}

TEST(Autocast, ACompiledFunctionHasAPlanForEachScope) {
  const Tensor w = tensor_of({8, 8}, 1), x = inputs();
  auto product = compile([&](const Tensor& t) { return matmul(t, w); });
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(product(x).dtype(), f32);
    EXPECT_EQ(autocast(product, bf16)(x).dtype(), bf16);
    EXPECT_EQ(autocast(product, f16)(x).dtype(), f16);
  }
  EXPECT_EQ(product.report().size(), 3U);
  const std::string why = product.recompilations().back().sentence();
  EXPECT_NE(why.find("autocast is f16 by the list for CUDA"), std::string::npos) << why;
}

TEST(Autocast, AFunctionThatBreaksItsGraphIsCastInEachSegment) {
  const Tensor w = tensor_of({8, 8}, 1), x = inputs();
  auto f = compile([&](const Tensor& t) {
    const Tensor first = matmul(t, w);
    const double number = sum(first).item<double>();
    return matmul(first, w) * (number > 1e9 ? 2.0 : 1.0);
  });
  EXPECT_EQ(autocast(f, bf16)(x).dtype(), bf16);
  EXPECT_EQ(f(x).dtype(), f32);
  EXPECT_EQ(autocast(f, bf16)(x).dtype(), bf16);
}

TEST(Autocast, TheListForCudaHasMoreInF32) {
  const Tensor x = inputs().to(f16), w = tensor_of({8, 8}, 1);
  const AutocastScope scope({.dtype = f16});
  EXPECT_EQ(matmul(x, w).dtype(), f16);
  EXPECT_EQ(tanh(x).dtype(), f16);
  EXPECT_EQ(gelu(x).dtype(), f16);
  EXPECT_EQ(mean(x).dtype(), f16);
  EXPECT_EQ(exp(x).dtype(), f32);
  EXPECT_EQ(pow(x, 2).dtype(), f32);
  EXPECT_EQ(softmax(x, -1).dtype(), f32);
  EXPECT_EQ(sum(x).dtype(), f32);
  EXPECT_EQ(sum(x, {0}, false, f16).dtype(), f16);
  EXPECT_EQ(softmax(x, -1, f16).dtype(), f16);
  EXPECT_EQ(layer_norm(x, ones({8}), zeros({8})).dtype(), f32);
  EXPECT_EQ(dot(x.select(0, 0), x.select(0, 1)).dtype(), f16);
  EXPECT_EQ(dot(x.select(0, 0), w.select(0, 1)).dtype(), f32);
  EXPECT_EQ(mv(x, w.select(0, 0)).dtype(), f16);
}

TEST(Autocast, OtherDtypesStay) {
  const AutocastScope scope({.dtype = bf16});
  const Tensor wide = tensor_of({8, 8}, 1).to(f64), whole = arange(4).reshape({2, 2});
  EXPECT_EQ(matmul(wide, wide).dtype(), f64);
  EXPECT_EQ(matmul(whole, whole).dtype(), i64);
}

// A transform is made of products, and is in no list.
TEST(Autocast, FunctionsOutsideOfTheListsAreNotCastInside) {
  const Tensor x = tensor_of({4, 30}, 3);
  const Tensor wanted = rfft(x).real();
  EXPECT_EQ(elements_of(autocast([](const Tensor& t) { return rfft(t).real(); }, bf16)(x)),
            elements_of(wanted));
}

TEST(Autocast, OnlyFloatsOf16BitsAreTaken) {
  expect_contains(error_of([] { const AutocastScope scope({.dtype = f32}); }),
                  "[autocast] the dtype is f32 (at ");
}

}  // namespace
}  // namespace tilewright::autocast_test
