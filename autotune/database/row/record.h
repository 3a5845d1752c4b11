// Named values with one canonical text: "columns=128 rows=64 stages=4".
//
// Problems, devices, compilers and configurations are records, so that stored rows can be read,
// compared name by name, and carried to another machine: data, never code. Two records are equal
// exactly if their texts are, in every process and on every machine, because names are in order and
// characters that would be ambiguous in the text (spaces, %, control characters, bytes above 126)
// are written as % and two capital hexadecimal digits.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::autotune {

class Record {
 public:
  struct Field {
    std::string name, value;
    auto operator<=>(const Field&) const = default;
  };

  // Adds the value or replaces it. A name is a letter and then letters, digits and _, 48 at the
  // most; raises `Error` for another.
  Record& set(std::string_view name, std::string_view value);
  template <std::integral T>
  Record& set(std::string_view name, T value) {
    return set(name, std::string_view(std::to_string(value)));
  }

  // Null if the name does not occur.
  const std::string* find(std::string_view name) const;
  // Nothing if the name does not occur or its value is not an integer of 64 bits.
  std::optional<std::int64_t> integer(std::string_view name) const;

  const std::vector<Field>& fields() const { return fields_; }  // by name
  bool empty() const { return fields_.empty(); }
  std::string text() const;
  // True if `parse` would take its text.
  bool has_short_text() const;
  // Reads the output of `text`; nothing for any other text, or for more than 64 fields or 8 KiB.
  static std::optional<Record> parse(std::string_view text);
  // Likewise, but fields may have any order and any number of spaces between them, as people write
  // them, and as `Space::text` does. Nothing if a name occurs twice.
  static std::optional<Record> read(std::string_view text);
  static bool is_name(std::string_view name);

  auto operator<=>(const Record&) const = default;

 private:
  std::vector<Field> fields_;
};

// One way to compile a kernel, as choices by name. The space that the choices come from decides
// whether they exist.
using Configuration = Record;

}  // namespace tilewright::autotune
