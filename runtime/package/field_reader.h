// Reads what a FieldWriter wrote, and believes nothing: each number must lie in the bytes, each
// choice among its values, and a list may have no more elements than bytes are left. An Error names
// the field.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "runtime/base/error.h"

namespace tilewright {

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename Number>
  void number(Number& value, const char* what) {
    static_assert(std::is_integral_v<Number>);
    expect(rest_.size() >= sizeof value, "the plan ends within its ", what);
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
      read |= std::to_integer<std::uint64_t>(rest_[i]) << (8 * i);
    value = static_cast<Number>(read);
    rest_ = rest_.subspan(sizeof value);
  }
  template <typename Flag>
  void flag(Flag&& value, const char* what) {
    std::uint8_t read = 0;
    number(read, what);
    expect(read <= 1, what, " is ", static_cast<int>(read), ", and must be 0 or 1");
    value = read != 0;
  }
  template <typename Enum>
  void choice(Enum& value, std::size_t count, const char* what) {
    std::uint8_t read = 0;
    number(read, what);
    expect(read < count, what, " is number ", static_cast<int>(read), " of ", count);
    value = static_cast<Enum>(read);
  }
  void text(std::string& value, const char* what) {
    const std::size_t size = length(what);
    value.assign(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
  }
  template <typename List, typename Each>
  void list(List& values, const char* what, Each&& each) {
    const std::size_t size = length(what);
    for (std::size_t i = 0; i < size; ++i) {
      values.emplace_back();
      each(values.back());
    }
  }
  template <typename... Parts>
  void expect(bool holds, const Parts&... parts) const {
    require(holds, parts...);
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  // Each element of a list takes a byte at least.
  std::size_t length(const char* what) {
    std::uint32_t size = 0;
    number(size, what);
    expect(size <= rest_.size(), what, " has ", size, " elements, and ", rest_.size(),
           " bytes follow");
    return size;
  }

  std::span<const std::byte> rest_;
};

}  // namespace tilewright
