// Operators that reduce axes, and those that go along one: sums, extrema, softmax.
#include "graph/functions/reducing/reductions.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

bool keeps(const Call& call) { return call.flag("keepdim", false); }

// As the dtype that is asked for, before anything is added.
Tensor converted(const Call& call) {
  Tensor x = call.tensor("self");
  auto dtype = call.dtype();
  return dtype ? x.to(*dtype) : x;
}

using Reduction = Tensor (*)(const TensorOperand& x, std::vector<int> axes, bool keep_dims);
template <Reduction reduction>
constexpr auto over_axes =
    [](const Call& c) { return reduction(converted(c), c.axes("dim"), keeps(c)); };
template <Reduction reduction>
constexpr auto over_axis =
    [](const Call& c) { return reduction(converted(c), {c.axis("dim")}, keeps(c)); };
template <Reduction reduction>
constexpr auto over_all = [](const Call& c) { return reduction(converted(c), {}, false); };

std::optional<int> place_axis(const Call& call) {
  return call.has("dim") ? std::optional(call.axis("dim")) : std::nullopt;
}

template <Tensor (*function)(const TensorOperand&, int)>
constexpr auto along_axis = [](const Call& c) {
  Tensor x = c.tensor("self");
  return function(c.flag("half_to_float", false) ? x.to(f32) : x, c.axis("dim"));
};

Tensor variance(const Call& call) {
  return var(call.tensor("self"), call.axes("dim"), call.number("correction", 1), keeps(call));
}
std::pair<Tensor, Tensor> variance_and_mean(const Call& call) {
  return var_mean(call.tensor("self"), call.axes("dim"), call.number("correction", 1), keeps(call));
}

constexpr Operator rows[] = {
    {"aten.sum.default", over_all<sum>},
    {"aten.sum.dim_IntList", over_axes<sum>},
    {"aten.mean.default", over_all<mean>},
    {"aten.mean.dim", over_axes<mean>},
    {"aten.prod.default", over_all<prod>},
    {"aten.prod.dim_int", over_axis<prod>},
    {"aten.amax.default", over_axes<amax>},
    {"aten.amin.default", over_axes<amin>},
    {"aten.max.default", over_all<amax>},
    {"aten.min.default", over_all<amin>},
    {"aten.any.default", over_all<any>},
    {"aten.any.dim", over_axis<any>},
    {"aten.any.dims", over_axes<any>},
    {"aten.all.default", over_all<all>},
    {"aten.all.dim", over_axis<all>},
    {"aten.argmax.default",
     [](const Call& c) { return argmax(c.tensor("self"), place_axis(c), keeps(c)); }},
    {"aten.argmin.default",
     [](const Call& c) { return argmin(c.tensor("self"), place_axis(c), keeps(c)); }},
    {"aten.max.dim", [](const Call& c) { return max(c.tensor("self"), c.axis("dim"), keeps(c)); }},
    {"aten.min.dim", [](const Call& c) { return min(c.tensor("self"), c.axis("dim"), keeps(c)); }},
    {"aten.dist.default",
     [](const Call& c) { return dist(c.tensor("self"), c.tensor("other"), c.number("p", 2)); }},
    {"aten.linalg_vector_norm.default",
     [](const Call& c) {
       return linalg_vector_norm(converted(c), c.number("ord", 2), c.axes("dim"), keeps(c));
     }},
    {"aten.logsumexp.default",
     [](const Call& c) { return logsumexp(c.tensor("self"), c.axes("dim"), keeps(c)); }},
    {"aten.var.correction", by<variance>},
    {"aten.var_mean.correction", by<variance_and_mean>},
    {"aten._softmax.default", along_axis<softmax>},
    {"aten._log_softmax.default", along_axis<log_softmax>},
};

}  // namespace

std::span<const Operator> reduction_operators() { return rows; }

}  // namespace tilewright::exported
