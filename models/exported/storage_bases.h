// as_strided of a view: sizes, strides and offset are those of the memory that the view lies in.
#pragma once

#include "models/exported/program/program.h"

namespace tilewright::exported {

// Makes each as_strided and as_strided_scatter of the program one of the tensor that owns the
// memory, with these arguments beside PyTorch's own:
//
//   storage_axes    the axes of that tensor in the order in which they lie in memory
//   view_size, view_stride, view_offset
//                   of as_strided_scatter: the part of the memory that the result is
//
// Raises `Error` where the program does not tell how that memory is laid out.
void use_storage_bases(Program& program);

}  // namespace tilewright::exported
