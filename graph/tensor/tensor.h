// The user's tensor, its parts, and the operations on it under PyTorch's names.
#pragma once

#include "graph/tensor/user/functions.h"
#include "graph/tensor/user/indexed_tensor.h"
#include "graph/tensor/user/tensor_handle.h"
