// Errors of the whole library.
//
// There are two kinds, because they ask for two different actions. `Error` is something that the
// user caused and can mend: it names the operation, the thing that is wrong, its value, and what
// would be right, in the form "[dot] inner sizes differ: a is 64x32, b is 16x64; ...".
// `InternalError` can only come from a bug in the library. Raise the first through `require`, the
// second through `check`.
#pragma once

#include <locale>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>

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

// Joins the parts as `std::ostream` prints them. The program's locale is ignored: machines read the
// result too (IR, keys, JSON), and it must be the same in every program. Raises std::bad_alloc
// where there is no memory for it: a stream by itself would keep the first part, and a key, a
// header of a file or a program would be cut short silently.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

[[noreturn]] void raise_error(const std::string& message);
[[noreturn]] void raise_internal_error(const std::string& message, std::source_location where);

// Raises `Error` with the joined message unless `condition` holds.
template <typename... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    raise_error(concat(parts...));
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
