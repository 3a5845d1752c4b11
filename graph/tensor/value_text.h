// Values of a program as text: in messages, and in the keys of what is compiled for them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tilewright::detail {

// The fewest digits that give the number again.
std::string text_of_number(std::int64_t value);
std::string text_of_number(std::uint64_t value);
std::string text_of_number(float value);
std::string text_of_number(double value);
std::string text_of_number(long double value);
// In quotes, each text another one: a backslash and control characters are escaped.
std::string text_of_text(std::string_view value);

template <typename T>
concept HostValue = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string> ||
    std::same_as<T, std::string_view>;

template <HostValue T>
std::string text_of_host_value(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return text_of_host_value(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return text_of_number(value);
  } else if constexpr (std::is_arithmetic_v<T> && sizeof(T) > 8) {  // an integer of 128 bits
    return text_of_number(static_cast<std::int64_t>(value >> 64)) + " * 2^64 + " +
           text_of_number(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_arithmetic_v<T> && std::is_signed_v<T>) {
    return text_of_number(std::int64_t{value});
  } else if constexpr (std::is_arithmetic_v<T>) {
    return text_of_number(std::uint64_t{value});
  } else {
    return text_of_text(value);
  }
}

}  // namespace tilewright::detail
