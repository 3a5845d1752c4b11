// A tokenizer of letters, for models with random weights.
#pragma once

#include <cctype>
#include <string>

#include "runtime/base/error.h"

namespace tilewright::testing {

// A tokenizer of the printable ASCII letters A to Z, a to z after three special tokens.
inline std::string letters() {
  std::string vocab = R"("<unk>":0,"<s>":1,"</s>":2)";
  int id = 3;
  for (char c = 'A'; c <= 'z'; ++c)
    if (std::isalpha(static_cast<unsigned char>(c))) vocab += concat(",\"", c, "\":", id++);
  return R"({"added_tokens":[{"id":1,"content":"<s>","special":true},
      {"id":2,"content":"</s>","special":true}],
    "post_processor":{"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}]},
    "decoder":{"type":"Fuse"},
    "model":{"type":"BPE","unk_token":"<unk>","merges":[],"vocab":{)" +
         vocab + "}}}";
}

}  // namespace tilewright::testing
