// The dtypes that come out of functions within autocast are PyTorch's. The functions are captured
// and not run.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/functions/linear_algebra/matrix_norms.h"
#include "graph/tensor/capture.h"
#include "include/tilewright/tilewright.h"

namespace tilewright::autocast_cases_test {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

struct Case {
  std::vector<Shape> shapes;  // of the floating operands
  Function function;
};

Tensor classes() { return Tensor::from(std::vector<std::int64_t>{0, 2, 1, 3}, {4}); }
Tensor ids() { return Tensor::from(std::vector<std::int64_t>{1, 0, 2}, {3}); }
Tensor signs() { return Tensor::from(std::vector<float>{1, -1, 1, -1}, {4}); }

Function unary(Tensor (*f)(const TensorOperand&)) {
  return [f](const Tensors& t) { return f(t[0]); };
}
template <typename F>
Function binary(F f) {
  return [f](const Tensors& t) { return f(t[0], t[1]); };
}
template <typename F>
Function ternary(F f) {
  return [f](const Tensors& t) { return f(t[0], t[1], t[2]); };
}
#define TILEWRIGHT_OF_1(call) [](const Tensor& a) { return call; }
#define TILEWRIGHT_OF_2(call) binary([](const Tensor& a, const Tensor& b) { return call; })
#define TILEWRIGHT_OF_3(call) \
  ternary([](const Tensor& a, const Tensor& b, const Tensor& c) { return call; })
Function of_one(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& t) { return f(t[0]); };
}

std::map<std::string, Case> product_cases() {
  return {
      {"matmul", {{{3, 4}, {4, 5}}, TILEWRIGHT_OF_2(matmul(a, b))}},
      {"mm", {{{3, 4}, {4, 5}}, TILEWRIGHT_OF_2(mm(a, b))}},
      {"bmm", {{{2, 3, 4}, {2, 4, 5}}, TILEWRIGHT_OF_2(bmm(a, b))}},
      {"mv", {{{3, 4}, {4}}, TILEWRIGHT_OF_2(mv(a, b))}},
      {"dot", {{{4}, {4}}, TILEWRIGHT_OF_2(dot(a, b))}},
      {"vdot", {{{4}, {4}}, TILEWRIGHT_OF_2(vdot(a, b))}},
      {"inner", {{{3, 4}, {5, 4}}, TILEWRIGHT_OF_2(inner(a, b))}},
      {"outer", {{{3}, {4}}, TILEWRIGHT_OF_2(outer(a, b))}},
      {"addmm", {{{3, 5}, {3, 4}, {4, 5}}, TILEWRIGHT_OF_3(addmm(a, b, c))}},
      {"addmv", {{{3}, {3, 4}, {4}}, TILEWRIGHT_OF_3(addmv(a, b, c))}},
      {"addbmm", {{{3, 5}, {2, 3, 4}, {2, 4, 5}}, TILEWRIGHT_OF_3(addbmm(a, b, c))}},
      {"baddbmm", {{{2, 3, 5}, {2, 3, 4}, {2, 4, 5}}, TILEWRIGHT_OF_3(baddbmm(a, b, c))}},
      {"addr", {{{3, 4}, {3}, {4}}, TILEWRIGHT_OF_3(addr(a, b, c))}},
      {"linear", {{{3, 4}, {5, 4}, {5}}, TILEWRIGHT_OF_3(linear(a, b, c))}},
      {"bilinear", {{{3, 4}, {3, 5}, {2, 4, 5}}, TILEWRIGHT_OF_3(bilinear(a, b, c))}},
      {"einsum", {{{3, 4}, {4, 5}}, TILEWRIGHT_OF_2(einsum("ij,jk->ik", {a, b}))}},
      {"tensordot", {{{3, 4}, {4, 5}}, TILEWRIGHT_OF_2(tensordot(a, b, 1))}},
      {"linalg_multi_dot",
       {{{3, 4}, {4, 5}, {5, 2}}, TILEWRIGHT_OF_3(linalg_multi_dot({a, b, c}))}},
      {"linalg_vecdot", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(linalg_vecdot(a, b))}},
      {"conv1d", {{{2, 3, 8}, {4, 3, 3}, {4}}, TILEWRIGHT_OF_3(conv1d(a, b, c))}},
      {"conv2d", {{{2, 3, 8, 8}, {4, 3, 3, 3}, {4}}, TILEWRIGHT_OF_3(conv2d(a, b, c))}},
      {"conv3d", {{{1, 2, 4, 4, 4}, {3, 2, 2, 2, 2}, {3}}, TILEWRIGHT_OF_3(conv3d(a, b, c))}},
      {"conv_transpose1d",
       {{{2, 3, 8}, {3, 4, 3}, {4}}, TILEWRIGHT_OF_3(conv_transpose1d(a, b, c))}},
      {"conv_transpose2d",
       {{{2, 3, 5, 5}, {3, 4, 3, 3}, {4}}, TILEWRIGHT_OF_3(conv_transpose2d(a, b, c))}},
      {"conv_transpose3d",
       {{{1, 2, 3, 3, 3}, {2, 3, 2, 2, 2}, {3}}, TILEWRIGHT_OF_3(conv_transpose3d(a, b, c))}},
      {"scaled_dot_product_attention",
       {{{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
        TILEWRIGHT_OF_3(scaled_dot_product_attention(a, b, c))}},
      {"prelu", {{{3, 4}, {1}}, TILEWRIGHT_OF_2(prelu(a, b))}},
      {"matrix_power", {{{3, 3}}, of_one(TILEWRIGHT_OF_1(matrix_power(a, 3).real))}},
      {"cov", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(cov(a)))}},
  };
}

std::map<std::string, Case> element_cases() {
  return {
      {"relu", {{{3, 4}}, unary(relu)}},
      {"gelu", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(gelu(a)))}},
      {"silu", {{{3, 4}}, unary(silu)}},
      {"softplus", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(softplus(a)))}},
      {"exp", {{{3, 4}}, unary(exp)}},
      {"log", {{{3, 4}}, unary(log)}},
      {"tanh", {{{3, 4}}, unary(tanh)}},
      {"sigmoid", {{{3, 4}}, unary(sigmoid)}},
      {"rsqrt", {{{3, 4}}, unary(rsqrt)}},
      {"pow", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(pow(a, 3)))}},
      {"erfinv", {{{3, 4}}, unary(erfinv)}},
      {"add", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(a + b)}},
      {"mul", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(a * b)}},
      {"div", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(a / b)}},
      {"atan2", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(atan2(a, b))}},
      {"addcmul", {{{3, 4}, {3, 4}, {3, 4}}, TILEWRIGHT_OF_3(addcmul(a, b, c))}},
      {"where", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(where(a > 0.5, a, b))}},
      {"cat", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(cat({a, b}, 0))}},
      {"stack", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(stack({a, b}, 0))}},
      {"index_copy", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(index_copy(a, 0, ids(), b))}},
      {"scatter_add",
       {{{3, 4}, {3, 4}},
        TILEWRIGHT_OF_2(scatter_add(a, 0, ids().unsqueeze(1).expand({3, 4}).clone(), b))}},
      {"constant_pad", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(pad(a, {1, 1}, 0)))}},
      {"reflection_pad2d",
       {{{1, 2, 4, 4}}, of_one(TILEWRIGHT_OF_1(pad(a, {1, 1, 1, 1}, PadMode::reflect)))}},
      {"replication_pad2d",
       {{{1, 2, 4, 4}}, of_one(TILEWRIGHT_OF_1(pad(a, {1, 1, 1, 1}, PadMode::replicate)))}},
      {"embedding", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(embedding(ids(), a)))}},
  };
}

std::map<std::string, Case> reduction_cases() {
  return {
      {"softmax", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(softmax(a, -1)))}},
      {"log_softmax", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(log_softmax(a, -1)))}},
      {"layer_norm", {{{3, 4}, {4}, {4}}, TILEWRIGHT_OF_3(layer_norm(a, b, c))}},
      {"group_norm", {{{3, 4, 5}, {4}, {4}}, TILEWRIGHT_OF_3(group_norm(a, 2, b, c))}},
      {"batch_norm",
       {{{3, 4, 5}, {4}, {4}, {4}, {4}},
        [](const Tensors& t) { return batch_norm(t[0], t[1], t[2], t[3], t[4], false); }}},
      {"sum", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(sum(a, -1)))}},
      {"mean", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(mean(a, -1)))}},
      {"prod", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(prod(a, -1)))}},
      {"cumsum", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(cumsum(a, -1)))}},
      {"cumprod", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(cumprod(a, -1)))}},
      {"logsumexp", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(logsumexp(a, {-1})))}},
      {"trace", {{{3, 3}}, unary(trace)}},
      {"linalg_vector_norm", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(linalg_vector_norm(a)))}},
      {"dist", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(dist(a, b))}},
      {"cdist", {{{3, 4}, {5, 4}}, TILEWRIGHT_OF_2(cdist(a, b))}},
      {"cosine_similarity", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(cosine_similarity(a, b))}},
      {"quantile", {{{3, 4}}, of_one(TILEWRIGHT_OF_1(quantile(a, 0.5)))}},
      {"max_pool2d", {{{1, 2, 4, 4}}, of_one(TILEWRIGHT_OF_1(max_pool2d(a, {2, 2})))}},
      {"avg_pool2d", {{{1, 2, 4, 4}}, of_one(TILEWRIGHT_OF_1(avg_pool2d(a, {2, 2})))}},
      {"max_pool3d", {{{1, 2, 4, 4, 4}}, of_one(TILEWRIGHT_OF_1(max_pool3d(a, {2, 2, 2})))}},
      {"avg_pool3d", {{{1, 2, 4, 4, 4}}, of_one(TILEWRIGHT_OF_1(avg_pool3d(a, {2, 2, 2})))}},
      {"adaptive_avg_pool3d",
       {{{1, 2, 4, 4, 4}}, of_one(TILEWRIGHT_OF_1(adaptive_avg_pool3d(a, {2, 2, 2})))}},
      {"interpolate",
       {{{1, 2, 4, 4}},
        of_one(
            TILEWRIGHT_OF_1(interpolate(a, {.size = {8, 8}, .mode = InterpolateMode::bilinear})))}},
      {"grid_sample", {{{1, 2, 4, 4}, {1, 3, 3, 2}}, TILEWRIGHT_OF_2(grid_sample(a, b, {}))}},
      {"linalg_cholesky", {{{3, 3}}, of_one(TILEWRIGHT_OF_1(cholesky(a)))}},
      {"linalg_inv", {{{3, 3}}, unary(inverse)}},
      {"linalg_solve", {{{3, 3}, {3, 2}}, TILEWRIGHT_OF_2(solve(a, b))}},
      {"linalg_qr", {{{3, 3}}, of_one(TILEWRIGHT_OF_1(qr(a).first))}},
  };
}

std::map<std::string, Case> loss_cases() {
  return {
      {"mse_loss", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(mse_loss(a, b))}},
      {"l1_loss", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(l1_loss(a, b))}},
      {"smooth_l1_loss", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(smooth_l1_loss(a, b))}},
      {"huber_loss", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(huber_loss(a, b))}},
      {"kl_div", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(kl_div(a, b))}},
      {"poisson_nll_loss", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(poisson_nll_loss(a, b))}},
      {"binary_cross_entropy", {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(binary_cross_entropy(a, b))}},
      {"binary_cross_entropy_with_logits",
       {{{3, 4}, {3, 4}}, TILEWRIGHT_OF_2(binary_cross_entropy_with_logits(a, b))}},
      {"cross_entropy", {{{4, 5}}, of_one(TILEWRIGHT_OF_1(cross_entropy(a, classes())))}},
      {"nll_loss", {{{4, 5}}, of_one(TILEWRIGHT_OF_1(nll_loss(a, classes())))}},
      {"soft_margin_loss", {{{4}}, of_one(TILEWRIGHT_OF_1(soft_margin_loss(a, signs())))}},
      {"hinge_embedding_loss", {{{4}}, of_one(TILEWRIGHT_OF_1(hinge_embedding_loss(a, signs())))}},
      {"multi_margin_loss", {{{4, 5}}, of_one(TILEWRIGHT_OF_1(multi_margin_loss(a, classes())))}},
      {"margin_ranking_loss", {{{4}, {4}}, TILEWRIGHT_OF_2(margin_ranking_loss(a, b, signs()))}},
      {"triplet_margin_loss",
       {{{3, 4}, {3, 4}, {3, 4}}, TILEWRIGHT_OF_3(triplet_margin_loss(a, b, c))}},
      {"cosine_embedding_loss",
       {{{4, 3}, {4, 3}}, TILEWRIGHT_OF_2(cosine_embedding_loss(a, b, signs()))}},
  };
}

RecurrentWeights weights_of(const Tensors& t, std::size_t first) {
  return {t[first], t[first + 1], {}, {}};
}
std::map<std::string, Case> recurrent_cases() {
  return {
      {"lstm_cell",
       {{{3, 4}, {3, 2}, {3, 2}, {8, 4}, {8, 2}},
        [](const Tensors& t) {
          return lstm_cell(t[0], {t[1], t[2]}, weights_of(t, 3)).hidden;
        }}},
      {"gru_cell",
       {{{3, 4}, {3, 2}, {6, 4}, {6, 2}},
        [](const Tensors& t) { return gru_cell(t[0], t[1], weights_of(t, 2)); }}},
      {"lstm",
       {{{3, 1, 4}, {1, 1, 2}, {1, 1, 2}, {8, 4}, {8, 2}},
        [](const Tensors& t) {
          return lstm(t[0], {t[1], t[2]}, {weights_of(t, 3)}).output;
        }}},
      {"gru",
       {{{3, 1, 4}, {1, 1, 2}, {6, 4}, {6, 2}},
        [](const Tensors& t) { return gru(t[0], t[1], {weights_of(t, 2)}).first; }}},
  };
}

struct Recorded {
  const char* name;
  const char* dtypes[3];
};
constexpr Recorded recorded[] = {
#define TILEWRIGHT_AUTOCAST_CASE(name, of_f32, of_bf16, of_both) \
  {#name, {#of_f32, #of_bf16, #of_both}},
#include "tests/graph/precision/autocast_cases.def"
#undef TILEWRIGHT_AUTOCAST_CASE
};

// Functions that take operands of one dtype alone, which the list for CPUs leaves as they are.
bool is_refused_here(std::string_view name, int kind) {
  return kind == 2 &&
         (name == "addr" || name == "lstm_cell" || name == "gru_cell" || name == "gru");
}

std::map<std::string, Case> all_cases() {
  std::map<std::string, Case> all = product_cases();
  for (auto cases : {element_cases(), reduction_cases(), loss_cases(), recurrent_cases()})
    all.merge(cases);
  return all;
}

std::string dtype_within(const Function& function, const Tensors& operands) {
  try {
    return concat(autocast(function, bf16)(operands).dtype());
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_dtypes(const std::map<std::string, Case>& cases) {
  for (const Recorded& row : recorded) {
    const auto found = cases.find(row.name);
    if (found == cases.end()) continue;
    const Case& of = found->second;
    for (int kind = 0; kind < 3; ++kind) {
      if (row.dtypes[kind] == std::string("none") || is_refused_here(row.name, kind)) continue;
      if (kind == 2 && of.shapes.size() == 1) continue;
      graph::Capture capture;
      Tensors operands;
      for (const Shape& shape : of.shapes) {
        const bool is_few = kind == 1 || (kind == 2 && operands.empty());
        operands.push_back(capture.placeholder(is_few ? bf16 : f32, shape));
      }
      SCOPED_TRACE(concat(row.name, " of operands ", kind));
      EXPECT_EQ(dtype_within(of.function, operands), row.dtypes[kind]);
    }
  }
}

TEST(AutocastCases, DtypesArePyTorchs) {
  const auto cases = all_cases();
  EXPECT_EQ(cases.size(), std::size(recorded));
  for (const Recorded& row : recorded) EXPECT_TRUE(cases.contains(row.name)) << row.name;
  expect_dtypes(cases);
}

}  // namespace
}  // namespace tilewright::autocast_cases_test
