// A small tokenizer of the supported kind as JSON, and changes of it that are refused.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "models/tokenizer/tokenizer.h"
#include "tests/errors.h"

namespace tilewright::testing_tokenizer {

using nlohmann::json;

inline const std::string space = "\xe2\x96\x81";  // the mark that stands for a space in tokens

// A small tokenizer of the supported kind: bytes, a few letters, and merges to "ab", "abab", "_ab".
inline json small() {
  json vocab;
  int id = 0;
  for (const char* special : {"<unk>", "<s>", "</s>"}) vocab[special] = id++;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab[name] = id++;
  }
  for (const std::string& token : {space, std::string("a"), std::string("b"), std::string("ab"),
                                   std::string("abab"), space + "ab", std::string("ba")})
    vocab[token] = id++;
  json added = json::array();
  for (int i = 0; i < 3; ++i)
    added.push_back({{"id", i},
                     {"content", i == 0   ? "<unk>"
                                 : i == 1 ? "<s>"
                                          : "</s>"},
                     {"special", true}});
  return {{"added_tokens", added},
          {"pre_tokenizer", nullptr},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", space}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}}}}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}}},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
          {"model",
           {{"type", "BPE"},
            {"byte_fallback", true},
            {"fuse_unk", true},
            {"unk_token", "<unk>"},
            {"vocab", vocab},
            {"merges", {"a b", "ab ab", space + " ab", "b a"}}}}};
}
inline Tokenizer parse(const json& value) { return Tokenizer::parse(value.dump(), "t"); }

inline std::string error_with(const json& value) {
  return error_of([&] { parse(value); });
}

// A change of the small tokenizer that is refused with a message.
struct Hostile {
  const char* what;
  std::function<void(json&)> change;
  const char* message;
};

}  // namespace tilewright::testing_tokenizer
