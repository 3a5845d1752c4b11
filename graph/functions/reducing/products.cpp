#include "graph/functions/reducing/products.h"

#include "graph/functions/reducing/cumulative.h"

#include <algorithm>

#include "graph/functions/pointwise/formula.h"
#include "graph/functions/reducing/contraction.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::Terms;
using std::source_location;

namespace {

// The operands of one product, which must have these ranks.
struct Pair {
  std::string_view name;
  Tensor a, b;
  source_location where;

  Pair(std::string_view op, const TensorOperand& left, const Tensor& right, int rank_a, int rank_b)
      : name(op),
        a(graph::tensor_of(left, op)),
        b(graph::tensor_of({right, left.where}, op)),
        where(left.where) {
    require(a.rank() == rank_a && b.rank() == rank_b, "[", name, "] a is ", a.shape(), ", b is ",
            b.shape(), " (at ", At{where}, "); they must have ", rank_a, " and ", rank_b,
            rank_b == 1 ? " axis" : " axes");
    require(a.dtype() == b.dtype(), "[", name, "] a is ", a.dtype(), ", b is ", b.dtype(), " (at ",
            At{where}, "); they must have one dtype: convert with to()");
    const std::int64_t outer = a.size(-1), inner = b.size(rank_b == 1 ? 0 : -2);
    require(outer == inner && (rank_a < 3 || a.size(0) == b.size(0)), "[", name, "] a is ",
            a.shape(), ", b is ", b.shape(), " (at ", At{where},
            "); a's last size must be that over which b is summed, and batches equal");
  }
  // In the dtype of sums.
  Formula product() const {
    std::optional<DType> sums;
    if (is_float16(a.dtype())) sums = DType::f32;
    return {matmul({a, where}, {b, where}, sums), where};
  }
  Tensor rounded() const { return product().to(a.dtype()).tensor(); }
};

// beta x + alpha product, for an x that broadcasts to it.
Tensor added(std::string_view name, const TensorOperand& x, const Formula& product,
             const AddedProduct& factors, DType dtype) {
  const Tensor& addend = graph::tensor_of(x, name);
  require(addend.dtype() == dtype, "[", name, "] x is ", addend.dtype(), ", the product ", dtype,
          " (at ", At{x.where}, "); they must have one dtype: convert with to()");
  require(is_floating(dtype) || (factors.alpha.is_integral() && factors.beta.is_integral()), "[",
          name, "] beta is ", factors.beta.as_double(), ", alpha is ", factors.alpha.as_double(),
          ", x is ", dtype, " (at ", At{x.where}, "); both must be whole for integers");
  const Shape& shape = product.tensor().shape();
  Formula spread(graph::broadcast_to(addend, shape, name, x.where), x.where);
  auto times = [](const Formula& of, const Number& by) {
    return by.as_double() == 1 ? of : of * of.number(by);
  };
  Formula scaled = times(product, factors.alpha);
  if (factors.beta.as_double() == 0) return scaled.to(dtype).tensor();
  return (times(spread.to(scaled.dtype()), factors.beta) + scaled).to(dtype).tensor();
}

}  // namespace

Tensor mm(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("mm", a.where); cast.is_listed()) return mm(cast(a), cast(b));
  return Pair("mm", a, b, 2, 2).rounded();
}
Tensor bmm(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("bmm", a.where); cast.is_listed())
    return bmm(cast(a), cast(b));
  return Pair("bmm", a, b, 3, 3).rounded();
}
Tensor grouped_mm(const TensorOperand& a, const Tensor& b, const Tensor& offs, const Tensor& bias) {
  const Tensor& x = graph::tensor_of(a, "grouped_mm");
  const bool is_batch = x.rank() == 3 && b.rank() == 3;
  require(offs.defined() != is_batch, "[grouped_mm] a is ", x.shape(), ", b is ", b.shape(),
          ", and offs is ", offs.defined() ? "given" : "not given", " (at ", At{a.where},
          "); offs says where groups of rows end, and is left out for two stacks of matrices");
  auto turned = [&](const Tensor& t) { return t.transpose(-1, -2, a.where); };
  auto grouped = [&](const Tensor& left, const Tensor& right) {
    return graph::apply(graph::Op::grouped_matmul, {left, right, offs}, {}, a.where);
  };
  const Tensor product = is_batch                         ? bmm(a, b)
                         : x.rank() == 3 && b.rank() == 2 ? turned(grouped(turned(b), turned(x)))
                                                          : grouped(x, b);
  if (!bias.defined()) return product;
  require(bias.dtype() == product.dtype(), "[grouped_mm] the bias is ", bias.dtype(), ", a is ",
          product.dtype(), " (at ", At{a.where}, "); convert with to()");
  return product + graph::broadcast_to(bias, product.shape(), "grouped_mm", a.where);
}
Tensor mv(const TensorOperand& a, const Tensor& x) {
  if (const graph::AutocastCall cast("mv", a.where); cast.is_listed()) return mv(cast(a), cast(x));
  return Pair("mv", a, x, 2, 1).rounded();
}
Tensor dot(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("dot", a.where, {a.tensor, b}); cast.is_listed())
    return dot(cast(a), cast(b));
  return Pair("dot", a, b, 1, 1).rounded();
}
Tensor vdot(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("vdot", a.where, {a.tensor, b}); cast.is_listed())
    return vdot(cast(a), cast(b));
  return Pair("vdot", a, b, 1, 1).rounded();
}

namespace {

// The factors of an outer product, as a column and a row.
Terms column_and_row(std::string_view name, const TensorOperand& a, const Tensor& b, bool widens) {
  const Tensor x = graph::tensor_of(a, name), y = graph::tensor_of({b, a.where}, name);
  require(x.rank() == 1 && y.rank() == 1, "[", name, "] a is ", x.shape(), ", b is ", y.shape(),
          " (at ", At{a.where}, "); both must have one axis");
  TensorOperand column(graph::reshape_operand(x, {x.count(), 1}, a.where), a.where);
  TensorOperand row(graph::reshape_operand(y, {1, y.count()}, a.where), a.where);
  return widens ? graph::widened(name, {&column, &row}) : graph::promoted(name, {&column, &row});
}

}  // namespace

Tensor outer(const TensorOperand& a, const Tensor& b) {
  Terms terms = column_and_row("outer", a, b, false);
  return (terms[0] * terms[1]).tensor();
}

Tensor inner(const TensorOperand& a, const Tensor& b) {
  if (const graph::AutocastCall cast("inner", a.where, {a.tensor, b}); cast.is_listed())
    return inner(cast(a), cast(b));
  const Tensor& x = graph::tensor_of(a, "inner");
  const Tensor y = graph::tensor_of({b, a.where}, "inner");
  if (x.rank() == 0 || y.rank() == 0) return a * TensorOperand(y, a.where);
  return tensordot(a, b, {-1}, {-1});
}

namespace {

// Product and sum as one operation.
using SumOfProduct = Tensor(const TensorOperand& x, const Tensor& a, const Tensor& b,
                            const AddedProduct& factors);
Tensor added_at_once(std::string_view name, const TensorOperand& x, const Tensor& a,
                     const Tensor& b, const AddedProduct& factors, SumOfProduct sum_of) {
  const Tensor operands[] = {graph::tensor_of(x, name), graph::tensor_of({a, x.where}, name),
                             graph::tensor_of({b, x.where}, name)};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {sum_of({t[0], x.where}, t[1], t[2], factors)};
  };
  return graph::apply_function(name, operands, {factors.beta, factors.alpha}, function, x.where)
      .front();
}

// One product over B and K together.
Tensor sum_of_batches(const TensorOperand& x, const Tensor& a, const Tensor& b,
                      const AddedProduct& factors) {
  source_location w = x.where;
  Pair batch("addbmm", {a, w}, b, 3, 3);
  const std::int64_t count = a.size(0) * a.size(2);
  Tensor left =
      graph::reshape_operand(graph::permute_operand(a, {1, 0, 2}, w), {a.size(1), count}, w);
  Tensor right = graph::reshape_operand(b, {count, b.size(2)}, w);
  return added("addbmm", x, Pair("addbmm", {left, w}, right, 2, 2).product(), factors, a.dtype());
}

}  // namespace

Tensor addmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
             const AddedProduct& factors) {
  if (const graph::AutocastCall cast("addmm", x.where); cast.is_listed())
    return addmm(cast(x), cast(a), cast(b), factors);
  return added_at_once("addmm", x, a, b, factors, [](auto& y, auto& p, auto& q, auto& by) {
    return added("addmm", y, Pair("addmm", {p, y.where}, q, 2, 2).product(), by, p.dtype());
  });
}
Tensor gemm(const TensorOperand& a, const Tensor& b, const Tensor& c, const AddedProduct& factors) {
  return graph::of_user_call("gemm", a.where, [&] {
    const Tensor& x = graph::tensor_of(a, "gemm");
    require(x.rank() == 2 && b.rank() == 2, "[gemm] ", x.shape(), " times ", b.shape(),
            "; matrices are wanted");
    const double alpha = factors.alpha.as_double(), beta = factors.beta.as_double();
    if (is_integer(x.dtype())) {
      const Tensor product = matmul(x, b) * static_cast<std::int64_t>(alpha);
      return c.defined() ? product + c * static_cast<std::int64_t>(beta) : product;
    }
    if (c.defined()) return addmm(c, x, b, factors);
    const Tensor product = matmul(x, b);
    return alpha == 1 ? product : product * alpha;
  });
}
Tensor addmv(const TensorOperand& x, const Tensor& a, const Tensor& b,
             const AddedProduct& factors) {
  if (const graph::AutocastCall cast("addmv", x.where); cast.is_listed())
    return addmv(cast(x), cast(a), cast(b), factors);
  return added_at_once("addmv", x, a, b, factors, [](auto& y, auto& p, auto& q, auto& by) {
    return added("addmv", y, Pair("addmv", {p, y.where}, q, 2, 1).product(), by, p.dtype());
  });
}
Tensor baddbmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
               const AddedProduct& factors) {
  if (const graph::AutocastCall cast("baddbmm", x.where); cast.is_listed())
    return baddbmm(cast(x), cast(a), cast(b), factors);
  return added_at_once("baddbmm", x, a, b, factors, [](auto& y, auto& p, auto& q, auto& by) {
    return added("baddbmm", y, Pair("baddbmm", {p, y.where}, q, 3, 3).product(), by, p.dtype());
  });
}
Tensor addbmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
              const AddedProduct& factors) {
  if (const graph::AutocastCall cast("addbmm", x.where); cast.is_listed())
    return addbmm(cast(x), cast(a), cast(b), factors);
  return added_at_once("addbmm", x, a, b, factors, sum_of_batches);
}
Tensor addr(const TensorOperand& x, const Tensor& a, const Tensor& b, const AddedProduct& factors) {
  if (const graph::AutocastCall cast("addr", x.where); cast.is_listed())
    return addr(cast(x), cast(a), cast(b), factors);
  Terms terms = column_and_row("addr", {a, x.where}, b, true);
  return added("addr", x, terms[0] * terms[1], factors, terms.dtype);
}

Tensor kron(const TensorOperand& a, const Tensor& b) {
  source_location w = a.where;
  const Tensor x = graph::tensor_of(a, "kron"), y = graph::tensor_of({b, w}, "kron");
  const int rank = std::max(x.rank(), y.rank());
  Shape apart_a, apart_b, result;
  auto size_of = [&](const Tensor& t, int axis) {
    return axis < rank - t.rank() ? std::int64_t{1} : t.size(axis - (rank - t.rank()));
  };
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t m = size_of(x, axis), n = size_of(y, axis);
    for (std::int64_t size : {m, std::int64_t{1}}) apart_a.push_back(size);
    for (std::int64_t size : {std::int64_t{1}, n}) apart_b.push_back(size);
    result.push_back(m * n);
  }
  TensorOperand left(graph::reshape_operand(x, apart_a, w), w);
  return (left * TensorOperand(graph::reshape_operand(y, apart_b, w), w)).reshape(result, w);
}

Tensor cross(const TensorOperand& a, const Tensor& b, std::optional<int> axis) {
  source_location w = a.where;
  graph::tensor_of(a, "cross");
  TensorOperand other(b, w);
  Terms terms = graph::widened("cross", {&a, &other});
  const Shape& shape = terms[0].tensor().shape();
  const auto first = std::ranges::find(shape, 3);
  require(axis || first != shape.end(), "[cross] the operands have shape ", shape, " (at ", At{w},
          "); an axis must have size 3");
  const int along =
      axis ? graph::axis_of(*axis, shape, "cross", w) : static_cast<int>(first - shape.begin());
  require(shape[along] == 3, "[cross] axis ", along, " of shape ", shape, " has size ",
          shape[along], " (at ", At{w}, "); it must be 3");
  // Element i of the result is made of i + 1 and i + 2, counted round.
  auto turned = [&](const Formula& x, std::int64_t by) {
    const Tensor& t = x.tensor();
    return Formula(cat({t.slice(along, by, 3, 1, w), t.slice(along, 0, by, 1, w)}, along, w), w);
  };
  const Formula &x = terms[0], &y = terms[1];
  return terms.result(turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1));
}

Tensor trace(const TensorOperand& x) {
  if (const graph::AutocastCall cast("trace", x.where); cast.is_listed()) return trace(cast(x));
  const Tensor& matrix = graph::tensor_of(x, "trace");
  require(matrix.rank() == 2, "[trace] the operand is ", matrix.shape(), " (at ", At{x.where},
          "); it must be a matrix");
  return sum({graph::diagonal_operand(matrix, x.where), x.where});
}

Tensor bilinear(const TensorOperand& a, const Tensor& b, const Tensor& weight, const Tensor& bias) {
  if (const graph::AutocastCall cast("bilinear", a.where, {a.tensor, b, weight, bias});
      cast.is_listed())
    return bilinear(cast(a), cast(b), cast(weight), cast(bias));
  Tensor result =
      einsum("...i,oij,...j->...o", {graph::tensor_of(a, "bilinear"), weight, b}, a.where);
  return bias.defined() ? TensorOperand(result, a.where) + TensorOperand(bias, a.where) : result;
}

Tensor linalg_multi_dot(const std::vector<Tensor>& matrices, source_location w) {
  if (const graph::AutocastCall cast("linalg_multi_dot", w); cast.is_listed())
    return linalg_multi_dot(cast(matrices), w);
  require(matrices.size() >= 2, "[linalg_multi_dot] ", matrices.size(), " matrices (at ", At{w},
          "); two or more are wanted");
  Tensor product = matrices[0];
  for (std::size_t i = 1; i < matrices.size(); ++i)
    product = matmul({product, w}, {matrices[i], w});
  return product;
}
Tensor linalg_vecdot(const TensorOperand& a, const Tensor& b, int axis) {
  if (const graph::AutocastCall cast("linalg_vecdot", a.where); cast.is_listed())
    return linalg_vecdot(cast(a), cast(b), axis);
  return sum({a * TensorOperand(b, a.where), a.where}, {axis});
}
Tensor linalg_vander(const TensorOperand& operand, std::optional<std::int64_t> given) {
  Tensor x = graph::tensor_of(operand, "linalg_vander");
  if (x.rank() == 0) x = x.reshape({1});
  const std::int64_t count = given.value_or(x.size(-1));
  require(count >= 1, "[linalg_vander] ", count, " powers (at ", At{operand.where},
          "); at least 1 is wanted");
  if (is_boolean(x.dtype())) x = x.to(DType::i64);
  Shape first = x.shape(), others = x.shape();
  first.push_back(1);
  others.push_back(count - 1);
  const Tensor one = ones(first, x.dtype());
  if (count == 1) return one;
  return cat({one, cumprod(x.unsqueeze(-1).expand(others), -1)}, -1);
}

}  // namespace tilewright
