#include "dsl/ir/message.h"

#include <bit>
#include <cstdio>

#include "runtime/base/error.h"
#include "runtime/base/number_text.h"

namespace tilewright::ir {
namespace {

template <typename T>
std::string formatted(const char* format, T value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

int placeholder_count(std::string_view text) {
  int count = 0;
  for (std::size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2))
    ++count;
  return count;
}

std::string message_format(std::string_view text, std::span<const DType> dtypes) {
  std::string format;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{}") {
      DType dtype = dtypes[next++];
      format += is_floating(dtype) ? "%g" : dtype == DType::u64 ? "%llu" : "%lld";
      ++i;
    } else {
      format += text[i] == '%' ? "%%" : std::string(1, text[i]);
    }
  }
  return format;
}

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

std::string assertion_text(std::string_view kernel, std::source_location where,
                           const std::array<std::int64_t, 3>& program, const Shape& shape,
                           std::int64_t element, std::string_view message) {
  std::string place;
  std::int64_t rest = element;
  for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis])
    place = concat(rest % shape[axis], place.empty() ? "" : ", ", place);
  return concat(describe(where), ": [device_assert] ", kernel, ", program (", program[0], ", ",
                program[1], ", ", program[2], ")", place.empty() ? "" : ", element [", place,
                place.empty() ? ": " : "]: ", message);
}

void write_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_message(const char* format, const std::uint64_t* words) {
  write_text(message_text(format, words));
}

}  // namespace tilewright::ir
