#include "models/tokenizer.h"

#include <algorithm>

#include "models/mapped_file.h"
#include "models/tokenizer/tables.h"
#include "models/tokenizer/utf8.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using tokenizer::AddedToken;
using tokenizer::Id;
using tokenizer::Tables;

constexpr std::size_t max_text_bytes = 16 << 20;
constexpr std::size_t max_normalized_bytes = 4 * max_text_bytes;
constexpr std::string_view replacement_character = "\xef\xbf\xbd";

// The longest added token that `text` begins with, or nothing. The tokens are sorted, so those that
// agree in their first bytes are a range, which each further byte narrows.
const AddedToken* added_token_at(const std::vector<AddedToken>& added, std::string_view text) {
  auto low = added.begin(), high = added.end();
  const AddedToken* longest = nullptr;
  for (std::size_t depth = 0; depth < text.size() && low != high; ++depth) {
    auto byte_of = [depth](const AddedToken& token) {
      return depth < token.content.size() ? static_cast<unsigned char>(token.content[depth]) : -1;
    };
    int wanted = static_cast<unsigned char>(text[depth]);
    low = std::partition_point(low, high, [&](const auto& t) { return byte_of(t) < wanted; });
    high = std::partition_point(low, high, [&](const auto& t) { return byte_of(t) == wanted; });
    if (low != high && low->content.size() == depth + 1) longest = &*low;
  }
  return longest;
}

// The ids of characters before any merge.
std::vector<Id> character_ids(const Tables& tables, std::string_view text) {
  std::vector<Id> ids;
  ids.reserve(text.size());
  bool after_unknown = false;
  std::string character;
  while (!text.empty()) {
    int size = std::max(tokenizer::character_size(text), 0);
    bool is_character = size > 0;
    character.assign(text.substr(0, is_character ? static_cast<std::size_t>(size) : 1));
    text.remove_prefix(character.size());
    auto has_byte = [&](char c) { return tables.byte_ids[static_cast<unsigned char>(c)] >= 0; };
    auto known = is_character ? tables.ids.find(character) : tables.ids.end();
    bool by_bytes = known == tables.ids.end() && tables.byte_fallback &&
                    std::all_of(character.begin(), character.end(), has_byte);
    bool is_unknown = known == tables.ids.end() && !by_bytes;
    if (known != tables.ids.end())
      ids.push_back(known->second);
    else if (by_bytes)
      for (char c : character) ids.push_back(tables.byte_ids[static_cast<unsigned char>(c)]);
    else if (!after_unknown || !tables.fuse_unknown)
      ids.push_back(tables.unknown);
    after_unknown = is_unknown;
  }
  return ids;
}

// Encodes text that holds no special token.
void encode_plain(const Tables& tables, std::string_view text, std::vector<TokenId>& ids) {
  if (text.empty()) return;
  std::string normalized = tables.prepend;
  normalized += text;
  for (const auto& replacement : tables.replacements)
    normalized = tokenizer::replace_all(normalized, replacement, max_normalized_bytes);
  std::vector<Id> pieces = character_ids(tables, normalized);
  tokenizer::merge_pairs(tables, pieces);
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

}  // namespace

std::string tokenizer::replace_all(std::string_view text, const Replacement& replacement,
                                   std::size_t limit) {
  std::string result;
  result.reserve(text.size());
  while (true) {
    std::size_t at = text.find(replacement.pattern);
    result += text.substr(0, at);
    if (at == text.npos) return result;
    result += replacement.content;
    text.remove_prefix(at + replacement.pattern.size());
    require(result.size() + text.size() <= limit, "[encode] the text grows beyond ", limit,
            " bytes in normalisation");
  }
}

Tokenizer Tokenizer::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path, "load_tokenizer");
  return parse(file->text(), file->name());
}

Tokenizer Tokenizer::parse(std::string_view text, std::string_view what) {
  return Tokenizer(std::make_shared<const Tables>(tokenizer::load_tables(text, what)));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  require(text.size() <= max_text_bytes, "[encode] a text of ", text.size(), " bytes; at most ",
          max_text_bytes, " are allowed");
  const Tables& tables = *tables_;
  std::vector<TokenId> ids;
  if (options.add_special) ids.assign(tables.before.begin(), tables.before.end());
  std::size_t begin = 0, at = 0;
  while (options.parse_special && at < text.size()) {
    const AddedToken* added = added_token_at(tables.added, text.substr(at));
    if (added == nullptr) {
      ++at;
      continue;
    }
    encode_plain(tables, text.substr(begin, at - begin), ids);
    ids.push_back(added->id);
    begin = at += added->content.size();
  }
  encode_plain(tables, text.substr(begin), ids);
  if (options.add_special) ids.insert(ids.end(), tables.after.begin(), tables.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  TextStream stream(*this);
  std::string text;
  for (TokenId id : ids) text += stream.push(id);
  return text + stream.finish();
}

std::string Tokenizer::decode_bytes(std::span<const TokenId> ids) const {
  TextStream stream(*this);
  for (TokenId id : ids) stream.append(id);
  return std::move(stream.pending_);
}

std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(tables_->tokens.size()); }

const std::string& Tokenizer::token(TokenId id) const {
  require(id >= 0 && id < size(), "[tokenizer] id ", id, " is outside the vocabulary of ", size(),
          " tokens");
  return tables_->tokens[static_cast<std::size_t>(id)];
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  auto found = tables_->ids.find(std::string(token));
  if (found == tables_->ids.end()) return std::nullopt;
  return found->second;
}

bool Tokenizer::is_special(TokenId id) const {
  token(id);  // refuses ids outside
  return tables_->is_special[static_cast<std::size_t>(id)];
}

TextStream::TextStream(const Tokenizer& tokenizer)
    : tables_(tokenizer.tables_), to_strip_(tables_->strip_count) {}

void TextStream::append(TokenId id) {
  const Tables& tables = *tables_;
  auto index = static_cast<std::size_t>(id);
  require(id >= 0 && index < tables.tokens.size(), "[decode] id ", id,
          " is outside the vocabulary of ", tables.tokens.size(), " tokens");
  if (tables.is_special[index]) return;
  std::string piece = tables.tokens[index];
  if (tables.decode_bytes && tables.byte_of[index] >= 0)
    piece.assign(1, static_cast<char>(tables.byte_of[index]));
  else
    for (const auto& replacement : tables.decoded)
      piece = tokenizer::replace_all(piece, replacement, max_normalized_bytes);
  std::size_t skip = 0;
  while (to_strip_ > 0 && skip < piece.size() && piece[skip] == tables.strip) {
    ++skip;
    --to_strip_;
  }
  if (skip < piece.size()) to_strip_ = 0;
  pending_.append(piece, skip);
}

std::string TextStream::take_whole_characters() {
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    int size = tokenizer::character_size(rest);
    if (size < 0) break;
    text += size > 0 ? rest.substr(0, static_cast<std::size_t>(size)) : replacement_character;
    rest.remove_prefix(static_cast<std::size_t>(std::max(size, 1)));
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string TextStream::push(TokenId id) {
  append(id);
  return take_whole_characters();
}

std::string TextStream::finish() {
  std::string text;
  for (std::size_t i = 0; i < pending_.size(); ++i) text += replacement_character;
  pending_.clear();
  to_strip_ = tables_->strip_count;
  return text;
}

}  // namespace tilewright
