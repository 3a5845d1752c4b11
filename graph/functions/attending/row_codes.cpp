#include "graph/functions/attending/row_codes.h"

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/quantisation/linear.h"
#include "graph/ir/location.h"
#include "graph/ops/attention_operands.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

bool is_row_code(DType dtype) { return graph::is_code(dtype); }

Tensor RowCodes::decoded(DType dtype, std::source_location where) const {
  require(codes.defined() && scales.defined(), "[decoded] ", codes.defined() ? "scales" : "codes",
          " are undefined (at ", At{where}, "); quantize_rows makes both");
  Shape rows = codes.shape();
  if (!rows.empty()) rows.pop_back();
  require(is_row_code(codes.dtype()) && codes.rank() > 0 && scales.shape() == rows,
          "[decoded] codes are ", codes.dtype(), " [", codes.shape(), "], scales [", scales.shape(),
          "] (at ", At{where},
          "); codes must be i8 or floats of 8 bits, with a scale for each row along the last axis");
  require(is_floating(dtype) && !is_float8(dtype), "[decoded] the dtype is ", dtype, " (at ",
          At{where}, "); it must be floats of 16 bits or more");
  const Tensor numbers = codes.to(scales.dtype()) * scales.unsqueeze(-1);
  return numbers.dtype() == dtype ? numbers : numbers.to(dtype);
}

RowCodes quantize_rows(const TensorOperand& operand, DType dtype) {
  const Tensor& x = graph::tensor_of(operand, "quantize_rows");
  require(is_row_code(dtype), "[quantize_rows] codes of ", dtype, " (at ", At{operand.where},
          "); they are i8 or floats of 8 bits");
  require(is_floating(x.dtype()) && !is_float8(x.dtype()) && x.rank() > 0, "[quantize_rows] x is ",
          x.dtype(), " [", x.shape(), "] (at ", At{operand.where},
          "); it must be floats of 16 bits or more with an axis at least");
  require(x.size(-1) > 0, "[quantize_rows] x is [", x.shape(), "] (at ", At{operand.where},
          "); its rows, along the last axis, must have elements");
  const DType carried = accumulator(x.dtype());
  const Tensor numbers = x.dtype() == carried ? x : x.to(carried);
  const double largest = dtype == DType::i8 ? 127 : largest_float8(dtype);
  const Tensor scales = amax(abs(numbers), {-1}, true) / largest;
  // A row whose scale is 0 has zeros, or numbers too small for one.
  const Tensor codes = numbers / where(scales == 0, 1, scales);
  return {(is_floating(dtype) ? codes : round(codes)).to(dtype), scales.squeeze(-1)};
}

}  // namespace tilewright
