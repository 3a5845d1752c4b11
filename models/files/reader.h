// Reading JSON that a stranger wrote, in one pass and in bounded memory.
//
// A document object model of a hostile file of 100 MB takes gigabytes and most of a minute, so
// foreign JSON is read as a sequence of events. The limits hold for every file and are checked as
// the text goes by; the event receiver interprets the file, and raises `Error` itself. Separate
// from the receivers, so that the parser library stays in one source.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tilewright::json {

struct Limits {
  std::size_t text_bytes = 100'000'000;
  int depth = 16;
  std::size_t string_bytes = 1 << 20;
  std::size_t values = 100'000'000;  // scalars, objects and arrays together
  std::size_t nodes = 1'000'000;     // of these, how many a tree (tree.h) may hold
};

struct Scalar {
  enum class Kind : std::uint8_t { null, boolean, integer, real, string };
  Kind kind = Kind::null;
  bool boolean = false;
  // Set for kind integer. A value above 2^63 - 1 has kind real.
  std::int64_t integer = 0;
  double real = 0;  // of integers too
  std::string string;
};
std::string_view name_of(Scalar::Kind kind);
// As the text has it, strings shortened. Receivers hand the scalar itself to `require`, so that
// nothing is printed unless it is wrong.
std::ostream& operator<<(std::ostream& out, const Scalar& scalar);
// The beginning of a foreign string, as much of it as a message should show; "..." says that there
// is more. Control characters, which could end the message or drive the reader's terminal,
// characters that change the direction of writing, and bytes that are not UTF-8 are shown as '?'.
// Every foreign name or value in a message goes through this.
struct Excerpt {
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const Excerpt& excerpt);
inline Excerpt excerpt(std::string_view text) { return {text}; }

// Receives a document in the order of its text. Keys and strings are valid UTF-8.
class Events {
 public:
  virtual ~Events() = default;
  virtual void scalar(Scalar value) = 0;
  virtual void key(std::string name) = 0;
  virtual void begin_object() = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
};

// Raises `Error` beginning with "[operation] what:" for text that is not a single JSON value or
// passes a limit. Runs in time linear in the text and needs memory for the longest string only.
void read(std::string_view text, std::string_view operation, std::string_view what,
          const Limits& limits, Events& events);

// `text` as a JSON string in quotes; raises `Error` where it is not UTF-8.
std::string quote(std::string_view text, std::string_view operation);

}  // namespace tilewright::json
