#include "models/onnx/file/wire.h"

#include <bit>
#include <cstring>

namespace tilewright::onnx {

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    auto byte = static_cast<std::uint8_t>(bytes[i]);
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

bool Fields::next() {
  if (rest_.empty()) return false;
  auto key = take_varint(rest_);
  place_->expect(key && *key >> 3 != 0 && *key >> 32 == 0,
                 "it is not an ONNX model, or damaged: a field has no number");
  number_ = static_cast<std::uint32_t>(*key >> 3);
  std::uint64_t size = 0;
  switch (*key & 7) {
    case 0: {
      std::string_view before = rest_;
      place_->expect(take_varint(rest_).has_value(), "it is damaged: field ", number_,
                     " holds no whole number");
      kind_ = Wire::varint;
      payload_ = before.substr(0, before.size() - rest_.size());
      return true;
    }
    case 1:
      kind_ = Wire::fixed64;
      size = 8;
      break;
    case 2: {
      auto length = take_varint(rest_);
      place_->expect(length.has_value(), "it is damaged: field ", number_, " has no length");
      kind_ = Wire::bytes;
      size = *length;
      break;
    }
    case 5:
      kind_ = Wire::fixed32;
      size = 4;
      break;
    default:
      place_->refuse("it is not an ONNX model, or damaged: field ", number_, " is of kind ",
                     *key & 7);
  }
  place_->expect(size <= rest_.size(), "it is cut off or damaged: field ", number_, " has ", size,
                 " bytes; ", rest_.size(), " are left");
  payload_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

std::int64_t Fields::integer() const {
  place_->expect(kind_ == Wire::varint, "it is damaged: field ", number_, " is not an integer");
  std::string_view bytes = payload_;
  return static_cast<std::int64_t>(take_varint(bytes).value_or(0));
}

float Fields::real() const {
  place_->expect(kind_ == Wire::fixed32, "it is damaged: field ", number_, " is not a float");
  std::uint32_t bits;
  std::memcpy(&bits, payload_.data(), sizeof bits);
  return std::bit_cast<float>(bits);
}

std::string_view Fields::text() const {
  place_->expect(kind_ == Wire::bytes, "it is damaged: field ", number_,
                 " is not a text or message");
  return payload_;
}

}  // namespace tilewright::onnx
