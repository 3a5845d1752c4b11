// Tensors that a call of a program has in place of its own parameters, by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/tensor/tensor.h"

namespace tilewright::programs {

using OwnParameters = std::map<std::string, const Tensor*, std::less<>>;
using GivenParameters = std::map<std::string, Tensor>;

// Raises `Error` "[operation] ..." for a name that is no parameter of the program, and for a tensor
// that is undefined or of another dtype or shape than the parameter.
void check_parameters(std::string_view operation, const OwnParameters& own,
                      const GivenParameters& given);

// The tensor given under this name, or the program's own.
inline const Tensor& chosen(const GivenParameters& given, const std::string& name,
                            const Tensor& own) {
  const auto found = given.empty() ? given.end() : given.find(name);
  return found == given.end() ? own : found->second;
}

}  // namespace tilewright::programs
