#include "dsl/debugger/element_value.h"

#include <charconv>
#include <cstring>

namespace tilewright::dsl {

ElementValue element_at(DType dtype, const void* memory, std::int64_t index) {
  return dispatch(dtype, [&](auto element) {
    using T = decltype(element);
    std::memcpy(&element, static_cast<const std::byte*>(memory) + index * sizeof element,
                sizeof element);
    if constexpr (std::is_integral_v<T>)
      return ElementValue{static_cast<double>(element), static_cast<std::int64_t>(element)};
    else if constexpr (std::is_same_v<T, double>)
      return ElementValue{element, 0};
    else
      return ElementValue{static_cast<double>(static_cast<float>(element)), 0};
  });
}

void set_element(DType dtype, void* memory, std::int64_t index, const ElementValue& value) {
  dispatch(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, bool>)
      element = value.integer != 0;
    else if constexpr (std::is_integral_v<T>)
      element = static_cast<T>(value.integer);
    else if constexpr (std::is_same_v<T, double>)
      element = value.number;
    else
      element = T(static_cast<float>(value.number));
    std::memcpy(static_cast<std::byte*>(memory) + index * sizeof element, &element, sizeof element);
  });
}

std::string element_text(DType dtype, const ElementValue& element) {
  if (is_boolean(dtype)) return element.integer != 0 ? "true" : "false";
  if (kind_of(dtype) == DTypeKind::unsigned_integer)
    return std::to_string(static_cast<std::uint64_t>(element.integer));
  if (!is_floating(dtype)) return std::to_string(element.integer);
  char buffer[40];
  char* end = buffer + sizeof buffer;
  end = dtype == DType::f64 ? std::to_chars(buffer, end, element.number).ptr
                            : std::to_chars(buffer, end, static_cast<float>(element.number)).ptr;
  return {buffer, end};
}

}  // namespace tilewright::dsl
