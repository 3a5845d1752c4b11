#include "tools/console/constants.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/error.h"

namespace tilewright::tools {
namespace {

template <typename T>
std::vector<T> numbers_of(const std::string& text, std::string_view values) {
  std::vector<T> numbers;
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find(',', at), values.size());
    std::string_view each = values.substr(at, end - at);
    if (each == "true") each = "1";
    if (each == "false") each = "0";
    T number{};
    const auto [rest, error] = std::from_chars(each.data(), each.data() + each.size(), number);
    require(error == std::errc() && rest == each.data() + each.size(), "[constant] ", text, ": \"",
            each, "\" is no ", std::is_integral_v<T> ? "integer" : "number",
            "; NAME=VALUE is wanted, such as sr=16000");
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

// The shape of the input, if it can have so many elements; a list where sizes differ from call to
// call.
Shape shape_of(const ProgramInput& input, std::int64_t count, const std::string& text) {
  const bool is_fixed = std::ranges::none_of(input.shape, [](std::int64_t s) { return s < 0; });
  if (is_fixed && element_count(input.shape) == count) return input.shape;
  const bool is_list = input.shape.rank() == 1 && input.shape[0] < 0;
  require(is_list, "[constant] ", text, " has ", count, " values; the input is [", input.shape,
          "]");
  return {count};
}

Tensor constant_of(const ProgramInput& input, const std::string& text, std::string_view values) {
  if (is_floating(input.dtype)) {
    const auto numbers = numbers_of<double>(text, values);
    return Tensor::from(numbers, shape_of(input, std::ssize(numbers), text)).to(input.dtype);
  }
  const auto numbers = numbers_of<std::int64_t>(text, values);
  return Tensor::from(numbers, shape_of(input, std::ssize(numbers), text)).to(input.dtype);
}

}  // namespace

Constants parse_constants(const std::vector<std::string>& texts,
                          const std::vector<ProgramInput>& inputs) {
  Constants constants;
  for (const std::string& text : texts) {
    const std::size_t middle = text.find('=');
    require(middle != std::string::npos, "[constant] ", text,
            ": has no value; NAME=VALUE is wanted, such as sr=16000");
    const std::string name = text.substr(0, middle);
    const auto input = std::ranges::find(inputs, name, &ProgramInput::name);
    std::string names;
    for (const ProgramInput& each : inputs) names += (names.empty() ? "" : ", ") + each.name;
    require(input != inputs.end(), "[constant] ", text, ": the model has no input \"", name,
            "\"; it takes ", names.empty() ? "none" : names);
    constants.insert_or_assign(
        name, constant_of(*input, text, std::string_view(text).substr(middle + 1)));
  }
  return constants;
}

}  // namespace tilewright::tools
