// Sums, products and extrema up to each element of an axis.
#include "graph/functions/reducing/cumulative.h"
#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace {

constexpr Operator rows[] = {
    {"aten.cumsum.default",
     [](const Call& c) { return cumsum(c.tensor("self"), c.axis("dim"), c.dtype()); }},
    {"aten.cumprod.default",
     [](const Call& c) { return cumprod(c.tensor("self"), c.axis("dim"), c.dtype()); }},
    {"aten.logcumsumexp.default",
     [](const Call& c) { return logcumsumexp(c.tensor("self"), c.axis("dim")); }},
    {"aten.cummax.default", [](const Call& c) { return cummax(c.tensor("self"), c.axis("dim")); }},
    {"aten.cummin.default", [](const Call& c) { return cummin(c.tensor("self"), c.axis("dim")); }},
};

}  // namespace

std::span<const Operator> scan_operators() { return rows; }

}  // namespace tilewright::exported
