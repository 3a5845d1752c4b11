#include "models/tokenizer/text/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "models/files/reader.h"
#include "models/files/utf8.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

// The contents of brackets for the classes that follow Unicode.
constexpr std::string_view white_space = R"(\p{White_Space})";
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
// Outside of brackets Oniguruma's \w has these of Latin-1, too: the raised digits and the
// fractions.
constexpr std::string_view lone_word =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view hex_digits = "0-9A-Fa-f";
constexpr int max_repeats = 1000;
constexpr int max_depth = 32;

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> posix_classes = {{
    {"alpha", R"(\p{Alphabetic})"},
    {"digit", R"(\p{Nd})"},
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"space", white_space},
    {"upper", R"(\p{Uppercase})"},
    {"lower", R"(\p{Lowercase})"},
    {"cntrl", R"(\p{Cc})"},
    {"word", word},
    {"xdigit", hex_digits},
    {"blank", R"(\p{Zs}\t)"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> long_categories = {{
    {"letter", "L"},
    {"mark", "M"},
    {"number", "N"},
    {"punctuation", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"other", "C"},
    {"alpha", "Alphabetic"},
    {"space", "White_Space"},
}};

constexpr std::array<std::string_view, 7> binary_properties = {
    "alphabetic", "uppercase", "lowercase", "whitespace", "emoji", "ideographic", "any"};

std::string simple_name(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != ' ' && c != '-')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

class Translation {
 public:
  Translation(std::string_view pattern, std::string_view where) : in_(pattern), where_(where) {}

  std::string run() {
    alternatives(0);
    expect(at_ == in_.size(), "it has a ')' too many");
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, where_, ": the pattern \"", json::excerpt(in_), "\", byte ", at_, ": ",
            parts...);
  }
  static json::Excerpt shown(const char& byte) { return json::excerpt({&byte, 1}); }
  bool ends() const { return at_ == in_.size(); }
  bool sees(std::string_view text) const { return in_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    if (!sees(text)) return false;
    at_ += text.size();
    return true;
  }
  char next() {
    expect(!ends(), "it ends too early");
    return in_[at_++];
  }

  void alternatives(int depth) {
    expect(depth < max_depth, "groups are nested deeper than ", max_depth);
    while (!ends() && !sees(")")) {
      if (take("|")) {
        out_ += '|';
        continue;
      }
      std::size_t begin = out_.size();
      if (atom(depth)) repetition(begin);
    }
  }

  // Parses an atom; true if it can be repeated.
  bool atom(int depth) {
    char c = next();
    if (c == '(') return group(depth);
    if (c == '[') return bracket(depth), true;
    if (c == '\\') return escape();
    if (c == '^' || c == '$') return out_ += c, false;
    expect(c != '*' && c != '+' && c != '?', "'", c, "' repeats nothing");
    bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0 || c == '.';
    if (is_plain) {
      out_ += c;
      while (!ends() && (in_[at_] & 0xc0) == 0x80) out_ += in_[at_++];
    } else {
      literal(static_cast<unsigned char>(c));
    }
    return true;
  }

  void literal(char32_t value) {
    is_character_ = true;
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (; value != 0 || hex.empty(); value >>= 4) hex.insert(hex.begin(), digits[value & 15]);
    out_ += "\\x{" + hex + "}";
  }

  bool group(int depth) {
    expect(!sees("*"), "a verb (*..) is not supported");
    bool is_assertion = false;
    if (!take("?")) {
      out_ += "(?:";
    } else if (take(":")) {
      out_ += "(?:";
    } else if (take(">")) {
      out_ += "(?>";
    } else if (sees("=") || sees("!") || sees("<=") || sees("<!")) {
      out_ += "(?";
      if (take("<")) out_ += '<';
      out_ += next();
      is_assertion = true;
    } else if (take("<")) {
      while (next() != '>') {
      }
      out_ += "(?:";
    } else if (take("#")) {
      while (next() != ')') {
      }
      return false;
    } else if (options()) {
      return false;
    }
    alternatives(depth + 1);
    expect(take(")"), "a group has no end");
    out_ += ')';
    return !is_assertion;
  }

  // "(?i)" or "(?i:"; whether the options stand alone.
  bool options() {
    // Raw characters of these are written at the begin of a group or an alternative alone.
    bool is_first = out_.empty() || std::string_view(":>=!|").find(out_.back()) != in_.npos;
    out_ += "(?";
    while (!sees(":") && !sees(")")) {
      char c = next();
      expect(c == 'i' || c == 'm' || c == '-', "the group (?", shown(c), " is not supported");
      out_ += c == 'm' ? 's' : c;
    }
    bool stands_alone = next() == ')';
    expect(!stands_alone || is_first, "options that begin in the middle are not supported");
    out_ += stands_alone ? ')' : ':';
    return stands_alone;
  }

  void repetition(std::size_t begin) {
    bool is_counted = false;
    while (true) {
      bool is_optional = sees("?"), is_braced = false;
      if (sees("*") || sees("+") || is_optional)
        out_ += next();
      else if (!(is_braced = braces()))
        break;
      is_counted = is_counted || !is_optional;
      if (is_braced && sees("+")) {  // "{1,3}+" repeats the repetition
        out_.insert(begin, "(?:");
        out_ += ")";
        continue;
      }
      if (sees("?") || sees("+")) out_ += next();
      bool goes_on = sees("*") || sees("+") || sees("?") || (sees("{") && is_count());
      expect(!goes_on, "a repetition of a repetition is not supported");
      break;
    }
    if (!is_counted) return;
    out_.insert(begin, "(?C)");
    out_ += "(?C)";
  }

  bool is_count() const {
    std::size_t i = at_ + 1;
    auto is_digit = [&] {
      return i < in_.size() && std::isdigit(static_cast<unsigned char>(in_[i]));
    };
    std::size_t begin = i;
    while (is_digit() || (i < in_.size() && in_[i] == ',')) ++i;
    return i < in_.size() && in_[i] == '}' && i > begin && in_.substr(begin, i - begin) != ",";
  }

  // "{2}", "{2,}", "{,3}", "{2,3}".
  bool braces() {
    if (!sees("{") || !is_count()) return false;
    next();
    auto number = [&]() -> int {
      int value = -1;
      while (std::isdigit(static_cast<unsigned char>(in_[at_]))) {
        value = std::max(value, 0) * 10 + (next() - '0');
        expect(value <= max_repeats, "more than ", max_repeats, " repetitions");
      }
      return value;
    };
    int least = number();
    bool has_comma = take(",");
    int most = has_comma ? number() : least;
    expect(take("}") && (least >= 0 || most >= 0), "a count in braces is not understood");
    expect(has_comma || !sees("?"), "{n}? is not supported, for libraries differ in its meaning");
    out_ += '{' + std::to_string(std::max(least, 0));
    if (has_comma) out_ += ',';
    if (has_comma && most >= 0) out_ += std::to_string(most);
    out_ += '}';
    return true;
  }

  // Outside of brackets; whether it can be repeated.
  bool escape() {
    expect(!ends(), "it ends in a backslash");
    auto in_brackets = [&](std::string_view text, bool is_negated) {
      out_ += is_negated ? "[^" : "[";
      out_ += text;
      out_ += ']';
      return true;
    };
    char c = in_[at_];
    if (c == 's' || c == 'S') return ++at_, in_brackets(white_space, c == 'S');
    if (c == 'w' || c == 'W') return ++at_, in_brackets(lone_word, c == 'W');
    if (c == 'h' || c == 'H') return ++at_, in_brackets(hex_digits, c == 'H');
    if (c == 'b' || c == 'B') {
      ++at_;
      std::string w = "[" + std::string(lone_word) + "]";
      out_ += c == 'b' ? "(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))"
                       : "(?:(?<=" + w + ")(?=" + w + ")|(?<!" + w + ")(?!" + w + "))";
      return false;
    }
    if (c == 'A' || c == 'z' || c == 'Z') return out_ += '\\', out_ += next(), false;
    if (c == 'R') return out_ += '\\', out_ += next(), true;
    escaped_character(false);
    return true;
  }

  // Characters that may stand inside brackets, too.
  void escaped_character(bool in_brackets) {
    char c = next();
    switch (c) {
      case 'p':
      case 'P': return property(c == 'P');
      case 'd': out_ += R"(\p{Nd})"; return;
      case 'D': out_ += R"(\P{Nd})"; return;
      case 'n': return literal('\n');
      case 'r': return literal('\r');
      case 't': return literal('\t');
      case 'f': return literal('\f');
      case 'v': return literal('\v');
      case 'a': return literal('\a');
      case 'e': return literal(0x1b);
      case 'x': return hex_character(take("{") ? 0 : 2);
      case 'u': return hex_character(4);
      case 's': out_ += white_space; return;
      case 'S': out_ += R"(\P{White_Space})"; return;
      case 'w': out_ += word; return;
      case 'h': out_ += hex_digits; return;
      default: break;
    }
    if (in_brackets && c == 'b') return literal('\b');
    bool is_name = std::isalnum(static_cast<unsigned char>(c)) != 0;
    expect(!is_name, "\\", c, " is not supported", in_brackets ? " in brackets" : "");
    --at_;
    plain_character();
  }

  void plain_character() {
    int size = character_size(in_.substr(at_));
    expect(size > 0, "it is not UTF-8");
    literal(code_point(in_.substr(at_), size));
    at_ += static_cast<std::size_t>(size);
  }

  // `digits` of them, or as many as there are before '}'.
  void hex_character(int digits) {
    char32_t value = 0;
    int count = 0;
    for (; digits == 0 ? !sees("}") : count < digits; ++count) {
      char c = next();
      expect(std::isxdigit(static_cast<unsigned char>(c)) && count < 8, "'", shown(c),
             "' in a character's number; 1 to 8 hexadecimal digits are needed");
      value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (digits == 0) next();
    bool is_point = value < no_character && !(value >= 0xd800 && value < 0xe000) && count > 0;
    expect(is_point, "a character's number is not one of Unicode");
    literal(value);
  }

  void property(bool is_negated) {
    expect(take("{"), "\\p without braces is not supported");
    if (take("^")) is_negated = !is_negated;
    std::string name;
    while (!sees("}")) name += next();
    next();
    out_ += is_negated ? "\\P{" : "\\p{";
    out_ += pcre2_property(name) + "}";
  }

  // A general category, a property, or else a script as such, without those that also use it.
  static std::string pcre2_property(const std::string& name) {
    std::string simple = simple_name(name);
    for (const auto& [known, ours] : long_categories)
      if (simple == known) return std::string(ours);
    for (std::string_view binary : binary_properties)
      if (simple == binary) return name;
    return name.size() <= 2 ? name : "sc:" + name;
  }

  void bracket(int depth) {
    out_ += '[';
    if (take("^")) out_ += '^';
    bracket_items(depth);
    out_ += ']';
  }

  // Up to the ']'. A class in a class adds its characters, so that its items become those of the
  // outer one.
  void bracket_items(int depth) {
    expect(depth < max_depth, "classes are nested deeper than ", max_depth);
    expect(!sees("]"), "an empty class, or a class that begins with ']'");
    bool ends_range = false;  // the item before was "a-"
    is_character_ = false;
    while (!take("]")) {
      bool after_character = std::exchange(is_character_, false) && !ends_range;
      const bool is_before_class = sees("-[") && !sees("-[:");
      if (sees("-") && after_character && !sees("-]") && !is_before_class) {
        out_ += in_[at_++];
        ends_range = true;
        continue;
      }
      bracket_item(depth);
      expect(!ends_range || is_character_, "a range that ends in a class");
      is_character_ = is_character_ && !ends_range;
      ends_range = false;
    }
  }

  void bracket_item(int depth) {
    expect(!ends(), "a class has no end");
    expect(!sees("&&"), "an intersection of classes (&&) is not supported");
    if (take("[:")) return posix_class();
    expect(!sees("[^"), "a negated class in a class is not supported");
    if (take("[")) {
      bracket_items(depth + 1);
      is_character_ = false;
      return;
    }
    if (!take("\\")) return plain_character();
    expect(!ends(), "it ends in a backslash");
    escaped_character(true);
  }

  void posix_class() {
    std::string name;
    while (!take(":]")) name += next();
    for (const auto& [known, ours] : posix_classes)
      if (name == known) {
        out_ += ours;
        return;
      }
    expect(false, "the class [:", json::excerpt(name), ":] is not supported");
  }

  std::string_view in_, where_;
  std::size_t at_ = 0;
  std::string out_;
  bool is_character_ = false;  // what was written last in brackets
};

}  // namespace

std::string in_pcre2_syntax(std::string_view pattern, std::string_view where) {
  return Translation(pattern, where).run();
}

}  // namespace tilewright::tokenizer
