#include "runtime/base/text/number_text.h"

#include <charconv>

namespace tilewright {

std::string fixed_text(double value, int digits) {
  char text[512];  // the largest double has 309 digits before the point
  auto [end, problem] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return problem == std::errc() ? std::string(text, end) : "?";
}

std::string general_text(double value) {
  char text[32];
  auto [end, problem] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return problem == std::errc() ? std::string(text, end) : "?";
}

}  // namespace tilewright
