#include "models/onnx/program/zero_points.h"

#include <algorithm>

namespace tilewright::onnx {

bool known_zero(const Call& call, std::size_t input) {
  if (!call.has(input)) return true;
  const Known* known = call.known(input);
  return known != nullptr &&
         std::ranges::all_of(known->elements, [](const Number& n) { return n.as_double() == 0; });
}

}  // namespace tilewright::onnx
