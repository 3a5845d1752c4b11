// Tokens with scores, logarithms of probabilities: a piece becomes the tokens of the greatest sum
// (Kudo 2018, the model of sentencepiece that T5, XLM-R and ALBERT have).
//
// A character that no token begins with is unknown, with a score below all others; neighbouring
// ones are one unknown token, or tokens of their bytes where the file says so.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/text/token_trie.h"
#include "models/tokenizer/token_table.h"

namespace tilewright::tokenizer {

class Unigram {
 public:
  Unigram() = default;
  // `scores` are those of the tokens, whose ids are their entries. Raises `Error`
  // "[load_tokenizer] ..." for wrong or unsupported contents.
  Unigram(Fields& fields, const TokenTable& tokens, std::vector<double> scores);

  // Appends the ids of a piece. Raises `Error` "[encode] ..." for a part without a token where the
  // file has no unk_id.
  void encode(std::string_view piece, const TokenTable& tokens, std::vector<Id>& ids) const;

 private:
  struct PathStep {  // the best path to a place in the piece
    double score = 0;
    std::uint32_t begin = none;  // of its last token; none: no path
    Id id = 0;
  };
  static constexpr std::uint32_t none = 0xffffffff;
  void find_path(std::string_view piece, PathStep* steps) const;
  // The ids of bytes that are unknown, the last one first.
  void append_unknown(std::string_view part, const TokenTable& tokens, std::vector<Id>& ids) const;

  TokenTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  Id unknown_ = -1;
  std::array<Id, 256> byte_ids_ = {};  // of "<0x41>", or -1; where bytes are a fallback
};

}  // namespace tilewright::tokenizer
