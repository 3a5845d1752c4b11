#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dsl/ir/immediates.h"
#include "graph/ops/family.h"

namespace tilewright::graph {

namespace rules {

ValueType ordering(const Application& a) {
  Shape result = a.shape(0);
  a.need_arithmetic(0);
  a.need(result.rank() > 0, "the operand has no axes; it must have one to be ordered along");
  const std::int64_t size = result[-1], end = a.attributes.end;
  a.need(size <= std::numeric_limits<std::int32_t>::max(), "a row has ", size,
         " elements; there may be up to 2^31 - 1");
  a.need(end >= 0 && end <= size, "the first ", end, " of ", size,
         " elements are asked for; it must be between none and all");
  result[-1] = end;
  return {DType::i64, result};
}

}  // namespace rules

HostTensor meaning(The<Op::argsort>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  HostTensor result(DType::i64, node.shape);
  const std::int64_t size = x.shape[-1], end = node.shape[-1];
  auto comes_before = [&](std::int64_t a, std::int64_t b) {
    if (node.attributes.descending) std::swap(a, b);
    ir::Scalar pair[2] = {x.get(a), x.get(b)};
    if (is_floating(x.dtype)) pair[0].dtype = pair[1].dtype = DType::f64;
    const bool is_less = ir::evaluate(ir::Op::lt_, pair, DType::boolean).integer != 0;
    return is_less || (!std::isnan(x.number(a)) && std::isnan(x.number(b)));
  };
  for (std::int64_t row = 0; end > 0 && row < result.count() / end; ++row) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(size));
    std::iota(places.begin(), places.end(), row * size);
    std::ranges::stable_sort(places, comes_before);
    for (std::int64_t i = 0; i < end; ++i)
      result.set_number(row * end + i,
                        static_cast<double>(places[static_cast<std::size_t>(i)] - row * size));
  }
  return result;
}

}  // namespace tilewright::graph
