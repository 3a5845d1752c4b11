#include "models/tokenizer/decoder.h"

#include <array>
#include <charconv>
#include <utility>

#include "models/files/utf8.h"
#include "models/tokenizer/text/byte_level.h"

namespace tilewright::tokenizer {
namespace {

using Kind = DecoderStep::Kind;

constexpr std::int64_t max_stripped = 1 << 20;

// The byte of "<0x41>", else -1.
int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  unsigned value = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return error == std::errc() && end == token.data() + 5 ? static_cast<int>(value) : -1;
}

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  if (pattern.empty()) return;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, done)) {
    result.append(text, done, at - done);
    result += content;
    done = at + pattern.size();
  }
  if (done == 0) return;
  result.append(text, done);
  text = std::move(result);
}

// Spaces that WordPiece's splitting put before signs and shortened words.
void clean_up(std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> rules = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : rules) replace_all(text, from, to);
}

}  // namespace

DecoderStep Decoder::read(Component& component) {
  Fields& fields = component.fields;
  const std::string& type = component.type;
  DecoderStep step{Kind::fuse};
  if (type == "ByteLevel") {
    step.kind = Kind::byte_level;
    for (std::string_view name : {"add_prefix_space", "trim_offsets", "use_regex"})
      fields.ignore(name);
  } else if (type == "ByteFallback") {
    step.kind = Kind::byte_fallback;
  } else if (type == "Fuse") {
    step.kind = Kind::fuse;
  } else if (type == "Replace") {
    step.kind = Kind::replace;
    step.replacement = read_replacement(fields);
  } else if (type == "Strip") {
    step.kind = Kind::strip;
    step.text = fields.character("content");
    step.start = fields.integer("start", 0, max_stripped);
    step.stop = fields.integer("stop", 0, max_stripped);
  } else if (type == "Metaspace") {
    step.kind = Kind::metaspace;
    step.text = fields.character("replacement", "\xe2\x96\x81");
    bool prepends = fields.flag("add_prefix_space", true);
    step.drops_first = prepends && fields.string("prepend_scheme", "always") != "never";
    for (std::string_view name : {"split", "str_rep"}) fields.ignore(name);
  } else if (type == "WordPiece") {
    step.kind = Kind::word_piece;
    step.text = fields.string("prefix", "##");
    step.cleans_up = fields.flag("cleanup", true);
  } else if (type == "BPEDecoder") {
    step.kind = Kind::word_end;
    step.text = fields.string("suffix", "</w>");
  } else {
    component.refuse(
        "ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, WordPiece, BPEDecoder and "
        "Sequence");
  }
  return step;
}

Decoder::Decoder(std::string_view what, const json::Node* node) {
  bool is_absent = node == nullptr || node->is_null();
  if (is_absent) steps_.push_back({Kind::spaces_between});
  for (Component& component : components(what, node, "the decoder", "decoders")) {
    steps_.push_back(read(component));
    component.fields.finish();
  }
}

Decoding::Decoding(const Decoder& decoder, BrokenBytes broken)
    : steps_(decoder.steps()), broken_(broken), states_(steps_.size()) {}

void Decoding::push(std::string_view token, std::string& text) {
  text_ = &text;
  feed(0, token, true);
}

void Decoding::finish(std::string& text) {
  text_ = &text;
  for (std::size_t step = 0; step < steps_.size(); ++step) close(step);
  for (State& state : states_) state = {};
}

void Decoding::feed(std::size_t index, std::string_view part, bool ends) {
  if (index == steps_.size()) {
    *text_ += part;
    return;
  }
  State& state = states_[index];
  const DecoderStep& step = steps_[index];
  if (step.kind == Kind::fuse) return feed(index + 1, part, false);
  if (step.kind == Kind::metaspace) return replace_marks(index, part, ends);
  if (step.kind == Kind::strip && step.stop == 0) return strip_begin(index, part, ends);
  if (step.kind != Kind::word_end) {
    state.held += part;
    if (!ends) return;
    take_whole(index, std::exchange(state.held, {}));
    ++state.tokens;
    return;
  }
  // The previous token waits in `bytes` until it is known whether it is the last.
  if (!state.begun && state.tokens > 0) {
    std::string before = std::exchange(state.bytes, {});
    replace_all(before, step.text, " ");
    feed(index + 1, before, true);
  }
  state.begun = !ends;
  state.bytes += part;
  if (ends) ++state.tokens;
}

void Decoding::take_whole(std::size_t index, const std::string& token) {
  State& state = states_[index];
  const DecoderStep& step = steps_[index];
  std::string text;
  switch (step.kind) {
    case Kind::byte_fallback: return take_byte_token(index, token);
    case Kind::byte_level:
      append_bytes_of(state.bytes, token);
      return feed(index + 1, take_characters(state.bytes), false);
    case Kind::replace: return feed(index + 1, step.replacement.run(token), true);
    case Kind::spaces_between:
      if (state.tokens > 0) feed(index + 1, " ", true);
      return feed(index + 1, token, true);
    case Kind::word_piece:
      text = token;
      if (state.tokens > 0 && text.starts_with(step.text))
        text.erase(0, step.text.size());
      else if (state.tokens > 0)
        text.insert(0, " ");
      if (step.cleans_up) clean_up(text);
      return feed(index + 1, text, true);
    case Kind::strip: {
      std::string_view rest = token;
      for (auto n = step.start; n > 0 && rest.starts_with(step.text); --n)
        rest.remove_prefix(step.text.size());
      for (auto n = step.stop; n > 0 && rest.ends_with(step.text); --n)
        rest.remove_suffix(step.text.size());
      return feed(index + 1, rest, true);
    }
    case Kind::fuse:
    case Kind::metaspace:
    case Kind::word_end: break;
  }
  check(false, "a decoder's step takes its tokens in parts");
}

// Removes from `bytes` what is certain, and returns it.
std::string Decoding::take_characters(std::string& bytes) const {
  if (broken_ == BrokenBytes::kept) return std::exchange(bytes, {});
  std::string text;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    int size = character_size(rest);
    if (size < 0) break;
    std::size_t taken = size > 0 ? static_cast<std::size_t>(size) : broken_size(rest);
    text += size > 0 ? rest.substr(0, taken) : replacement_character;
    rest.remove_prefix(taken);
  }
  bytes.erase(0, bytes.size() - rest.size());
  return text;
}

void Decoding::take_byte_token(std::size_t index, const std::string& token) {
  State& state = states_[index];
  int byte = byte_of(token);
  if (byte < 0) {
    end_byte_tokens(index);
    return feed(index + 1, token, true);
  }
  state.bytes += static_cast<char>(byte);
  if (broken_ == BrokenBytes::replaced) return;
  std::string given;
  while (!state.bytes.empty()) {
    int size = broken_ == BrokenBytes::kept ? 1 : character_size(state.bytes);
    if (size < 0) break;
    given += size > 0 ? std::string_view(state.bytes).substr(0, static_cast<std::size_t>(size))
                      : replacement_character;
    state.bytes.erase(0, static_cast<std::size_t>(std::max(size, 1)));
  }
  if (given.empty()) return;
  state.begun = true;
  feed(index + 1, given, false);
}

// A run of byte tokens is one token where it is UTF-8; else each byte is a replacement character.
void Decoding::end_byte_tokens(std::size_t index) {
  State& state = states_[index];
  std::string bytes = std::exchange(state.bytes, {});
  bool begun = std::exchange(state.begun, false);
  if (whole_size(bytes) == bytes.size()) {
    if (begun || !bytes.empty()) feed(index + 1, bytes, true);
    return;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) feed(index + 1, replacement_character, true);
}

void Decoding::strip_begin(std::size_t index, std::string_view part, bool ends) {
  State& state = states_[index];
  const DecoderStep& step = steps_[index];
  while (!state.begun && state.cut < step.start && part.starts_with(step.text)) {
    part.remove_prefix(step.text.size());
    ++state.cut;
  }
  state.begun = !ends && (state.begun || !part.empty());
  if (ends) state.cut = 0;
  feed(index + 1, part, ends);
}

void Decoding::replace_marks(std::size_t index, std::string_view part, bool ends) {
  State& state = states_[index];
  const DecoderStep& step = steps_[index];
  std::string text(part);
  replace_all(text, step.text, state.tokens == 0 && step.drops_first ? "" : " ");
  if (ends) ++state.tokens;
  feed(index + 1, text, ends);
}

void Decoding::close(std::size_t index) {
  State& state = states_[index];
  const DecoderStep& step = steps_[index];
  if (step.kind == Kind::fuse) return feed(index + 1, "", true);
  if (step.kind == Kind::byte_fallback) return end_byte_tokens(index);
  if (step.kind == Kind::byte_level) {
    bool is_cut_short = !std::exchange(state.bytes, {}).empty();
    return feed(index + 1, is_cut_short ? replacement_character : "", true);
  }
  if (step.kind == Kind::word_end && state.tokens > 0) {
    replace_all(state.bytes, step.text, "");
    feed(index + 1, state.bytes, true);
  }
}

}  // namespace tilewright::tokenizer
