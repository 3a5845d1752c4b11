#include "models/tokenizer/model.h"

#include <algorithm>
#include <cstdio>

#include "models/files/utf8.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_affix_bytes = 64;

std::string_view affix(const Fields& fields, std::string_view name, const std::string& text) {
  fields.expect(text.size() <= max_affix_bytes, "the model's ", name, " has more than ",
                max_affix_bytes, " bytes");
  return text;
}

}  // namespace

Model::Model(Fields fields, Vocabulary vocabulary) {
  bool has_type = fields.find("type") != nullptr;
  fields.expect(has_type || vocabulary.has_merges, "the model has no type and no merges");
  std::string type = has_type ? fields.string("type") : "BPE";
  bool is_known = type == "BPE" || type == "WordPiece" || type == "WordLevel" || type == "Unigram";
  fields.expect(is_known, "the model is of type \"", json::excerpt(type),
                "\"; supported are BPE, WordPiece, WordLevel and Unigram");
  fields.ignore("vocab");
  fields.expect(vocabulary.has_tokens, "the model has no vocab");
  ids_ = std::move(vocabulary.ids);
  const bool is_unigram = type == "Unigram";
  fields.expect(is_unigram == vocabulary.has_scores, "the model is of type ", type,
                " and has as vocab ", vocabulary.has_scores ? "a list" : "an object", "; ",
                is_unigram ? "a list of tokens and scores" : "an object from token to id",
                " is needed");
  if (is_unigram) {
    kind_ = Kind::unigram;
    unigram_ = Unigram(fields, ids_, std::move(vocabulary.scores));
  } else if (type == "BPE") {
    read_bpe(fields, vocabulary);
  } else {
    kind_ = type == "WordPiece" ? Kind::word_piece : Kind::word_level;
    read_unknown(fields, kind_ == Kind::word_piece);
  }
  if (kind_ == Kind::word_piece) {
    prefix_ = affix(fields, "continuing_subword_prefix",
                    fields.string("continuing_subword_prefix", "##"));
    if (fields.find("max_input_chars_per_word") != nullptr)
      max_characters_ =
          static_cast<std::size_t>(fields.integer("max_input_chars_per_word", 1, 200));
  }
  index_characters();
  fields.finish();
}

void Model::read_bpe(Fields& fields, const Vocabulary& vocabulary) {
  fields.ignore("merges");
  fields.expect(vocabulary.has_merges, "the model has no merges");
  const json::Node* dropout = fields.find("dropout");
  bool drops = dropout != nullptr &&
               !(dropout->kind == json::Node::Kind::scalar &&
                 dropout->scalar.kind != json::Scalar::Kind::string && dropout->scalar.real == 0);
  fields.expect(!drops, "the model has a dropout, which is for training; null is needed");
  prefix_ =
      affix(fields, "continuing_subword_prefix", fields.string("continuing_subword_prefix", ""));
  suffix_ = affix(fields, "end_of_word_suffix", fields.string("end_of_word_suffix", ""));
  byte_fallback_ = fields.flag("byte_fallback", false);
  fuse_unknown_ = fields.flag("fuse_unk", false);
  ignore_merges_ = fields.flag("ignore_merges", false);
  read_unknown(fields, false);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    byte_ids_[static_cast<std::size_t>(byte)] = find(name).value_or(none);
  }
  read_merges(fields, vocabulary);
}

void Model::read_unknown(Fields& fields, bool is_needed) {
  bool has_one = fields.find("unk_token") != nullptr;
  if (!has_one && !is_needed) return;
  const std::string& token = fields.string("unk_token");
  std::optional<Id> id = find(token);
  // WordLevel files always name one, whether there is such a token or not.
  fields.expect(id || kind_ == Kind::word_level, "unk_token \"", json::excerpt(token),
                "\" is not in the vocabulary");
  unknown_ = id.value_or(none);
}

void Model::read_merges(const Fields& fields, const Vocabulary& vocabulary) {
  merges_.reserve(vocabulary.merges.size() / 2);
  auto id_of = [&](std::string_view token) {
    std::optional<Id> id = find(token);
    fields.expect(id.has_value(), "merge ", merges_.size(), " needs the token \"",
                  json::excerpt(token), "\", which is not in the vocabulary");
    return *id;
  };
  std::string result;
  for (std::size_t i = 0; i < vocabulary.merges.size(); i += 2) {
    std::string_view left = vocabulary.merges[i], right = vocabulary.merges[i + 1];
    bool continues = right.starts_with(prefix_);
    fields.expect(continues, "merge ", merges_.size(), " goes on with \"", json::excerpt(right),
                  "\", which has no continuing_subword_prefix \"", json::excerpt(prefix_), '"');
    (result = left) += right.substr(prefix_.size());
    Id merged = id_of(result);
    Adding adding = merges_.add(id_of(left), id_of(right), merged);
    fields.expect(adding != Adding::twice, "merge ", merges_.size(), " (\"", json::excerpt(left),
                  "\", \"", json::excerpt(right), "\") appears twice");
    fields.expect(adding == Adding::done, hostile_table);
  }
}

void Model::index_characters() {
  character_ids_.fill(none);
  for (char32_t value = 0; value < character_ids_.size(); ++value) {
    std::string text;
    append_character(text, value);
    character_ids_[value] = find(text).value_or(none);
  }
}

Id Model::id_of_character(std::string_view bytes, char32_t value, bool is_first,
                          bool is_last) const {
  bool is_bare = (is_first || prefix_.empty()) && (!is_last || suffix_.empty());
  if (is_bare && value < character_ids_.size()) return character_ids_[value];
  if (value == no_character) return none;
  if (is_bare) return find(bytes).value_or(none);
  std::string token = is_first ? "" : prefix_;
  token += bytes;
  if (is_last) token += suffix_;
  return find(token).value_or(none);
}

// The character in tokens of bytes; whether there are tokens for all of them.
bool Model::append_bytes(std::string_view character, std::vector<Id>& ids) const {
  auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (!std::all_of(character.begin(), character.end(), [&](char c) { return id_of(c) != none; }))
    return false;
  for (char c : character) ids.push_back(id_of(c));
  return true;
}

void Model::append_characters(std::string_view piece, std::vector<Id>& ids) const {
  std::size_t at = 0;
  bool unknown_waits = false;
  auto unknown = [&] { ids.push_back(unknown_); };
  for_each_character(piece, [&](std::string_view bytes, char32_t value) {
    bool is_first = at == 0, is_last = at + bytes.size() == piece.size();
    at += bytes.size();
    Id id = id_of_character(bytes, value, is_first, is_last);
    if (id != none) {
      if (std::exchange(unknown_waits, false)) unknown();
      ids.push_back(id);
      return;
    }
    if (byte_fallback_) {
      std::string spelled(is_first ? "" : prefix_);
      spelled += bytes;
      if (is_last) spelled += suffix_;
      if (append_bytes(spelled, ids)) return;
    }
    if (unknown_ == none) return;
    if (unknown_waits && !fuse_unknown_) unknown();
    unknown_waits = true;
  });
  if (unknown_waits) unknown();
}

void Model::encode_word_piece(std::string_view piece, std::vector<Id>& ids) const {
  std::size_t before = ids.size(), characters = 0;
  for_each_character(piece, [&](std::string_view, char32_t) { ++characters; });
  std::string token;
  for (std::size_t begin = 0; begin < piece.size() && characters <= max_characters_;) {
    std::size_t end = piece.size();
    std::optional<Id> id;
    while (end > begin) {
      token = begin > 0 ? prefix_ : "";
      token += piece.substr(begin, end - begin);
      if ((id = find(token))) break;
      do --end;
      while (end > begin && (piece[end] & 0xc0) == 0x80);
    }
    if (!id) {
      characters = max_characters_ + 1;
      break;
    }
    ids.push_back(*id);
    begin = end;
  }
  if (characters <= max_characters_) return;
  ids.resize(before);
  ids.push_back(unknown_);
}

void Model::encode(std::string_view piece, std::vector<Id>& ids) const {
  if (kind_ == Kind::unigram) return unigram_.encode(piece, ids_, ids);
  if (kind_ == Kind::word_piece) return encode_word_piece(piece, ids);
  if (kind_ == Kind::word_level || ignore_merges_) {
    std::optional<Id> id = find(piece);
    if (id) return ids.push_back(*id);
    if (kind_ == Kind::word_level) {
      require(unknown_ != none, "[encode] the vocabulary has no token \"", json::excerpt(piece),
              "\" and no unk_token");
      return ids.push_back(unknown_);
    }
  }
  std::vector<Id> symbols;
  symbols.reserve(piece.size());
  append_characters(piece, symbols);
  merge_pairs(merges_, symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

}  // namespace tilewright::tokenizer
