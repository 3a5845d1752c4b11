#include "graph/functions/linear_algebra/reflections.h"

#include <algorithm>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/differentiating/differentiated_function.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/host_matrices.h"
#include "graph/functions/linear_algebra/matrices.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/named/rules.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::column_at;
using graph::column_numbers;
using graph::few_turns;
using graph::FunctionCall;
using graph::Matrices;
using graph::NamedFunction;
using graph::outer_products;
using graph::real_operand;
using graph::row_numbers;

namespace {

// Matrices [b, m, n] minus tau v (v' matrix); v [b, m], tau [b, 1].
Tensor reflected_once(const Tensor& matrices, const Tensor& v, const Tensor& tau) {
  Tensor along = sum(matrices * v.unsqueeze(2), {1});
  return matrices - outer_products(v * tau, along);
}

// The vectors [k, b, m] that stand below the diagonal.
Tensor vectors_of(const Tensor& matrices) {
  Tensor below = tril(matrices, -1);
  Tensor ones_on = where(row_numbers(matrices) == column_numbers(matrices), 1.0, below);
  return ones_on.permute({2, 0, 1});
}

Tensors geqrf_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  if (!call.target.is_gpu()) {
    auto [factors, tau] = geqrf(real_operand(a, "geqrf"), a.where);
    return {factors.real(), tau.real()};
  }
  const Matrices m(a, "geqrf");
  const std::int64_t count = std::min(m.rows(), m.columns());
  if (m.all.count() == 0)
    return {m.restored(m.all), m.restored(zeros({m.all.size(0), count}, f64))};
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    const Tensor& k = sliced[0];
    Tensor i = arange(0, m.rows()), column = column_at(state[0], k);
    Tensor first = sum(where(i == k, column, 0.0), {1}, true);
    Tensor rest = where(i > k, column, 0.0);
    Tensor size = sum(rest * rest, {1}, true), length = sqrt(first * first + size);
    Tensor beta = where(size == 0.0, first, where(first < 0.0, length, -length));
    Tensor tau = where(size == 0.0, 0.0, (beta - first) / beta);
    Tensor scale = where(size == 0.0, 1.0, first - beta);
    Tensor v = where(i == k, 1.0, rest / scale);
    Tensor next = reflected_once(state[0], v, tau);
    Tensor is_below = logical_and(row_numbers(next) > k, column_numbers(next) == k);
    // The vector where zeros were made; columns before this one have theirs there.
    next = where(is_below, v.unsqueeze(2), where(column_numbers(next) < k, state[0], next));
    return {{next}, {tau.squeeze(1)}};
  };
  auto [last, tau] = scan(turn, {m.all}, {arange(0, count)}, {.few_turns = few_turns});
  return {m.restored(last[0]), m.restored(tau[0].transpose(0, 1))};
}

// A reflection a turn, which has a derivative.
Tensors reflected_in_turns(const FunctionCall& call) {
  const TensorOperand vectors(call[0], call.where);
  const Tensor &tau = call[1], &matrices = call[2];
  const bool undone = call.settings.flag("undone");
  const Matrices v(vectors, "reflected"), x(matrices, "reflected");
  const std::int64_t count = tau.size(-1);
  require(v.batch == x.batch && v.rows() == x.rows() && count <= v.columns(), "[reflected] ", count,
          " reflections [", vectors.tensor.shape(), "] of [", matrices.shape(),
          "]; as many rows, and batches of one shape, are wanted");
  if (x.all.count() == 0 || count == 0) return {matrices};
  auto turn = [&](const Tensors& state, const Tensors& sliced) -> Turn {
    return {{reflected_once(state[0], sliced[0], sliced[1].unsqueeze(1))}, {}};
  };
  Tensor factors = tau.to(f64).reshape({v.all.size(0), count}).transpose(0, 1);
  Tensor all = vectors_of(v.all.slice(2, 0, count));
  // The last reflection comes first, unless they are undone.
  return {x.restored(
      scan(turn, {x.all}, {all, factors}, {.reverse = !undone, .few_turns = few_turns}).first[0])};
}

Tensors reflected_body(const FunctionCall& call) {
  if (call.target.is_gpu()) return reflected_in_turns(call);
  return {reflected(real_operand({call[0], call.where}, "reflected"),
                    real_operand({call[1], call.where}, "reflected"),
                    real_operand({call[2], call.where}, "reflected"), call.settings.flag("undone"),
                    call.where)
              .real()};
}

Tensors householder_product_by_reflections(const FunctionCall& call) {
  const Matrices v({call[0], call.where}, "householder_product");
  const Tensor& tau = call[1];
  Tensor whole = graph::identities(v.all.size(0), v.rows()).slice(2, 0, v.columns());
  Tensor product = reflected(v.all, tau.to(f64).reshape({v.all.size(0), tau.size(-1)}), whole);
  return {v.restored(product)};
}

Tensors householder_product_body(const FunctionCall& call) {
  if (call.target.is_gpu()) return householder_product_by_reflections(call);
  return {householder_product(real_operand({call[0], call.where}, "householder_product"),
                              real_operand({call[1], call.where}, "householder_product"),
                              call.where)
              .real()};
}

// The derivative of a function that computes the same from tensors.
template <NamedFunction::Body formula>
Tensors derivative_of(const graph::DerivativeCall& call) {
  const Tensors operands(call.operands.begin(), call.operands.end());
  const graph::DifferentiatedFunction function(
      "reflections",
      [&](const Tensors& of) {
        return formula({of, call.settings, call.target, call.where});
      },
      operands, call.where);
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (call.wants(i)) wanted.push_back(i);
  const Tensors found =
      function.gradients(wanted, {call.cotangents.begin(), call.cotangents.end()}).gradients;
  Tensors all(operands.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) all[wanted[i]] = found[i];
  return all;
}

Tensors qr_body(const FunctionCall& call) {
  const TensorOperand a(call[0], call.where);
  const bool complete = call.settings.flag("complete");
  if (!call.target.is_gpu()) {
    auto [q, r] = qr(real_operand(a, "qr"), complete, a.where);
    return {q.real(), r.real()};
  }
  const Matrices m(a, "qr");
  auto [factors, tau] = geqrf(m.all);
  const std::int64_t count = complete ? m.rows() : std::min(m.rows(), m.columns());
  Tensor whole = graph::identities(m.all.size(0), m.rows()).slice(2, 0, count);
  Tensor q = tau.size(1) == 0 ? whole : reflected(factors, tau, whole);
  return {m.restored(q), m.restored(triu(factors).slice(1, 0, count))};
}

std::pair<Tensor, Tensor> as_pair(const Tensors& both) { return {both[0], both[1]}; }

}  // namespace

namespace graph::named {
extern const NamedFunction geqrf_function;
const NamedFunction geqrf_function("geqrf", geqrf_body);
extern const NamedFunction reflected_function;
const NamedFunction reflected_function("reflected", reflected_body,
                                       derivative_of<reflected_in_turns>);
extern const NamedFunction householder_product_function;
const NamedFunction householder_product_function("householder_product", householder_product_body,
                                                 derivative_of<householder_product_by_reflections>);
extern const NamedFunction qr_function;
const NamedFunction qr_function("qr", qr_body, qr_derivative);
}  // namespace graph::named

std::pair<Tensor, Tensor> geqrf(const TensorOperand& a) {
  if (const graph::AutocastCall cast("geqrf", a.where); cast.is_listed()) return geqrf(cast(a));
  return as_pair(graph::named::geqrf_function({graph::tensor_of(a, "geqrf")}, {}, a.where));
}
Tensor reflected(const TensorOperand& vectors, const Tensor& tau, const Tensor& matrices,
                 bool undone) {
  auto operand = [&](const Tensor& x) { return graph::tensor_of({x, vectors.where}, "reflected"); };
  return graph::named::reflected_function(
      {graph::tensor_of(vectors, "reflected"), operand(tau), operand(matrices)},
      {{"undone", undone}}, vectors.where)[0];
}
Tensor householder_product(const TensorOperand& vectors, const Tensor& tau) {
  if (const graph::AutocastCall cast("linalg_householder_product", vectors.where); cast.is_listed())
    return householder_product(cast(vectors), cast(tau));
  return graph::named::householder_product_function(
      {graph::tensor_of(vectors, "householder_product"),
       graph::tensor_of({tau, vectors.where}, "householder_product")},
      {}, vectors.where)[0];
}
std::pair<Tensor, Tensor> qr(const TensorOperand& a, bool complete) {
  if (const graph::AutocastCall cast("linalg_qr", a.where); cast.is_listed())
    return qr(cast(a), complete);
  return as_pair(
      graph::named::qr_function({graph::tensor_of(a, "qr")}, {{"complete", complete}}, a.where));
}

}  // namespace tilewright
