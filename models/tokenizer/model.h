// From a piece of text to ids, and the vocabulary that says which token has which id.
//
// Byte-pair encoding begins with characters and merges pairs (merge_pairs.cpp); WordPiece takes the
// longest tokens from left to right; Unigram takes those of the greatest score (unigram.h);
// WordLevel knows whole pieces only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/token_table.h"
#include "models/tokenizer/unigram.h"

namespace tilewright::tokenizer {

inline constexpr std::int64_t max_tokens = 1 << 22;
inline constexpr std::string_view hostile_table =
    "its tokens were chosen so that finding them takes long; this tokenizer is not usable";

// The tables of a file's model; "merges" is empty where the model has none.
struct Vocabulary {
  TokenTable ids;
  Texts merges;                // left, right, left, ...
  std::vector<double> scores;  // of a Unigram's tokens
  bool has_tokens = false, has_merges = false, has_scores = false;
};

// Merges adjacent pairs in `ids`, always the one of lowest rank, the leftmost of equals, until no
// pair is in the table. O(n log n).
void merge_pairs(const Merges& merges, std::vector<Id>& ids);

// Reading and using are separate, since added tokens enter the vocabulary in between.
class Model {
 public:
  Model() = default;
  // Raises `Error` "[load_tokenizer] WHAT: ..." for wrong or unsupported contents.
  Model(Fields fields, Vocabulary vocabulary);

  const TokenTable& vocabulary() const { return ids_; }
  std::optional<Id> find(std::string_view token) const { return ids_.find(token); }

  // Appends the ids of a piece, which is not empty, to `ids`. A part without a token becomes the
  // model's unknown token, or nothing where it has none.
  void encode(std::string_view piece, std::vector<Id>& ids) const;

 private:
  enum class Kind : unsigned char { bpe, word_piece, word_level, unigram };
  static constexpr Id none = -1;
  void read_bpe(Fields& fields, const Vocabulary& vocabulary);
  void read_merges(const Fields& fields, const Vocabulary& vocabulary);
  void read_unknown(Fields& fields, bool is_needed);
  void index_characters();
  Id id_of_character(std::string_view bytes, char32_t value, bool is_first, bool is_last) const;
  bool append_bytes(std::string_view character, std::vector<Id>& ids) const;
  void append_characters(std::string_view piece, std::vector<Id>& ids) const;
  void encode_word_piece(std::string_view piece, std::vector<Id>& ids) const;

  Kind kind_ = Kind::bpe;
  TokenTable ids_;
  Merges merges_;
  Unigram unigram_;
  std::string prefix_, suffix_;               // of tokens inside of a piece; of the last one
  std::array<Id, 256> byte_ids_ = {};         // of "<0x41>"
  std::array<Id, 0x250> character_ids_ = {};  // of the characters that most texts have
  bool byte_fallback_ = false, fuse_unknown_ = false, ignore_merges_ = false;
  Id unknown_ = none;
  std::size_t max_characters_ = 100;  // of a piece that WordPiece looks at
};

}  // namespace tilewright::tokenizer
