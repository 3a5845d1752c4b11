// Text to token ids and back, from a Hugging Face tokenizer.json.
//
// Supported is the kind that Llama 2 and its descendants use: byte-pair encoding whose unknown
// characters fall back to bytes, without pre-tokenizer. Anything else in the file is an error that
// says what was found and what is supported: a tokenizer that is nearly right gives a model that is
// quietly worse. The file is foreign; sizes and numbers are checked as in the other loaders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

namespace tokenizer {
struct Tables;  // models/tokenizer/tables.h
}

using TokenId = std::int64_t;

struct EncodeOptions {
  bool add_special = true;  // what the file's template puts around the text, as <s>
  // Spell special tokens in the text as such ("</s>" becomes one id). Off for text of strangers.
  bool parse_special = true;
};

// A regular value; copies share the tables. Thread safe.
class Tokenizer {
 public:
  // Raises `Error` "[load_tokenizer] PATH: ..." for a file that is damaged or of another kind.
  static Tokenizer open(const std::filesystem::path& path);
  static Tokenizer parse(std::string_view text, std::string_view what);

  // Any bytes; those that are not UTF-8 become byte tokens. Time O(n log n), n up to 16 MiB.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Special tokens give no text. Bytes that form no UTF-8 become U+FFFD.
  std::string decode(std::span<const TokenId> ids) const;
  // The same without that replacement: the inverse of `encode`.
  std::string decode_bytes(std::span<const TokenId> ids) const;

  std::int64_t size() const;                   // ids are 0 ... size() - 1
  const std::string& token(TokenId id) const;  // raises `Error` for an id outside
  std::optional<TokenId> find(std::string_view token) const;
  bool is_special(TokenId id) const;

 private:
  friend class TextStream;
  explicit Tokenizer(std::shared_ptr<const tokenizer::Tables> tables)
      : tables_(std::move(tables)) {}
  std::shared_ptr<const tokenizer::Tables> tables_;
};

// Decodes ids one after the other, as a model makes them. Bytes of a character that is not yet
// whole are held back. The pieces joined are what `decode` gives of all ids.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer);
  std::string push(TokenId id);  // the text that has become certain, often empty
  std::string finish();          // the rest; the stream then begins anew

 private:
  friend class Tokenizer;
  void append(TokenId id);  // bytes of the token to `pending_`
  std::string take_whole_characters();

  std::shared_ptr<const tokenizer::Tables> tables_;
  std::string pending_;
  std::int64_t to_strip_ = 0;  // leading characters that may still have to go
};

}  // namespace tilewright
