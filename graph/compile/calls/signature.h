// The signature that a plan is compiled for, types and layouts of the arguments, and how a call
// differs from it.
//
// A call runs a plan that exists only where its arguments match the plan's signature one by one.
// If none matches, `differences` says in the user's terms what is new about the call: the one
// text of errors, of logs and of records of recompilations (contract.h).
#pragma once

#include <string>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/calls/structure.h"
#include "graph/compile/sizes/declared_sizes.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// Type and layout of one argument. A call matches where all of them are equal.
struct ArgumentType {
  DType dtype;
  Shape shape;
  Strides strides;
  bool is_aligned = false;         // its memory must begin at a multiple of 64 bytes
  DeviceMemory* memory = nullptr;  // that it lies in; null: the host's
  bool operator==(const ArgumentType&) const = default;
};
using Signature = std::vector<ArgumentType>;

Signature signature_of(const std::vector<Tensor>& arguments, const Device& device);
bool matches(const Signature& signature, const std::vector<Tensor>& arguments);
std::string to_string(const Signature& signature);  // "f32 10x10, i64 1"
// How the call differs from the known signature, argument by argument. `places` says where the
// call's tensors are, `declared` which of their axes are static.
std::vector<Difference> differences(const Signature& known, const Signature& call,
                                    const std::vector<ArgumentPlace>& places,
                                    const DeclaredSizes& declared);

// How messages call the tensors, by which sizes are declared.
std::vector<std::string> names_of(const ArgumentForm& form);

}  // namespace tilewright::graph
