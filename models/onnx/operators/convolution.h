// A convolution by the attributes of a call, for operators that are one of other numbers.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// x [N, C, sizes..], weight [O, C / group, kernel..], bias [O] or undefined.
Tensor convolved(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace tilewright::onnx
