// Tensors as arguments of kernels written by hand.
#include "dsl/language/kernel.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Not to be written, where it is frozen. Implicit conversions of arguments do not know the line of
// the launch.
const void* data_of(const Tensor& tensor) {
  if (graph::Capture* capture = graph::Capture::active())
    capture->before_address(*tensor.body(), "launch", std::source_location());
  return tensor.const_data();
}

}  // namespace

dsl::LaunchArgument launch_argument(const Tensor& tensor) {
  require(tensor.defined(), "[launch] a tensor is undefined; give it a value before the launch");
  const void* data = data_of(tensor);
  require(tensor.is_contiguous(), "[launch] a tensor of shape ", tensor.shape(),
          " has the strides ", tensor.strides(),
          "; strides are not passed to kernels: launch it on contiguous()");
  dsl::LaunchArgument argument(data, tensor.dtype(), tensor.count());
  argument.lies_in(tensor.device().memory());
  argument.before_write(
      [](const void* owner) {
        graph::require_writable(*static_cast<const TensorBody*>(owner), "launch",
                                std::source_location::current());
      },
      tensor.body().get());
  return argument;
}

}  // namespace tilewright
