// Inputs of a foreign program that the application holds constant: a sampling rate, a flag that
// chooses a branch. They are no inputs any more, and what follows from them is known when the
// program is loaded.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/programs/signature.h"

namespace tilewright::programs {

// By the names of inputs.
using Constants = std::map<std::string, Tensor>;

struct HeldInput {
  std::size_t place;  // among the inputs, as they were
  Tensor tensor;      // a copy
};
// Takes these inputs out of the signature; sizes that they name have no other value. Raises `Error`
// "[operation] FILE: ..." for a name that is no input, and a tensor of another dtype, rank or size.
std::vector<HeldInput> hold_constant(Signature& signature, const Constants& constants,
                                     std::string_view operation, std::string_view file);

// Raises `Error` likewise if the input cannot be this tensor.
void require_can_be(const SignatureInput& input, const Tensor& tensor, std::string_view operation,
                    std::string_view file);

}  // namespace tilewright::programs
