#include "models/tokenizer/tokenizer.h"

#include <filesystem>

#include "models/files/model_file.h"
#include "models/tokenizer/tables.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {
namespace {

using tokenizer::AddedToken;
using tokenizer::BrokenBytes;
using tokenizer::Decoding;
using tokenizer::Id;
using tokenizer::Normalized;
using tokenizer::Piece;
using tokenizer::Pieces;
using tokenizer::Tables;

void add_token(Pieces& pieces, const AddedToken& token) {
  auto end = static_cast<std::uint32_t>(pieces.text.size());
  pieces.pieces.push_back({end, end, token.id});
}

// Normalised text between added tokens, before it is cut.
Pieces sections(const Tables& tables, std::string_view text, bool with_special) {
  Pieces pieces;
  tables.added.split(text, with_special, [&](std::string_view part, const AddedToken* token) {
    if (token != nullptr) return add_token(pieces, *token);
    Normalized section = tables.normalizer.run(part);
    bool begins_text = part.data() == text.data() && section.keeps_begin;
    tables.added_normalized.split(
        section.text, with_special, [&](std::string_view inner, const AddedToken* found) {
          if (found != nullptr) return add_token(pieces, *found);
          pieces.add(inner, begins_text && inner.data() == section.text.data());
          require(pieces.text.size() <= tokenizer::max_normalized_bytes,
                  "[encode] the text grows beyond ", tokenizer::max_normalized_bytes,
                  " bytes in normalisation");
        });
  });
  return pieces;
}

// Encodes pieces; those that came before in the same text are not encoded again.
class PieceEncoder {
 public:
  explicit PieceEncoder(const tokenizer::Model& model) : model_(model) {}

  void encode(std::string_view piece, std::vector<TokenId>& ids) {
    if (piece.size() > max_known_bytes || known_.size() > max_known) {
      encode_anew(piece, ids);
      return;
    }
    auto [known, is_new] = known_.try_emplace(piece, IdRange{ids.size(), 0});
    if (is_new) {
      encode_anew(piece, ids);
      known->second.count = ids.size() - known->second.begin;
      return;
    }
    for (std::size_t i = 0; i < known->second.count; ++i)
      ids.push_back(ids[known->second.begin + i]);
  }

 private:
  static constexpr std::size_t max_known_bytes = 64, max_known = 1 << 18;
  struct IdRange {
    std::size_t begin, count;  // among the ids of the text
  };
  void encode_anew(std::string_view piece, std::vector<TokenId>& ids) {
    found_.clear();
    model_.encode(piece, found_);
    ids.insert(ids.end(), found_.begin(), found_.end());
  }

  const tokenizer::Model& model_;
  std::unordered_map<std::string_view, IdRange> known_;
  std::vector<Id> found_;
};

// The text of a token, empty where it gives none.
std::string_view text_of(const Tables& tables, TokenId id, DecodeOptions options) {
  auto index = static_cast<std::size_t>(id);
  require(id >= 0 && index < tables.places.size(), "[decode] id ", id,
          " is outside the vocabulary of ", tables.places.size(), " tokens");
  if (options.skip_special && tables.is_special[index]) return {};
  auto token = static_cast<Id>(id);
  if (tables.normalized_tokens.empty()) return tables.token(token);
  auto found = tables.normalized_tokens.find(token);
  return found == tables.normalized_tokens.end() ? tables.token(token) : found->second;
}

std::string decoded(const Tables& tables, std::span<const TokenId> ids, BrokenBytes broken,
                    DecodeOptions options) {
  Decoding decoding(tables.decoder, broken);
  std::string text;
  for (TokenId id : ids)
    if (std::string_view token = text_of(tables, id, options); !token.empty())
      decoding.push(token, text);
  decoding.finish(text);
  return text;
}

}  // namespace

Tokenizer Tokenizer::open(const FilePath& name, TokenizerOptions options) {
  const std::filesystem::path path = name;
  return while_doing({"load_tokenizer", "reading", path.native()}, [&] {
    constexpr std::string_view operation = "load_tokenizer";
    auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    auto file = open_model_file(folder, path.filename().string(), operation,
                                {.links_may_leave = options.links_may_leave});
    return parse(file->text(tokenizer::max_file_bytes, operation), path.string());
  });
}

Tokenizer Tokenizer::parse(std::string_view text, std::string_view what) {
  return Tokenizer(std::make_shared<const Tables>(tokenizer::load_tables(text, what)));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  require(text.size() <= tokenizer::max_text_bytes, "[encode] a text of ", text.size(),
          " bytes; at most ", tokenizer::max_text_bytes, " are allowed");
  const Tables& tables = *tables_;
  Pieces pieces = sections(tables, text, options.parse_special);
  tables.pre_tokenizer.run(pieces);
  std::vector<TokenId> ids;
  PieceEncoder encoder(tables.model);
  for (const Piece& piece : pieces.pieces) {
    if (piece.id >= 0)
      ids.push_back(piece.id);
    else
      encoder.encode(pieces.of(piece), ids);
  }
  const std::vector<Id>&before = tables.post_processor.before(),
        &after = tables.post_processor.after();
  if (options.truncate)
    tables.lengths.truncate(ids, options.add_special ? before.size() + after.size() : 0,
                            options.max_tokens);
  if (options.add_special) {
    ids.insert(ids.begin(), before.begin(), before.end());
    ids.insert(ids.end(), after.begin(), after.end());
  }
  if (options.pad) tables.lengths.pad(ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  return decoded(*tables_, ids, BrokenBytes::replaced, options);
}

std::string Tokenizer::decode_bytes(std::span<const TokenId> ids, DecodeOptions options) const {
  return decoded(*tables_, ids, BrokenBytes::kept, options);
}

std::int64_t Tokenizer::size() const { return std::ssize(tables_->places); }

std::string Tokenizer::token(TokenId id) const {
  require(id >= 0 && id < size(), "[tokenizer] id ", id, " is outside the vocabulary of ", size(),
          " tokens");
  return std::string(tables_->token(static_cast<Id>(id)));
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  if (std::optional<Id> id = tables_->model.find(token)) return *id;
  if (std::optional<Id> id = tables_->added_ids.find(token)) return *id;
  return std::nullopt;
}

bool Tokenizer::is_special(TokenId id) const {
  token(id);  // refuses ids outside
  return tables_->is_special[static_cast<std::size_t>(id)];
}

TextStream::TextStream(const Tokenizer& tokenizer, DecodeOptions options)
    : tables_(tokenizer.tables_),
      decoding_(std::make_unique<Decoding>(tables_->decoder, BrokenBytes::replaced_at_once)),
      options_(options) {}
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;
TextStream::~TextStream() = default;

std::string TextStream::push(TokenId id) {
  std::string text;
  if (std::string_view token = text_of(*tables_, id, options_); !token.empty())
    decoding_->push(token, text);
  return text;
}

std::string TextStream::finish() {
  std::string text;
  decoding_->finish(text);
  return text;
}

}  // namespace tilewright
