#include "models/tokenizer/vocabulary_events.h"

#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

template <typename... Parts>
void expect(bool condition, std::string_view what, const Parts&... parts) {
  require(condition, "[load_tokenizer] ", what, ": ", parts...);
}

}  // namespace

void TokenEvents::scalar(json::Scalar value) {
  if (vocabulary_.has_scores) return part(std::move(value));
  expect(depth_ == 1 && value.kind == json::Scalar::Kind::integer, what_, "the vocab has ", value,
         " at \"", json::excerpt(token_), "\"; integer ids are needed");
  expect(value.integer >= 0 && value.integer < max_tokens, what_, "the token \"",
         json::excerpt(token_), "\" has id ", value.integer, "; ids from 0 to ", max_tokens - 1,
         " are allowed");
  add(static_cast<Id>(value.integer));
}

void TokenEvents::add(Id id) {
  Adding adding = vocabulary_.ids.add(token_, id);
  expect(adding != Adding::twice, what_, "the token \"", json::excerpt(token_),
         "\" appears twice in the vocab");
  expect(adding == Adding::done, what_, hostile_table);
  expect(static_cast<std::int64_t>(vocabulary_.ids.size()) <= max_tokens, what_, "more than ",
         max_tokens, " tokens");
}

// A part of a pair in a list.
void TokenEvents::part(json::Scalar value) {
  const std::size_t place = vocabulary_.scores.size();
  const bool is_token = parts_ == 0;
  const bool is_right = is_token ? value.kind == json::Scalar::Kind::string
                                 : value.kind == json::Scalar::Kind::integer ||
                                       value.kind == json::Scalar::Kind::real;
  expect(depth_ == 2 && parts_ < 2 && is_right, what_, "the vocab has ", value, " in entry ", place,
         "; a pair of a token and its score is needed");
  ++parts_;
  if (is_token) {
    token_ = std::move(value.string);
    return;
  }
  vocabulary_.scores.push_back(value.real);
  add(static_cast<Id>(place));
}

void TokenEvents::begin_object() {
  expect(++depth_ == 1, what_, "the vocab holds an object; integer ids are needed");
  expect(!vocabulary_.has_tokens, what_, "there are two vocabs");
  vocabulary_.has_tokens = true;
}

void TokenEvents::begin_array() {
  ++depth_;
  if (depth_ == 1) {
    expect(!vocabulary_.has_tokens, what_, "there are two vocabs");
    vocabulary_.has_tokens = vocabulary_.has_scores = true;
  }
  expect(vocabulary_.has_scores && depth_ <= 2, what_,
         "the vocab holds a list; integer ids, or pairs of a token and its score, are needed");
  parts_ = 0;
}

void TokenEvents::end_array() {
  expect(depth_ == 1 || parts_ == 2, what_, "entry ", vocabulary_.scores.size(),
         " of the vocab has ", parts_, " parts; a token and its score are needed");
  --depth_;
}

void MergeEvents::scalar(json::Scalar value) {
  std::size_t rank = vocabulary_.merges.size() / 2;
  expect(depth_ >= 1 && value.kind == json::Scalar::Kind::string, what_, "merge ", rank, " is ",
         value, "; \"a b\" or [\"a\", \"b\"] is needed");
  if (depth_ == 2) {
    pair_.push_back(std::move(value.string));
    expect(pair_.size() <= 2, what_, "merge ", rank, " has more than two parts");
    return;
  }
  if (rank == 0 && value.string.starts_with("#version")) return;
  std::size_t space = value.string.find(' ');
  bool is_pair = space != std::string::npos && space > 0 && space + 1 < value.string.size() &&
                 value.string.find(' ', space + 1) == std::string::npos;
  expect(is_pair, what_, "merge ", rank, " is ", value,
         "; two tokens with one space between them are needed");
  std::string_view text = value.string;
  add(text.substr(0, space), text.substr(space + 1));
}

void MergeEvents::begin_object() {
  expect(false, what_, "the merges are or hold an object; a list is needed");
}

void MergeEvents::begin_array() {
  expect(++depth_ <= 2, what_, "the merges are nested too deep");
  vocabulary_.has_merges = true;
}

void MergeEvents::end_array() {
  if (depth_-- == 1) return;
  expect(pair_.size() == 2 && !pair_[0].empty() && !pair_[1].empty(), what_, "merge ",
         vocabulary_.merges.size() / 2, " has ", pair_.size(), " parts; two tokens are needed");
  add(pair_[0], pair_[1]);
  pair_.clear();
}

void MergeEvents::add(std::string_view left, std::string_view right) {
  vocabulary_.merges.push_back(left);
  vocabulary_.merges.push_back(right);
  expect(static_cast<std::int64_t>(vocabulary_.merges.size() / 2) <= max_tokens, what_,
         "more than ", max_tokens, " merges");
}

}  // namespace tilewright::tokenizer
