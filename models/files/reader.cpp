#include "models/files/reader.h"

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/files/utf8.h"
#include "runtime/base/error.h"

namespace tilewright::json {
namespace {

// The parser library's receiver: checks the limits and passes on.
class Guard {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Guard(std::string_view operation, std::string_view what, const Limits& limits, Events& events)
      : operation_(operation), what_(what), limits_(limits), events_(events) {}

  bool null() { return pass({}); }
  bool boolean(bool value) {
    return pass({.kind = Scalar::Kind::boolean, .boolean = value, .string = {}});
  }
  bool number_integer(number_integer_t value) {
    return pass({.kind = Scalar::Kind::integer,
                 .integer = value,
                 .real = static_cast<double>(value),
                 .string = {}});
  }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(INT64_MAX))
      return pass({.kind = Scalar::Kind::real, .real = static_cast<double>(value), .string = {}});
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    return pass({.kind = Scalar::Kind::real, .real = value, .string = {}});
  }
  bool string(string_t& value) {
    limit_string(value);
    return pass({.kind = Scalar::Kind::string, .string = std::move(value)});
  }
  bool key(string_t& name) {
    limit_string(name);
    events_.key(std::move(name));
    return true;
  }
  bool start_object(std::size_t) {
    enter();
    events_.begin_object();
    return true;
  }
  bool end_object() {
    --depth_;
    events_.end_object();
    return true;
  }
  bool start_array(std::size_t) {
    enter();
    events_.begin_array();
    return true;
  }
  bool end_array() {
    --depth_;
    events_.end_array();
    return true;
  }
  bool binary(binary_t&) { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    std::string reason = error.what();
    if (auto at = reason.find("; last read"); at != std::string::npos) reason.resize(at);
    if (auto at = reason.find("] "); at != std::string::npos) reason.erase(0, at + 2);
    raise_error(concat("[", operation_, "] ", what_, ": not valid JSON at byte ", position, ": ",
                       reason.substr(0, 200)));
  }

 private:
  void limit_string(const std::string& text) const {
    require(text.size() <= limits_.string_bytes, "[", operation_, "] ", what_, ": a string of ",
            text.size(), " bytes; at most ", limits_.string_bytes, " are allowed");
  }
  void count() {
    require(++values_ <= limits_.values, "[", operation_, "] ", what_, ": more than ",
            limits_.values, " JSON values");
  }
  void enter() {
    count();
    require(++depth_ <= limits_.depth, "[", operation_, "] ", what_, ": JSON nested deeper than ",
            limits_.depth, " levels");
  }
  bool pass(Scalar value) {
    count();
    events_.scalar(std::move(value));
    return true;
  }

  std::string_view operation_, what_;
  const Limits& limits_;
  Events& events_;
  int depth_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

std::string_view name_of(Scalar::Kind kind) {
  switch (kind) {
    case Scalar::Kind::null: return "null";
    case Scalar::Kind::boolean: return "a boolean";
    case Scalar::Kind::integer: return "an integer";
    case Scalar::Kind::real: return "a number that is not a 64-bit integer";
    case Scalar::Kind::string: return "a string";
  }
  __builtin_unreachable();
}

namespace {

constexpr std::size_t max_excerpt_bytes = 80;

// False for control characters of ASCII and of Unicode, which terminals obey; for ends of lines;
// and for characters that change the direction of writing, which can disguise a message.
bool is_shown(char32_t value) {
  bool is_control = value < 0x20 || (value >= 0x7f && value < 0xa0);
  bool ends_line = value == 0x2028 || value == 0x2029;
  bool turns = value == 0x200e || value == 0x200f || (value >= 0x202a && value <= 0x202e) ||
               (value >= 0x2066 && value <= 0x2069);
  return !is_control && !ends_line && !turns && value != tokenizer::no_character;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Excerpt& excerpt) {
  std::size_t printed = 0;
  tokenizer::for_each_character(excerpt.text.substr(0, max_excerpt_bytes + 3),
                                [&](std::string_view bytes, char32_t value) {
                                  if (printed >= max_excerpt_bytes) return;
                                  printed += bytes.size();
                                  if (is_shown(value))
                                    out << bytes;
                                  else
                                    out << '?';
                                });
  return out << (excerpt.text.size() > printed ? "..." : "");
}

std::ostream& operator<<(std::ostream& out, const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::null: return out << "null";
    case Scalar::Kind::boolean: return out << (scalar.boolean ? "true" : "false");
    case Scalar::Kind::integer: return out << scalar.integer;
    case Scalar::Kind::real: return out << scalar.real;
    case Scalar::Kind::string: return out << '"' << excerpt(scalar.string) << '"';
  }
  __builtin_unreachable();
}

namespace {

enum class Run : std::uint8_t { none, blanks, number, string };

// The kind of long token that a byte can begin, or continue.
constexpr std::array<Run, 256> run_of_byte = [] {
  std::array<Run, 256> runs{};
  for (char c : std::string_view(" \t\r\n")) runs[static_cast<unsigned char>(c)] = Run::blanks;
  for (char c : std::string_view("0123456789+-.eE"))
    runs[static_cast<unsigned char>(c)] = Run::number;
  runs['"'] = Run::string;
  return runs;
}();

// The parser would take long over a token of a hundred million bytes and keep it in memory; this
// scan before it is fast and keeps nothing.
void refuse_huge_tokens(std::string_view text, std::string_view operation, std::string_view what,
                        std::size_t string_bytes) {
  constexpr std::size_t max_escape = 6;  // "\u0041" is one byte of the string
  constexpr std::size_t max_other_bytes = 1 << 16;
  auto run_at = [&](std::size_t i) { return run_of_byte[static_cast<unsigned char>(text[i])]; };
  for (std::size_t begin = 0; begin < text.size();) {
    Run run = run_at(begin);
    std::size_t end = begin + 1;
    if (run == Run::string)
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    else if (run != Run::none)
      while (end < text.size() && run_at(end) == run) ++end;
    std::size_t limit = run == Run::string ? max_escape * string_bytes : max_other_bytes;
    require(end - begin - 1 <= limit, "[", operation, "] ", what, ": ", end - begin, " bytes of ",
            run == Run::string ? "one string" : "blanks or of one number", " at byte ", begin,
            "; at most ", limit, " are allowed");
    begin = end + (run == Run::string ? 1 : 0);
  }
}

}  // namespace

void read(std::string_view text, std::string_view operation, std::string_view what,
          const Limits& limits, Events& events) {
  require(text.size() <= limits.text_bytes, "[", operation, "] ", what, ": ", text.size(),
          " bytes of JSON; at most ", limits.text_bytes, " are allowed");
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  // The parser takes it for the end, and would not look at what follows.
  std::size_t nul = text.find('\0');
  require(nul == text.npos, "[", operation, "] ", what, ": not valid JSON at byte ", nul,
          ": a byte that is 0");
  refuse_huge_tokens(text, operation, what, limits.string_bytes);
  Guard guard(operation, what, limits, events);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &guard);
}

std::string quote(std::string_view text, std::string_view operation) {
  try {
    return nlohmann::json(std::string(text)).dump();
  } catch (const nlohmann::json::exception&) {
    raise_error(concat("[", operation, "] a name or value is not UTF-8"));
  }
}

}  // namespace tilewright::json
