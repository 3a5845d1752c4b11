// From tokens back to text: a chain of steps, each of which takes the tokens that the one before
// makes and makes tokens itself; in the end they are joined.
//
// Tokens arrive one after the other while a model writes, so every step passes on the certain part
// and holds back the rest. A step that joins tokens makes one long token, which it hands on in
// parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/normalizer.h"

namespace tilewright::tokenizer {

struct DecoderStep {
  enum class Kind : unsigned char {
    spaces_between,  // where a file has no decoder
    byte_level,
    byte_fallback,
    fuse,
    replace,
    strip,
    metaspace,
    word_piece,
    word_end
  } kind;
  Replacement replacement;
  std::string text;                  // the stripped text; the mark, prefix or suffix
  std::int64_t start = 0, stop = 0;  // how often it is stripped at most
  bool cleans_up = false, drops_first = false;
};

class Decoder {
 public:
  Decoder() = default;
  // Reads the file's node, which may be null. Raises `Error` "[load_tokenizer] WHAT: ...".
  Decoder(std::string_view what, const json::Node* node);
  const std::vector<DecoderStep>& steps() const { return steps_; }

 private:
  static DecoderStep read(Component& component);
  std::vector<DecoderStep> steps_;
};

// The treatment of bytes that form no character.
enum class BrokenBytes : unsigned char {
  replaced,          // each run of byte tokens is looked at as a whole,
  replaced_at_once,  // or its characters are given out as they come
  kept
};

// The state of one text that is being decoded. The decoder must outlive it.
class Decoding {
 public:
  Decoding(const Decoder& decoder, BrokenBytes broken);
  // Both append to `text` what has become certain.
  void push(std::string_view token, std::string& text);
  void finish(std::string& text);  // then the next text may begin

 private:
  struct State {
    std::string held;         // of the token that is arriving, or bytes, or the token before
    std::string bytes;        // of byte tokens that are not handed on
    std::int64_t tokens = 0;  // that have ended
    std::int64_t cut = 0;     // characters stripped of this token
    bool begun = false;       // a part of a token was handed on
  };
  // A part of a token arrives at a step, its last part where `ends` holds.
  void feed(std::size_t step, std::string_view part, bool ends);
  void close(std::size_t step);  // no token follows
  void take_whole(std::size_t step, const std::string& token);
  void take_byte_token(std::size_t step, const std::string& token);
  void end_byte_tokens(std::size_t step);
  void strip_begin(std::size_t step, std::string_view part, bool ends);
  void replace_marks(std::size_t step, std::string_view part, bool ends);
  std::string take_characters(std::string& bytes) const;

  const std::vector<DecoderStep>& steps_;
  BrokenBytes broken_;
  std::vector<State> states_;
  std::string* text_ = nullptr;
};

}  // namespace tilewright::tokenizer
