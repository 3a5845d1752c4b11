// Tokens that stand beside the model's vocabulary: found in the text before anything else is done
// with it, each as a whole.
//
// A file has two sets of them: those that are looked for in the text as it is, and those
// ("normalized") in the output of the normalizer, for which their own text is normalised too.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/pre_tokenizer.h"

namespace tilewright::tokenizer {

struct AddedToken {
  std::string content;  // the text to look for
  Id id = -1;
  bool is_special = false;
  bool left_strip = false, right_strip = false;  // white space there goes with it
  bool single_word = false;                      // only where no word goes on before or after it
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // If several tokens have equal content, the first is found.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Calls `visit(part, token)` for the parts of the text from left to right, where `token` is null
  // between tokens. At each place the longest token is taken. Special tokens are passed over where
  // `with_special` does not hold.
  template <typename Visit>
  void split(std::string_view text, bool with_special, const Visit& visit) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;
  // The part of the text that a token found there takes, or nothing where it does not count.
  struct TokenSpan {
    std::size_t begin, end;
    bool is_taken;
  };
  TokenSpan place_of(const AddedToken& token, std::string_view text, std::size_t at,
                     std::size_t done) const;

  std::vector<AddedToken> tokens_;  // sorted by content
  std::array<bool, 256> begins_ = {};
};

template <typename Visit>
void AddedTokens::split(std::string_view text, bool with_special, const Visit& visit) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    const AddedToken* token =
        begins_[static_cast<unsigned char>(text[at])] ? longest_at(text.substr(at)) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    TokenSpan place = place_of(*token, text, at, done);
    at += token->content.size();
    if (!place.is_taken || (token->is_special && !with_special)) continue;
    if (done < place.begin) visit(text.substr(done, place.begin - done), nullptr);
    visit(text.substr(place.begin, place.end - place.begin), token);
    done = place.end;
  }
  if (done < text.size()) visit(text.substr(done), nullptr);
}

}  // namespace tilewright::tokenizer
