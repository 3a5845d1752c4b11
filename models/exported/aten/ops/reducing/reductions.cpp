// Operators that reduce axes, and those that go along one: sums, extrema, softmax.
#include "graph/functions/reducing/reductions.h"
#include "graph/functions/reducing/distances.h"
#include "graph/functions/reducing/norms.h"
#include "models/exported/aten/matrix_norms.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace reduction_rows {
namespace {

bool keeps(const Call& call) { return call.flag("keepdim", false); }

// As the dtype that is asked for, before anything is added.
Tensor converted(const Call& call) {
  Tensor x = call.tensor("self");
  auto dtype = call.dtype();
  return dtype ? x.to(*dtype) : x;
}

// Of integers sums are of 64 bits, and then what is asked for.
Tensor finished(const Call& call, const Tensor& result) {
  auto dtype = call.dtype();
  return dtype ? result.to(*dtype) : result;
}
// PyTorch's any and all of u8 are u8.
Tensor as_truth(const Call& call, const Tensor& result) {
  return call.tensor("self").dtype() == u8 ? result.to(u8) : result;
}

using Reduction = Tensor (*)(const TensorOperand& x, const Axes& axes, bool keep_dims);
template <Reduction reduction>
constexpr auto over_axes =
    [](const Call& c) { return finished(c, reduction(converted(c), c.axes("dim"), keeps(c))); };
template <Reduction reduction>
constexpr auto over_axis =
    [](const Call& c) { return finished(c, reduction(converted(c), {c.axis("dim")}, keeps(c))); };
template <Reduction reduction>
constexpr auto over_all =
    [](const Call& c) { return finished(c, reduction(converted(c), {}, false)); };

template <auto reduction>
constexpr auto truth_of = [](const Call& c) { return as_truth(c, reduction(c)); };

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

// 1 or 0 less in the divisor, as "unbiased" says.
double unbiased(const Call& call) { return call.flag("unbiased", true) ? 1 : 0; }
Tensor variance_of(const Call& call) {
  return var(call.tensor("self"), call.axes("dim"), unbiased(call), keeps(call));
}
std::pair<Tensor, Tensor> variance_and_mean_of(const Call& call) {
  return var_mean(call.tensor("self"), call.axes("dim"), unbiased(call), keeps(call));
}
// The roots are taken before they are rounded, so that variances beyond the range of the dtype do
// no harm.
Tensor deviation(const Call& call) {
  return stddev(call.tensor("self"), call.axes("dim"), call.number("correction", 1), keeps(call));
}
Tensor deviation_of(const Call& call) {
  return stddev(call.tensor("self"), call.axes("dim"), unbiased(call), keeps(call));
}
using Pair = std::pair<Tensor, Tensor>;
template <Tensor (*deviation)(const Call&), Pair (*variance)(const Call&)>
constexpr auto deviation_and_mean =
    [](const Call& c) { return Pair(deviation(c), variance(c).second); };

// A norm of vectors, of the elements of all axes named.
Tensor norm_of(const Call& call) {
  return norm(converted(call), call.number(call.has("p") ? "p" : "ord", 2), call.axes("dim"),
              keeps(call));
}
// Of matrices where an order is named for two axes, which is another.
Tensor linalg_norm_of(const Call& call) {
  const std::vector<int> axes = call.axes("dim");
  const bool are_matrices = axes.size() == 2 || (axes.empty() && call.tensor("self").rank() == 2);
  if (call.has("ord") && are_matrices) return norm_of_matrices(call);
  return norm(converted(call), call.number("ord", 2), axes, keeps(call));
}

std::pair<Tensor, Tensor> extrema(const Call& call) {
  return aminmax(call.tensor("self"), place_axis(call), keeps(call));
}

Tensor distances(const Call& call) {
  call.has("compute_mode");  // says how PyTorch computes it
  return cdist(call.tensor("x1"), call.tensor("x2"), call.number("p", 2));
}
Tensor distances_of_pairs(const Call& call) {
  return pdist(call.tensor("self"), call.number("p", 2));
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
    {"aten.any.default", truth_of<over_all<any>>},
    {"aten.any.dim", truth_of<over_axis<any>>},
    {"aten.any.dims", truth_of<over_axes<any>>},
    {"aten.all.default", truth_of<over_all<all>>},
    {"aten._is_any_true.default", truth_of<over_all<any>>},
    {"aten._is_all_true.default", truth_of<over_all<all>>},
    {"aten.all.dim", truth_of<over_axis<all>>},
    {"aten.all.dims", truth_of<over_axes<all>>},
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
    {"aten.var.default", by<variance_of>},
    {"aten.var.dim", by<variance_of>},
    {"aten.var_mean.correction", by<variance_and_mean>},
    {"aten.var_mean.default", by<variance_and_mean_of>},
    {"aten.var_mean.dim", by<variance_and_mean_of>},
    {"aten.std.correction", by<deviation>},
    {"aten.std.default", by<deviation_of>},
    {"aten.std.dim", by<deviation_of>},
    {"aten.std_mean.correction", deviation_and_mean<deviation, variance_and_mean>},
    {"aten.std_mean.default", deviation_and_mean<deviation_of, variance_and_mean_of>},
    {"aten.std_mean.dim", deviation_and_mean<deviation_of, variance_and_mean_of>},
    {"aten.norm.Scalar", by<norm_of>},
    {"aten.norm.ScalarOpt_dim", by<norm_of>},
    {"aten.norm.ScalarOpt_dim_dtype", by<norm_of>},
    {"aten.norm.ScalarOpt_dtype", by<norm_of>},
    {"aten.linalg_norm.default", by<linalg_norm_of>},
    {"aten.aminmax.default", by<extrema>},
    {"aten.count_nonzero.default",
     [](const Call& c) {
       auto axis = place_axis(c);
       return count_nonzero(c.tensor("self"), axis ? std::vector{*axis} : std::vector<int>());
     }},
    {"aten.count_nonzero.dim_IntList",
     [](const Call& c) { return count_nonzero(c.tensor("self"), c.axes("dim")); }},
    {"aten.nanmean.default", over_axes<nanmean>},
    {"aten.nansum.default", over_axes<nansum>},
    {"aten.sum_to_size.default",
     [](const Call& c) {
       Tensor x = c.tensor("self");
       return sum_to_size(is_boolean(x.dtype()) ? x.to(i64) : x, c.integers("size"));
     }},
    {"aten.cdist.default", by<distances>},
    {"aten._cdist_forward.default", by<distances>},
    {"aten.pdist.default", by<distances_of_pairs>},
    {"aten._pdist_forward.default", by<distances_of_pairs>},
    {"aten.renorm.default",
     [](const Call& c) {
       return renorm(c.tensor("self"), c.number("p"), c.axis("dim"), c.number("maxnorm"));
     }},
    {"aten._safe_softmax.default",
     [](const Call& c) { return safe_softmax(converted(c), c.axis("dim")); }},
    {"aten._weight_norm.default",
     [](const Call& c) { return weight_norm(c.tensor("v"), c.tensor("g"), c.axis("dim", 0)); }},
    {"aten._softmax.default", along_axis<softmax>},
    {"aten._log_softmax.default", along_axis<log_softmax>},
};

}  // namespace
}  // namespace reduction_rows

std::span<const Operator> reduction_operators() { return reduction_rows::rows; }

}  // namespace tilewright::exported
