// A message in the encoding of Protocol Buffers as a list of its fields, which a test changes and
// writes again. Apart from the reader of the library, which is what such tests are for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::drills {

struct WireField {
  enum class Kind : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };
  int number = 0;
  Kind kind = Kind::varint;
  std::uint64_t value = 0;  // of a varint
  std::string bytes;        // of the others
};
using WireMessage = std::vector<WireField>;

WireMessage wire_message(std::string_view bytes);
std::string bytes_of(const WireMessage& message);

// The first field of that number; null: there is none.
WireField* field_of(WireMessage& message, int number);
std::string text_of(WireMessage& message, int number);
// A repeated field of varints, packed or not.
std::vector<std::int64_t> integers_of(const WireMessage& message, int number);
void set_integers(WireMessage& message, int number, const std::vector<std::int64_t>& values);

}  // namespace tilewright::drills
