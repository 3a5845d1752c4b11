#include "models/tokenizer/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "models/files/utf8.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

using Points = std::vector<utf8proc_int32_t>;

utf8proc_category_t category(char32_t value) {
  return value < no_character ? utf8proc_category(static_cast<utf8proc_int32_t>(value))
                              : UTF8PROC_CATEGORY_CN;
}

void append_decomposed(Points& points, char32_t value, bool is_compatible) {
  constexpr int most = 32;  // the longest decomposition has 18 code points
  utf8proc_int32_t parts[most];
  int boundary = 0;
  auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                (is_compatible ? UTF8PROC_COMPAT : 0));
  auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(value), parts, most, options,
                                       &boundary);
  check(count >= 0 && count <= most, "utf8proc decomposed a character into too many");
  points.insert(points.end(), parts, parts + count);
}

// Marks after one letter in the order of their classes. The library's own sorting is quadratic in
// the length of such a run, which a stranger chooses.
void order_marks(Points& points) {
  auto class_of = [](utf8proc_int32_t point) {
    return utf8proc_get_property(point)->combining_class;
  };
  for (auto begin = points.begin(); begin != points.end();) {
    if (class_of(*begin) == 0) {
      ++begin;
      continue;
    }
    auto end = std::find_if(begin, points.end(), [&](auto point) { return class_of(point) == 0; });
    std::stable_sort(begin, end, [&](auto a, auto b) { return class_of(a) < class_of(b); });
    begin = end;
  }
}

void append_normalized(std::string& result, std::string_view text, Form form, std::size_t limit) {
  Points points;
  points.reserve(text.size());
  for_each_character(text, [&](std::string_view, char32_t value) {
    append_decomposed(points, value, form == Form::nfkc || form == Form::nfkd);
    require(points.size() <= limit, "[encode] the text grows beyond ", limit,
            " characters in normalisation");
  });
  order_marks(points);
  auto count = static_cast<utf8proc_ssize_t>(points.size());
  if (form == Form::nfc || form == Form::nfkc)
    count = utf8proc_normalize_utf32(
        points.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  check(count >= 0, "utf8proc could not compose characters");
  points.resize(static_cast<std::size_t>(count));
  for (utf8proc_int32_t point : points) append_character(result, static_cast<char32_t>(point));
  require(result.size() <= limit, "[encode] the text grows beyond ", limit,
          " bytes in normalisation");
}

}  // namespace

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_number(char32_t value) {
  auto found = category(value);
  return found == UTF8PROC_CATEGORY_ND || found == UTF8PROC_CATEGORY_NL ||
         found == UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t value) {
  auto found = category(value);
  return found == UTF8PROC_CATEGORY_MN || found == UTF8PROC_CATEGORY_MC ||
         found == UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing(char32_t value) { return category(value) == UTF8PROC_CATEGORY_MN; }

bool is_other(char32_t value) {
  auto found = category(value);
  return found == UTF8PROC_CATEGORY_CC || found == UTF8PROC_CATEGORY_CF ||
         found == UTF8PROC_CATEGORY_CO || found == UTF8PROC_CATEGORY_CS;
}

bool is_punctuation(char32_t value) {
  if (value < 0x80)
    return value > 0x20 && value < 0x7f && !(value >= '0' && value <= '9') &&
           !(value >= 'A' && value <= 'Z') && !(value >= 'a' && value <= 'z');
  auto found = category(value);
  return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO;
}

bool is_word(char32_t value) {
  auto found = category(value);
  bool is_letter = found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
  // Letters in circles and squares, which are alphabetic symbols.
  bool is_circled =
      (value >= 0x24b6 && value <= 0x24e9) || (value >= 0x1f130 && value <= 0x1f149) ||
      (value >= 0x1f150 && value <= 0x1f169) || (value >= 0x1f170 && value <= 0x1f189);
  return is_letter || is_mark(value) || is_circled || found == UTF8PROC_CATEGORY_ND ||
         found == UTF8PROC_CATEGORY_NL || found == UTF8PROC_CATEGORY_PC || value == 0x200c ||
         value == 0x200d;
}

void append_lower_case(std::string& text, char32_t value) {
  constexpr char32_t capital_i_with_dot = 0x130;  // the only one that becomes two characters
  if (value == capital_i_with_dot)
    text += "i\xcc\x87";
  else
    append_character(text,
                     static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value))));
}

std::size_t grapheme_size(std::string_view text) {
  int size = character_size(text);
  if (size <= 0) return 1;
  auto end = static_cast<std::size_t>(size);
  auto point = [](std::string_view rest, int bytes) {
    return static_cast<utf8proc_int32_t>(code_point(rest, bytes));
  };
  utf8proc_int32_t before = point(text, size), state = 0;
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    size = character_size(rest);
    if (size <= 0) break;
    const utf8proc_int32_t next = point(rest, size);
    if (utf8proc_grapheme_break_stateful(before, next, &state) != 0) break;
    end += static_cast<std::size_t>(size);
    before = next;
  }
  return end;
}

std::string normalized(std::string_view text, Form form, std::size_t limit) {
  auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t whole = whole_size(text);
    if (whole > 0) append_normalized(result, text.substr(0, whole), form, limit);
    text.remove_prefix(whole);
    if (text.empty()) break;
    result += text[0];
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace tilewright::tokenizer
