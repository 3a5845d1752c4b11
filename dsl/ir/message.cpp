#include "dsl/ir/message.h"

#include "runtime/base/error.h"

namespace tilewright::ir {

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

}  // namespace tilewright::ir
