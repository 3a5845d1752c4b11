// How a text is cut into pieces, each of which the model then encodes alone.
//
// A step looks at every piece by itself and cuts it further, or rewrites it: spaces become marks,
// bytes become characters of the byte alphabet. Pieces lie one after the other in one text, so that
// cutting copies nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/text/regex.h"

namespace tilewright::tokenizer {

using Id = std::int32_t;

struct Piece {
  std::uint32_t begin, end;  // in the text
  Id id = -1;                // of an added token, which is not cut further
  bool begins_text = false;  // nothing of the user's text stands before it
};

struct Pieces {
  std::string text;
  std::vector<Piece> pieces;  // none is empty but for added tokens

  std::string_view of(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  void add(std::string_view part, bool begins_text);
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  // Reads the file's node, which may be null. Raises `Error` "[load_tokenizer] WHAT: ...".
  PreTokenizer(std::string_view what, const json::Node* node);
  void run(Pieces& pieces) const;

 private:
  // The treatment of the places where a piece is cut.
  enum class Behavior : unsigned char {
    removed,
    isolated,
    merged_with_previous,
    merged_with_next,
    contiguous
  };
  struct Part {
    std::uint32_t begin, end;
    bool is_match;
  };
  struct Rule {
    enum class Kind : unsigned char {
      regex,
      literal,
      numbers,
      punctuation,
      white_space,  // the places of cuts
      space_before,
      metaspace,
      byte_characters  // the output
    } kind;
    Behavior behavior = Behavior::isolated;
    bool invert = false;
    std::optional<Regex> regex;
    std::string literal;      // also the mark of metaspace
    bool always = false;      // metaspace: before every piece,
    bool first_only = false;  // or only where the text begins
  };
  void read(Component& component);
  void read_split(Fields& fields);
  void read_byte_level(Fields& fields);
  void read_metaspace(Fields& fields);
  static Behavior read_behavior(Fields& fields, std::string_view otherwise);
  void cut_at(Rule::Kind kind, Behavior behavior) { rules_.push_back({kind, behavior}); }

  static void find_parts(const Rule& rule, RegexSearch* search, std::string_view text,
                         std::vector<Part>& parts);
  static void join_parts(Behavior behavior, std::vector<Part>& parts);
  static void cut(const Rule& rule, Pieces& pieces);
  static void rewrite(const Rule& rule, Pieces& pieces);
  std::vector<Rule> rules_;
};

}  // namespace tilewright::tokenizer
