// Text to token ids and back, from a Hugging Face tokenizer.json.
//
// Supported are the forms that language models use: byte-pair encoding over bytes (GPT-2, Llama 3,
// Qwen) or with bytes as a fallback (Llama 2), WordPiece and WordLevel, with the normalizers,
// pre-tokenizers, post-processors and decoders that `models/README.md` lists. Ids and texts are
// those of the library `tokenizers`. Anything else in the file is an error that names the value and
// the supported ones: a tokenizer that is nearly right would make a model worse without notice. The
// file is foreign; sizes and numbers are checked as in the other loaders, and its regular
// expressions have a budget.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/file_path.h"
#include "runtime/owned.h"

namespace tilewright {

namespace tokenizer {
struct Tables;   // models/tokenizer/tables.h
class Decoding;  // models/tokenizer/decoder.h
}  // namespace tokenizer

using TokenId = std::int64_t;

struct EncodeOptions {
  bool add_special = true;  // the parts that the file's template puts around the text, such as <s>
  // Spell special tokens in the text as such ("</s>" becomes one id). Off for text of strangers.
  // Added tokens that are not special are always found: they are words.
  bool parse_special = true;
  // Keep to the length that the file sets: cut off the part for which its truncation leaves no
  // room, beside the tokens that are added, and fill up as its padding says. Without `pad` are the
  // ids to which a model should attend.
  bool truncate = true, pad = true;
  // With `truncate`: at most so many ids, whatever the file says.
  std::optional<std::int64_t> max_tokens = {};
};

struct TokenizerOptions {
  bool links_may_leave = false;  // follow a symbolic link to anywhere
};

struct DecodeOptions {
  bool skip_special = true;  // special tokens give no text
};

// A regular value; copies share the tables. Thread safe.
class Tokenizer {
 public:
  // Raises `Error` "[load_tokenizer] PATH: ..." for a file that is damaged or of another kind.
  // A link must lead to where those of a model's folder may (model_file.h).
  static Tokenizer open(const FilePath& path, TokenizerOptions options = {});
  static Tokenizer parse(std::string_view text, std::string_view what);

  // Any bytes, up to 16 MiB; those that are not UTF-8 become bytes' tokens where the vocabulary has
  // these, and end the words before them. A part without a token becomes the unknown token, or is
  // dropped where the file names none. Time O(n log n), but for regular expressions that need more:
  // raises `Error` "[encode] ..." where one spends its budget, which is linear in the text.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Bytes that form no UTF-8 become U+FFFD.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;
  // The same without that replacement: the inverse of `encode` where nothing was normalised.
  std::string decode_bytes(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  std::int64_t size() const;  // ids are 0 ... size() - 1
  // The token as the file spells it; empty for an id inside that no token has. Raises `Error` for
  // an id outside, as `is_special` does.
  std::string token(TokenId id) const;
  std::optional<TokenId> find(std::string_view token) const;
  bool is_special(TokenId id) const;

 private:
  friend class TextStream;
  explicit Tokenizer(std::shared_ptr<const tokenizer::Tables> tables)
      : tables_(std::move(tables)) {}
  std::shared_ptr<const tokenizer::Tables> tables_;
};

// Decodes ids one after the other, as a model makes them. Bytes of a character that is not yet
// whole are held back, so every piece of text is whole characters. The pieces joined are the result
// of `decode` for all ids, but for one case: where byte tokens that follow each other are not
// UTF-8, `decode` replaces them all, and the stream has already given the whole characters among
// them. For one thread.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, DecodeOptions options = {});
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();
  std::string push(TokenId id);  // the text that has become certain, often empty
  std::string finish();          // the rest; the stream then restarts

 private:
  std::shared_ptr<const tokenizer::Tables> tables_;
  Owned<tokenizer::Decoding> decoding_;
  DecodeOptions options_;
};

}  // namespace tilewright
