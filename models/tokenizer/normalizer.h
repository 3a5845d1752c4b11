// Transforms a text before it is cut into pieces: Unicode's forms, replacements, stripping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/text/charsmap.h"
#include "models/tokenizer/text/regex.h"
#include "models/tokenizer/text/unicode.h"

namespace tilewright::tokenizer {

inline constexpr std::size_t max_text_bytes = 16 << 20;
inline constexpr std::size_t max_normalized_bytes = 4 * max_text_bytes;
inline constexpr std::size_t max_rule_bytes = 256;  // of a replacement text

// Occurrences of a string, or matches of a regular expression, give way to `content`.
struct Replacement {
  std::string text;  // without a regex
  std::optional<Regex> regex;
  std::string content;

  // Raises `Error` "[encode] ..." where the result passes the limit for normalised text.
  std::string run(std::string_view text) const;
};
Replacement read_replacement(Fields& fields);

struct Normalized {
  std::string text;
  bool keeps_begin = true;  // nothing was cut off before it
};

class Normalizer {
 public:
  Normalizer() = default;
  // Reads the file's node, which may be null. Raises `Error` "[load_tokenizer] WHAT: ...".
  Normalizer(std::string_view what, const json::Node* node);
  Normalized run(std::string_view text) const;

 private:
  struct Change {
    enum class Kind : unsigned char {
      form,
      prepend,
      replace,
      strip,
      strip_accents,
      strip_nonspacing,
      lowercase,
      clean,
      space_ideographs,
      byte_level,
      charsmap
    } kind;
    Form form = Form::nfc;
    std::string prepended;
    Replacement replacement;
    Charsmap charsmap;
    bool left = false, right = false;
  };
  static Change read(Component& component);
  void read_bert(Fields& fields);
  static void apply(const Change& change, Normalized& to);
  static void rewrite(Change::Kind kind, Normalized& to);
  std::vector<Change> changes_;
};

}  // namespace tilewright::tokenizer
