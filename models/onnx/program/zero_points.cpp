#include "models/onnx/program/zero_points.h"

namespace tilewright::onnx {

bool known_zero(const Call& call, std::size_t input, std::int64_t channels) {
  if (!call.has(input)) return true;
  const Known* known = call.known(input);
  if (known == nullptr || !known->is_zero()) return false;
  return known->elements.size() == 1 || std::ssize(known->elements) == channels;
}

}  // namespace tilewright::onnx
