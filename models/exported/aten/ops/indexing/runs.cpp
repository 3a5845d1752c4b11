// Operators on runs of equal elements: what is unique, and what occurs most often.
#include "graph/functions/ordering/runs.h"

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace run_rows {
namespace {

// What nobody asks for is an empty tensor in PyTorch.
Results results_of(const Call& call, const UniqueResult& unique) {
  const Tensor none = zeros({0}, i64);
  const bool wants_inverse = call.flag("return_inverse", false),
             wants_counts = call.flag("return_counts", false);
  return {unique.values, wants_inverse ? unique.inverse : none,
          wants_counts ? unique.counts : none};
}
int axis_of(const Call& call, const Tensor& x) {
  const int named = call.axis("dim");
  if (!normalise_axis(named, x.rank()))
    call.refuse("dim", concat("is ", named, "; the tensor is [", x.shape(), "]"));
  return named;
}
Results unique_neighbours(const Call& call) {
  const Tensor x = call.tensor("self");
  if (!call.has("dim")) return results_of(call, unique_consecutive(x));
  return results_of(call, unique_consecutive(x, axis_of(call, x)));
}
Results unique_slices(const Call& call) {
  const Tensor x = call.tensor("self");
  for (const char* name : {"sorted", "return_inverse", "return_counts"}) call.flag(name, true);
  const UniqueResult slices = unique(x, axis_of(call, x));
  return {slices.values, slices.inverse, slices.counts};  // whatever is asked for, as in PyTorch
}

constexpr Operator rows[] = {
    {"aten.mode.default",
     [](const Call& c) {
       return mode(c.tensor("self"), c.axis("dim", -1), c.flag("keepdim", false));
     }},
    {"aten.unique_consecutive.default", by<unique_neighbours>},
    {"aten.unique_dim.default", by<unique_slices>},
    {"aten._unique2.default",
     [](const Call& c) {
       c.flag("sorted", true);  // which any order is
       return results_of(c, unique(c.tensor("self")));
     }},
};

}  // namespace
}  // namespace run_rows

std::span<const Operator> run_operators() { return run_rows::rows; }

}  // namespace tilewright::exported
