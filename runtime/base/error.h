// Errors of the whole library.
//
// There are two kinds, because they ask for two different actions. `Error` is something that the
// user caused and can mend: it names the operation, the thing that is wrong, its value, and what
// would be right, in the form "[dot] inner sizes differ: a is 64x32, b is 16x64; ...".
// `InternalError` can only come from a bug in the library. Raise the first through `require`, the
// second through `check`.
#pragma once

#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>

#include "runtime/base/concat.h"

namespace tilewright {

// The user can cause it and can mend it. Thread safe to throw and to catch anywhere.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of the library: report it.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void raise_error(const std::string& message);
[[noreturn]] void raise_error_of(std::initializer_list<TextPart> message);
[[noreturn]] void raise_internal_error(const std::string& message, std::source_location where);

// Raises `Error` with the joined message unless `condition` holds.
template <typename... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    raise_error_of({TextPart(parts)...});
}

// Raises `InternalError` unless `condition` holds.
inline void check(bool condition, const char* message,
                  std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    raise_internal_error(message, where);
}

// "file.cpp:12" for messages; the directory is left out.
std::string describe(std::source_location where);

}  // namespace tilewright
