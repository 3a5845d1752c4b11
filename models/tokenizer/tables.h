// The contents of a tokenizer.json, checked and in the form that encoding and decoding need.
//
// Reading the file (load.cpp) and the public face (tokenizer.cpp) meet here; each part of the file
// has its home in a header of its own.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/tokenizer/added_tokens.h"
#include "models/tokenizer/decoder.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/post_processor.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace tilewright::tokenizer {

inline constexpr std::size_t max_file_bytes = 64 << 20;

struct Tables {
  // The token of an id, added ones included; empty where no token has it.
  std::string_view token(Id id) const {
    std::uint32_t place = places[static_cast<std::size_t>(id)];
    if (place == no_place) return {};
    return (place & added_bit) != 0 ? added_ids.text(place ^ added_bit)
                                    : model.vocabulary().text(place);
  }
  // By id, the entry in the model's vocabulary, or that in added_ids with the highest bit.
  static constexpr std::uint32_t added_bit = 1U << 31, no_place = 0xffffffff;
  std::vector<std::uint32_t> places;
  std::vector<bool> is_special;  // by id
  // The decoded text of added tokens that the normalizer changed.
  std::unordered_map<Id, std::string> normalized_tokens;
  TokenTable added_ids;  // of added tokens that are not in the model's vocabulary

  AddedTokens added;             // looked for in the text as it is,
  AddedTokens added_normalized;  // and in the normalised text
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Model model;
  PostProcessor post_processor;
  Lengths lengths;
  Decoder decoder;
};

// Raises `Error` "[load_tokenizer] what: ...".
Tables load_tables(std::string_view text, std::string_view what);

}  // namespace tilewright::tokenizer
