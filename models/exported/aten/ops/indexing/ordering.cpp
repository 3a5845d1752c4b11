// Operators that put elements in order, or pick them by their order.
#include "graph/functions/ordering/sort.h"
#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace ordering_rows {
namespace {

std::pair<Tensor, Tensor> sorted(const Call& call) {
  call.flag("stable", false);  // all are
  return sort(call.tensor("self"), call.axis("dim", -1), call.flag("descending", false));
}
Tensor order(const Call& call) { return sorted(call).second; }
std::pair<Tensor, Tensor> foremost(const Call& call) {
  call.flag("sorted", true);  // which any order is
  return topk(call.tensor("self"), call.integer("k"), call.axis("dim", -1),
              call.flag("largest", true));
}
std::pair<Tensor, Tensor> one_by_rank(const Call& call) {
  return kthvalue(call.tensor("self"), call.integer("k"), call.axis("dim", -1),
                  call.flag("keepdim", false));
}

using Middle = std::pair<Tensor, Tensor> (*)(const TensorOperand& x, int axis, bool keep_dims);
template <Middle middle>
constexpr auto middle_along =
    [](const Call& c) { return middle(c.tensor("self"), c.axis("dim"), c.flag("keepdim", false)); };

constexpr Operator rows[] = {
    {"aten.sort.default", by<sorted>},
    {"aten.sort.stable", by<sorted>},
    {"aten.argsort.default", by<order>},
    {"aten.argsort.stable", by<order>},
    {"aten.msort.default", [](const Call& c) { return msort(c.tensor("self")); }},
    {"aten.topk.default", by<foremost>},
    {"aten.kthvalue.default", by<one_by_rank>},
    {"aten.median.default", [](const Call& c) { return median(c.tensor("self")); }},
    {"aten.median.dim", middle_along<median>},
    {"aten.nanmedian.default", [](const Call& c) { return nanmedian(c.tensor("self")); }},
    {"aten.nanmedian.dim", middle_along<nanmedian>},
};

}  // namespace
}  // namespace ordering_rows

std::span<const Operator> ordering_operators() { return ordering_rows::rows; }

}  // namespace tilewright::exported
