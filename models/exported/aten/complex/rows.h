// How rows call functions of one complex tensor, the argument "self".
#pragma once

#include "models/exported/aten/operators.h"

namespace tilewright::exported {

template <ComplexTensor (*function)(const ComplexTensor&)>
inline constexpr auto of_self =
    [](const Call& c) -> Value { return function(c.complex_tensor("self")); };
template <Tensor (*function)(const ComplexTensor&)>
inline constexpr auto real_of_self =
    [](const Call& c) { return function(c.complex_tensor("self")); };

}  // namespace tilewright::exported
