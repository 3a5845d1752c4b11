// The functions whose derivatives at special points are compared with PyTorch's
// (special_points.def).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing_points {

using Tensors = std::vector<Tensor>;
using PointFunction = Tensor (*)(const Tensor& a, const Tensor& b, const Tensor& c);

// By the text of PyTorch's expression.
const std::map<std::string, PointFunction>& point_functions();

}  // namespace tilewright::testing_points
