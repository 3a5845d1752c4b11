#include "models/tokenizer/unigram.h"

#include <algorithm>
#include <cstdio>

#include "models/files/utf8.h"

namespace tilewright::tokenizer {
namespace {

// Each place of a text is looked up for as long as tokens are.
constexpr std::size_t max_token_bytes = 512;
constexpr double unknown_penalty = 10;

std::size_t bytes_of_character(std::string_view text) {
  return static_cast<std::size_t>(std::max(character_size(text), 1));
}

}  // namespace

Unigram::Unigram(Fields& fields, const TokenTable& tokens, std::vector<double> scores)
    : scores_(std::move(scores)) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (fields.find("unk_id") != nullptr)
    unknown_ = static_cast<Id>(fields.integer("unk_id", 0, count - 1));
  byte_ids_.fill(-1);
  if (fields.flag("byte_fallback", false))
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      byte_ids_[static_cast<std::size_t>(byte)] = tokens.find(name).value_or(-1);
    }
  for (std::size_t i = 0; i < tokens.size(); ++i)
    fields.expect(tokens.text(i).size() <= max_token_bytes, "the token \"",
                  json::excerpt(tokens.text(i)), "\" has ", tokens.text(i).size(),
                  " bytes; at most ", max_token_bytes, " are allowed in a Unigram model");
  if (!scores_.empty()) unknown_score_ = *std::ranges::min_element(scores_) - unknown_penalty;
  trie_ = TokenTrie(tokens.size(), [&](std::uint32_t entry) { return tokens.text(entry); });
}

void Unigram::find_path(std::string_view piece, PathStep* steps) const {
  steps[0].begin = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const double so_far = steps[at].score;
    auto offer = [&](std::size_t size, double score, Id id) {
      PathStep& step = steps[at + size];
      if (step.begin != none && so_far + score <= step.score) return;
      step = {so_far + score, static_cast<std::uint32_t>(at), id};
    };
    const std::size_t size = bytes_of_character(piece.substr(at));
    bool has_character = false;
    trie_.for_each_prefix(piece.substr(at), [&](std::size_t bytes, std::uint32_t entry) {
      offer(bytes, scores_[entry], static_cast<Id>(entry));
      has_character = has_character || bytes == size;
    });
    if (!has_character) {
      require(unknown_ >= 0, "[encode] the vocabulary has no token \"",
              json::excerpt(piece.substr(at, size)), "\" and no unk_id");
      offer(size, unknown_score_, unknown_);
    }
    at += size;
  }
}

void Unigram::append_unknown(std::string_view part, const TokenTable& tokens,
                             std::vector<Id>& ids) const {
  if (std::optional<Id> id = tokens.find(part)) return ids.push_back(*id);
  auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (std::ranges::any_of(part, [&](char c) { return id_of(c) < 0; }))
    return ids.push_back(unknown_);
  for (std::size_t i = part.size(); i-- > 0;) ids.push_back(id_of(part[i]));
}

void Unigram::encode(std::string_view piece, const TokenTable& tokens, std::vector<Id>& ids) const {
  std::array<PathStep, 65> few;
  std::vector<PathStep> many;
  if (piece.size() >= few.size()) many.resize(piece.size() + 1);
  PathStep* steps = many.empty() ? few.data() : many.data();
  find_path(piece, steps);
  const auto before = static_cast<std::ptrdiff_t>(ids.size());
  for (std::size_t end = piece.size(); end > 0;) {
    std::size_t begin = steps[end].begin;
    if (steps[end].id != unknown_) {
      ids.push_back(steps[end].id);
    } else {
      while (begin > 0 && steps[begin].id == unknown_) begin = steps[begin].begin;
      append_unknown(piece.substr(begin, end - begin), tokens, ids);
    }
    end = begin;
  }
  std::reverse(ids.begin() + before, ids.end());
}

}  // namespace tilewright::tokenizer
