#include <algorithm>
#include <charconv>

#include "models/json/tree.h"
#include "models/tokenizer/tables.h"
#include "models/tokenizer/vocabulary_events.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_rule_bytes = 64;  // of a replacement's pattern and content

// Builds the tables from the parts of the file, each checked against what is supported.
class Loader {
 public:
  Loader(std::string_view what, const json::Node& root, Vocabulary vocabulary)
      : what_(what), root_(root), vocabulary_(std::move(vocabulary)) {}

  Tables load() {
    refuse("pre_tokenizer");
    load_model();
    load_added_tokens();
    finish_vocabulary();
    load_merges();
    load_normalizer();
    load_template();
    load_decoder();
    return std::move(tables_);
  }

 private:
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, "[load_tokenizer] ", what_, ": ", parts...);
  }
  static bool is_absent(const json::Node* node) { return node == nullptr || node->is_null(); }
  void refuse(std::string_view name) const {
    const json::Node* node = root_.find(name);
    expect(is_absent(node), name, " is of type \"", is_absent(node) ? "" : type_of(*node, name),
           "\"; only tokenizers without one are supported");
  }
  const std::string& string_of(const json::Node& object, std::string_view name) const {
    const json::Node* node = object.find(name);
    expect(node != nullptr && node->is_string(), "a string \"", name, "\" is missing in ",
           json::describe(object));
    return node->scalar.string;
  }
  const std::string& type_of(const json::Node& object, std::string_view role) const {
    expect(object.kind == json::Node::Kind::object, role, " is ", json::describe(object),
           "; an object is needed");
    return string_of(object, "type");
  }
  std::int64_t integer_of(const json::Node& object, std::string_view name) const {
    const json::Node* node = object.find(name);
    expect(node != nullptr && node->is_integer(), "an integer \"", name, "\" is missing in ",
           json::describe(object));
    return node->scalar.integer;
  }
  bool flag_of(const json::Node& object, std::string_view name) const {
    const json::Node* node = object.find(name);
    if (is_absent(node)) return false;
    expect(
        node->kind == json::Node::Kind::scalar && node->scalar.kind == json::Scalar::Kind::boolean,
        name, " is ", json::describe(*node), "; true or false is needed");
    return node->scalar.boolean;
  }
  // The steps of a "Sequence", or the one step that stands alone.
  std::vector<const json::Node*> steps(std::string_view role, std::string_view list) const {
    const json::Node* node = root_.find(role);
    if (is_absent(node)) return {};
    if (type_of(*node, role) != "Sequence") return {node};
    const json::Node* items = node->find(list);
    expect(items != nullptr && items->kind == json::Node::Kind::array, role,
           " is a Sequence without a list \"", list, '"');
    std::vector<const json::Node*> result;
    for (const json::Node& item : items->items) result.push_back(&item);
    return result;
  }

  void load_model() {
    const json::Node* model = root_.find("model");
    expect(!is_absent(model), "has no model");
    const json::Node* type = model->find("type");
    expect(!is_absent(type) && type->is_string() && type->scalar.string == "BPE",
           "the model is of type ", is_absent(type) ? "nothing" : json::describe(*type),
           "; supported is \"BPE\"");
    for (std::string_view name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const json::Node* node = model->find(name);
      bool is_empty = is_absent(node) || (node->is_string() && node->scalar.string.empty());
      expect(is_empty, "the model has a ", name, ", which is not supported");
    }
    expect(!flag_of(*model, "ignore_merges"), "the model sets ignore_merges, not supported");
    expect(vocabulary_.has_tokens, "the model has no vocab");
    expect(vocabulary_.has_merges, "the model has no merges");
    tables_.byte_fallback = flag_of(*model, "byte_fallback");
    tables_.fuse_unknown = flag_of(*model, "fuse_unk");
    if (const json::Node* unknown = model->find("unk_token"); !is_absent(unknown))
      unknown_ = string_of(*model, "unk_token");
    tables_.ids = std::move(vocabulary_.ids);
  }

  void load_added_tokens() {
    const json::Node* list = root_.find("added_tokens");
    if (is_absent(list)) return;
    expect(list->kind == json::Node::Kind::array, "added_tokens is ", json::describe(*list),
           "; a list is needed");
    for (const json::Node& item : list->items) {
      const std::string& content = string_of(item, "content");
      std::int64_t id = integer_of(item, "id");
      expect(!content.empty(), "an added token is empty");
      check_id(id, content);
      for (std::string_view flag : {"single_word", "lstrip", "rstrip"})
        expect(!flag_of(item, flag), "the added token \"", json::excerpt(content), "\" sets ", flag,
               ", which is not supported");
      auto [known, is_new] = tables_.ids.emplace(content, static_cast<Id>(id));
      expect(known->second == id, "the added token \"", json::excerpt(content), "\" has id ", id,
             ", but the vocabulary gives it ", known->second);
      tables_.added.push_back({content, static_cast<Id>(id)});
      if (flag_of(item, "special")) special_.push_back(static_cast<Id>(id));
    }
    std::sort(tables_.added.begin(), tables_.added.end(),
              [](const auto& a, const auto& b) { return a.content < b.content; });
    for (std::size_t i = 1; i < tables_.added.size(); ++i)
      expect(tables_.added[i - 1].content != tables_.added[i].content, "the added token \"",
             json::excerpt(tables_.added[i].content), "\" appears twice");
  }

  void check_id(std::int64_t id, std::string_view token) const {
    expect(id >= 0 && id < max_tokens, "the token \"", json::excerpt(token), "\" has id ", id,
           "; ids from 0 to ", max_tokens - 1, " are allowed");
  }

  // Ids must be dense: every number below their count is one token's.
  void finish_vocabulary() {
    std::size_t count = tables_.ids.size();
    expect(count > 0, "the vocabulary is empty");
    tables_.tokens.resize(count);
    std::vector<bool> taken(count);
    for (const auto& [token, id] : tables_.ids) {
      auto index = static_cast<std::size_t>(id);
      expect(index < count && !taken[index], "the ids are not dense: ", count, " tokens, and \"",
             json::excerpt(token), "\" has id ", id,
             index < count ? ", as another has; each id is one token's"
                           : "; ids go from 0 to one below the count");
      taken[index] = true;
      tables_.tokens[index] = token;
    }
    tables_.is_special.resize(count);
    for (Id id : special_) tables_.is_special[static_cast<std::size_t>(id)] = true;
    find_bytes();
    if (!unknown_) return;
    auto found = tables_.ids.find(*unknown_);
    expect(found != tables_.ids.end(), "unk_token \"", json::excerpt(*unknown_),
           "\" is not in the vocabulary");
    tables_.unknown = found->second;
  }

  void find_bytes() {
    tables_.byte_ids.fill(-1);
    tables_.byte_of.assign(tables_.tokens.size(), -1);
    for (std::size_t id = 0; id < tables_.tokens.size(); ++id) {
      const std::string& token = tables_.tokens[id];
      unsigned value = 0;
      if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') continue;
      auto [end, error] = std::from_chars(&token[3], &token[5], value, 16);
      if (error != std::errc() || end != &token[5]) continue;
      tables_.byte_ids[value] = static_cast<Id>(id);
      tables_.byte_of[id] = static_cast<std::int16_t>(value);
    }
    bool all = std::count(tables_.byte_ids.begin(), tables_.byte_ids.end(), -1) == 0;
    expect((tables_.byte_fallback && all) || unknown_.has_value(),
           "neither byte_fallback with all of <0x00> to <0xFF> nor an unk_token: some text could "
           "not be encoded");
  }

  Id id_of_merged(const std::string& token, std::size_t rank) const {
    auto found = tables_.ids.find(token);
    expect(found != tables_.ids.end(), "merge ", rank, " needs the token \"", json::excerpt(token),
           "\", which is not in the vocabulary");
    return found->second;
  }
  void load_merges() {
    tables_.rank.reserve(vocabulary_.merges.size());
    for (const auto& [left, right] : vocabulary_.merges) {
      std::size_t rank = tables_.merges.size();
      Merge merge{id_of_merged(left, rank), id_of_merged(right, rank),
                  id_of_merged(left + right, rank)};
      auto key = pair_key(merge.left, merge.right);
      expect(tables_.rank.emplace(key, static_cast<std::uint32_t>(rank)).second, "merge ", rank,
             " (\"", json::excerpt(left), "\", \"", json::excerpt(right), "\") appears twice");
      tables_.merges.push_back(merge);
    }
  }

  Replacement replacement_of(const json::Node& step) const {
    const json::Node* pattern = step.find("pattern");
    expect(!is_absent(pattern) && pattern->find("String") != nullptr,
           "a Replace has a pattern that is no String; regular expressions are not supported");
    Replacement result{string_of(*pattern, "String"), string_of(step, "content")};
    expect(!result.pattern.empty() && result.pattern.size() <= max_rule_bytes &&
               result.content.size() <= max_rule_bytes,
           "a Replace has an empty pattern, or more than ", max_rule_bytes, " bytes");
    return result;
  }

  void load_normalizer() {
    for (const json::Node* step : steps("normalizer", "normalizers")) {
      const std::string& type = type_of(*step, "a normalizer");
      if (type == "Prepend") {
        expect(tables_.prepend.empty() && tables_.replacements.empty(),
               "a Prepend must be the first normalizer and the only one of its kind");
        tables_.prepend = string_of(*step, "prepend");
        expect(tables_.prepend.size() <= max_rule_bytes, "a Prepend has more than ", max_rule_bytes,
               " bytes");
      } else {
        expect(type == "Replace", "a normalizer is of type \"", json::excerpt(type),
               "\"; supported are Prepend and Replace");
        tables_.replacements.push_back(replacement_of(*step));
      }
      expect(tables_.replacements.size() <= 8, "more than 8 normalizers");
    }
  }

  void load_template() {
    const json::Node* processor = root_.find("post_processor");
    if (is_absent(processor)) return;
    const std::string& type = type_of(*processor, "post_processor");
    expect(type == "TemplateProcessing", "the post_processor is of type \"", json::excerpt(type),
           "\"; supported is TemplateProcessing");
    const json::Node* single = processor->find("single");
    expect(!is_absent(single) && single->kind == json::Node::Kind::array,
           "the post_processor has no list \"single\"");
    bool seen_text = false;
    for (const json::Node& piece : single->items) {
      if (const json::Node* special = piece.find("SpecialToken")) {
        const std::string& token = string_of(*special, "id");
        auto found = tables_.ids.find(token);
        expect(found != tables_.ids.end(), "the post_processor names \"", json::excerpt(token),
               "\", which is not in the vocabulary");
        (seen_text ? tables_.after : tables_.before).push_back(found->second);
      } else {
        expect(piece.find("Sequence") != nullptr && !seen_text,
               "the post_processor's pieces must be SpecialTokens and one Sequence");
        seen_text = true;
      }
    }
    expect(seen_text && single->items.size() <= 64,
           "the post_processor leaves out the text, or "
           "has more than 64 pieces");
  }

  // Replace*, ByteFallback, Fuse, Strip, in this order.
  void load_decoder() {
    enum Stage { replacing, bytes, fused, stripped } stage = replacing;
    auto advance = [&](Stage to, const std::string& type) {
      expect(stage < to || (to == replacing && stage == replacing), "the decoder's ", type,
             " is out of order; supported is Replace, ByteFallback, Fuse, Strip");
      stage = to;
    };
    for (const json::Node* step : steps("decoder", "decoders")) {
      const std::string& type = type_of(*step, "a decoder");
      if (type == "Replace") {
        advance(replacing, type);
        tables_.decoded.push_back(replacement_of(*step));
        expect(tables_.decoded.size() <= 8, "more than 8 Replace decoders");
      } else if (type == "ByteFallback") {
        advance(bytes, type);
        tables_.decode_bytes = true;
      } else if (type == "Fuse") {
        advance(fused, type);
      } else if (type == "Strip") {
        advance(stripped, type);
        load_strip(*step);
      } else {
        expect(false, "a decoder is of type \"", json::excerpt(type),
               "\"; supported are Replace, ByteFallback, Fuse and Strip");
      }
    }
    expect(stage >= fused,
           "the decoder has no Fuse; supported is Replace, ByteFallback, Fuse, "
           "Strip");
  }
  void load_strip(const json::Node& step) {
    const std::string& content = string_of(step, "content");
    std::int64_t stop = integer_of(step, "stop");
    expect(content.size() == 1 && stop == 0, "the decoder strips \"", json::excerpt(content),
           "\" and ", stop, " at the end; supported is one ASCII character at the start");
    tables_.strip = content[0];
    tables_.strip_count = integer_of(step, "start");
    expect(tables_.strip_count >= 0, "the decoder strips a negative number of characters");
  }

  std::string_view what_;
  const json::Node& root_;
  Vocabulary vocabulary_;
  Tables tables_;
  std::optional<std::string> unknown_;
  std::vector<Id> special_;
};

}  // namespace

Tables load_tables(std::string_view text, std::string_view what) {
  Vocabulary vocabulary;
  TokenEvents tokens(what, vocabulary);
  MergeEvents merges(what, vocabulary);
  json::Limits limits{.text_bytes = 64 << 20, .depth = 16, .string_bytes = 1 << 16};
  json::Node root = json::read_tree(text, "load_tokenizer", what, limits,
                                    {{"model/vocab", &tokens}, {"model/merges", &merges}});
  require(root.kind == json::Node::Kind::object, "[load_tokenizer] ", what, ": is ",
          json::describe(root), "; an object is needed");
  return Loader(what, root, std::move(vocabulary)).load();
}

}  // namespace tilewright::tokenizer
