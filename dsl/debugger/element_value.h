// One element of memory or of a tile as a number, and as text: apart from tiles, since results in
// memory are compared and shown the same way.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"

namespace tilewright::dsl {

// `integer` is 0 of a floating type; `number` of an integer above 2^53 is rounded.
struct ElementValue {
  double number = 0;
  std::int64_t integer = 0;
};

// The element at `index` of an array.
ElementValue element_at(DType dtype, const void* memory, std::int64_t index);
// Writes it; a floating type takes `number`, rounded, any other `integer`.
void set_element(DType dtype, void* memory, std::int64_t index, const ElementValue& element);

// "0.5", "-7", "true": as many digits as tell a number of the type from its neighbours.
std::string element_text(DType dtype, const ElementValue& element);

}  // namespace tilewright::dsl
