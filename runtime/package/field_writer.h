// Writes the fields of plain data as bytes: the counterpart of field_reader.h, which reads them
// back by the same calls. Numbers are little-endian, of fixed widths; a list is its length and its
// elements. Nothing depends on the compiler or the processor that wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright {

class FieldWriter {
 public:
  template <typename Number>
  void number(const Number& value, const char*) {
    static_assert(std::is_integral_v<Number>);
    auto rest = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof value; ++i, rest >>= 8)
      bytes_.push_back(static_cast<char>(rest & 0xff));
  }
  void flag(bool value, const char* what) { number(static_cast<std::uint8_t>(value), what); }
  template <typename Enum>
  void choice(Enum value, std::size_t, const char* what) {
    number(static_cast<std::uint8_t>(value), what);
  }
  void text(const std::string& value, const char* what) {
    number(static_cast<std::uint32_t>(value.size()), what);
    bytes_ += value;
  }
  template <typename List, typename Each>
  void list(List& values, const char* what, Each&& each) {
    number(static_cast<std::uint32_t>(values.size()), what);
    for (auto& value : values) each(value);
  }
  // Named as the reader's, which raises errors.
  template <typename... Parts>
  void expect(bool, const Parts&...) {}

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace tilewright
