#include "runtime/base/env.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime/base/error.h"

namespace tilewright::env {
namespace {

constexpr std::array table = {
#define TILEWRIGHT_ENV(getter, variable, type, effect, unset, meaning) \
  Row{variable, #type, Effect::effect, unset, meaning},
#include "runtime/base/env.def"
#undef TILEWRIGHT_ENV
};

void warn_of_unknown_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<std::string> unknown = unknown_variables();
    if (unknown.empty()) return;
    std::string message = "tilewright: unknown environment variables are ignored:";
    for (const std::string& name : unknown) message += " " + name;
    std::fprintf(stderr, "%s\n", message.c_str());
  });
}

std::string value_of(const char* variable) {
  warn_of_unknown_variables();
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

void read(const char* variable, text& result) { result = value_of(variable); }

void read(const char* variable, integer& result) {
  std::string value = value_of(variable);
  if (value.empty()) return;
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  require(error == std::errc() && end == value.data() + value.size(), "[", variable,
          "] the value is \"", value, "\"; an integer would be right");
  result = number;
}

void read(const char* variable, flag& result) {
  std::string value = value_of(variable);
  require(value.empty() || value == "0" || value == "1", "[", variable, "] the value is \"", value,
          "\"; 0 or 1 would be right");
  result = value == "1";
}

void read(const char* variable, list& result) {
  std::string value = value_of(variable);
  for (std::size_t begin = 0; begin < value.size();) {
    std::size_t end = std::min(value.find(',', begin), value.size());
    if (end > begin) result.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

#define TILEWRIGHT_ENV(getter, variable, type, effect, unset, meaning) \
  type getter() {                                                      \
    type value{};                                                      \
    read(variable, value);                                             \
    return value;                                                      \
  }
#include "runtime/base/env.def"
#undef TILEWRIGHT_ENV

bool is_off(std::string_view text) {
  return std::ranges::equal(text, std::string_view("off"), {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
}

std::span<const Row> rows() { return table; }

bool is_any_set(Effect effect) {
  return std::ranges::any_of(table, [&](const Row& row) {
    return row.effect == effect && !value_of(row.variable.data()).empty();
  });
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view name(*entry);
    name = name.substr(0, name.find('='));
    bool known = std::any_of(table.begin(), table.end(),
                             [&](const Row& row) { return row.variable == name; });
    if (name.starts_with("TILEWRIGHT_") && !known) unknown.emplace_back(name);
  }
  return unknown;
}

}  // namespace tilewright::env
