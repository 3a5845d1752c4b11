// How often something stands in a program's text.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::dsl {

inline int count_of(const std::string& text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace tilewright::dsl
