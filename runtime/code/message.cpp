#include "runtime/code/message.h"

#include <bit>
#include <cstdio>

#include "runtime/base/text/number_text.h"

namespace tilewright {
namespace {

template <typename T>
std::string formatted(const char* format, T value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string message_text(const char* format, const std::uint64_t* words) {
  std::string text;
  for (std::string_view rest = format; !rest.empty();) {
    std::size_t used = 1;
    if (rest.front() != '%') {
      text += rest.front();
    } else if (rest.starts_with("%%")) {
      text += '%';
      used = 2;
    } else if (rest.starts_with("%g")) {
      text += general_text(std::bit_cast<double>(*words++));
      used = 2;
    } else {
      const char* conversion = rest.starts_with("%llu") ? "%llu" : "%lld";
      text += formatted(conversion, static_cast<unsigned long long>(*words++));
      used = 4;
    }
    rest.remove_prefix(used);
  }
  return text;
}

void write_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_message(const char* format, const std::uint64_t* words) {
  write_text(message_text(format, words));
}

}  // namespace tilewright
