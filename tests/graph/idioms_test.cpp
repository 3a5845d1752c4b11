// The lines of docs/idioms.md: each is compiled and run here, at once and in a compiled function,
// and gives what the line of Python beside it gives in PyTorch 2.15 or NumPy 2. The page and this
// table have the same rows.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "tests/source_folder.h"

namespace tilewright::idioms_test {
namespace {

namespace tw = tilewright;
using namespace indexing;

using Run = std::function<Tensor(Tensor x, Tensor y, Tensor i)>;
struct Idiom {
  std::string python, code;
  Shape shape;
  std::vector<double> values;
  Run run;
};

// Lists in the macros' arguments are in parentheses.
#define LIST(...) __VA_ARGS__
#define CALLED(...)                                                                                \
  [=]([[maybe_unused]] Tensor x, [[maybe_unused]] Tensor y, [[maybe_unused]] Tensor i) -> Tensor { \
    __VA_ARGS__;                                                                                   \
  }
#define GIVES(python, shape, values, ...) \
  Idiom { python, #__VA_ARGS__, LIST shape, LIST values, CALLED(return __VA_ARGS__) }
// The result is x, to which the line writes.
#define WRITES(python, shape, values, ...) \
  Idiom { python, #__VA_ARGS__, LIST shape, LIST values, CALLED(__VA_ARGS__; return x) }

const std::vector<Idiom>& making_tensors() {
  static const std::vector<Idiom> rows = {
      GIVES("torch.tensor([1., 2.])", (Shape{2}), ({1, 2}), Tensor::from({1.f, 2.f})),
      GIVES("np.array([[1, 2], [3, 4]], np.float32)", (Shape{2, 2}), ({1, 2, 3, 4}),
            Tensor::from({{1.f, 2.f}, {3.f, 4.f}})),
      GIVES("torch.tensor([2, 0])", (Shape{2}), ({2, 0}), Tensor::from<std::int64_t>({2, 0})),
      GIVES("torch.tensor(5.)", (Shape{}), ({5}), Tensor::scalar(5.f)),
      GIVES("torch.zeros(2, 3)", (Shape{2, 3}), ({0, 0, 0, 0, 0, 0}), tw::zeros({2, 3})),
      GIVES("np.full((2, 2), 7)", (Shape{2, 2}), ({7, 7, 7, 7}), tw::full({2, 2}, 7)),
      GIVES("torch.ones_like(x)", (Shape{3, 4}), ({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
            tw::ones_like(x)),
      GIVES("np.arange(2, 8, 2)", (Shape{3}), ({2, 4, 6}), tw::arange(2, 8, 2)),
      GIVES("torch.linspace(0, 1, 5)", (Shape{5}), ({0, 0.25, 0.5, 0.75, 1}),
            tw::linspace(0, 1, 5)),
      GIVES("np.eye(2)", (Shape{2, 2}), ({1, 0, 0, 1}), tw::eye(2)),
      GIVES("x.clone()", (Shape{3, 4}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x.clone()),
      GIVES("x.astype(np.int32)", (Shape{3, 4}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}),
            x.to(tw::i32)),
      GIVES("x.double()", (Shape{3, 4}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x.to(tw::f64)),
      GIVES("F.one_hot(i, 3)", (Shape{2, 3}), ({0, 0, 1, 1, 0, 0}), tw::one_hot(i, 3)),
      GIVES("np.tri(3)", (Shape{3, 3}), ({1, 0, 0, 1, 1, 0, 1, 1, 1}), tw::ones({3, 3}).tril()),
      GIVES("torch.meshgrid(y, y, indexing='ij')[1]", (Shape{4, 4}),
            ({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}), tw::meshgrid({y, y})[1]),
  };
  return rows;
}

const std::vector<Idiom>& shapes() {
  static const std::vector<Idiom> rows = {
      GIVES("x.reshape(2, -1)", (Shape{2, 6}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}),
            x.reshape({2, -1})),
      GIVES("x.view(4, 3)", (Shape{4, 3}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}),
            x.view({4, 3})),
      GIVES("x.ravel()", (Shape{12}), ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x.flatten()),
      GIVES("x.unflatten(1, (2, 2)).flatten(1)", (Shape{3, 4}),
            ({-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x.unflatten(1, {2, 2}).flatten(1)),
      GIVES("x.T", (Shape{4, 3}), ({-3, 1, 5, -2, 2, 6, -1, 3, 7, 0, 4, 8}), x.t()),
      GIVES("x.unflatten(1, (2, 2)).permute(2, 0, 1)", (Shape{2, 3, 2}),
            ({-3, -1, 1, 3, 5, 7, -2, 0, 2, 4, 6, 8}), x.unflatten(1, {2, 2}).permute({2, 0, 1})),
      GIVES("np.swapaxes(x, 0, 1)", (Shape{4, 3}), ({-3, 1, 5, -2, 2, 6, -1, 3, 7, 0, 4, 8}),
            x.transpose(0, 1)),
      GIVES("y.unsqueeze(0)", (Shape{1, 4}), ({1, 2, 3, 4}), y.unsqueeze(0)),
      GIVES("y[:, None]", (Shape{4, 1}), ({1, 2, 3, 4}), y.index({Slice(), None})),
      GIVES("y[None].squeeze()", (Shape{4}), ({1, 2, 3, 4}), y[None].squeeze()),
      GIVES("np.broadcast_to(y, (2, 4))", (Shape{2, 4}), ({1, 2, 3, 4, 1, 2, 3, 4}),
            y.expand({2, 4})),
      GIVES("torch.cat([x, x], 1)", (Shape{3, 8}),
            ({-3, -2, -1, 0, -3, -2, -1, 0, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8}),
            tw::cat({x, x}, 1)),
      GIVES("np.stack([y, y], 1)", (Shape{4, 2}), ({1, 1, 2, 2, 3, 3, 4, 4}), tw::stack({y, y}, 1)),
      GIVES("y.repeat(2, 2)", (Shape{2, 8}), ({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}),
            y.repeat({2, 2})),
      GIVES("y.repeat_interleave(2)", (Shape{8}), ({1, 1, 2, 2, 3, 3, 4, 4}),
            tw::repeat_interleave(y, 2)),
      GIVES("x.chunk(2, 1)[1]", (Shape{3, 2}), ({-1, 0, 3, 4, 7, 8}), x.chunk(2, 1)[1]),
      GIVES("x.unbind(0)[2]", (Shape{4}), ({5, 6, 7, 8}), x.unbind(0)[2]),
      GIVES("np.split(x, [1, 3], axis=1)[1]", (Shape{3, 2}), ({-2, -1, 2, 3, 6, 7}),
            tw::tensor_split(x, {1, 3}, 1)[1]),
      GIVES("np.flip(x, 1)", (Shape{3, 4}), ({0, -1, -2, -3, 4, 3, 2, 1, 8, 7, 6, 5}), x.flip(1)),
      GIVES("np.roll(y, 1)", (Shape{4}), ({4, 1, 2, 3}), tw::roll(y, {1})),
      GIVES("F.pad(y, (1, 2))", (Shape{7}), ({0, 1, 2, 3, 4, 0, 0}), tw::pad(y, {1, 2})),
  };
  return rows;
}

const std::vector<Idiom>& parts() {
  static const std::vector<Idiom> rows = {
      GIVES("x[0]", (Shape{4}), ({-3, -2, -1, 0}), x[0]),
      GIVES("x[-1, 1]", (Shape{}), ({6}), x.index({-1, 1})),
      GIVES("x[1:]", (Shape{2, 4}), ({1, 2, 3, 4, 5, 6, 7, 8}), x[Slice(1)]),
      GIVES("x[:, 1]", (Shape{3}), ({-2, 2, 6}), x.index({Slice(), 1})),
      GIVES("x[:, 1:3]", (Shape{3, 2}), ({-2, -1, 2, 3, 6, 7}), x.index({Slice(), Slice(1, 3)})),
      GIVES("x[::2, ::2]", (Shape{2, 2}), ({-3, -1, 5, 7}),
            x.index({Slice(None, None, 2), Slice(None, None, 2)})),
      GIVES("x[..., -1]", (Shape{3}), ({0, 4, 8}), x.index({Ellipsis, -1})),
      GIVES("x.narrow(1, 1, 2)", (Shape{3, 2}), ({-2, -1, 2, 3, 6, 7}), x.narrow(1, 1, 2)),
      GIVES("x[i]", (Shape{2, 4}), ({5, 6, 7, 8, -3, -2, -1, 0}), x[i]),
      GIVES("x[:, i]", (Shape{3, 2}), ({-1, -3, 3, 1, 7, 5}), x.index({Slice(), i})),
      GIVES("x[i, i]", (Shape{2}), ({7, -3}), x.index({i, i})),
      GIVES("x[x > 2]", (Shape{6}), ({3, 4, 5, 6, 7, 8}), x[x > 2]),
      GIVES("x[:, y > 2]", (Shape{3, 2}), ({-1, 0, 3, 4, 7, 8}), x.index({Slice(), y > 2})),
      GIVES("x.index_select(1, i)", (Shape{3, 2}), ({-1, -3, 3, 1, 7, 5}), x.index_select(1, i)),
      GIVES("x.gather(1, i[:, None].expand(2, 2))", (Shape{2, 2}), ({-1, -1, 1, 1}),
            x.gather(1, i.unsqueeze(1).expand({2, 2}))),
      GIVES("np.take_along_axis(x, np.argsort(-x, 1), 1)", (Shape{3, 4}),
            ({0, -1, -2, -3, 4, 3, 2, 1, 8, 7, 6, 5}), tw::take_along_dim(x, (-x).argsort(1), 1)),
      GIVES("x.diagonal()", (Shape{3}), ({-3, 2, 7}), tw::diagonal(x)),
      GIVES("torch.triu(x)", (Shape{3, 4}), ({-3, -2, -1, 0, 0, 2, 3, 4, 0, 0, 7, 8}), x.triu()),
      GIVES("torch.nonzero(x > 6)", (Shape{2, 2}), ({2, 2, 2, 3}), (x > 6).nonzero()),
      GIVES("y.unfold(0, 2, 1)", (Shape{3, 2}), ({1, 2, 2, 3, 3, 4}), tw::unfold(y, 0, 2, 1)),
  };
  return rows;
}

const std::vector<Idiom>& writing_parts() {
  static const std::vector<Idiom> rows = {
      WRITES("x[0] = 0", (Shape{3, 4}), ({0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x[0] = 0),
      WRITES("x[:, 1] = x[:, 2]", (Shape{3, 4}), ({-3, -1, -1, 0, 1, 3, 3, 4, 5, 7, 7, 8}),
             x[{Slice(), 1}] = x[{Slice(), 2}]),
      WRITES("x[1:, ::2] = 9", (Shape{3, 4}), ({-3, -2, -1, 0, 9, 2, 9, 4, 9, 6, 9, 8}),
             x[{Slice(1), Slice(None, None, 2)}] = 9),
      WRITES("x[x < 0] = 0", (Shape{3, 4}), ({0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x[x < 0] = 0),
      WRITES("x[i] = y", (Shape{3, 4}), ({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}), x[i] = y),
      WRITES("x[:, i] += 10", (Shape{3, 4}), ({7, -2, 9, 0, 11, 2, 13, 4, 15, 6, 17, 8}),
             x[{Slice(), i}] += 10),
      WRITES("x[x > 2] *= -1", (Shape{3, 4}), ({-3, -2, -1, 0, 1, 2, -3, -4, -5, -6, -7, -8}),
             x[x > 2] *= -1),
      WRITES("x.index_put_((i, i), y[:2], accumulate=True)", (Shape{3, 4}),
             ({-1, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 8}), x.index_put_({i, i}, y[Slice(0, 2)], true)),
      WRITES("x += y", (Shape{3, 4}), ({-2, 0, 2, 4, 2, 4, 6, 8, 6, 8, 10, 12}), x += y),
      WRITES("x /= 2", (Shape{3, 4}), ({-1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4}),
             x /= 2),
      WRITES("x[1].fill_(5)", (Shape{3, 4}), ({-3, -2, -1, 0, 5, 5, 5, 5, 5, 6, 7, 8}),
             x[1].fill_(5)),
      WRITES("x.masked_fill_(x > 3, -1)", (Shape{3, 4}),
             ({-3, -2, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1}), x.masked_fill_(x > 3, -1)),
      WRITES("x[0].copy_(y)", (Shape{3, 4}), ({1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8}), x[0].copy_(y)),
      WRITES("x.t()[0] = 7", (Shape{3, 4}), ({7, -2, -1, 0, 7, 2, 3, 4, 7, 6, 7, 8}), x.t()[0] = 7),
  };
  return rows;
}

const std::vector<Idiom>& arithmetic() {
  static const std::vector<Idiom> rows = {
      GIVES("x * 2 + y", (Shape{3, 4}), ({-5, -2, 1, 4, 3, 6, 9, 12, 11, 14, 17, 20}), x * 2 + y),
      GIVES("x ** 2", (Shape{3, 4}), ({9, 4, 1, 0, 1, 4, 9, 16, 25, 36, 49, 64}), x.pow(2)),
      GIVES("1 / y", (Shape{4}), ({1, 0.5, 0.333333343, 0.25}), 1 / y),
      GIVES("x // 2", (Shape{3, 4}), ({-2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4}),
            tw::floor_divide(x, 2)),
      GIVES("x % 3", (Shape{3, 4}), ({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}), x.remainder(3)),
      GIVES("y.exp().log()", (Shape{4}), ({1, 2, 3, 4}), y.exp().log()),
      GIVES("np.sqrt(y)", (Shape{4}), ({1, 1.41421354, 1.73205078, 2}), y.sqrt()),
      GIVES("np.clip(x, 0, 5)", (Shape{3, 4}), ({0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5}),
            x.clamp(0, 5)),
      GIVES("np.maximum(x, 1)", (Shape{3, 4}), ({1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8}),
            x.maximum(1)),
      GIVES("np.where(x > 0, x, -1)", (Shape{3, 4}), ({-1, -1, -1, -1, 1, 2, 3, 4, 5, 6, 7, 8}),
            tw::where(x > 0, x, -1)),
      GIVES("torch.lerp(y, y * 2, 0.5)", (Shape{4}), ({1.5, 3, 4.5, 6}), tw::lerp(y, y * 2, 0.5)),
      GIVES("np.round(y / 3)", (Shape{4}), ({0, 1, 1, 1}), (y / 3).round()),
      GIVES("F.relu(x)", (Shape{3, 4}), ({0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}), x.relu()),
      GIVES("x.sigmoid()", (Shape{3, 4}),
            ({0.0474258736, 0.119202919, 0.268941432, 0.5, 0.731058598, 0.880797029, 0.952574134,
              0.982013762, 0.993307173, 0.997527421, 0.999089003, 0.999664664}),
            x.sigmoid()),
  };
  return rows;
}

const std::vector<Idiom>& masks() {
  static const std::vector<Idiom> rows = {
      GIVES("(x > 0) & (x < 5)", (Shape{3, 4}), ({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}),
            (x > 0) & (x < 5)),
      GIVES("(x < 0) | (x == 3)", (Shape{3, 4}), ({1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}),
            (x < 0) | (x == 3)),
      GIVES("~(x > 0)", (Shape{3, 4}), ({1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}), ~(x > 0)),
      GIVES("(x > 0).sum()", (Shape{}), ({8}), (x > 0).sum()),
      GIVES("(x > 0).any(1)", (Shape{3}), ({0, 1, 1}), (x > 0).any(1)),
      GIVES("np.isfinite(x).all()", (Shape{}), ({1}), x.isfinite().all()),
      GIVES("np.isin(x, y)", (Shape{3, 4}), ({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}), tw::isin(x, y)),
  };
  return rows;
}

const std::vector<Idiom>& reductions() {
  static const std::vector<Idiom> rows = {
      GIVES("x.sum()", (Shape{}), ({30}), x.sum()),
      GIVES("x.sum(axis=1)", (Shape{3}), ({-6, 10, 26}), x.sum(1)),
      GIVES("x.mean((0, 1), keepdim=True)", (Shape{1, 1}), ({2.5}), x.mean({0, 1}, true)),
      GIVES("x - x.mean(1, keepdim=True)", (Shape{3, 4}),
            ({-1.5, -0.5, 0.5, 1.5, -1.5, -0.5, 0.5, 1.5, -1.5, -0.5, 0.5, 1.5}),
            x - x.mean(1, true)),
      GIVES("x.std(0)", (Shape{4}), ({4, 4, 4, 4}), x.stddev(0)),
      GIVES("x.var(axis=0)", (Shape{4}), ({10.666667, 10.666667, 10.666667, 10.666667}),
            x.var(0, 0)),
      GIVES("x.max()", (Shape{}), ({8}), x.max()),
      GIVES("x.max(1).values", (Shape{3}), ({0, 4, 8}), x.max(1).first),
      GIVES("x.argmax(1)", (Shape{3}), ({3, 3, 3}), x.argmax(1)),
      GIVES("np.cumsum(x, 1)", (Shape{3, 4}), ({-3, -5, -6, -6, 1, 3, 6, 10, 5, 11, 18, 26}),
            x.cumsum(1)),
      GIVES("x.norm(dim=1)", (Shape{3}), ({3.7416575, 5.47722578, 13.1909056}), tw::norm(x, 2, 1)),
      GIVES("x.logsumexp(1)", (Shape{3}), ({0.440189689, 4.44018984, 8.44018936}), x.logsumexp(1)),
      GIVES("x.softmax(-1)", (Shape{3, 4}),
            ({0.0320586041, 0.0871443227, 0.236882836, 0.643914282, 0.0320586041, 0.0871443227,
              0.236882836, 0.643914282, 0.0320586041, 0.0871443227, 0.236882836, 0.643914282}),
            x.softmax(-1)),
      GIVES("np.count_nonzero(x, axis=0)", (Shape{4}), ({3, 3, 3, 2}), tw::count_nonzero(x, 0)),
      GIVES("np.diff(y)", (Shape{3}), ({1, 1, 1}), tw::diff(y)),
  };
  return rows;
}

const std::vector<Idiom>& order() {
  static const std::vector<Idiom> rows = {
      GIVES("np.sort(-x, 1)", (Shape{3, 4}), ({0, 1, 2, 3, -4, -3, -2, -1, -8, -7, -6, -5}),
            (-x).sort(1).first),
      GIVES("x.argsort(descending=True)", (Shape{3, 4}), ({3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0}),
            x.argsort(-1, true)),
      GIVES("x.topk(2).indices", (Shape{3, 2}), ({3, 2, 3, 2, 3, 2}), x.topk(2).second),
      GIVES("y.median()", (Shape{}), ({2}), y.median()),
      GIVES("torch.bucketize(x, y)", (Shape{3, 4}), ({0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4}),
            tw::bucketize(x, y)),
      GIVES("torch.bincount(i)", (Shape{3}), ({1, 0, 1}), tw::bincount(i)),
      GIVES("torch.unique_consecutive(i)", (Shape{2}), ({2, 0}), tw::unique_consecutive(i).values),
      GIVES("torch.unique(x > 3, dim=1)", (Shape{3, 2}), ({0, 0, 0, 1, 1, 1}),
            tw::unique(x > 3, 1).values),
  };
  return rows;
}

const std::vector<Idiom>& products() {
  static const std::vector<Idiom> rows = {
      GIVES("x @ y", (Shape{3}), ({-10, 30, 70}), x.matmul(y)),
      GIVES("x @ x.T", (Shape{3, 3}), ({14, -10, -34, -10, 30, 70, -34, 70, 174}), x.matmul(x.t())),
      GIVES("np.outer(y, y)", (Shape{4, 4}), ({1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12, 16}),
            tw::outer(y, y)),
      GIVES("torch.einsum(\"ij,j->i\", x, y)", (Shape{3}), ({-10, 30, 70}),
            tw::einsum("ij,j->i", {x, y})),
      GIVES("F.linear(y, x)", (Shape{3}), ({-10, 30, 70}), tw::linear(y, x)),
      GIVES("torch.dot(y, y)", (Shape{}), ({30}), tw::dot(y, y)),
  };
  return rows;
}

Tensor x() { return tw::arange(-3, 9).to(tw::f32).reshape({3, 4}).clone(); }
Tensor y() { return Tensor::from({1.F, 2.F, 3.F, 4.F}); }
Tensor i() { return Tensor::from<std::int64_t>({2, 0}); }

void expect_values(const Idiom& idiom, const Tensor& result) {
  ASSERT_EQ(result.shape(), idiom.shape) << idiom.code;
  const std::vector<double> got = result.to(f64).to_vector<double>();
  for (std::size_t at = 0; at < got.size(); ++at)
    EXPECT_NEAR(got[at], idiom.values[at], 2e-6 * std::max(1.0, std::abs(idiom.values[at])))
        << idiom.code << ", element " << at;
}

std::vector<Idiom> all_idioms() {
  std::vector<Idiom> all;
  for (auto* part : {making_tensors, shapes, parts, writing_parts, arithmetic, masks, reductions,
                     order, products})
    all.insert(all.end(), part().begin(), part().end());
  return all;
}

TEST(Idioms, GiveWhatPythonGives) {
  for (const Idiom& idiom : all_idioms()) expect_values(idiom, idiom.run(x(), y(), i()));
}

TEST(Idioms, GiveTheSameInCompiledFunctions) {
  for (const Idiom& idiom : all_idioms()) {
    auto fast = compile(idiom.run, {.tell_breaks = false});
    expect_values(idiom, fast(x(), y(), i()));
  }
}

std::string without_spaces(const std::string& text) {
  std::string result;
  for (char each : text)
    if (each != ' ' && each != '\\') result += each;
  return result;
}

// Rows "| `python` | `code` |", in which a bar is written with a backslash.
TEST(Idioms, AreThoseOfThePage) {
  std::ifstream page(source_folder() / "docs/idioms.md");
  std::vector<std::string> rows, wanted;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| `")) rows.push_back(without_spaces(line));
  for (const Idiom& idiom : all_idioms())
    wanted.push_back(without_spaces("| `" + idiom.python + "` | `" + idiom.code + "` |"));
  EXPECT_EQ(rows, wanted);
  EXPECT_GE(rows.size(), 100U);
}

}  // namespace
}  // namespace tilewright::idioms_test
