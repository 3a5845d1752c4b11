// Windows of images as columns, and columns put back where they came from and summed: unfold and
// fold of torch.nn.functional, of one to three axes.
//
// Lists have a value an axis, or one for all axes. Misuse raises `Error`; safe to call from several
// threads.
#pragma once

#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct FoldOptions {
  Shape stride = {}, padding = {}, dilation = {};  // 1, 0, 1
  Shape padding_after = {};                        // where it differs behind an axis
};
// x [N, C, sizes..] or [C, sizes..] -> [N, C * places of the kernel, windows], row-major both.
Tensor unfold(const TensorOperand& x, const Shape& kernel, const FoldOptions& options = {});
// The transpose of that: columns of windows of images of these sizes -> [N, C, sizes..]. Elements
// of several windows are added. Floats.
Tensor fold(const TensorOperand& columns, const Shape& sizes, const Shape& kernel,
            const FoldOptions& options = {});

}  // namespace tilewright
