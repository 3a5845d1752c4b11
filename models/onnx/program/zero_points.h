// Zero points of integers, among the inputs of a call. Products leave those out that the host
// knows to be 0: missing ones, since values of 8 bits are not followed on the host.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// True if the input is left out, or has zeros alone as far as the host knows.
bool known_zero(const Call& call, std::size_t input);

}  // namespace tilewright::onnx
