#include "graph/functions/indexing/replacement.h"

#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using std::source_location;

namespace {

int kind_rank(DType dtype) { return is_boolean(dtype) ? 0 : is_floating(dtype) ? 2 : 1; }

}  // namespace

void require_dtype_of(const Tensor& x, const Tensor& source, std::string_view operation,
                      source_location w) {
  require(source.dtype() == x.dtype(), "[", operation, "] x is ", x.dtype(),
          ", the replacement is ", source.dtype(), " (at ", At{w}, "); they must have one dtype");
}

Tensor filler(const Tensor& x, const TensorOperand& value, std::string_view operation,
              source_location w) {
  if (value.is_number) return constant(x.dtype(), {}, value.number, w);
  const Tensor& given = tensor_of(value, operation);
  require(given.rank() == 0, "[", operation, "] the replacement is ", given.shape(), " (at ", At{w},
          "); it must be a number, or a tensor without axes");
  require(kind_rank(given.dtype()) <= kind_rank(x.dtype()), "[", operation, "] x is ", x.dtype(),
          ", the replacement is ", given.dtype(), " (at ", At{w},
          "); it must not be of a higher kind");
  return given.to(x.dtype(), w);
}

}  // namespace tilewright::graph
