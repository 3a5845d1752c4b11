// What a call of a library function says besides its operands: numbers, flags, sizes and dtypes by
// name, in a fixed order.
//
// Settings are part of the node: of its identity, so that calls with equal settings are equal, and
// of its text, `stride=[2x2], groups=1`, which reads back exactly.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright::graph {

class Settings {
 public:
  using Value = std::variant<bool, std::int64_t, double, Shape, DType>;
  struct Setting {
    std::string name;
    Value value;
    bool operator==(const Setting&) const = default;
  };

  Settings() = default;
  Settings(std::initializer_list<Setting> settings) : settings_(settings) {}
  // Reads `text()`. Raises `Error` naming what does not read.
  static Settings parse(std::string_view text);

  void add(std::string name, Value value) {
    settings_.push_back({std::move(name), std::move(value)});
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The value of that name and kind, which the function's own calls have: anything else is a bug.
  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const Shape& sizes(std::string_view name) const { return get<Shape>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }

  std::string text() const;
  bool operator==(const Settings&) const = default;

 private:
  const Value* find(std::string_view name) const;
  template <typename T>
  const T& get(std::string_view name) const;

  std::vector<Setting> settings_;
};

}  // namespace tilewright::graph
