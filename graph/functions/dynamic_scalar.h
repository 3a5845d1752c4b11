// A number of the host that changes from call to call, a learning rate or a temperature: data of a
// compiled function and not a part of its program, so that setting it compiles nothing.
//
//   DynamicScalar rate(1e-3);
//   auto step = compile([&](const Tensor& gradient) { return weight - rate * gradient; });
//   rate.set(5e-4);  // the next call reads it
#pragma once

#include "graph/tensor/tensor.h"

namespace tilewright {

namespace graph {
// A tensor that is set between calls: of it Options::freezing promises nothing.
void mark_setting(const Tensor& tensor);
}  // namespace graph

// A tensor without axes. Copies stand for the same tensor, as a tensor's handles do. Setting it is
// thread safe with nothing that reads it.
class DynamicScalar {
 public:
  explicit DynamicScalar(double value, DType dtype = DType::f32)
      : tensor_(full({}, value, dtype).clone()) {
    graph::mark_setting(tensor_);
  }
  void set(double value) { tensor_.copy_from(full({}, value, tensor_.dtype())); }
  double value() const { return tensor_.to(DType::f64).item<double>(); }
  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }
  operator TensorOperand() const { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace tilewright
