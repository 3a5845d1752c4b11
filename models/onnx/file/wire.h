// Messages in the encoding of Protocol Buffers, read field by field without copies:
// https://protobuf.dev/programming-guides/encoding.
//
// A message is a row of fields, each a number, a kind, and a payload; the reader knows which fields
// there are. Nothing is allocated here, so a message costs no more than its bytes, whatever it says
// of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace tilewright::onnx {

// The beginning of errors: "[load_onnx] FILE: ".
struct Place {
  std::string file;
  template <typename... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    raise_error(concat("[load_onnx] ", file, ": ", parts...));
  }
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) refuse(parts...);
  }
};

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

class Fields {
 public:
  // Both must outlive this.
  Fields(std::string_view message, const Place& place) : rest_(message), place_(&place) {}

  // Goes to the next field; false at the end. Raises `Error` where the message ends within one.
  bool next();
  std::uint32_t number() const { return number_; }
  // The payload: numbers as they are encoded; texts, messages and packed numbers without their
  // length.
  std::string_view payload() const { return payload_; }
  Wire kind() const { return kind_; }
  const Place& place() const { return *place_; }

  // These raise `Error` where the field is of another kind.
  std::int64_t integer() const;
  float real() const;
  std::string_view text() const;
  Fields message() const { return {text(), *place_}; }

 private:
  std::string_view rest_, payload_;
  const Place* place_;
  std::uint32_t number_ = 0;
  Wire kind_ = Wire::varint;
};

// The integer that `bytes` begins with, which are taken away; nothing where they end within it.
std::optional<std::uint64_t> take_varint(std::string_view& bytes);

}  // namespace tilewright::onnx
