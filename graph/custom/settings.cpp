#include "graph/custom/settings.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// A double has a point, an exponent or a letter, so that it does not read back as an integer.
std::string text_of(double number) {
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}
std::string text_of(std::int64_t number) { return std::to_string(number); }
std::string text_of(bool flag) { return flag ? "true" : "false"; }
std::string text_of(const Shape& sizes) {
  return "[" + (sizes.empty() ? std::string() : to_string(sizes)) + "]";
}
std::string text_of(DType dtype) { return std::string(name_of(dtype)); }

template <typename T>
T number_in(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), "[graph] '", text,
          "' is no value of a setting; a number, true, false, [sizes] or a dtype is");
  return value;
}

Shape sizes_in(std::string_view text) {
  Shape sizes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('x'), text.size());
    sizes.push_back(number_in<std::int64_t>(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sizes;
}

Settings::Value value_in(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('[') && text.ends_with(']'))
    return sizes_in(text.substr(1, text.size() - 2));
  if (auto dtype = parse_dtype(text)) return *dtype;
  if (text.find_first_of(".en") == text.npos) return number_in<std::int64_t>(text);
  return number_in<double>(text);
}

}  // namespace

Settings Settings::parse(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = one.find('=');
    require(equals != one.npos, "[graph] '", one, "' is no setting; name=value is");
    settings.add(std::string(one.substr(0, equals)), value_in(one.substr(equals + 1)));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return settings;
}

std::string Settings::text() const {
  std::string text;
  for (const auto& [name, value] : settings_)
    text += concat(text.empty() ? "" : ", ", name, "=",
                   std::visit([](const auto& v) { return text_of(v); }, value));
  return text;
}

const Settings::Value* Settings::find(std::string_view name) const {
  auto found = std::ranges::find(settings_, name, &Setting::name);
  return found == settings_.end() ? nullptr : &found->value;
}

template <typename T>
const T& Settings::get(std::string_view name) const {
  const Value* value = find(name);
  check(value != nullptr && std::holds_alternative<T>(*value),
        "a library function reads a setting that its calls do not have");
  return std::get<T>(*value);
}
template const bool& Settings::get(std::string_view) const;
template const std::int64_t& Settings::get(std::string_view) const;
template const double& Settings::get(std::string_view) const;
template const Shape& Settings::get(std::string_view) const;
template const DType& Settings::get(std::string_view) const;

}  // namespace tilewright::graph
