#include <algorithm>

#include "models/files/tree.h"
#include "models/tokenizer/tables.h"
#include "models/tokenizer/vocabulary_events.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

// Looking for the tokens takes time in proportion to their length.
constexpr std::size_t max_added_bytes = 1024;

// Builds the tables from the parts of the file, each checked against what is supported.
class Loader {
 public:
  Loader(std::string_view what, const json::Node& root, Vocabulary vocabulary)
      : what_(what), root_(what, root, "the tokenizer"), vocabulary_(std::move(vocabulary)) {}

  Tables load() {
    const json::Node* model = root_.find("model");
    root_.expect(model != nullptr, "has no model");
    tables_.model = Model(root_.inside(*model, "the model"), std::move(vocabulary_));
    tables_.normalizer = Normalizer(what_, root_.find("normalizer"));
    tables_.pre_tokenizer = PreTokenizer(what_, root_.find("pre_tokenizer"));
    tables_.decoder = Decoder(what_, root_.find("decoder"));
    place_vocabulary();
    load_added_tokens();
    KnownTokens known{[&](std::string_view token) { return id_of(token); },
                      [&](std::int64_t id) { return has_id(id); }};
    tables_.post_processor = PostProcessor(what_, root_.find("post_processor"), known);
    std::size_t around =
        tables_.post_processor.before().size() + tables_.post_processor.after().size();
    tables_.lengths = Lengths(root_, around, known);
    root_.ignore("version");
    root_.finish();
    return std::move(tables_);
  }

 private:
  bool has_id(std::int64_t id) const {
    return id >= 0 && id < std::ssize(tables_.places) &&
           tables_.places[static_cast<std::size_t>(id)] != Tables::no_place;
  }
  std::optional<Id> id_of(std::string_view token) const {
    std::optional<Id> id = tables_.model.find(token);
    return id ? id : tables_.added_ids.find(token);
  }

  void place(std::string_view token, Id id, std::size_t entry) {
    auto index = static_cast<std::size_t>(id);
    if (index >= tables_.places.size()) tables_.places.resize(index + 1, Tables::no_place);
    if (token.empty()) return;
    std::uint32_t& place = tables_.places[index];
    root_.expect(place == Tables::no_place, "the token \"", json::excerpt(token), "\" has id ", id,
                 ", as another has; each id is one token's");
    place = static_cast<std::uint32_t>(entry);
  }
  void place_vocabulary() {
    const TokenTable& ids = tables_.model.vocabulary();
    root_.expect(ids.size() > 0, "the vocabulary is empty");
    for (std::size_t i = 0; i < ids.size(); ++i) place(ids.text(i), ids.id(i), i);
  }

  void load_added_tokens() {
    std::vector<AddedToken> as_is, normalized;
    std::vector<Id> seen, special;
    if (root_.find("added_tokens") != nullptr)
      for (const json::Node& item : root_.list("added_tokens")) {
        Fields fields = root_.inside(item, "an added token");
        AddedToken token = read_added_token(fields);
        bool is_normalized = fields.flag("normalized", !token.is_special);
        fields.finish();
        seen.push_back(token.id);
        if (token.is_special) special.push_back(token.id);
        if (is_normalized) {
          std::string content = tables_.normalizer.run(token.content).text;
          fields.expect(!content.empty(), "the added token \"", json::excerpt(token.content),
                        "\" is normalised to nothing");
          if (content != token.content) tables_.normalized_tokens.emplace(token.id, content);
          token.content = std::move(content);
        }
        (is_normalized ? normalized : as_is).push_back(std::move(token));
      }
    tables_.is_special.resize(tables_.places.size());
    for (Id id : special) tables_.is_special[static_cast<std::size_t>(id)] = true;
    std::sort(seen.begin(), seen.end());
    auto twice = std::adjacent_find(seen.begin(), seen.end());
    root_.expect(twice == seen.end(), "the added token \"",
                 twice == seen.end() ? json::excerpt("") : json::excerpt(tables_.token(*twice)),
                 "\" appears twice");
    // Where two are normalised to the same, the special one is found.
    std::stable_partition(normalized.begin(), normalized.end(),
                          [](const AddedToken& token) { return token.is_special; });
    tables_.added = AddedTokens(std::move(as_is));
    tables_.added_normalized = AddedTokens(std::move(normalized));
  }

  AddedToken read_added_token(Fields& fields) {
    AddedToken token;
    token.content = fields.string("content");
    fields.expect(!token.content.empty(), "an added token is empty");
    fields.expect(token.content.size() <= max_added_bytes, "an added token has ",
                  token.content.size(), " bytes; at most ", max_added_bytes, " are allowed");
    token.id = static_cast<Id>(fields.integer("id", 0, max_tokens - 1));
    token.is_special = fields.flag("special", false);
    token.left_strip = fields.flag("lstrip", false);
    token.right_strip = fields.flag("rstrip", false);
    token.single_word = fields.flag("single_word", false);
    std::optional<Id> known = id_of(token.content);
    fields.expect(!known || *known == token.id, "the added token \"", json::excerpt(token.content),
                  "\" has id ", token.id, ", but the vocabulary gives it ", known.value_or(-1));
    if (!known) {
      place(token.content, token.id, tables_.added_ids.size() | Tables::added_bit);
      Adding adding = tables_.added_ids.add(token.content, token.id);
      fields.expect(adding == Adding::done, hostile_table);
    }
    return token;
  }

  std::string_view what_;
  Fields root_;
  Vocabulary vocabulary_;
  Tables tables_;
};

}  // namespace

Tables load_tables(std::string_view text, std::string_view what) {
  Vocabulary vocabulary;
  TokenEvents tokens(what, vocabulary);
  MergeEvents merges(what, vocabulary);
  json::Limits limits{
      .text_bytes = max_file_bytes, .depth = 16, .string_bytes = 1 << 20, .nodes = 1 << 18};
  json::Node root = json::read_tree(text, "load_tokenizer", what, limits,
                                    {{"model/vocab", &tokens}, {"model/merges", &merges}});
  return Loader(what, root, std::move(vocabulary)).load();
}

}  // namespace tilewright::tokenizer
