// What a tokenizer.json says, checked and in the form that encoding and decoding need.
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

struct Tables {
  std::vector<std::string> tokens;  // by id, added tokens included; empty: no token has the id
  std::vector<bool> is_special;     // by id
  // What added tokens decode to that the normalizer changed.
  std::unordered_map<Id, std::string> normalized_tokens;
  TokenIds added_ids;  // of added tokens that are not in the model's vocabulary

  AddedTokens added;             // looked for in the text as it is,
  AddedTokens added_normalized;  // and in the normalised text
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Model model;
  PostProcessor post_processor;
  Decoder decoder;
};

// Raises `Error` "[load_tokenizer] what: ...".
Tables load_tables(std::string_view text, std::string_view what);

}  // namespace tilewright::tokenizer
