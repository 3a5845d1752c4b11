#include "tests/drills/wire_message.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::drills {
namespace {

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    check(!bytes.empty() && shift < 64, "a message is cut off");
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}
std::string take_bytes(std::string_view& bytes, std::uint64_t count) {
  check(count <= bytes.size(), "a message is cut off");
  std::string taken(bytes.substr(0, count));
  bytes.remove_prefix(count);
  return taken;
}
void add_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

}  // namespace

WireMessage wire_message(std::string_view bytes) {
  WireMessage message;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    WireField field{static_cast<int>(key >> 3), static_cast<WireField::Kind>(key & 7), 0, {}};
    if (field.kind == WireField::Kind::varint)
      field.value = take_varint(bytes);
    else if (field.kind == WireField::Kind::four_bytes ||
             field.kind == WireField::Kind::eight_bytes)
      field.bytes = take_bytes(bytes, field.kind == WireField::Kind::four_bytes ? 4 : 8);
    else
      field.bytes = take_bytes(bytes, take_varint(bytes));
    message.push_back(std::move(field));
  }
  return message;
}

std::string bytes_of(const WireMessage& message) {
  std::string bytes;
  for (const WireField& field : message) {
    add_varint(bytes, static_cast<std::uint64_t>(field.number) << 3 |
                          static_cast<std::uint64_t>(field.kind));
    if (field.kind == WireField::Kind::varint) add_varint(bytes, field.value);
    if (field.kind == WireField::Kind::bytes) add_varint(bytes, field.bytes.size());
    bytes += field.bytes;
  }
  return bytes;
}

WireField* field_of(WireMessage& message, int number) {
  auto found = std::ranges::find(message, number, &WireField::number);
  return found == message.end() ? nullptr : &*found;
}
std::string text_of(WireMessage& message, int number) {
  const WireField* field = field_of(message, number);
  return field == nullptr ? std::string() : field->bytes;
}

std::vector<std::int64_t> integers_of(const WireMessage& message, int number) {
  std::vector<std::int64_t> values;
  for (const WireField& field : message) {
    if (field.number != number) continue;
    if (field.kind == WireField::Kind::varint)
      values.push_back(static_cast<std::int64_t>(field.value));
    for (std::string_view packed = field.bytes; !packed.empty();)
      values.push_back(static_cast<std::int64_t>(take_varint(packed)));
  }
  return values;
}
void set_integers(WireMessage& message, int number, const std::vector<std::int64_t>& values) {
  std::erase_if(message, [&](const WireField& field) { return field.number == number; });
  WireField packed{number, WireField::Kind::bytes, 0, {}};
  for (std::int64_t value : values) add_varint(packed.bytes, static_cast<std::uint64_t>(value));
  message.push_back(std::move(packed));
}

}  // namespace tilewright::drills
