// Zero points of integers, among the inputs of a call. Products leave out those that the host knows
// to be 0, and the sums by which they would be corrected.
#pragma once

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// True if the input is left out, or consists of zeros as far as the host knows: one, or `channels`
// of them. Others do not fit, and are left to the operation to report.
bool known_zero(const Call& call, std::size_t input, std::int64_t channels);

}  // namespace tilewright::onnx
