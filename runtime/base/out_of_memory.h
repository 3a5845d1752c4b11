// Lack of memory has an error type of its own, since a caller that tries alternatives can go on
// with something smaller.
//
// A `std::bad_alloc` does not say where it comes from. So work that takes much memory is done
// inside an activity. The innermost activity converts a `std::bad_alloc` to an `OutOfMemory` that
// names the work. So users of the library get an `Error` like any other, also from other threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright {

// More memory, or more shared memory or registers of a block, than there are. Nothing was changed;
// with less in use, or with smaller blocks, it may succeed.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Raises it with the joined message unless `condition` holds.
template <typename... Parts>
void require_memory(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw OutOfMemory(concat(parts...));
}

// "[compile] out of memory while compiling kernel softmax; ..."
struct Activity {
  std::string_view operation;     // compile
  std::string_view what;          // compiling kernel
  std::string_view subject = {};  // softmax; must outlive the activity
};

// The first raises `OutOfMemory`, or `std::bad_alloc` where there is no memory even for that.
[[noreturn]] void raise_out_of_memory(const Activity& activity);
[[noreturn]] void raise_refused(const Activity& activity, const std::system_error& error);

// For code that catches a `std::bad_alloc` in the end: the message of the activity that had no
// memory to raise its own error, or "". Allocates nothing.
const char* message_without_memory() noexcept;

// The result of `work`.
template <std::invocable Work>
auto while_doing(const Activity& activity, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    raise_out_of_memory(activity);
  } catch (const std::system_error& error) {
    raise_refused(activity, error);
  }
}

// Lists on the host whose length is a number of a caller's or a file's: one that is a mistake has
// to be an Error that names the operation and the bytes.

// Room for so many elements. Raises `OutOfMemory`, "[operation] the host has no memory for ...".
template <typename T>
void reserve_list(std::vector<T>& list, std::string_view operation, std::int64_t count) {
  auto is_reserved = [&] {
    try {
      list.reserve(static_cast<std::size_t>(count));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    } catch (const std::length_error&) {
      return false;
    }
  };
  if (is_reserved()) return;
  std::int64_t bytes = 0;
  const bool is_countable = !__builtin_mul_overflow(count, sizeof(T), &bytes);
  throw OutOfMemory(concat("[", operation, "] the host has no memory for a list of ",
                           is_countable ? concat(bytes) : "2^63 and more",
                           " bytes: free tensors or ask for fewer elements"));
}

// So many elements of one value.
template <typename T>
std::vector<T> host_list(std::string_view operation, std::int64_t count, const T& value = {}) {
  std::vector<T> list;
  reserve_list(list, operation, count);
  list.resize(static_cast<std::size_t>(count), value);
  return list;
}

}  // namespace tilewright
